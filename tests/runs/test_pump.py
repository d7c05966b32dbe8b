"""Asking for all that is pending: each prompt once, progress only for what is stored, and every way to stop."""

from __future__ import annotations

import asyncio
import itertools
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import EndpointError, Incomplete
from equipoise.frames import ANSWER, ID, PROMPT, Status
from equipoise.models.protocol import Reply
from equipoise.runs import (
    Event,
    Interrupted,
    Policy,
    Progress,
    Pump,
    RunFile,
    check_complete,
    missing_share,
    pump,
)
from equipoise.runs.pacing import most_connections
from runs.fakes import QUICK, Fake, answering, create, ok, passing, plan, seal
from runs.sittings import assert_fatal, sit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def test_every_prompt_is_asked_once_and_its_answer_is_its_own(path: Path) -> None:
    model = Fake(lambda prompt, nth: ok(prompt, prompt_tokens=3, completion_tokens=2), delay=0.001)
    sitting = sit(path, model, 300, repetitions=2)
    assert sitting.error is None
    assert sitting.states == {Status.OK: 600}
    assert set(model.asked.values()) == {2}
    with RunFile.read(path) as run:
        texts = dict(run.prompts("alpha").select(ID, PROMPT).iter_rows())
        assert all(seal(texts[prompt]) == answer for prompt, answer in sitting.attempts.select(ID, ANSWER).iter_rows())
    last = sitting.progress[-1]
    assert (last.planned, last.answered, last.requests, last.in_flight) == (600, 600, 600, 0)
    assert (last.prompt_tokens, last.completion_tokens, last.cost) == (1800, 1200, None)
    for event in sitting.progress:
        assert sum(event.counts.values()) == event.planned == 600


def test_tokens_and_cost_are_those_of_all_sittings(path: Path) -> None:
    priced = replace(QUICK, price=lambda prompts, completions: (prompts + completions) / 100)
    model = answering(prompt_tokens=6, completion_tokens=4)
    first = sit(path, model, 40, policy=replace(priced, max_requests=7))
    assert first.progress[-1].prompt_tokens == 42
    for _ in range(2):  # the rest, and then nothing
        last = sit(path, model, policy=priced).progress[-1]
        assert (last.answered, last.prompt_tokens, last.completion_tokens) == (40, 240, 160)
        assert last.cost == pytest.approx(4.0)


def test_u8_a_finished_run_asks_nothing(path: Path) -> None:
    sit(path, answering())
    model = answering()
    sitting = sit(path, model)
    assert sitting.error is None
    assert (model.requests, sitting.states) == (0, {Status.OK: 10})


def test_progress_counts_only_what_is_committed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = 0
    seen: list[tuple[int, int]] = []
    record = RunFile.record

    def counting(run: RunFile, attempts: Any) -> int:
        nonlocal stored
        new = record(run, attempts)
        stored += new
        return new

    monkeypatch.setattr(RunFile, "record", counting)
    with create(path, plan(size=200)) as run:

        def check(event: Event) -> None:
            assert isinstance(event, Progress)
            seen.append((event.answered, stored))

        asyncio.run(pump(run, answering(), QUICK, check))
    assert seen[-1] == (200, 200)
    assert all(answered <= there for answered, there in seen)


def test_the_first_request_goes_alone_and_then_no_more_than_allowed(path: Path) -> None:
    model = Fake(lambda prompt, nth: ok(prompt), delay=0.01)
    sit(path, model, 60, policy=replace(QUICK, concurrency=7))
    assert model.times[1] - model.times[0] >= 0.009
    assert max(model.at_once) == 7


def test_p11_few_open_files_cap_the_concurrency(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (67 if which == resource.RLIMIT_NOFILE else -1, -1))
    assert most_connections(16) == 3
    model = Fake(lambda prompt, nth: ok(prompt), delay=0.001)
    sitting = sit(path, model, 40, policy=replace(QUICK, concurrency=16))
    assert max(model.at_once) == 3
    assert sitting.said == ["Only 3 requests at a time: this process may not have more files open."]


def test_p8_no_timer_follows_the_time_of_day(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = itertools.cycle([0.0, 1e9, 2e9])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    faults = [passing("server"), passing("rate_limit", retry_after=0.01)]
    model = Fake(lambda prompt, nth: faults[nth - 1] if nth < 3 else ok(prompt))
    assert sit(path, model).states == {Status.OK: 10}


def test_a_bug_in_a_model_is_raised_as_it_is_and_loses_nothing(path: Path) -> None:
    def script(prompt: str, nth: int) -> Reply:
        return ok(prompt) if "Prompt 5 " not in prompt else 1 / 0  # type: ignore[return-value]

    sitting = sit(path, Fake(script), 50)
    assert isinstance(sitting.error, ZeroDivisionError)
    assert sitting.counts[Status.OK] >= 5


def test_a_listener_that_raises_ends_the_run_and_loses_nothing(path: Path) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, Progress) and event.answered:
            raise LookupError("drawing")

    model = Fake(lambda prompt, nth: ok(prompt), delay=0.005)
    with create(path, plan(size=200)) as run:
        with pytest.raises(LookupError):
            asyncio.run(pump(run, model, QUICK, listen))
        assert run.counts()[Status.OK] == model.requests < 200


