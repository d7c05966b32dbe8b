"""How fast requests are sent, on a clock that jumps from one timer to the next."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Any

import pytest

from equipoise.cli.progress import describe
from equipoise.runs.ask.events import RunProgress
from equipoise.runs.ask.limits import Throttle
from equipoise.schema import Counts, Status
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
        throttle = Throttle(concurrency, rpm)
        throttle.allow_many()
        await asyncio.gather(*(work(throttle) for _ in range(4)))

    run(main())
    assert started[:8] == pytest.approx(expected)


def test_as_many_answers_as_requests_at_a_time_allow_one_more_up_to_the_concurrency() -> None:
    async def main() -> list[int]:
        throttle = Throttle(4)
        throttle.allow_many()
        throttle.slow_down(asyncio.get_running_loop().time())
        at_once = [await count_at_once(throttle)]
        for _ in range(12):
            throttle.speed_up()
            at_once.append(await count_at_once(throttle))
        return at_once

    assert run(main()) == [2, 2] + [3, 3, 3] + [4] * 8


async def count_at_once(throttle: Throttle) -> int:
    """How many requests may be under way at the same time now."""
    started = 0
    with suppress(TimeoutError):
        while started < 99:
            async with asyncio.timeout(1.0):
                await throttle.enter()
            started += 1
    for _ in range(started):
        throttle.leave()
    return started


def test_a_pause_says_how_long_and_why() -> None:
    async def main() -> list[tuple[float, str]]:
        throttle = Throttle(4)
        found = [(throttle.wait, throttle.reason)]
        throttle.hold(55.0, "rate limit")
        throttle.hold(5.0, "outage")  # a shorter one changes nothing
        found.append((throttle.wait, throttle.reason))
        await throttle.enter()
        return [*found, (throttle.wait, "")]

    assert run(main()) == [(0.0, ""), (55.0, "rate limit"), (0.0, "")]


def progress(**fields: Any) -> RunProgress:
    counts = Counts({Status.PENDING: 10})
    return RunProgress(counts=counts, prompt_tokens=0, completion_tokens=0, cost=None, elapsed=1.0, **fields)


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        pytest.param(
            {"requests": 0, "wait": 55.0, "wait_reason": "rate limit"},
            r"waiting until \d\d:\d\d \(rate limit\) · 0/10",
            id="a long pause, until when, and why",
        ),
        pytest.param(
            {"requests": 0, "wait": 55.0, "wait_reason": "outage"},
            r"waiting until \d\d:\d\d \(outage\) · 0/10",
            id="a pause because of an outage",
        ),
        pytest.param(
            {"requests": 0, "wait": 2.0, "wait_reason": "rate limit"},
            "0/10 answered$",
            id="a pause that is nearly over is not worth a word",
        ),
        pytest.param({"requests": 0}, "0/10 answered$", id="no pause"),
        pytest.param(
            {"requests": 40},
            "0/10 answered$",
            id="no time left from requests that failed",
        ),
        pytest.param(
            {"requests": 40, "ended": 2},
            r"0/10 answered · 2\.0/s · 5 s left",
            id="the time left from attempts that ended",
        ),
    ],
)
def test_the_display_says_how_long_it_takes(fields: dict[str, Any], shown: str) -> None:
    assert re.match(shown, describe(progress(**fields)))
