"""Asking for everything pending: each prompt once, progress only for stored attempts, and every way to stop."""

from __future__ import annotations

import asyncio
import itertools
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import EndpointError, Incomplete, Interrupted
from equipoise.models.protocol import AS_SAMPLED, Asking, Reply
from equipoise.runs.ask.events import Event, RunProgress, describe_duration
from equipoise.runs.ask.gate import limit_connections
from equipoise.runs.ask.policy import Policy, check_complete
from equipoise.runs.ask.pump import Pump, pump
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.schema import ANSWER, ID, PROMPT, Status, missing_share
from runs.fakes import QUICK, Fake, answering, create, ok, plan, seal, transient
from runs.pumping import assert_fatal, run_pump
from serving.faulty import FaultyServer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def test_every_prompt_is_asked_once_and_gets_its_own_answer(path: Path) -> None:
    model = Fake(lambda prompt, nth: ok(prompt, prompt_tokens=3, completion_tokens=2), delay=0.001)
    outcome = run_pump(path, model, 300, repetitions=2)
    assert outcome.error is None
    assert outcome.states == {Status.OK: 600}
    assert set(model.asked.values()) == {2}
    with RunReader.open(path) as run:
        texts = dict(run.prompts("alpha").select(ID, PROMPT).iter_rows())
        assert all(seal(texts[prompt]) == answer for prompt, answer in outcome.attempts.select(ID, ANSWER).iter_rows())
    last = outcome.progress[-1]
    assert (last.planned, last.answered, last.requests, last.in_flight) == (600, 600, 600, 0)
    assert (last.prompt_tokens, last.completion_tokens, last.cost) == (1800, 1200, None)
    for event in outcome.progress:
        assert sum(event.counts.values()) == event.planned == 600


def test_the_system_part_is_sent_with_its_prompt(path: Path) -> None:
    model = answering()
    run_pump(path, model, 4, system=lambda place: f"Be {place}." if place else None)
    assert model.systems == {f"Prompt {n} of alpha.": f"Be {n}." if n else None for n in range(4)}


def test_tokens_and_cost_are_those_of_all_sessions(path: Path) -> None:
    priced = replace(QUICK, price=lambda prompts, completions: (prompts + completions) / 100)
    model = answering(prompt_tokens=6, completion_tokens=4)
    first = run_pump(path, model, 40, policy=replace(priced, max_requests=7))
    assert first.progress[-1].prompt_tokens == 42
    for _ in range(2):  # the rest, and then nothing
        last = run_pump(path, model, policy=priced).progress[-1]
        assert (last.answered, last.prompt_tokens, last.completion_tokens) == (40, 240, 160)
        assert last.cost == pytest.approx(4.0)


@pytest.mark.fault("U8")
def test_a_finished_run_asks_nothing(path: Path) -> None:
    run_pump(path, answering())
    model = answering()
    outcome = run_pump(path, model)
    assert outcome.error is None
    assert (model.requests, outcome.states) == (0, {Status.OK: 10})


def test_progress_counts_only_what_is_committed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = 0
    reports: list[tuple[int, int]] = []
    record = RunFile.record

    def counting(run: RunFile, attempts: Any) -> int:
        nonlocal stored
        new = record(run, attempts)
        stored += new
        return new

    monkeypatch.setattr(RunFile, "record", counting)
    with create(path, plan(size=200)) as run:

        def check(event: Event) -> None:
            assert isinstance(event, RunProgress)
            reports.append((event.answered, stored))

        asyncio.run(pump(run, answering(), QUICK, check))
    assert reports[-1] == (200, 200)
    assert all(answered <= committed for answered, committed in reports)


def test_the_first_request_is_sent_alone_and_then_no_more_than_allowed(path: Path) -> None:
    model = Fake(lambda prompt, nth: ok(prompt), delay=0.01)
    run_pump(path, model, 60, policy=replace(QUICK, concurrency=7))
    assert model.times[1] - model.times[0] >= 0.009
    assert max(model.at_once) == 7


@pytest.mark.fault("P11")
def test_a_low_limit_on_open_files_lowers_the_concurrency(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (67 if which == resource.RLIMIT_NOFILE else -1, -1))
    assert limit_connections(16) == 3
    model = Fake(lambda prompt, nth: ok(prompt), delay=0.001)
    outcome = run_pump(path, model, 40, policy=replace(QUICK, concurrency=16))
    assert max(model.at_once) == 3
    assert outcome.notes == ["Only 3 requests at a time: this process may not have more files open."]


@pytest.mark.fault("P8")
def test_jumps_of_the_clock_change_no_timer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = itertools.cycle([0.0, 1e9, 2e9])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    faults = [transient("server"), transient("rate_limit", retry_after=0.01)]
    model = Fake(lambda prompt, nth: faults[nth - 1] if nth < 3 else ok(prompt))
    assert run_pump(path, model).states == {Status.OK: 10}


