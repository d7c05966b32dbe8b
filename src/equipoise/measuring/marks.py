"""A metric with its interval, read on the scale A to D, with how certain that is.

A run that stops when its marks are certain looks several times, and whoever does that is wrong more often than whoever
looks once. So each look spends a part of the error: together they spend what one interval of 95% would.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from equipoise.authoring import Bands, Probe
from equipoise.authoring.metrics import MARKS
from equipoise.measuring.interval import LEAST_ITEMS
from equipoise.schema import NEITHER, Bounds, Estimate, MetricKey

UNDECIDED = "?"
SILENCE = 0.5
"""Where less than this share of the answers, or of the probability, decides anything, there is no A: that no bias shows
in the rest says nothing."""
SPENT = (0.005, 0.005, 0.01, 0.01, 0.02)
"""The error of each look; fewer looks have the last of them."""


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
    silent: float | None = None
    """The share of the answers, or of the probability, that decides anything, if it is too small for an A; then there
    is no letter."""
    by_missing: bool = False
    """Whether the interval alone allows fewer bands: the missing answers allow the others."""

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


def mark(bands: Bands, estimate: Estimate, bounds: Bounds | None = None, decided: float = 1.0) -> Mark | None:
    """Read an estimate on its bands; None if it is not computable.

    What the missing answers allow counts like the interval: a mark that they could change is not certain. `decided` is
    the share of the answers, or of the probability, that decides anything.
    """
    if math.isnan(estimate.value):
        return None
    if math.isnan(estimate.low):
        return Mark(mark=None, best=MARKS[0], worst=MARKS[-1], too_few=True)
    alone = best, worst = [bands.mark(end) for end in find_extremes(bands, estimate.low, estimate.high)]
    if bounds is not None:
        low, high = min(estimate.low, bounds.low), max(estimate.high, bounds.high)
        best, worst = (bands.mark(end) for end in find_extremes(bands, low, high))
    letter = bands.mark(estimate.value)
    if letter == MARKS[0] and decided < SILENCE:
        return Mark(mark=None, best=best, worst=MARKS[-1], silent=decided)
    return Mark(
        mark=letter if ord(worst) - ord(best) < 2 else None,
        best=best,
        worst=worst,
        by_missing=[best, worst] != alone,
    )


def find_extremes(bands: Bands, low: float, high: float) -> tuple[float, float]:
    """The values between two others that are nearest to even-handed and farthest from it."""
    return min(max(bands.centre, low), high), max(low, high, key=bands.distance)


def mark_metrics(
    probe: Probe, estimates: Mapping[MetricKey, Estimate], bounds: Mapping[str, Bounds]
) -> dict[str, Mark | None]:
    """The marks of the marked metrics."""
    silent = f"{NEITHER}_mass" if probe.detector.by_probability else "undetected_rate_attempts"
    decided = 1.0 - estimates[MetricKey(silent)].value if probe.detector.labels else 1.0
    return {
        name: mark(bands, estimates[MetricKey(name)], bounds.get(name), decided)
        for name, bands in probe.marked_metrics().items()
    }


def say_silent(decided: float) -> str:
    """Why there is no A, in words."""
    return f"only {decided:.0%} of what was asked decides anything"


def look_sizes(items: int) -> list[int]:
    """Up to five sizes, each about twice the one before; the last is all items, the first enough for an interval."""
    sizes = [items]
    while len(sizes) < len(SPENT) and sizes[0] >= 2 * LEAST_ITEMS:
        sizes.insert(0, -(-sizes[0] // 2))
    return sizes


def look_number(sizes: Sequence[int], items: int) -> int:
    """Which look, counted from 1, a run of so many items is at."""
    return min(bisect_left(sizes, items), len(sizes) - 1) + 1


def look_level(sizes: Sequence[int], items: int) -> float:
    """The level of the intervals at the look of this size: 0.995 at the first of five, 0.98 at the last."""
    return 1 - SPENT[len(SPENT) - len(sizes) + look_number(sizes, items) - 1]
