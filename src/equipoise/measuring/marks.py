"""A metric with its interval, read on the scale A to D, with how certain that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.authoring import Bands
from equipoise.authoring.metrics import MARKS
from equipoise.schema import Bounds, Estimate

UNDECIDED = "?"


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The mark of the value, and the best and worst band that the interval and the missing answers allow.

    A mark that could be three bands or more is no letter: `mark` is None then, and it is shown as "?".
    """

    mark: str | None
    best: str
    worst: str
    too_few: bool = False
    """Whether there are too few items for an interval, so that nothing can be said."""

    @property
    def certain(self) -> bool:
        """Whether nothing but this mark is possible."""
        return self.best == self.worst

    @property
    def undecided(self) -> bool:
        """Whether there is no letter: three bands or more are possible."""
        return self.mark is None

    @property
    def possible(self) -> str:
        """The bands that are possible: "A–C", or "A"."""
        return self.best if self.best == self.worst else f"{self.best}–{self.worst}"

    @property
    def letter(self) -> str:
        """The mark as it is shown: "?" where too much is possible."""
        return self.mark or UNDECIDED

    def to_dict(self) -> dict[str, str | None]:
        """Mark, best and worst."""
        return {"mark": self.mark, "best": self.best, "worst": self.worst}

    def __str__(self) -> str:
        return self.letter if self.certain else f"{self.letter} ({self.possible})"


def mark(bands: Bands, estimate: Estimate, bounds: Bounds | None = None) -> Mark | None:
    """Read an estimate on its bands; None if it is not computable.

    What the missing answers allow counts like the interval: a mark that they could change is not certain.
    """
    if math.isnan(estimate.value):
        return None
    if math.isnan(estimate.low):
        return Mark(mark=None, best=MARKS[0], worst=MARKS[-1], too_few=True)
    low, high = estimate.low, estimate.high
    if bounds is not None:
        low, high = min(low, bounds.low), max(high, bounds.high)
    nearest = min(max(bands.centre, low), high)
    best = min(bands.mark(nearest), bands.mark(low), bands.mark(high))
    worst = max(bands.mark(low), bands.mark(high))
    decided = ord(worst) - ord(best) < 2
    return Mark(mark=bands.mark(estimate.value) if decided else None, best=best, worst=worst)
