"""An endpoint that is down for a while makes no attempt fail; an attempt that fails by itself does (docs/faults.md)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import BudgetReached, EndpointError
from equipoise.models.protocol import AS_SAMPLED, Asking, Reply, TransientFault
from equipoise.runs.start import start
from equipoise.schema import Status
from runs.fakes import Fake, answering, ok, transient
from runs.pumping import assert_fatal, run_pump
from serving.faulty import FaultyServer

BROKEN, DOWN, SLOW = transient("connection"), transient("server"), transient("timeout", Status.TIMEOUT)
FAULTS = [pytest.param(fault, id=fault.kind) for fault in (BROKEN, DOWN, SLOW)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


@pytest.mark.fault("E22")
@pytest.mark.fault("E26")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("since", [0.0, 20.0], ids=["from the start", "later"])
def test_an_outage_makes_no_attempt_fail(path: Path, fault: TransientFault, concurrency: int, since: float) -> None:
    lasts = 2.0 if (fault, since) == (BROKEN, 0.0) else 200.0  # without any connection, a run does not start

    def script(prompt: str, nth: int) -> Reply | Exception:
        return fault if since <= model.times[-1] < since + lasts else ok(prompt)

    model = Fake(script, delay=1.0)
    outcome = run_pump(path, model, 100, concurrency=concurrency)
    assert outcome.error is None
    assert outcome.states == {Status.OK: 100}
    assert model.requests < 100 + 40, "it is tried at growing intervals"
    tests = [n for n, time in enumerate(model.times) if since + 30 < time < since + lasts]
    assert all(model.at_once[n] == 1 for n in tests)
    assert max(model.at_once[-20:]) == concurrency
    if lasts > 2:
        assert f"outage: a {fault.kind} fault" in {event.wait_reason for event in outcome.progress}


@pytest.mark.fault("E22")
@pytest.mark.fault("E26")
@pytest.mark.parametrize("fault", FAULTS)
def test_an_outage_that_lasts_ends_the_run_and_leaves_the_attempts_pending(path: Path, fault: Exception) -> None:
    model = Fake(lambda prompt, nth: fault if model.requests > 30 else ok(prompt))
    outcome = run_pump(path, model, 100)
    assert_fatal(outcome, EndpointError, 4, "fake has not answered for 10 min", path)
    assert outcome.states.keys() == {Status.OK, Status.PENDING}
    assert run_pump(path, answering()).states == {Status.OK: 100}


@pytest.mark.fault("E4")
@pytest.mark.fault("E26")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("failing", [range(32, 40), range(1)], ids=["the last ones", "the first one"])
def test_prompts_that_fail_by_themselves_are_no_outage(
    path: Path, fault: Exception, concurrency: int, failing: range
) -> None:
    """A prompt that was answered before, or another one, tells the difference."""

    def script(prompt: str, nth: int) -> Reply | Exception:
        return fault if list(model.asked).index(prompt) in failing else ok(prompt)

    model = Fake(script)
    outcome = run_pump(path, model, 40, concurrency=concurrency)
    assert outcome.error is None
    assert outcome.counts[Status.OK] == 40 - len(failing)
    assert outcome.counts[Status.PENDING] == 0


@pytest.mark.fault("E26")
def test_an_answer_between_the_failures_of_a_prompt_shows_that_the_endpoint_works(path: Path) -> None:
    """The other prompts are answered while one fails again and again: nothing else is sent to test the endpoint."""
    model = Fake(lambda prompt, nth: DOWN if "Prompt 1 " in prompt else ok(prompt), delay=1.0)
    outcome = run_pump(path, model, 5, concurrency=2, tries=3)
    assert outcome.states == {Status.OK: 4, Status.HTTP_ERROR: 1}
    assert model.requests == 4 + 3
    assert not any("outage" in event.wait_reason for event in outcome.progress)


@pytest.mark.fault("E26")
def test_a_resumed_run_with_nothing_but_prompts_that_fail_comes_to_its_end(path: Path) -> None:
    """The prompt that tells the difference was answered in an earlier session."""
    first = answering()
    run_pump(path, first, 40, max_requests=32)
    outcome = run_pump(path, Fake(lambda prompt, nth: ok(prompt) if prompt in first.asked else DOWN))
    assert outcome.error is None
    assert outcome.states == {Status.OK: 32, Status.HTTP_ERROR: 8}


@pytest.mark.fault("E22")
def test_slow_connection_failures_at_the_start_end_the_run_in_time(path: Path) -> None:
    model = Fake(lambda prompt, nth: BROKEN, delay=8.0)
    outcome = run_pump(path, model)
    assert_fatal(outcome, EndpointError, 4, "has not answered for", path)
    assert outcome.progress[-1].elapsed <= 10.0


@pytest.mark.fault("E22")
def test_a_server_that_is_still_starting_is_waited_for_with_single_requests(path: Path) -> None:
    model = Fake(lambda prompt, nth: BROKEN if model.requests < 4 else ok(prompt))
    outcome = run_pump(path, model)
    assert outcome.states == {Status.OK: 10}
    assert model.times[3] - model.times[0] >= 0.5 * (0.5 + 1.0 + 2.0), "the pauses grow"
    assert max(model.at_once[:4]) == 1


@pytest.mark.fault("E26")
def test_failures_of_which_it_is_not_known_whether_they_were_an_outage_stay_pending(
    path: Path,
) -> None:
    outcome = run_pump(path, Fake(lambda prompt, nth: DOWN), 100, max_requests=6)
    assert isinstance(outcome.error, BudgetReached)
    assert outcome.states == {Status.PENDING: 100}


@pytest.mark.fault("E26")
def test_what_failed_before_the_first_answer_is_asked_again(path: Path) -> None:
    model = Fake(lambda prompt, nth: DOWN if model.requests <= 8 else ok(prompt))
    outcome = run_pump(path, model, 20)
    assert outcome.states == {Status.OK: 20}
    assert len(model.asked) == 20


@pytest.mark.fault("E27")
def test_a_resumed_run_is_asked_with_the_parameters_of_its_first_answers(tmp_path: Path) -> None:
    with FaultyServer(rejects=frozenset({"seed"})) as server:
        run: dict[str, Any] = {"probes": "hiring_an", "suite": "quick", "out": tmp_path / "run.equipoise"}
        run |= {"base_url": server.url, "temperature": 0.7, "model_seed": 1}
        with pytest.raises(BudgetReached):
            start("custom/m", max_requests=5, **run).ask()
        server.rejects, before = frozenset({"seed", "temperature"}), server.total
        counts = start("custom/m", **run).ask().counts
    assert counts[Status.OK] == 5
    assert counts[Status.HTTP_ERROR] == sum(counts.values()) - 5
    assert {request.body["temperature"] for request in list(server.received)[before:]} == {0.7}


@pytest.mark.fault("P20")
def test_a_process_that_stood_still_beyond_the_deadline_asks_again(path: Path) -> None:
    class Stopped(Fake):
        async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
            if self.requests == 10:
                asyncio.get_running_loop().jump(3600.0)  # type: ignore[attr-defined]
            return await super().answer(prompt, system, asking)

    outcome = run_pump(path, Stopped(lambda prompt, nth: ok(prompt), delay=1.0), 100)
    assert outcome.states == {Status.OK: 100}
