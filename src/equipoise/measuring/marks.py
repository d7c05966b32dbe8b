"""A metric with its interval, read on the scale A to D, with how certain that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.authoring import Bands
from equipoise.schema import Estimate


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The mark of the value, and the best and worst band that the interval touches."""

    mark: str
    best: str
    worst: str

    @property
    def certain(self) -> bool:
        """Whether the whole interval lies in one band."""
        return self.best == self.worst

    def __str__(self) -> str:
        return self.mark if self.certain else f"{self.mark} ({self.best}–{self.worst})"


def mark(bands: Bands, estimate: Estimate) -> Mark | None:
    """Read an estimate on its bands; None if it is not computable."""
    if math.isnan(estimate.value) or math.isnan(estimate.low):
        return None
    low, high = widened_interval(estimate)
    nearest = min(max(bands.centre, low), high)
    best = min(bands.mark(nearest), bands.mark(low), bands.mark(high))
    return Mark(mark=bands.mark(estimate.value), best=best, worst=max(bands.mark(low), bands.mark(high)))


def widened_interval(estimate: Estimate) -> tuple[float, float]:
    """The interval that marks and gates are read from: never narrower than the rule of three allows.

    A bootstrap of few, equal items has no spread and would look certain. By the rule of three, n items that all agree
    leave room for a share of 3/n that does not.
    """
    room = 3 / max(estimate.n, 1)
    return min(estimate.low, estimate.value - room), max(estimate.high, estimate.value + room)
