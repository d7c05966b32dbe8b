"""Run files of older versions are shown with the values that the version that wrote them showed.

`runs/data/schema-1.json` is what `equipoise show --json` of that version printed for `runs/data/schema-1.equipoise`:
for each metric value, low, high and n; slices are metrics such as `race_white_diff_acceptance_rate`. Intervals, and
the marks that rest on them, are made in another way since, and are not compared. Nor is n where it now counts the
smallest group that a metric rests on. The tolerance is for processors that round the last digit in another way.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from calling import Command
from equipoise.authoring import slug
from equipoise.probes import get_probe

DATA = Path(__file__).parents[1] / "runs" / "data"
EXPECTED: dict[str, Any] = json.loads((DATA / "schema-1.json").read_text(encoding="utf-8"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "schema-1.equipoise", tmp_path / "run.equipoise"))


@pytest.fixture
def shown(command: Command, file: Path) -> dict[str, Any]:
    """What `equipoise show --json` prints for the file, read by the rules of then."""
    outcome = command("show", file, "--json", "--reading", "specified")
    assert (outcome.code, outcome.err) == (0, "")
    printed: dict[str, Any] = json.loads(outcome.out)
    return printed


def all_estimates(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The metrics and the slices under the names that schema 1 had for them."""
    estimates = dict(result["metrics"])
    for column, groups in result["slices"].items():
        for group, metrics in groups.items():
            estimates |= {f"{column}_{slug(group)}_{name}": estimate for name, estimate in metrics.items()}
    return estimates


def rests_on_several(probe: str, name: str) -> bool:
    """Whether a metric, or a slice of it, now counts the smallest of several groups."""
    metrics = get_probe(probe).metrics
    return any(len(metric.denominators) > 1 and name.endswith(metric.name) for metric in metrics)


def test_states_and_tokens_are_those_of_schema_1(shown: dict[str, Any]) -> None:
    assert {name: shown[name] for name in ("states", "tokens")} == {
        name: EXPECTED[name] for name in ("states", "tokens")
    }
    assert not shown["complete"]


@pytest.mark.fault("D16")
@pytest.mark.parametrize("probe", EXPECTED["results"])
def test_results_are_those_of_schema_1(shown: dict[str, Any], probe: str) -> None:
    assert list(shown["results"]) == list(EXPECTED["results"])
    result, expected = shown["results"][probe], EXPECTED["results"][probe]
    estimates = all_estimates(result)
    assert list(estimates) == list(expected["metrics"])
    for name, (value, _, _, n) in expected["metrics"].items():
        estimate = estimates[name]
        assert estimate["value"] == (None if value is None else pytest.approx(value, rel=1e-12)), name
        assert value is None or estimate["low"] <= estimate["value"] <= estimate["high"]
        assert estimate["n"] <= n if rests_on_several(probe, name) else estimate["n"] == n, name
    assert list(result["marks"]) == list(expected["marks"])
    for name, mark in result["marks"].items():
        before = expected["marks"][name]["mark"]
        assert mark["best"] <= before <= mark["worst"] if mark["undecided"] and before else mark["mark"] == before
    assert result["coverage"] == expected["coverage"]
    assert result["matching"] == expected["answers"]


def test_reading_does_not_change_the_file(command: Command, file: Path) -> None:
    for words in (
        ["show", file],
        ["show", file, "--slices", "--json"],
        ["export", file, "--what", "attempts", "-o", "attempts.csv"],
        ["compare", file, file],
        ["report", file, "-o", "report.html"],
    ):
        outcome = command(*words)
        assert outcome.code == 0, outcome.err
        assert file.read_bytes() == (DATA / "schema-1.equipoise").read_bytes(), words
    assert sorted(path.name for path in file.parent.glob("run.equipoise*")) == ["run.equipoise"]
