"""Reference models of the probes as models: the same answers whatever is asked when, and the values they must score."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.errors import InputError
from equipoise.models.protocol import Asking, Refused
from equipoise.models.simulated import SimulatedModel
from equipoise.probes import find_probes
from equipoise.runs.run import Run
from equipoise.runs.suites import choose_probes_for
from equipoise.schema import ANSWER, ID, REPETITION, Status
from simulating import SMALL

Answers = dict[tuple[str, int], str]


def answers_of(run: Run) -> Answers:
    return {(key, number): answer for key, number, answer in run.attempts()[ID, REPETITION, ANSWER].iter_rows()}


def ask(path: Path, **given: Any) -> Answers:
    session = equipoise.start("simulated/stereotyping", probes=["hiring_an"], out=path, **{"sample": 40, **given})
    return answers_of(session.ask())


BIASED = ("stereotyping", "biased", "binary-only")
ASKED_WHOLE = ("inventories", "word_association", "gest_translation")


@pytest.mark.parametrize("name", find_probes())
def test_a_reference_model_that_is_asked_scores_its_reference_values(name: str) -> None:
    """One of each probe: that the answers of all do is among the checks of every probe."""
    probe = find_probes()[name]
    stance = next(stance for stance in BIASED if stance in probe.stances())
    parameters: dict[str, Any] = dict(SMALL.get(name, {}))
    if name in ASKED_WHOLE:
        parameters.pop("sample", None)
    else:
        parameters["sample"] = 60
    audit = equipoise.audit(f"simulated/{stance}", probes=name, suite="quick", **parameters)
    assert audit.origin == "simulated"
    references = {metric.name: metric.references[stance] for metric in probe.metrics if stance in metric.references}
    assert references
    for metric, reference in references.items():
        estimate = audit[name].metrics[metric]
        width = estimate.high - estimate.low
        if math.isnan(width):  # too few items for an interval
            width = 2 / math.sqrt(estimate.n)
        assert abs(estimate.value - reference) <= width + 1e-9, metric


def test_an_unbiased_model_decides_alike_for_both_of_a_pair() -> None:
    audit = equipoise.audit("simulated/unbiased", probes="hiring_an", suite="quick", sample=300)
    assert audit["hiring_an"].metrics["diff_acceptance_rate"].value == 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Answers to three repetitions of forty prompts."""
    return ask(tmp_path_factory.mktemp("whole") / "whole.equipoise", repeat=3)


def test_the_answers_of_a_larger_run_hold_those_of_the_smaller(whole: Answers, tmp_path: Path) -> None:
    larger = ask(tmp_path / "larger.equipoise", sample=50)
    shared = whole.keys() & larger.keys()
    assert len(shared) == 40
    assert {key: larger[key] for key in shared} == {key: whole[key] for key in shared}


def test_another_seed_gives_other_answers(whole: Answers, tmp_path: Path) -> None:
    assert ask(tmp_path / "other.equipoise", repeat=3, model_seed=1) != whole


def test_each_repetition_is_drawn_anew(whole: Answers) -> None:
    assert len(set(whole.values())) == 2
    first = {prompt: answer for (prompt, number), answer in whole.items() if number == 1}
    second = {prompt: answer for (prompt, number), answer in whole.items() if number == 2}
    assert first.keys() == second.keys()
    assert first != second


def test_a_resumed_run_ends_as_one_that_was_not_stopped(tmp_path: Path) -> None:
    path = tmp_path / "stopped.equipoise"
    with pytest.raises(equipoise.EquipoiseError, match="budget"):
        ask(path, max_requests=9)
    assert 0 < Run.open(path).counts.ended < 40
    assert answers_of(equipoise.resume(path).ask()) == ask(tmp_path / "whole.equipoise")


def test_a_run_until_certain_grows_and_is_answered(tmp_path: Path) -> None:
    run = equipoise.start(
        "simulated/unbiased", probes=["jobs_lum"], suite="standard", out=tmp_path / "run.equipoise", until_certain=True
    ).ask()
    assert run.complete
    assert run.counts[Status.OK] == run.counts.planned > run.looks("jobs_lum")[0]


def test_probabilities_are_certain() -> None:
    def value(**given: Any) -> float:
        audit = equipoise.audit("simulated/biased", probes="discrimination_tamkin", sample=30, **given)
        assert audit["discrimination_tamkin"].marks["max_diff"] is not None
        return audit["discrimination_tamkin"].metrics["max_diff"].value

    assert value() == value(probabilities=True) > 0


def test_a_named_probe_must_have_the_stance() -> None:
    words = r"discrimination_tamkin has no reference model 'stereotyping'. .* unbiased"
    with pytest.raises(InputError, match=words):
        choose_probes_for("simulated/stereotyping", ["jobs_lum", "discrimination_tamkin"])


def test_probes_without_the_stance_are_left_out_if_none_is_named() -> None:
    chosen = [probe.name for probe in choose_probes_for("simulated/stereotyping", None)]
    assert "jobs_lum" in chosen
    assert "discrimination_tamkin" not in chosen


def test_a_stance_that_no_probe_has_is_refused_with_those_there_are() -> None:
    words = r"No probe has a reference model 'fair'. There are: .*simulated/unbiased"
    with pytest.raises(InputError, match=words):
        choose_probes_for("simulated/fair", None)


@pytest.mark.parametrize("model", ["simulated/unbiased", "openai/fair"])
def test_all_probes_are_asked_of_a_model_that_can_answer_them(model: str) -> None:
    assert len(choose_probes_for(model, None)) == len(find_probes())


def test_a_text_alone_is_not_answered() -> None:
    model = SimulatedModel("simulated/unbiased")
    with pytest.raises(Refused, match="can only answer the prompts of a run"):
        asyncio.run(model.answer("Hello?", None, Asking()))


def test_a_simulated_model_says_that_it_is_no_language_model() -> None:
    [note] = SimulatedModel("simulated/unbiased").notes
    assert "The answers are simulated" in note
    assert "No language model was asked." in note