def test_a_model_that_cannot_be_opened_names_the_run_file(path: Path) -> None:
    class Closed(Fake):
        async def __aenter__(self) -> Any:
            raise EndpointError("The embedded server does not start.")

    sitting = sit(path, Closed(lambda prompt, nth: ok(prompt)))
    assert_fatal(sitting, EndpointError, 4, "The embedded server does not start.", path)


async def stopped_at(run: RunFile, model: Fake, answered: int, *codes: int, policy: Policy = QUICK) -> None:
    """Run the pump until so much is answered, then stop it once for each code."""

    def listen(event: Event) -> None:
        if isinstance(event, Progress) and event.answered >= answered:
            while left:
                work.stop(left.pop())

    left = list(codes)
    work = Pump(run, model, policy, listen)
    await work.run()


@pytest.mark.parametrize("code", [pytest.param(130, id="P2"), pytest.param(143, id="P4")])
def test_stopping_once_drains(path: Path, code: int) -> None:
    model = Fake(lambda prompt, nth: ok(prompt), delay=0.01)
    with create(path, plan(size=2000)) as run:
        with pytest.raises(Interrupted, match=r"Stopped\. .*run\.db holds .* of 2,000 .*equipoise resume") as caught:
            asyncio.run(stopped_at(run, model, 20, code))
        assert caught.value.exit_code == code
        assert run.counts()[Status.OK] == model.requests < 2000


def test_p3_stopping_twice_does_not_wait(path: Path) -> None:
    class Hanging(Fake):
        async def answer(self, prompt: str) -> Reply:
            if int(prompt.split()[1]) >= 20:
                await asyncio.sleep(3600)
            return await super().answer(prompt)

    model = Hanging(lambda prompt, nth: ok(prompt))
    with create(path, plan(size=100)) as run:
        with pytest.raises(Interrupted):
            asyncio.run(stopped_at(run, model, 20, 130, 130, policy=replace(QUICK, drain=3600.0, deadline=3600.0)))
        assert run.counts()[Status.OK] == 20


def test_stopping_before_the_model_is_open_asks_nothing(path: Path) -> None:
    class Opening(Fake):
        async def __aenter__(self) -> Any:
            await asyncio.sleep(3600)

    model = Opening(lambda prompt, nth: ok(prompt))

    async def stopped(run: RunFile, delay: float) -> None:
        work = Pump(run, model, QUICK, lambda event: None)
        if delay:
            asyncio.get_running_loop().call_later(delay, work.stop)
        else:
            work.stop()
        await work.run()

    with create(path) as run:
        for delay in (0.0, 0.1):
            with pytest.raises(Interrupted):
                asyncio.run(stopped(run, delay))
    assert model.requests == 0


def test_cancelling_the_task_stores_what_came_back(path: Path) -> None:
    model = Fake(lambda prompt, nth: ok(prompt), delay=0.002)

    async def cancelled(run: RunFile) -> None:
        def listen(event: Event) -> None:
            if model.requests > 20:
                task.cancel()

        task = asyncio.create_task(pump(run, model, QUICK, listen))
        await task

    with create(path, plan(size=2000)) as run:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(cancelled(run))
        assert model.requests - QUICK.concurrency <= run.counts()[Status.OK] < 2000


def test_it_works_in_a_thread_beside_a_running_loop(path: Path) -> None:
    async def notebook() -> Progress:
        with create(path) as run:
            return await asyncio.to_thread(lambda: asyncio.run(pump(run, answering(), QUICK)))

    assert asyncio.run(notebook()).answered == 10


def test_what_is_missing_is_named_by_state() -> None:
    counts = dict.fromkeys(Status, 0) | {Status.OK: 90, Status.TRUNCATED: 5, Status.TIMEOUT: 3, Status.PENDING: 2}
    assert missing_share(counts) == pytest.approx(0.05)
    check_complete(counts, Path("run.db"), 0.06)
    with pytest.raises(Incomplete, match=r"5\.0% of the 100 .*at most 1\.0%.*2 pending, 3 timeout\. To ask") as caught:
        check_complete(counts, Path("run.db"), 0.01)
    assert caught.value.exit_code == 3
