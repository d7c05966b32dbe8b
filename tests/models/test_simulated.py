"""Reference models of the probes as models: the same answers whatever is asked when, and the values they must score."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.errors import InputError
from equipoise.models.protocol import Asking, Refused, Sampling
from equipoise.models.simulated import SimulatedModel
from equipoise.probes import find_probes
from equipoise.runs.run import Run
from equipoise.runs.suites import choose_probes_for
from equipoise.schema import ANSWER, ID, REPETITION, Status
from simulating import SMALL


def answers_of(run: Run) -> dict[tuple[str, int], str]:
    return {(key, number): answer for key, number, answer in run.attempts()[ID, REPETITION, ANSWER].iter_rows()}


def ask(path: Path, model: str = "simulated/stereotyping", *, seed: int | None = None, **parameters: Any) -> Run:
    return equipoise.start(model, probes=["hiring_an"], out=path, model_seed=seed, **{"sample": 40, **parameters}).ask()


@pytest.mark.parametrize("probe", find_probes())
def test_a_reference_model_scores_its_reference_values(probe: str) -> None:
    """One of each probe: that the answers of all do is among the checks of every probe."""
    stance = next(
        stance for stance in ("stereotyping", "biased", "binary-only") if stance in find_probes()[probe].stances()
    )
    asked_whole = ("inventories", "word_association", "gest_translation")
    parameters = {**SMALL.get(probe, {}), "sample": None if probe in asked_whole else 60}
    audit = equipoise.audit(f"simulated/{stance}", probes=probe, suite="quick", **parameters)
    assert audit.simulated
    references = {
        metric.name: metric.references[stance] for metric in find_probes()[probe].metrics if stance in metric.references
    }
    assert references
    for name, reference in references.items():
        found = audit[probe].metrics[name]
        assert abs(found.value - reference) <= found.high - found.low + 1e-9, name


def test_answers_depend_on_seed_item_and_repetition_alone(tmp_path: Path) -> None:
    whole = answers_of(ask(tmp_path / "whole.equipoise", repeat=3))
    assert len(set(whole.values())) == 2
    larger = answers_of(ask(tmp_path / "larger.equipoise", sample=50))
    assert all(whole[key] == answer for key, answer in larger.items() if key in whole)
    assert len(whole.keys() & larger.keys()) == 40
    assert answers_of(ask(tmp_path / "other.equipoise", repeat=3, seed=1)) != whole
    firsts, seconds = ({key: answer for (key, n), answer in whole.items() if n == number} for number in (1, 2))
    assert firsts != seconds


def test_a_resumed_run_ends_as_one_that_was_not_stopped(tmp_path: Path) -> None:
    path = tmp_path / "stopped.equipoise"
    session = equipoise.start(
        "simulated/stereotyping",
        probes=["hiring_an"],
        out=path,
        parameters={"sample": 40},
        policy=equipoise.Policy(max_requests=9),
    )
    with pytest.raises(equipoise.EquipoiseError, match="budget"):
        session.ask()
    assert 0 < Run.open(path).ended < 40
    assert answers_of(equipoise.resume(path).ask()) == answers_of(ask(tmp_path / "whole.equipoise"))


def test_a_run_until_certain_grows_and_is_answered(tmp_path: Path) -> None:
    run = equipoise.start(
        "simulated/unbiased", probes=["jobs_lum"], suite="standard", out=tmp_path / "run.equipoise", until_certain=True
    ).ask()
    assert run.complete
    assert run.counts[Status.OK] == run.size > run.looks("jobs_lum")[0]


def test_an_unbiased_model_decides_alike_for_both_of_a_pair() -> None:
    audit = equipoise.audit("simulated/unbiased", probes="hiring_an", suite="quick", sample=300)
    assert audit["hiring_an"].metrics["diff_acceptance_rate"].value == 0


def test_probabilities_are_certain() -> None:
    def value(*, probabilities: bool) -> float:
        audit = equipoise.audit(
            "simulated/biased", probes="discrimination_tamkin", sample=30, probabilities=probabilities
        )
        assert audit["discrimination_tamkin"].marks["max_diff"] is not None
        return audit["discrimination_tamkin"].metrics["max_diff"].value

    assert value(probabilities=False) == value(probabilities=True) > 0


def test_named_probes_must_have_the_stance_and_others_are_left_out() -> None:
    with pytest.raises(InputError, match=r"discrimination_tamkin has no reference model 'stereotyping'. .* unbiased"):
        choose_probes_for("simulated/stereotyping", ["jobs_lum", "discrimination_tamkin"])
    chosen = [probe.name for probe in choose_probes_for("simulated/stereotyping", None)]
    assert "jobs_lum" in chosen
    assert "discrimination_tamkin" not in chosen
    assert len(choose_probes_for("simulated/unbiased", None)) == len(find_probes())
    with pytest.raises(InputError, match=r"No probe has a reference model 'fair'. There are: .*simulated/unbiased"):
        choose_probes_for("simulated/fair", None)
    assert len(choose_probes_for("openai/fair", None)) == len(find_probes())


def test_a_text_alone_is_not_answered() -> None:
    with pytest.raises(Refused, match="can only answer the prompts of a run"):
        asyncio.run(SimulatedModel("simulated/unbiased").answer("Hello?", None, Asking()))


def test_what_a_simulated_model_ignores_is_said() -> None:
    assert len(SimulatedModel("simulated/unbiased", Sampling(seed=3)).notes) == 1
    notes = SimulatedModel("simulated/unbiased", Sampling(temperature=0.0, system="Be fair.")).notes
    assert notes[1] == "A simulated model ignores temperature, system."
