"""An endpoint that is down for a while makes no attempt fail; an attempt that fails by itself does (docs/faults.md)."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import BudgetReached, EndpointError, EquipoiseError
from equipoise.models import connect
from equipoise.models.protocol import Reply
from equipoise.runs.ask.pump import pump
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.start import start
from equipoise.schema import Status
from runs import killable
from runs.fakes import QUICK, Fake, create, ok, plan, transient
from runs.killable import Server
from runs.pumping import assert_fatal, run_pump
from serving.faults import Fault
from serving.faulty import Behaviour, FaultyServer, sealed

PATIENT = replace(QUICK, first_backoff=0.005, longest_backoff=0.05, outage_patience=30.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def ask(path: Path, server: FaultyServer, size: int, **changes: float) -> tuple[dict[Status, int], Exception | None]:
    """Ask the server for what is pending; return the states and the error that ended it."""
    error = None
    with RunFile.open(path) if path.exists() else create(path, plan(size=size)) as run:
        policy = replace(PATIENT, **changes)  # type: ignore[arg-type]
        model = connect("custom/m", base_url=server.url, environ={}, deadline=policy.deadline)
        try:
            asyncio.run(pump(run, model, policy))
        except EquipoiseError as caught:
            error = caught
        return {status: count for status, count in run.counts().items() if count}, error


def wait_until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.005)


def down(fault: Fault, after: int, seconds: float) -> Behaviour:
    """A server that answers some requests, then fails for a while."""
    requests, since = 0, 0.0

    def behave(prompt: str, nth: int) -> Fault | str:
        nonlocal requests, since
        requests += 1
        if requests == after:
            since = time.monotonic()
        return fault if requests >= after and time.monotonic() - since < seconds else sealed(prompt)

    return behave


@pytest.mark.fault("E26")
@pytest.mark.parametrize("after", [1, 20], ids=["from the start", "later"])
@pytest.mark.parametrize("fault", [Fault.SERVER_500, Fault.HTML_502, Fault.RESET])
def test_an_outage_of_half_a_second_makes_no_attempt_fail(path: Path, fault: Fault, after: int) -> None:
    if (fault, after) == (Fault.RESET, 1):
        pytest.skip("an endpoint that cannot be reached from the start is E22")
    with FaultyServer(down(fault, after, 0.5)) as server:
        states, error = ask(path, server, 200)
    assert error is None
    assert states == {Status.OK: 200}
    assert server.total < 200 + 100, "it is tried at growing intervals"


@pytest.mark.fault("E26")
@pytest.mark.parametrize(("fault", "words"), [(Fault.SERVER_500, "has only failed"), (Fault.SILENT, "has only failed")])
def test_an_outage_that_lasts_ends_the_run_and_leaves_the_attempts_pending(
    path: Path, fault: Fault, words: str
) -> None:
    with FaultyServer(down(fault, 20, 3600.0)) as server:
        states, error = ask(path, server, 200, deadline=0.3, outage_patience=0.4)
    assert isinstance(error, EndpointError)
    assert error.exit_code == 4
    assert words in str(error)
    assert set(states) == {Status.OK, Status.PENDING}
    with FaultyServer() as server:
        assert ask(path, server, 200) == ({Status.OK: 200}, None)


@pytest.mark.fault("E27")
def test_a_resumed_run_is_asked_with_the_parameters_of_its_first_answers(tmp_path: Path) -> None:
    with FaultyServer(rejects=frozenset({"seed"})) as server:
        policy = replace(PATIENT, max_requests=5)
        run: dict[str, Any] = {"probes": "hiring_an", "suite": "quick", "out": tmp_path / "run.equipoise"}
        run |= {"base_url": server.url, "temperature": 0.7, "model_seed": 1}
        with pytest.raises(BudgetReached):
            start("custom/m", policy=policy, **run).ask()
        server.rejects, before = frozenset({"seed", "temperature"}), server.total
        counts = start("custom/m", policy=PATIENT, **run).ask().counts
    assert counts[Status.OK] == 5
    assert counts[Status.HTTP_ERROR] == sum(counts.values()) - 5
    assert {request.body["temperature"] for request in list(server.received)[before:]} == {0.7}


@pytest.mark.fault("E4")
@pytest.mark.parametrize("fault", [Fault.SERVER_500, Fault.RESET])
def test_a_prompt_that_always_fails_ends_as_its_own_failure(path: Path, fault: Fault) -> None:
    with FaultyServer(lambda prompt, nth: fault if "Prompt 5 " in prompt else sealed(prompt)) as server:
        states, error = ask(path, server, 60)
        assert server.requests["Prompt 5 of alpha."] == PATIENT.tries
    assert error is None
    assert states == {Status.OK: 59, Status.HTTP_ERROR: 1}


@pytest.mark.fault("E26")
@pytest.mark.parametrize("concurrency", [1, 4])
def test_prompts_that_fail_together_at_the_end_are_no_outage(path: Path, concurrency: int) -> None:
    """A prompt that was answered before tells the difference."""

    def script(prompt: str, nth: int) -> Reply | Exception:
        last = list(model.asked).index(prompt) >= 32
        return transient("server") if last else ok(prompt)

    model = Fake(script)
    outcome = run_pump(path, model, 40, policy=replace(QUICK, concurrency=concurrency))
    assert outcome.error is None
    assert outcome.states == {Status.OK: 32, Status.HTTP_ERROR: 8}


@pytest.mark.fault("E26")
def test_a_resumed_run_with_nothing_but_prompts_that_fail_comes_to_its_end(path: Path) -> None:
    """The prompt that tells the difference was answered in an earlier session."""
    first = Fake(lambda prompt, nth: ok(prompt))
    run_pump(path, first, 40, policy=replace(QUICK, max_requests=32))
    model = Fake(lambda prompt, nth: ok(prompt) if prompt in first.asked else transient("server"))
    outcome = run_pump(path, model)
    assert outcome.error is None
    assert outcome.states == {Status.OK: 32, Status.HTTP_ERROR: 8}


@pytest.mark.fault("E26")
def test_with_one_request_at_a_time_an_outage_makes_no_attempt_fail(path: Path) -> None:
    gone = range(20, 60)
    model = Fake(lambda prompt, nth: transient("server") if model.requests in gone else ok(prompt))
    outcome = run_pump(path, model, 100, policy=replace(QUICK, concurrency=1, outage_patience=60.0))
    assert outcome.states == {Status.OK: 100}


@pytest.mark.fault("E26")
def test_an_interruption_leaves_undecided_failures_pending(path: Path) -> None:
    model = Fake(lambda prompt, nth: transient("server"))
    outcome = run_pump(path, model, 100, policy=replace(QUICK, max_requests=6))
    assert outcome.states == {Status.PENDING: 100}


@pytest.mark.fault("E26")
def test_an_endpoint_that_only_fails_ends_the_run(path: Path) -> None:
    outcome = run_pump(path, Fake(lambda prompt, nth: transient("server", detail="HTTP 500: down")), 100)
    assert_fatal(outcome, EndpointError, 4, "fake has only failed for", path)
    assert outcome.states == {Status.PENDING: 100}


@pytest.mark.fault("P20")
@pytest.mark.skipif(os.name != "posix", reason="needs signals of POSIX")
def test_a_process_that_was_stopped_beyond_the_deadline_asks_again(path: Path) -> None:
    create(path, plan(size=100)).close()
    with Server(delay=0.02) as server:
        child = killable.start(path, server, "--deadline=1.0", "--concurrency=4")
        try:
            wait_until(lambda: server.requests.total() >= 10)
            server.may_answer.clear()
            wait_until(lambda: server.held >= 4)
            child.send_signal(signal.SIGSTOP)
            time.sleep(2.0)
            server.may_answer.set()
        finally:
            child.send_signal(signal.SIGCONT)
        _, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    with RunReader.open(path) as run:
        assert run.counts()[Status.OK] == 100


@pytest.mark.fault("E26")
def test_what_fails_before_the_first_answer_is_asked_again(path: Path) -> None:
    model = Fake(lambda prompt, nth: transient("server") if model.requests <= 2 * QUICK.tries else ok(prompt))
    assert run_pump(path, model, 20).states == {Status.OK: 20}
