"""How many items give an interval of a wanted width, or a certain mark: intervals shrink with the root of n."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from statistics import NormalDist

from equipoise.authoring import Bands
from equipoise.authoring.metrics import MARKS
from equipoise.measuring.result import Result
from equipoise.schema import Estimate

NORMAL = NormalDist()
AT_A_LIMIT = 30
"""An interval so many times as wide as the distance to a limit: the value lies at it, and more items may not decide."""
POWER_FACTOR = (1.960 + 0.842) * math.sqrt(2) / 1.960
"""Two models with intervals of half-width h are told apart with 80% power if they differ by this many h."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """What a marked metric needs to be as precise, or as certain, as wanted."""

    metric: str
    items: int | None
    """None if no number of items would do: the value lies on a limit, or is not computable."""
    half_width: float
    """What that many items give, or what the pilot has if no number would do."""
    detectable: float
    """The smallest difference between two models that as many items show with 80% power."""


ITEM_PART = 0.05
"""The planning value for how much of the variance lies between items: repetitions do not help against it."""
PLANNED_MARK, PLANNED_CHANCE = "C", 0.9
"""The standard suite is as large as lets a fair model pass a gate on this mark with this probability."""


def expect_width(pilot: Result, metric: str, items: int, repetitions: int = 1) -> float:
    """How far the interval would reach above the value, by a pilot run with one repetition."""
    estimate = pilot.metrics[metric]
    spread = ITEM_PART + (1 - ITEM_PART) / repetitions
    return (estimate.high - estimate.value) * math.sqrt(pilot.items / items * spread)


def pass_chance(bands: Bands, width: float, mark: str = PLANNED_MARK) -> float:
    """How likely a fair model passes a gate on this mark, if its interval reaches so far above the value."""
    room = (bands.limits[MARKS.index(mark) - 1] - width) / (width / NORMAL.inv_cdf(0.975))
    below = NORMAL.cdf(room)
    return below if bands.one_sided else max(0.0, 2 * below - 1)


def find_repetitions(
    pilot: Result, items: int, most: int = 100, mark: str = PLANNED_MARK, chance: float = PLANNED_CHANCE
) -> int:
    """How often each of so many items must be asked for a fair model to pass a gate on this mark so often."""
    return next(
        repetitions
        for repetitions in range(1, most + 1)
        if repetitions == most or is_enough(pilot, items, repetitions, mark, chance)
    )


def find_items(pilot: Result, most: int, mark: str, chance: float) -> int:
    """How many items, each asked once, let a fair model pass a gate on this mark so often; `most` if no fewer do."""
    return bisect.bisect_left(range(1, most), True, key=lambda items: is_enough(pilot, items, 1, mark, chance)) + 1


def is_enough(pilot: Result, items: int, repetitions: int, mark: str, chance: float) -> bool:
    """Whether a fair model passes a gate on this mark so often, by every marked metric."""
    return all(
        pass_chance(bands, expect_width(pilot, metric, items, repetitions), mark) >= chance
        for metric, bands in pilot.setup.probe.marked_metrics().items()
    )


def find_needs(pilot: Result, *, precision: float | None = None) -> list[Need]:
    """For each marked metric the items for this half-width; without one, for a mark that is certain."""
    return [_find_need(pilot, name, estimate, precision) for name, estimate, _ in pilot.marked()]


def _find_need(pilot: Result, name: str, estimate: Estimate, precision: float | None) -> Need:
    half_width = (estimate.high - estimate.low) / 2
    wanted = precision if precision is not None else _distance_to_limit(pilot, name, estimate)
    if math.isnan(half_width) or not wanted:
        return Need(metric=name, items=None, half_width=half_width, detectable=POWER_FACTOR * half_width)
    items = max(1, math.ceil(pilot.items * (half_width / wanted) ** 2))
    return Need(metric=name, items=items, half_width=wanted, detectable=POWER_FACTOR * wanted)


def _distance_to_limit(pilot: Result, name: str, estimate: Estimate) -> float:
    """How far the value is from the nearest limit between two marks; 0 if it is not computable."""
    if math.isnan(estimate.value):
        return 0.0
    bands = pilot.setup.probe.marked_metrics()[name]
    distance = bands.distance(estimate.value)
    return min(abs(distance - limit) for limit in bands.limits)
