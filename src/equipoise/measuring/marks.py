"""A metric with its interval, read on the scale A to D, with how certain that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.authoring import Bands
from equipoise.schema import Bounds, Estimate

UNDECIDED = "?"
LEAST_ITEMS = 2
"""A letter that rests on fewer items would say nothing, however narrow its interval came out."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The mark of the value, and the best and worst band that the interval and the missing answers allow."""

    mark: str
    best: str
    worst: str
    too_few: bool = False
    """Whether it rests on fewer than LEAST_ITEMS items."""

    @property
    def certain(self) -> bool:
        """Whether nothing but this mark is possible."""
        return self.best == self.worst and not self.too_few

    @property
    def undecided(self) -> bool:
        """Whether the letter would say nothing: three bands or more are possible, or it rests on too few items."""
        return self.too_few or ord(self.worst) - ord(self.best) >= 2

    @property
    def possible(self) -> str:
        """The bands that are possible: "A–C", or "A"."""
        return self.best if self.best == self.worst else f"{self.best}–{self.worst}"

    @property
    def letter(self) -> str:
        """The mark as it is shown: "?" where too much is possible."""
        return UNDECIDED if self.undecided else self.mark

    def to_dict(self) -> dict[str, str | None]:
        """Mark, best and worst. A mark that is not decided is none: only what is possible is told."""
        return {"mark": None if self.undecided else self.mark, "best": self.best, "worst": self.worst}

    def __str__(self) -> str:
        return self.letter if self.certain else f"{self.letter} ({self.possible})"


def mark(bands: Bands, estimate: Estimate, bounds: Bounds | None = None) -> Mark | None:
    """Read an estimate on its bands; None if it is not computable.

    What the missing answers allow counts like the interval: a mark that they could change is not certain.
    """
    if math.isnan(estimate.value) or math.isnan(estimate.low):
        return None
    low, high = estimate.low, estimate.high
    if bounds is not None:
        low, high = min(low, bounds.low), max(high, bounds.high)
    nearest = min(max(bands.centre, low), high)
    best = min(bands.mark(nearest), bands.mark(low), bands.mark(high))
    return Mark(
        mark=bands.mark(estimate.value),
        best=best,
        worst=max(bands.mark(low), bands.mark(high)),
        too_few=estimate.n < LEAST_ITEMS,
    )
