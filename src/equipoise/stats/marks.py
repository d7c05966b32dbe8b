"""A metric with its interval, read on the scale A to D, with how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.probe import Bands
from equipoise.stats.resample import Estimate


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The mark of the value, and the best and worst band the interval touches."""

    mark: str
    best: str
    worst: str

    @property
    def certain(self) -> bool:
        """Whether the data are enough to say so."""
        return self.best == self.worst

    def __str__(self) -> str:
        return self.mark if self.certain else f"{self.mark} ({self.best}–{self.worst})"


def mark(bands: Bands, estimate: Estimate) -> Mark | None:
    """Read an estimate on its bands; None if it is not computable.

    A bootstrap of few, equal items has no spread and would look certain. By the rule of three, n items that all
    agree leave room for a share of 3/n that does not, so the interval that is read is never narrower than that.
    """
    if math.isnan(estimate.value) or math.isnan(estimate.low):
        return None
    room = 3 / max(estimate.n, 1)
    low, high = min(estimate.low, estimate.value - room), max(estimate.high, estimate.value + room)
    nearest = min(max(bands.centre, low), high)
    best = min(bands.mark(nearest), bands.mark(low), bands.mark(high))
    return Mark(mark=bands.mark(estimate.value), best=best, worst=max(bands.mark(low), bands.mark(high)))
