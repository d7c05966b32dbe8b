"""How fast requests are sent, on a clock that jumps from one timer to the next."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli.progress import describe
from equipoise.errors import BadParameter
from equipoise.runs.ask.events import RunProgress, Wait
from equipoise.runs.ask.gate import Gate
from equipoise.runs.ask.policy import Policy
from equipoise.schema import Status
from runs.fakes import Fake, ok, transient
from runs.pumping import run, run_pump


async def starts(gate: Gate, requests: int, seconds: float) -> list[float]:
    """When requests start that take so many seconds each."""
    clock = asyncio.get_running_loop().time
    started: list[float] = []

    async def work() -> None:
        while len(started) < requests and await gate.enter():
            started.append(clock())
            await asyncio.sleep(seconds)
            gate.leave()

    await asyncio.gather(*(work() for _ in range(4)))
    return started


def test_requests_of_a_minute_are_spread_evenly() -> None:
    async def main() -> list[float]:
        gate = Gate(Policy(rpm=30), 4)
        gate.open()
        return (await starts(gate, 10, 5.0))[:10]

    found = run(main())
    assert found == pytest.approx([2.0 * n for n in range(10)])


def test_slow_answers_do_not_let_turns_pile_up() -> None:
    async def main() -> list[float]:
        gate = Gate(Policy(rpm=60), 1)
        return (await starts(gate, 4, 10.0))[:4]

    found = run(main())
    assert found == pytest.approx([0.0, 10.0, 20.0, 30.0])


def test_without_a_limit_nobody_waits() -> None:
    async def main() -> list[float]:
        gate = Gate(Policy(), 4)
        gate.open()
        return (await starts(gate, 8, 5.0))[:8]

    assert run(main()) == pytest.approx([0.0] * 4 + [5.0] * 4)


@pytest.mark.parametrize("given", [0.0, -1.0, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused(given: float) -> None:
    with pytest.raises(BadParameter, match="--rpm"):
        Policy(rpm=given)


def test_a_pause_says_how_long_and_why() -> None:
    async def main() -> list[Wait | None]:
        gate = Gate(Policy(), 4)
        found = [gate.wait]
        gate.hold(55.0, "rate limit")
        gate.hold(5.0, "outage")  # a shorter one changes nothing
        found.append(gate.wait)
        await gate.enter()
        return [*found, gate.wait]

    before, during, after = run(main())
    assert (before, after) == (None, None)
    assert during == Wait(seconds=55.0, reason="rate limit")


def test_the_pump_reports_a_pause_when_it_begins(tmp_path: Path) -> None:
    def script(prompt: str, nth: int) -> Any:
        return transient("rate_limit", retry_after=0.05) if nth == 1 else ok(prompt)

    outcome = run_pump(tmp_path / "run", Fake(script))
    assert outcome.states == {Status.OK: 10}
    waits = [event.wait for event in outcome.progress if event.wait]
    assert waits
    assert {wait.reason for wait in waits} == {"rate limit"}
    assert outcome.progress[-1].wait is None


def progress(wait: Wait | None, *, requests: int = 0, ended: int = 0) -> RunProgress:
    counts = dict.fromkeys(Status, 0) | {Status.PENDING: 10}
    return RunProgress(
        planned=10,
        counts=counts,
        requests=requests,
        ended=ended,
        prompt_tokens=0,
        completion_tokens=0,
        cost=None,
        in_flight=0,
        elapsed=1.0,
        wait=wait,
    )


def test_the_display_counts_down() -> None:
    event = progress(Wait(seconds=55.0, reason="rate limit"))
    assert describe(event).startswith("waiting 55 s (rate limit) · 0/10 answered")
    assert describe(event, age=20.0).startswith("waiting 35 s (rate limit) · ")
    assert describe(event, age=54.5).startswith("0/10 answered")
    assert describe(progress(None)).startswith("0/10 answered")


def test_the_time_left_comes_from_attempts_that_ended_not_from_requests_that_failed() -> None:
    assert describe(progress(None, requests=40)) == "0/10 answered"
    assert describe(progress(None, requests=40, ended=2)).startswith("0/10 answered · 2.0/s · 5 s left")
