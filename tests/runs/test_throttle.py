"""How fast requests are sent, on a clock that jumps from one timer to the next."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from equipoise.cli.progress import describe
from equipoise.runs.ask.events import RunProgress, Wait
from equipoise.runs.ask.policy import Policy
from equipoise.runs.ask.throttle import Throttle
from equipoise.schema import Status
from runs.pumping import run


@pytest.mark.parametrize(
    ("rpm", "concurrency", "seconds", "expected"),
    [
        pytest.param(30, 4, 5.0, [2.0 * n for n in range(8)], id="the requests of a minute are spread evenly"),
        pytest.param(60, 1, 10.0, [10.0 * n for n in range(8)], id="slow answers do not let turns pile up"),
        pytest.param(None, 4, 5.0, [0.0] * 4 + [5.0] * 4, id="without a limit nobody waits"),
    ],
)
def test_when_requests_start(rpm: float | None, concurrency: int, seconds: float, expected: list[float]) -> None:
    started: list[float] = []

    async def work(throttle: Throttle) -> None:
        while len(started) < 8 and await throttle.enter():
            started.append(asyncio.get_running_loop().time())
            await asyncio.sleep(seconds)
            throttle.leave()

    async def main() -> None:
        throttle = Throttle(Policy(rpm=rpm), concurrency)
        throttle.one_at_a_time = False
        await asyncio.gather(*(work(throttle) for _ in range(4)))

    run(main())
    assert started[:8] == pytest.approx(expected)


def test_a_pause_says_how_long_and_why() -> None:
    async def main() -> list[Wait | None]:
        throttle = Throttle(Policy(), 4)
        found = [throttle.wait]
        throttle.hold(55.0, "rate limit")
        throttle.hold(5.0, "outage")  # a shorter one changes nothing
        found.append(throttle.wait)
        await throttle.enter()
        return [*found, throttle.wait]

    before, during, after = run(main())
    assert (before, after) == (None, None)
    assert during == Wait(seconds=55.0, reason="rate limit")


def progress(wait: Wait | None, *, requests: int = 0, ended: int = 0) -> RunProgress:
    counts = dict.fromkeys(Status, 0) | {Status.PENDING: 10}
    numbers: dict[str, Any] = {"planned": 10, "prompt_tokens": 0, "completion_tokens": 0}
    return RunProgress(**numbers, counts=counts, requests=requests, ended=ended, cost=None, elapsed=1.0, wait=wait)


def test_the_display_says_until_when_nothing_is_sent() -> None:
    shown = describe(progress(Wait(seconds=55.0, reason="rate limit")))
    assert re.match(r"waiting until \d\d:\d\d \(rate limit\) · 0/10 answered", shown)
    assert describe(progress(Wait(seconds=2.0, reason="rate limit"))).startswith("0/10 answered")
    assert describe(progress(None)).startswith("0/10 answered")


def test_the_time_left_comes_from_attempts_that_ended_not_from_requests_that_failed() -> None:
    assert describe(progress(None, requests=40)) == "0/10 answered"
    assert describe(progress(None, requests=40, ended=2)).startswith("0/10 answered · 2.0/s · 5 s left")
