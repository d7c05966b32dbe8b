"""Reference models of the probes as models: the same answers whatever is asked when, and the values they must score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.errors import InputError
from equipoise.probes import find_probes
from equipoise.runs.run import Run
from equipoise.runs.suites import choose_probes_for
from equipoise.schema import ANSWER, ID, REPETITION, Status

Answers = dict[tuple[str, int], str]


def answers_of(run: Run) -> Answers:
    return {(key, number): answer for key, number, answer in run.attempts()[ID, REPETITION, ANSWER].iter_rows()}


def ask(path: Path, **given: Any) -> Answers:
    session = equipoise.start("simulated/stereotyping", probes=["hiring_an"], out=path, **{"sample": 40, **given})
    return answers_of(session.ask())


def test_answers_depend_on_seed_item_and_repetition_alone(tmp_path: Path) -> None:
    whole = ask(tmp_path / "whole.equipoise", repeat=3)
    assert len(set(whole.values())) == 2
    larger = ask(tmp_path / "larger.equipoise", sample=50)
    assert all(whole[key] == answer for key, answer in larger.items() if key in whole)
    assert len(whole.keys() & larger.keys()) == 40
    assert ask(tmp_path / "other.equipoise", repeat=3, model_seed=1) != whole
    firsts, seconds = ({key: answer for (key, n), answer in whole.items() if n == number} for number in (1, 2))
    assert firsts != seconds


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
        return audit["discrimination_tamkin"].metrics["max_diff"].value

    assert value() == value(probabilities=True) > 0


def test_named_probes_must_have_the_stance_and_others_are_left_out() -> None:
    with pytest.raises(InputError, match=r"discrimination_tamkin has no reference model 'stereotyping'. .* unbiased"):
        choose_probes_for("simulated/stereotyping", ["jobs_lum", "discrimination_tamkin"])
    chosen = [probe.name for probe in choose_probes_for("simulated/stereotyping", None)]
    assert "jobs_lum" in chosen
    assert "discrimination_tamkin" not in chosen
    with pytest.raises(InputError, match=r"No probe has a reference model 'fair'. There are: .*simulated/unbiased"):
        choose_probes_for("simulated/fair", None)
    for model in ("simulated/unbiased", "openai/fair"):
        assert len(choose_probes_for(model, None)) == len(find_probes())
