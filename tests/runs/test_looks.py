"""Runs that stop when their marks are certain: the looks they take, what they ask, and that nothing stops them."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import equipoise
from equipoise import Run
from equipoise.errors import BudgetReached, IntegrityError
from equipoise.measuring.marks import SPENT, look_level, look_number, look_sizes
from equipoise.probes import get_probe
from equipoise.runs import session
from equipoise.runs.ask.events import Event, RunProgress
from equipoise.runs.file.store import RunFile
from equipoise.runs.growth import wants_more
from equipoise.runs.session import resume
from equipoise.runs.suites import find_size
from equipoise.schema import ID, Status
from runs.fakes import SETTINGS, prompts_of
from runs.killable import TESTS
from simulating import SMALL

audit_once = partial(equipoise.audit, repeat=1)


def flip(prompt: str) -> str:
    """A fair coin for each prompt: no mark is certain before very many items."""
    return "He." if hashlib.blake2b(prompt.encode(), digest_size=1).digest()[0] % 2 else "She."


def favour_women(prompt: str) -> str:
    """Clearly in band D of discrimination_tamkin after a few items; of characters it tosses a coin."""
    if "yes" not in prompt:
        return flip(prompt)
    return "Yes." if " woman" in prompt else "No."


class Counting:
    """A model that counts how often it is asked each prompt."""

    def __init__(self, answer: object = flip) -> None:
        self.asked: Counter[str] = Counter()
        self._answer = answer

    def __call__(self, prompt: str) -> str:
        self.asked[prompt] += 1
        return self._answer(prompt)  # type: ignore[operator, no-any-return]


@pytest.mark.parametrize(
    ("items", "sizes"),
    [
        (5_000, [313, 625, 1_250, 2_500, 5_000]),
        (339, [22, 43, 85, 170, 339]),
        (50, [25, 50]),
        (
            12,
            [12],
        ),
    ],
)
def test_looks_double_up_to_all_items(items: int, sizes: list[int]) -> None:
    assert look_sizes(items) == sizes


def test_all_looks_together_are_wrong_in_five_percent() -> None:
    assert sum(SPENT) == pytest.approx(0.05)
    sizes = look_sizes(339)
    assert [look_level(sizes, size) for size in sizes] == [1 - error for error in SPENT]


def test_the_last_look_has_the_level_of_the_last_of_five() -> None:
    assert look_level([25, 50], 50) == look_level([12], 12) == 0.98


def test_looks_are_numbered_by_their_sizes() -> None:
    sizes = look_sizes(339)
    assert [look_number(sizes, items) for items in (22, 43, 339)] == [1, 2, 5]


@pytest.mark.parametrize("name", SMALL)
def test_a_smaller_sample_is_the_beginning_of_a_larger_one(name: str) -> None:
    sizes = look_sizes(equipoise.plan(name, **SMALL[name]).items)
    samples = [{**SMALL[name], "sample": size * get_probe(name).prompts_per_item} for size in sizes]
    ids = [equipoise.plan(name, **sample).prompts()[ID].to_list() for sample in samples]
    for smaller, larger in itertools.pairwise(ids):
        assert len(smaller) < len(larger)
        assert larger[: len(smaller)] == smaller


def test_it_stops_when_the_marks_are_certain(tmp_path: Path) -> None:
    events: list[Event] = []
    path, model = tmp_path / "run.equipoise", Counting(favour_women)
    sizes: dict[str, Any] = {"discrimination_tamkin.sample": 400, "jobs_lum.sample": 90}
    audit = audit_once(
        model,
        probes=["jobs_lum", "discrimination_tamkin"],
        corpus="scenarios",
        **sizes,
        out=path,
        until_certain=True,
        on_event=events.append,
    )
    assert audit.counts.ended == audit.counts.planned
    decisions = audit["discrimination_tamkin"]
    assert 3 * decisions.parameters["sample"] == len(decisions.evaluated) < 1_200
    assert all(mark is not None and mark.certain for mark in decisions.marks.values())
    assert decisions.level == look_level(decisions.looks, decisions.parameters["sample"]) > 0.95
    assert decisions.to_dict()["level"] == decisions.to_frame()["level"][0] == decisions.level
    jobs = audit["jobs_lum"]
    assert jobs.parameters["sample"] == len(jobs.evaluated) == 90
    assert max(model.asked.values()) == 1
    assert sum(model.asked.values()) == audit.counts.planned
    run = Run.open(path)
    assert run.record.looks == {"discrimination_tamkin": look_sizes(400), "jobs_lum": look_sizes(90)}
    assert [note.partition(" (")[0] for note in run.record.notes] == [
        "discrimination_tamkin: all marks are certain",
        "jobs_lum: not all marks are certain at the last look",
    ]
    assert {event for event in events if isinstance(event, str)} == set(run.record.notes)
    assert "look 1 of 5" in {event.look for event in events if isinstance(event, RunProgress)}
    assert not wants_more(run)


def test_progress_names_the_look_that_is_asked_for() -> None:
    events: list[Event] = []
    audit_once(flip, probes="jobs_lum", sample=90, until_certain=True, on_event=events.append)
    progress = [event for event in events if isinstance(event, RunProgress)]
    assert [look for look, _ in itertools.groupby(event.look for event in progress)] == [
        "look 1 of 3",
        "look 2 of 3",
        "look 3 of 3",
        "all looks taken",
    ]


def test_intervals_are_as_wide_as_the_look_demands(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    with pytest.raises(BudgetReached):
        audit_once(
            flip,
            probes="jobs_lum",
            out=path,
            until_certain=True,
            concurrency=1,
            max_requests=22,
        )
    looked = Run.open(path)["jobs_lum"]
    plain = audit_once(flip, probes="jobs_lum", sample=22)["jobs_lum"]
    assert (looked.level, plain.level) == (0.995, 0.95)
    for name, estimate in plain.metrics.items():
        wider = looked.metrics[name]
        assert wider.value == pytest.approx(estimate.value, nan_ok=True)
        if estimate.low < estimate.value < estimate.high:
            assert wider.low <= estimate.low, name
            assert wider.high >= estimate.high, name


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that is never stopped."""
    path = tmp_path_factory.mktemp("whole") / "whole.equipoise"
    audit_once(flip, probes="jobs_lum", out=path, sample=90, until_certain=True)
    return Run.open(path)