def test_a_bug_in_a_model_is_raised_unchanged_and_loses_no_answer(path: Path) -> None:
    def script(prompt: str, nth: int) -> Reply:
        return ok(prompt) if "Prompt 5 " not in prompt else 1 / 0  # type: ignore[return-value]

    outcome = run_pump(path, Fake(script), 50)
    assert isinstance(outcome.error, ZeroDivisionError)
    assert outcome.counts[Status.OK] >= 5


def test_a_listener_that_raises_ends_the_run_and_loses_no_answer(path: Path) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, RunProgress) and event.answered:
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

    outcome = run_pump(path, Closed(lambda prompt, nth: ok(prompt)))
    assert_fatal(outcome, EndpointError, 4, "The embedded server does not start.", path)


async def stop_at(run: RunFile, model: Fake, answered: int, *codes: int, policy: Policy = QUICK) -> None:
    """Run the pump until this many attempts are answered, then stop it once for each exit code."""

    def listen(event: Event) -> None:
        if isinstance(event, RunProgress) and event.answered >= answered:
            while left:
                work.stop(left.pop())

    left = list(codes)
    work = Pump(run, model, policy, listen)
    await work.run()


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(130, id="SIGINT", marks=pytest.mark.fault("P2")),
        pytest.param(143, id="SIGTERM", marks=pytest.mark.fault("P4")),
    ],
)
def test_stopping_once_waits_for_requests_under_way(path: Path, code: int) -> None:
    model = Fake(lambda prompt, nth: ok(prompt), delay=0.01)
    with create(path, plan(size=2000)) as run:
        with pytest.raises(Interrupted, match=r"Stopped\.\n.*run\.db holds .* of 2,000 .*equipoise resume") as caught:
            asyncio.run(stop_at(run, model, 20, code))
        assert caught.value.exit_code == code
        assert run.counts()[Status.OK] == model.requests < 2000


@pytest.mark.fault("P3")
def test_stopping_twice_does_not_wait(path: Path) -> None:
    class Hanging(Fake):
        async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
            if int(prompt.split()[1]) >= 20:
                await asyncio.sleep(3600)
            return await super().answer(prompt, system)

    model = Hanging(lambda prompt, nth: ok(prompt))
    with create(path, plan(size=100)) as run:
        with pytest.raises(Interrupted):
            asyncio.run(stop_at(run, model, 20, 130, 130, policy=replace(QUICK, drain=3600.0, deadline=3600.0)))
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


def test_cancelling_the_task_stores_the_answers_that_came_back(path: Path) -> None:
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
    async def notebook() -> RunProgress:
        with create(path) as run:
            return await asyncio.to_thread(lambda: asyncio.run(pump(run, answering(), QUICK)))

    assert asyncio.run(notebook()).answered == 10


def test_missing_answers_are_listed_by_state() -> None:
    counts = dict.fromkeys(Status, 0) | {Status.OK: 90, Status.TRUNCATED: 5, Status.TIMEOUT: 3, Status.PENDING: 2}
    assert missing_share(counts) == pytest.approx(0.05)
    check_complete(counts, Path("run.db"), 0.06)
    with pytest.raises(Incomplete, match=r"5\.0% of the 100 .*at most 1\.0%.*2 pending, 3 timeout\.\nTo ask") as caught:
        check_complete(counts, Path("run.db"), 0.01)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (55.2, "55 s"),
        (59.7, "1 min"),
        (90, "1 min 30 s"),
        (600, "10 min"),
        (605, "10 min 05 s"),
        (3600, "1 h"),
        (3780, "1 h 03 min"),
        (100 * 3600 + 59, "100 h"),
    ],
)
def test_durations_are_described_in_words(seconds: float, words: str) -> None:
    assert describe_duration(seconds) == words


@pytest.mark.fault("P11")
@pytest.mark.parametrize("limit", range(8, 40, 3))
def test_with_too_few_open_files_nothing_is_sent_that_could_not_be_stored(tmp_path: Path, limit: int) -> None:
    """Whatever the limit is, the command ends in order: done, or a sentence and exit 5."""
    path = tmp_path / "run.equipoise"
    with FaultyServer() as server:
        command = [sys.executable, "-m", "equipoise", "run", "custom/m", f"--base-url={server.url}", f"--out={path}"]
        command += ["--suite=quick", "--probe=hiring_an", "--max-tokens=8"]
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
        )
        requests = server.total
    assert "Traceback" not in ended.stderr
    assert ended.returncode in (0, 5), ended.stderr
    assert (requests > 0) == (ended.returncode == 0)


@pytest.mark.fault("L7")
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"first_token": [{"token": "\ud83d", "p": 0.5}]}, id="half a character"),
        pytest.param({"latency": 10**400}, id="a number of 400 digits"),
    ],
)
def test_an_attempt_that_cannot_be_stored_is_malformed_and_the_others_are_stored(
    path: Path, fields: dict[str, Any]
) -> None:
    outcome = run_pump(path, Fake(lambda prompt, nth: ok(prompt, **fields if "Prompt 5 " in prompt else {})), 30)
    assert outcome.error is None
    assert outcome.states == {Status.OK: 29, Status.MALFORMED: 1}
    assert outcome.progress[-1].counts[Status.MALFORMED] == 1
