"""Asking for everything pending: each prompt once, progress only for stored attempts, and every way to stop."""

from __future__ import annotations

import asyncio
import itertools
import resource
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import EndpointError, Incomplete, Interrupted, StorageError
from equipoise.models.protocol import AS_SAMPLED, Asking, Reply
from equipoise.runs.ask.events import Event, RunProgress, check_complete, describe_duration
from equipoise.runs.ask.pump import DRAIN_SECONDS, Pump, limit_connections
from equipoise.runs.file import connection
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt
from equipoise.schema import ANSWER, ID, PROMPT, Counts, Status
from runs.fakes import Fake, answering, create, ok, plan, prompts_of, seal, transient
from runs.pumping import Outcome, assert_fatal, make_pump, run, run_pump


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


class Hanging(Fake):
    """A model that answers twenty prompts, and to the others never."""

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
        if int(prompt.split()[1]) >= 20:
            await asyncio.sleep(1e9)
        return await super().answer(prompt, system, asking)


def run_until(path: Path, model: Fake, size: int, act: Callable[[Pump, RunProgress], None], **fields: Any) -> int:
    """Run the pump on a new file, and act on each report; how many attempts are answered in the end."""

    async def work(file: RunFile) -> None:
        def on_event(event: Event) -> None:
            if isinstance(event, RunProgress):
                act(pump, event)

        pump = make_pump(file, model, on_event=on_event, **fields)
        await pump.run()

    with create(path, plan(size=size)) as file:
        try:
            run(work(file))
        finally:
            answered = file.counts()[Status.OK]
            assert model.open_count == 0
    return answered


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Fake, Outcome]:
    """A run of 300 prompts, twice each, seven at a time: its file, its model, and what happened."""
    path = tmp_path_factory.mktemp("whole") / "run.db"
    model = Fake(lambda prompt, nth: ok(prompt, prompt_tokens=3, completion_tokens=2), delay=0.01)
    planned: dict[str, Any] = {"repetitions": 2, "system": lambda place: f"Be {place}." if place else None}
    outcome = run_pump(path, model, 300, planned=planned, concurrency=7)
    assert outcome.error is None
    return path, model, outcome


def test_every_prompt_is_asked_once_and_gets_its_own_answer(
    whole: tuple[Path, Fake, Outcome],
) -> None:
    path, model, outcome = whole
    assert outcome.states == {Status.OK: 600}
    assert set(model.asked.values()) == {2}
    with RunReader.open(path) as file:
        texts = dict(prompts_of(file).select(ID, PROMPT).iter_rows())
    for prompt, answer in outcome.attempts.select(ID, ANSWER).iter_rows():
        assert seal(texts[prompt]) == answer


def test_the_system_part_is_sent_with_its_prompt(whole: tuple[Path, Fake, Outcome]) -> None:
    _, model, _ = whole
    assert model.systems == {f"Prompt {n} of alpha.": f"Be {n}." if n else None for n in range(300)}


def test_the_first_request_is_sent_alone_and_then_as_many_as_allowed(
    whole: tuple[Path, Fake, Outcome],
) -> None:
    _, model, _ = whole
    assert model.at_once[:2] == [1, 1]
    assert model.times[1] - model.times[0] >= 0.009
    assert max(model.at_once) == 7


def test_progress_adds_up_to_the_plan_and_says_what_was_used(
    whole: tuple[Path, Fake, Outcome],
) -> None:
    _, _, outcome = whole
    last = outcome.progress[-1]
    assert (last.counts.planned, last.counts.answered, last.requests) == (600, 600, 600)
    assert (last.prompt_tokens, last.completion_tokens, last.cost) == (1800, 1200, None)
    assert {event.counts.planned for event in outcome.progress} == {600}


def test_progress_counts_only_what_is_committed(path: Path) -> None:
    reports: list[tuple[int, int]] = []

    def compare_with_file(pump: Pump, event: RunProgress) -> None:
        with RunReader.open(path, already_checked=True) as file:
            reports.append((event.counts.answered, file.counts()[Status.OK]))

    model = Fake(lambda prompt, nth: ok(prompt), delay=0.1)
    assert run_until(path, model, 60, compare_with_file) == 60
    assert reports[-1] == (60, 60)
    assert len(set(reports)) > 3, "it is reported while the run goes on"
    assert all(reported <= stored for reported, stored in reports)