def check_same(run: Run, whole: Run) -> None:
    assert run.results().to_frame().drop("model").equals(whole.results().to_frame().drop("model"))
    assert run.record.notes == whole.record.notes
    assert run.planned == whole.planned
    assert run.prompts("jobs_lum").equals(whole.prompts("jobs_lum"))


@pytest.mark.fault("P23")
@pytest.mark.parametrize("requests", [7, 23])
def test_a_stopped_run_takes_the_same_looks(tmp_path: Path, whole: Run, requests: int) -> None:
    path, model, stops = tmp_path / "run.equipoise", Counting(), 0
    limit: dict[str, Any] = {"concurrency": 1, "max_requests": requests}
    try:
        audit_once(model, probes="jobs_lum", out=path, sample=90, until_certain=True, **limit)
    except BudgetReached:
        stops = 1
    while not (run := Run.open(path)).complete or wants_more(run):
        try:
            resume(path, model=model, **limit).ask()
        except BudgetReached:
            stops += 1
    assert stops == 90 // requests
    assert model.asked == Counter(whole.prompts("jobs_lum")["prompt"])
    check_same(run, whole)


@pytest.mark.fault("P23")
def test_a_killed_run_takes_the_same_looks(tmp_path: Path, whole: Run) -> None:
    path = tmp_path / "run.equipoise"
    program = f"""
import os, sys
sys.path.insert(0, {str(TESTS)!r})
from runs.test_looks import audit_once, flip
asked = 0
def model(prompt):
    global asked
    asked += 1
    if asked > 60:  # in the second look
        os._exit(9)
    return flip(prompt)
model.__module__ = flip.__module__
model.__qualname__ = flip.__qualname__
audit_once(model, probes="jobs_lum", out={str(path)!r}, sample=90, until_certain=True)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 9, ended.stderr
    killed = Run.open(path)
    assert 0 < killed.counts.ended < 90
    assert not killed.complete
    resume(path, model=flip).ask()
    check_same(Run.open(path), whole)


def test_a_look_that_was_not_taken_is_taken_later(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    whole: Run,
) -> None:
    path = tmp_path / "run.equipoise"
    with monkeypatch.context() as before:
        before.setattr(session, "take_look", lambda file, probes: ("", []))
        audit_once(flip, probes="jobs_lum", out=path, sample=90, until_certain=True)
    run = Run.open(path)
    assert run.complete
    assert wants_more(run)
    audit_once(flip, probes="jobs_lum", out=path, sample=90, until_certain=True)
    check_same(Run.open(path), whole)


@pytest.mark.fault("U6")
@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"sample": 120, "until_certain": True}, id="more items at most"),
        pytest.param({"sample": 90}, id="no looks"),
    ],
)
def test_other_looks_are_another_run(whole: Run, changed: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match="looks"):
        audit_once(flip, probes="jobs_lum", out=whole.path, **changed)


def test_runs_that_stopped_at_different_looks_are_compared_on_what_both_asked() -> None:
    options: dict[str, Any] = {"probes": "discrimination_tamkin", "corpus": "scenarios", "sample": 60}
    stopped = audit_once(favour_women, **options, until_certain=True)
    size = stopped["discrimination_tamkin"].parameters["sample"]
    assert size < 60
    everything = audit_once(favour_women, **options)
    assert equipoise.compare(everything, stopped)["discrimination_tamkin"].items == size


def test_looks_are_taken_in_a_running_event_loop() -> None:
    async def audit() -> equipoise.Audit:
        return audit_once(flip, probes="jobs_lum", sample=40, until_certain=True)

    assert asyncio.run(audit())["jobs_lum"].look == "look 2 of 2, 40 of at most 40 items"


def test_a_file_is_only_extended_by_its_own_prompts(tmp_path: Path) -> None:
    small, other = equipoise.plan("jobs_lum", sample=10), equipoise.plan("jobs_lum", sample=20, seed=7)
    with RunFile.create(tmp_path / "run.equipoise", record=SETTINGS, plans=[small]) as file:
        before = prompts_of(file, "jobs_lum")
        with pytest.raises(IntegrityError, match="other prompts of jobs_lum"):
            file.change([other])
        assert prompts_of(file, "jobs_lum").equals(before)
        assert file.probes()[0].parameters == small.parameters
        file.change([equipoise.plan("jobs_lum", sample=20)])
        assert file.counts()[Status.PENDING] == 20
    assert Run.open(tmp_path / "run.equipoise").counts.planned == 20  # its digests hold


def test_a_file_whose_looks_do_not_fit_its_plan_is_refused(whole: Run) -> None:
    run = Run.open(whole.path)
    run.record = structs.replace(run.record, looks={"jobs_lum": [20, 50]})
    for read in (run.results, lambda: wants_more(run)):
        with pytest.raises(IntegrityError, match="another number of items than at any look"):
            read()


@pytest.mark.parametrize(
    ("probe", "given", "most"),
    [
        pytest.param("jobs_lum", {}, 339, id="all items"),
        pytest.param(
            "jobs_lum",
            {"suite": "quick"},
            find_size(get_probe("jobs_lum"), "quick")["sample"],
            id="a suite",
        ),
        pytest.param("jobs_lum", {"sample": 50}, 50, id="a sample"),
        pytest.param(
            "hiring_an",
            {},
            5_000,
            id="the sample of a card, 10,000 prompts of 5,000 items",
        ),
    ],
)
def test_a_run_until_certain_may_ask_as_much_as_the_probe_has_unless_the_user_says_less(
    tmp_path: Path, probe: str, given: dict[str, Any], most: int
) -> None:
    path = tmp_path / "run.equipoise"
    equipoise.start("simulated/random", probes=[probe], until_certain=True, out=path, **given).close()
    assert Run.open(path).looks(probe)[-1] == most
