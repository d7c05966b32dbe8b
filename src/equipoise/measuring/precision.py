"""How many items give an interval of a wanted width, or a certain mark: intervals shrink with the root of n."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.measuring.result import Result
from equipoise.schema import Estimate

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
