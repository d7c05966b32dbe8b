"""A run is extended: every answer stays, only what is missing is asked, and the result is that of the larger run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.errors import BudgetReached, InputError, IntegrityError
from equipoise.runs.estimate import RunEstimate
from equipoise.runs.file.reader import RunReader
from equipoise.runs.finished import verify_run
from equipoise.runs.run import Run
from simulating import simulated


class Model:
    """Answers by the text of the prompt, but for the first ones, and counts how often each was asked."""

    def __init__(self, unanswered: int = 0) -> None:
        self.asked: Counter[str] = Counter()
        self.unanswered = unanswered

    def __call__(self, prompt: str) -> str:
        self.asked[prompt] += 1
        if self.asked.total() <= self.unanswered:
            return ""
        return "He is kind." if len(prompt) % 3 else "She is kind."


def ask(model: Any, path: Path, **given: Any) -> Run:
    equipoise.audit(model, probes=["jobs_lum"], out=path, **given)
    return Run.open(path)


@pytest.mark.parametrize(
    ("first", "more", "whole", "asked"),
    [
        pytest.param({"sample": 24}, {"sample": 60}, {"sample": 60}, 36, id="items"),
        pytest.param(
            {"sample": 24},
            {"repeat": 3},
            {"sample": 24, "repeat": 3},
            48,
            id="repetitions",
        ),
        pytest.param(
            {"sample": 24, "repeat": 2},
            {"sample": 30},
            {"sample": 30, "repeat": 2},
            12,
            id="items of a run with repetitions",
        ),
        pytest.param({"suite": "quick"}, {"suite": "ci"}, {"suite": "ci"}, None, id="a suite"),
    ],
)
def test_an_extended_run_is_the_larger_run(
    tmp_path: Path, first: dict[str, Any], more: dict[str, Any], whole: dict[str, Any], asked: int | None
) -> None:
    model, path = Model(), tmp_path / "run.equipoise"
    before = ask(model, path, **first)
    answers = before.attempts().rows()
    already = model.asked.total()
    run = equipoise.extend(path, model=model, **more).ask()
    if asked is not None:
        assert model.asked.total() - already == asked
    assert set(answers) <= set(run.attempts().rows()), "every answer stays"
    larger = ask(Model(), tmp_path / "larger.equipoise", **whole)
    assert run.prompts("jobs_lum").equals(larger.prompts("jobs_lum"))
    assert run["jobs_lum"].to_dict() == larger["jobs_lum"].to_dict()
    assert run.complete
    assert not verify_run(path).problems
    with RunReader.open(path) as reader:
        assert reader.spec.command() != before.record.spec.command()


def test_the_command_that_would_have_asked_all_goes_on_with_an_extended_run(tmp_path: Path) -> None:
    model, path = Model(), tmp_path / "run.equipoise"
    ask(model, path, sample=24)
    with pytest.raises(IntegrityError, match=r"equipoise extend .*run\.equipoise --sample 60"):
        ask(model, path, sample=60)
    equipoise.extend(path, model=model, sample=60).ask()
    ask(model, path, sample=60)
    assert set(model.asked.values()) == {1}


def test_other_prompts_are_another_run_and_no_extension_is_offered(tmp_path: Path) -> None:
    model = Model()
    path = tmp_path / "run.equipoise"
    ask(model, path, sample=24)
    with pytest.raises(IntegrityError) as caught:
        ask(model, path, sample=90, seed=7)
    assert "equipoise extend" not in str(caught.value)


@pytest.mark.fault("P36")
def test_an_extension_that_is_stopped_goes_on(tmp_path: Path) -> None:
    model, path = Model(), tmp_path / "run.equipoise"
    ask(model, path, sample=24)
    with pytest.raises(BudgetReached):
        equipoise.extend(path, model=model, sample=60, concurrency=1, max_requests=10).ask()
    run = equipoise.resume(path, model=model).ask()
    assert (run.complete, run.counts.planned, set(model.asked.values())) == (True, 60, {1})


def test_certain_asks_what_the_answers_so_far_call_for(tmp_path: Path) -> None:
    model, path = Model(), tmp_path / "run.equipoise"
    ask(model, path, sample=40)
    assert equipoise.extend(path, model=model, certain=True).ask()["jobs_lum"].items > 40
    assert set(model.asked.values()) == {1}


@pytest.mark.parametrize("unanswered", [0, 1])
def test_until_certain_begins_with_what_is_there(tmp_path: Path, unanswered: int) -> None:
    model, path = Model(unanswered), tmp_path / "run.equipoise"
    ask(model, path, sample=25)
    run = equipoise.extend(path, model=model, until_certain=True).ask()
    sizes = run.looks("jobs_lum")
    assert (sizes[0], sizes[1], len(sizes)) == (25, 50, 5)
    assert run["jobs_lum"].items + unanswered in sizes
    assert set(model.asked.values()) == {1}


def test_a_run_that_is_asked_until_it_is_certain_is_not_made_so_again_and_may_be_repeated(
    tmp_path: Path,
) -> None:
    model = Model()
    path = tmp_path / "run.equipoise"
    ask(model, path, sample=25)
    items = equipoise.extend(path, model=model, until_certain=True).ask()["jobs_lum"].items
    with pytest.raises(InputError, match="is asked until it is certain already"):
        equipoise.extend(path, model=model, until_certain=True)
    repeated = equipoise.extend(path, model=model, repeat=2).ask()
    assert repeated["jobs_lum"].items >= items
    assert repeated.planned["jobs_lum"].repetitions == 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        pytest.param({}, "in one way", id="nothing is said"),
        pytest.param({"sample": 30, "repeat": 2}, "in one way", id="two ways"),
        pytest.param({"sample": 24}, "holds as much already", id="as many items"),
        pytest.param({"sample": 12}, "holds as much already", id="fewer items"),
        pytest.param({"repeat": 1}, "holds as much already", id="as many repetitions"),
    ],
)
def test_what_is_no_extension_changes_nothing(tmp_path: Path, more: dict[str, Any], words: str) -> None:
    model, path = Model(), tmp_path / "run.equipoise"
    ask(model, path, sample=24)
    before = path.read_bytes()
    with pytest.raises(InputError, match=words):
        equipoise.extend(path, model=model, **more)
    assert path.read_bytes() == before


def test_only_what_is_missing_is_estimated_and_a_no_changes_nothing(tmp_path: Path) -> None:
    path, told = tmp_path / "run.equipoise", list[RunEstimate]()
    simulated(path, {"jobs_lum": "random"}, model="custom/model", parameters={"jobs_lum": {"sample": 24}})
    before = path.read_bytes()

    def refuse(expected: RunEstimate) -> None:
        told.append(expected)
        raise InputError("Not started.")

    with pytest.raises(InputError, match="Not started"):
        equipoise.extend(path, sample=60, confirm=refuse)
    assert told[0].total("attempts") == 36
    assert path.read_bytes() == before


def test_runs_of_different_samples_are_compared_on_what_both_asked(tmp_path: Path) -> None:
    small = ask(Model(), tmp_path / "small.equipoise", sample=40)
    large = ask(Model(), tmp_path / "large.equipoise", sample=90)
    [probe] = equipoise.compare(small, large).probes.values()
    assert (probe.items, probe.prompts) == (40, 40)


def test_runs_of_different_seeds_are_not_compared(tmp_path: Path) -> None:
    small = ask(Model(), tmp_path / "small.equipoise", sample=40)
    other = ask(Model(), tmp_path / "other.equipoise", sample=40, seed=7)
    with pytest.raises(InputError, match="seed is"):
        equipoise.compare(small, other)
