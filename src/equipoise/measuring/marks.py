"""A metric with its interval, read on the scale A to D, with how certain that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.authoring import Bands, Probe
from equipoise.authoring.metrics import MARKS
from equipoise.schema import NEITHER, Bounds, Estimate, MetricKey

UNDECIDED = "?"
SILENCE = 0.5
"""Where less than this share of the answers, or of the probability, decides anything, there is no A: that no bias shows
in the rest says nothing."""


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
    alone = _find_bands(bands, estimate.low, estimate.high)
    best, worst = alone
    if bounds is not None:
        best, worst = _find_bands(bands, min(estimate.low, bounds.low), max(estimate.high, bounds.high))
    letter = bands.mark(estimate.value)
    if letter == MARKS[0] and decided < SILENCE:
        return Mark(mark=None, best=best, worst=MARKS[-1], silent=decided)
    return Mark(
        mark=letter if ord(worst) - ord(best) < 2 else None,
        best=best,
        worst=worst,
        by_missing=(best, worst) != alone,
    )


def _find_bands(bands: Bands, low: float, high: float) -> tuple[str, str]:
    """The best and the worst band between two values."""
    nearest = min(max(bands.centre, low), high)
    return min(map(bands.mark, (nearest, low, high))), max(map(bands.mark, (low, high)))


def decided_share(probe: Probe, estimates: Mapping[MetricKey, Estimate]) -> float:
    """The share of the answers, or of the probability, that decides anything; 1 where words are counted."""
    if not probe.detector.labels:
        return 1.0
    silent = f"{NEITHER}_mass" if probe.detector.by_probability else "undetected_rate_attempts"
    return 1.0 - estimates[MetricKey(silent)].value


def say_silent(decided: float) -> str:
    """Why there is no A, in words."""
    return f"only {decided:.0%} of what was asked decides anything"