@pytest.mark.fault("U8")
def test_a_finished_run_asks_nothing(path: Path) -> None:
    run_pump(path, answering())
    model = answering()
    outcome = run_pump(path, model)
    assert outcome.error is None
    assert (model.requests, outcome.states) == (0, {Status.OK: 10})


@pytest.mark.fault("U8")
def test_tokens_and_cost_are_those_of_all_sessions(path: Path) -> None:
    priced: dict[str, Any] = {"price": lambda prompts, completions: (prompts + completions) / 100}
    model = answering(prompt_tokens=6, completion_tokens=4)
    first = run_pump(path, model, 40, max_requests=7, **priced)
    assert first.progress[-1].prompt_tokens == 42
    for _ in range(2):  # the rest, and then nothing
        last = run_pump(path, model, **priced).progress[-1]
        assert (last.counts.answered, last.prompt_tokens, last.completion_tokens) == (40, 240, 160)
        assert last.cost == pytest.approx(4.0)
    assert model.requests == 40, "a finished run asks nothing"


@pytest.mark.fault("P11")
@pytest.mark.parametrize(("limit", "connections"), [(67, 3), (64, 1), (32, 1), (1024, 16), (-1, 16)])
def test_as_many_connections_as_the_limit_on_open_files_allows(
    monkeypatch: pytest.MonkeyPatch, limit: int, connections: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, -1))
    assert limit_connections(16) == connections


@pytest.mark.fault("P11")
@pytest.mark.parametrize("limit", [0, 31])
def test_with_hardly_any_files_nothing_is_asked(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, -1))
    with pytest.raises(StorageError, match=f"may have only {limit} files open.*ulimit -n 256"):
        limit_connections(16)


@pytest.mark.fault("P11")
def test_a_low_limit_on_open_files_lowers_the_concurrency(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (67 if which == resource.RLIMIT_NOFILE else -1, -1))
    model = Fake(lambda prompt, nth: ok(prompt), delay=1.0)
    outcome = run_pump(path, model, 40, concurrency=16)
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


def test_a_model_that_cannot_be_opened_names_the_run_file(path: Path) -> None:
    class Closed(Fake):
        async def __aenter__(self) -> Any:
            raise EndpointError("The embedded server does not start.")

    outcome = run_pump(path, Closed(lambda prompt, nth: ok(prompt)))
    assert_fatal(outcome, EndpointError, 4, "The embedded server does not start.", path)


def test_a_listener_that_raises_ends_the_run_and_loses_no_answer(path: Path) -> None:
    def listen(pump: Pump, event: RunProgress) -> None:
        if event.counts.answered:
            raise LookupError("drawing")

    model = Fake(lambda prompt, nth: ok(prompt), delay=0.01)
    with pytest.raises(LookupError):
        run_until(path, model, 200, listen)
    with RunReader.open(path) as file:
        assert file.counts()[Status.OK] == model.requests < 200


@pytest.mark.parametrize(
    ("code", "times"),
    [
        pytest.param(130, 1, id="SIGINT", marks=pytest.mark.fault("P2")),
        pytest.param(143, 1, id="SIGTERM", marks=pytest.mark.fault("P4")),
        pytest.param(130, 2, id="SIGINT twice", marks=pytest.mark.fault("P3")),
    ],
)
@pytest.mark.parametrize("kind", [Fake, Hanging])
def test_stopping_stores_what_came_back(path: Path, kind: type[Fake], code: int, times: int) -> None:
    stopped: list[float] = []

    def stop(pump: Pump, event: RunProgress) -> None:
        if event.counts.answered >= 19 and not stopped:
            stopped.append(event.elapsed)
            for _ in range(times):
                pump.stop(code)
        if stopped:
            stopped.append(event.elapsed)

    model = kind(lambda prompt, nth: ok(prompt), delay=0.01)
    with pytest.raises(Interrupted, match=r"Stopped\.\n.*run\.db holds .* of 2,000 .*equipoise resume") as caught:
        run_until(path, model, 2000, stop, deadline=3600.0)
    assert caught.value.exit_code == code
    with RunReader.open(path) as file:
        lost = 4 if times == 2 else 0
        assert model.requests - lost <= file.counts()[Status.OK] < 2000
    waited = stopped[-1] - stopped[0]
    assert waited == pytest.approx(DRAIN_SECONDS if kind is Hanging and times == 1 else 0.0, abs=0.1)


