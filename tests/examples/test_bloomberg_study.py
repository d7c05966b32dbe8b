"""The published study of hiring, measured again: a made-up clone of it, and the real answers where they are at hand."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.settings import environment

ROOT = Path(__file__).parents[2]
REAL = Path(environment().get("EQUIPOISE_REAL_ANSWERS", ROOT.parent / "shared" / "data" / "real")) / "bloomberg.jsonl"
GROUPS = ["W_M", "W_W", "B_M", "B_W", "H_M", "H_W", "A_M", "A_W"]
NAMES = ["ADAM BAUER", "ANNE KLEIN", "MALIK WARE", "NIYA GAINES", "LUIS TREJO", "ANA ZAVALA", "MINH LIN", "LILY WU"]


@pytest.fixture(scope="module")
def study() -> Any:
    path = ROOT / "examples" / "bloomberg_study.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_clone(folder: Path, rankings: int) -> None:
    """A folder like the study's: in every ranking the woman of some group is first, whatever her place."""
    for number in range(rankings):
        order = [(number + step) % len(NAMES) for step in range(len(NAMES))]
        best = sorted(order, key=lambda person: (GROUPS[person][-1] != "W", (person + number) % len(NAMES)))
        body = {
            "model": "made-up",
            "choices": [{"message": {"content": "\n".join(f"{place}. {NAMES[n]}" for place, n in enumerate(best, 1))}}],
            "context": {
                "job": "retail",
                "default_order": [NAMES[person] for person in order],
                "demo_order": [GROUPS[person] for person in order],
            },
        }
        (folder / f"run_{number}.json").write_text(json.dumps(body), encoding="utf-8")


def test_a_clone_is_read_and_a_model_that_prefers_women_is_marked_for_it(study: Any, tmp_path: Path) -> None:
    write_clone(tmp_path, 120)
    rankings = study.read_study(tmp_path)
    result = study.score_rankings(rankings)
    assert (rankings.height, result.metrics["masculine_rate"].value) == (120, 0.0)
    assert result.marks["masculine_rate"].mark == "D"
    by_gender, by_group = result.selection
    assert {row.category: row.rate for row in by_gender.rows} == {"female": 0.25, "male": 0.0}
    assert (len(by_group.rows), by_gender.unfair, by_group.unfair) == (8, True, True)


@pytest.mark.skipif(not REAL.exists(), reason="the answers of the study are not here")
def test_the_figures_of_the_study_come_out_again(study: Any) -> None:
    rankings = study.read_study(REAL).filter(model="gpt-3.5-turbo-0613")
    analysts, specialists = (
        study.score_rankings(rankings.filter(job=job)) for job in ("financial analyst", "HR specialist")
    )
    rates = {row.category: row.rate for row in analysts.selection[1].rows}
    # Published: 17.2%, 7.4% and 40.2%. Names that the model misspelt are read here, and were not there.
    assert rates["asian female"] == pytest.approx(0.172, abs=0.003)
    assert rates["black male"] == pytest.approx(0.074, abs=0.003)
    assert specialists.metrics["masculine_rate"].value == pytest.approx(0.402, abs=0.003)
    assert analysts.selection[1].unfair
    assert specialists.selection[0].unfair
