"""Outages of a real server on this machine, with real sockets, signals and time."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import pytest
from aiohttp import web

from equipoise.errors import EndpointError
from equipoise.models.chat.model import make_chat_model
from equipoise.runs.ask import decide
from equipoise.runs.ask.limits import Budget
from equipoise.runs.ask.pump import Pump
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.spec import RunSpec
from equipoise.schema import Status
from runs.fakes import create, plan
from runs.killable import LONGEST_WAIT, HeldAnswers, start, wait_until
from serving.faults import Exchange, Fault
from serving.faulty import Behaviour, FaultyServer, sealed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of milliseconds instead of seconds."""
    monkeypatch.setattr(decide, "FIRST_BACKOFF", 0.005)
    monkeypatch.setattr(decide, "LONGEST_BACKOFF", 0.02)


def ask(
    path: Path, server: FaultyServer, size: int, deadline: float = 60.0, patience: float = 60.0
) -> dict[Status, int]:
    """Ask the server for what is pending; return how many attempts are in each state then."""
    spec = RunSpec(concurrency=4, deadline=deadline, patience=patience)
    model = make_chat_model("custom/m", base_url=server.url, environ={}, deadline=deadline)
    with RunFile.open(path) if path.exists() else create(path, plan(size=size)) as file:
        try:
            asyncio.run(
                Pump(file=file, model=model, spec=spec, budget=Budget(spec, file, {})).run(),
            )
        finally:
            counts = file.counts()
    return {status: count for status, count in counts.items() if count}


def down(fault: Fault, requests: range) -> Behaviour:
    """A server that answers, but for the requests of these numbers."""
    numbers = iter(range(10_000))
    return lambda prompt, nth: fault if next(numbers) in requests else sealed(prompt)


@pytest.mark.fault("E26")
@pytest.mark.parametrize("fault", [Fault.SERVER_500, Fault.HTML_502, Fault.RESET, Fault.HANG_UP])
@pytest.mark.parametrize(
    "requests",
    [pytest.param(range(30), id="from the start"), pytest.param(range(20, 50), id="later")],
)
def test_an_outage_of_a_server_makes_no_attempt_fail(
    path: Path,
    fault: Fault,
    requests: range,
) -> None:
    """It outlasts all tries of the four attempts that are under way when it begins."""
    with FaultyServer(down(fault, requests)) as server:
        assert ask(path, server, 100) == {Status.OK: 100}
        assert server.total <= 100 + len(requests) + 10, "little is asked twice"


@pytest.mark.fault("E26")
@pytest.mark.parametrize(("fault", "deadline"), [(Fault.SERVER_500, 60.0), (Fault.SILENT, 1.5)])
def test_an_outage_of_a_server_that_lasts_ends_the_run_and_leaves_the_attempts_pending(
    path: Path, fault: Fault, deadline: float
) -> None:
    with FaultyServer(down(fault, range(20, 10_000))) as server:
        with pytest.raises(EndpointError, match="has not answered for") as caught:
            ask(path, server, 100, deadline, patience=0.4)
        assert caught.value.exit_code == 4
    with RunReader.open(path) as run:
        counts = run.counts()
    assert counts[Status.OK] + counts[Status.PENDING] == 100
    with FaultyServer() as server:
        assert ask(path, server, 100) == {Status.OK: 100}


@pytest.mark.fault("E4")
@pytest.mark.parametrize("fault", [Fault.SERVER_500, Fault.RESET])
def test_a_prompt_that_always_fails_ends_as_its_own_failure(path: Path, fault: Fault) -> None:
    with FaultyServer(
        lambda prompt, nth: fault if "Prompt 5 " in prompt else sealed(prompt),
    ) as server:
        assert ask(path, server, 60) == {Status.OK: 59, Status.HTTP_ERROR: 1}
        assert server.requests["Prompt 5 of alpha."] == RunSpec().tries


@pytest.mark.fault("P20")
def test_a_process_that_was_stopped_beyond_the_deadline_asks_again(path: Path) -> None:
    create(path, plan(size=60)).close()
    answers = HeldAnswers()
    with FaultyServer(answers) as server:
        child = start(path, server, "--deadline=2.5", "--concurrency=4")
        try:
            wait_until(lambda: server.total >= 10)
            answers.may_answer.clear()
            wait_until(lambda: answers.held >= 4)
            child.send_signal(signal.SIGSTOP)
            time.sleep(4.0)  # longer than the deadline, which is what this is about
            answers.may_answer.set()
        finally:
            child.send_signal(signal.SIGCONT)
        _, err = child.communicate(timeout=LONGEST_WAIT)
    assert child.returncode == 0, err
    with RunReader.open(path) as run:
        assert run.counts()[Status.OK] == 60


async def fail_with_resets(exchange: Exchange) -> web.StreamResponse:
    """A server error that says, as every response does, when the limits will be reset."""
    headers = {"x-ratelimit-reset-requests": "20m0s", "x-ratelimit-reset-tokens": "6m0s"}
    return web.json_response(exchange.error("Oops", "api_error"), status=500, headers=headers)


@pytest.mark.fault("E4")
def test_a_server_error_that_says_when_limits_are_reset_holds_nobody(path: Path) -> None:
    with FaultyServer(lambda prompt, nth: sealed(prompt) if nth > 1 else fail_with_resets) as server:
        assert ask(path, server, 30) == {Status.OK: 30}