@pytest.mark.parametrize("delay", [0.0, 0.1], ids=["at once", "while it opens"])
def test_stopping_before_the_model_is_open_asks_nothing(path: Path, delay: float) -> None:
    class Opening(Fake):
        async def __aenter__(self) -> Any:
            await asyncio.sleep(3600)

    model = Opening(lambda prompt, nth: ok(prompt))

    async def stopped(file: RunFile) -> None:
        work = make_pump(file, model)
        asyncio.get_running_loop().call_later(delay, work.stop)
        await work.run()

    with create(path) as file, pytest.raises(Interrupted):
        run(stopped(file))
    assert model.requests == 0


def test_cancelling_the_task_stores_the_answers_that_came_back(path: Path) -> None:
    pumps: list[Pump] = []

    def answer(prompt: str, nth: int) -> Reply:
        if model.requests == 130:  # between two commits
            pumps[0]._task.cancel()
        return ok(prompt)

    model = Fake(answer, delay=0.01)
    with pytest.raises(asyncio.CancelledError):
        run_until(path, model, 2000, lambda pump, event: pumps.append(pump))
    with RunReader.open(path) as file:
        answered = file.counts()[Status.OK]
    assert 130 <= model.requests < 140
    assert model.requests - 4 <= answered


def test_a_cancelled_run_closes_its_model_after_the_requests_have_ended(path: Path) -> None:
    happened: list[str] = []

    class Slow(Fake):
        """A model whose requests take a while to end when they are cancelled."""

        async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(0.1)
                happened.append("a request has ended")
            return ok(prompt)

        async def __aexit__(self, *exc_info: object) -> None:
            happened.append("the model is closed")
            await super().__aexit__(*exc_info)

    async def cancelled(file: RunFile) -> None:
        work = asyncio.create_task(make_pump(file, Slow(lambda prompt, nth: ok(prompt)), deadline=7200.0).run())
        asyncio.get_running_loop().call_later(1.0, work.cancel)
        await work

    with create(path) as file, pytest.raises(asyncio.CancelledError):
        run(cancelled(file))
    assert happened == ["a request has ended", "the model is closed"]


def test_it_works_in_a_thread_beside_a_running_loop(path: Path) -> None:
    async def notebook() -> RunProgress:
        with create(path) as file:
            return await asyncio.to_thread(lambda: asyncio.run(make_pump(file, answering()).run()))

    assert asyncio.run(notebook()).counts.answered == 10


def test_missing_answers_are_listed_by_state() -> None:
    counts = Counts({Status.OK: 90, Status.TRUNCATED: 5, Status.TIMEOUT: 3, Status.PENDING: 2})
    assert counts.missing_share == pytest.approx(0.05)
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


@pytest.mark.fault("L7")
def test_an_attempt_that_cannot_be_stored_is_malformed_and_the_others_are_stored(path: Path) -> None:
    odd = {"first_token": [{"token": "\ud83d", "p": 0.5}]}
    outcome = run_pump(
        path,
        Fake(lambda prompt, nth: ok(prompt, **odd if "Prompt 5 " in prompt else {})),
        30,
    )
    assert outcome.error is None
    assert outcome.states == {Status.OK: 29, Status.MALFORMED: 1}
    assert outcome.progress[-1].counts[Status.MALFORMED] == 1


@pytest.mark.fault("L7")
def test_a_number_beyond_all_measure_is_left_out_and_its_answer_stays(path: Path) -> None:
    odd: dict[str, Any] = {"latency": 10**400}
    outcome = run_pump(path, Fake(lambda prompt, nth: ok(prompt, **odd if "Prompt 5 " in prompt else {})), 30)
    assert outcome.error is None
    assert outcome.states == {Status.OK: 30}
    assert outcome.attempts["latency"].null_count() == 30


def test_requests_go_on_while_a_reader_keeps_answers_from_being_stored(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_BUSY_SECONDS", 2.0)  # then a commit that nobody lets through fails
    committing = threading.Event()

    class Waiting(Fake):
        """A model that answers ten prompts, then nothing until they are being stored, then thirty more."""

        async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
            if self.requests >= 10:
                await asyncio.to_thread(committing.wait)
            if self.requests == 40:
                reader.rollback()
            return await super().answer(prompt, system, asking)

    def record(attempts: Sequence[Attempt]) -> int:
        committing.set()
        return RunFile.store(file, attempts)

    model = Waiting(lambda prompt, nth: ok(prompt))
    with create(path, plan(size=60)) as file, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        monkeypatch.setattr(file, "store", record)
        reader.execute("begin")
        reader.execute("select count(*) from prompts").fetchall()
        asyncio.run(make_pump(file, model).run())
        assert (file.counts()[Status.OK], model.requests) == (60, 60)
