"""A metric with its interval, read on the scale A to D, with how certain that is.

A run that stops when its marks are certain looks at the data several times, which raises the error rate. So each look
spends a part of the error: together the looks spend no more than one 95% interval does.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from equipoise.authoring import Bands, Probe
from equipoise.authoring.metrics import MARKS
from equipoise.schema import MIN_ITEMS, NEITHER, Bounds, Estimate, MetricKey

UNDECIDED = "?"
MIN_READ_SHARE = 0.5
"""Where fewer than this share of the planned answers could be classified (or less of the probability),
there is no A: that no bias shows in the rest says nothing."""
SPENT = (0.005, 0.005, 0.01, 0.01, 0.02)
"""The error that each of five looks spends. With fewer looks, the last entries are used."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The mark of the value, and the best and the worst band that the interval and the missing answers allow.

    There is no letter where the data do not decide: three bands or more are possible, there are too few
    items for an interval, or the missing answers alone could have given another letter. `mark` is None
    then, and it is shown as "?". So leaving out planned answers makes no mark better or more certain
    (docs/method.md names one exception).
    """

    mark: str | None
    best: str
    worst: str
    too_few: bool = False
    """Whether there are too few items for an interval, so that nothing can be said."""
    low_coverage: float | None = None
    """The share of the planned answers, or of the probability, that could be classified, if it is too
    small for an A; then there is no letter."""
    by_missing: bool = False
    """Whether the interval alone allows fewer bands: the missing answers allow the others."""

    @property
    def certain(self) -> bool:
        """Whether nothing but this mark is possible."""
        return self.mark is not None and self.best == self.worst

    @property
    def undecided(self) -> bool:
        """Whether there is no letter, because the data do not decide."""
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


def mark(bands: Bands, estimate: Estimate, bounds: Bounds | None = None, read_share: float = 1.0) -> Mark | None:
    """Read an estimate on its bands; None if it is not computable.

    If answers are missing, what they allow (`bounds`, with their intervals) takes the place of the interval: a
    mark that they could change is not certain. `read_share` is the share of the planned answers, or of
    the probability, that could be classified.
    """
    if math.isnan(estimate.value):
        return None
    if math.isnan(estimate.low):
        return Mark(mark=None, best=MARKS[0], worst=MARKS[-1], too_few=True)
    alone = _possible_marks(bands, estimate.low, estimate.high)
    best, worst = alone
    letter: str | None = bands.mark(estimate.value)
    if bounds is not None:
        # Not the interval, too: a metric of whole items leaves out those that lack an answer, so that
        # its own interval could get shorter as more answers are left out.
        best, worst = _possible_marks(bands, bounds.low, bounds.high)
        if _possible_marks(bands, bounds.smallest, bounds.largest) != (letter, letter):
            letter = None
    if read_share < MIN_READ_SHARE and bands.mark(estimate.value) == MARKS[0]:
        return Mark(mark=None, best=best, worst=MARKS[-1], low_coverage=read_share)
    if ord(worst) - ord(best) >= 2:
        letter = None
    by_missing = best < alone[0] or worst > alone[1]
    return Mark(mark=letter, best=best, worst=worst, by_missing=by_missing)


def _possible_marks(bands: Bands, low: float, high: float) -> tuple[str, str]:
    """The best and the worst mark of the values between two ends."""
    nearest, farthest = nearest_and_farthest(bands, low, high)
    return bands.mark(nearest), bands.mark(farthest)


def nearest_and_farthest(bands: Bands, low: float, high: float) -> tuple[float, float]:
    """The values between two ends that are nearest to even-handed and farthest from it."""
    return min(max(bands.centre, low), high), max(low, high, key=bands.distance)


def mark_metrics(
    probe: Probe,
    estimates: Mapping[MetricKey, Estimate],
    bounds: Mapping[str, Bounds],
    coverage: Mapping[str, int],
) -> dict[str, Mark | None]:
    """The marks of the marked metrics; `coverage` counts all planned attempts by what became of them."""
    read_share = find_read_share(probe, estimates, coverage)
    return {
        name: mark(bands, estimates[MetricKey(name)], bounds.get(name), read_share)
        for name, bands in probe.marked_metrics().items()
    }


def find_read_share(probe: Probe, estimates: Mapping[MetricKey, Estimate], coverage: Mapping[str, int]) -> float:
    """The share of the planned answers that could be classified; by probabilities, of the probability."""
    planned = coverage["planned"]
    if not planned:
        return 1.0
    if probe.detector.by_probability:
        answered = coverage["detected"] + coverage["undetected"]
        classified = 1.0 - estimates[MetricKey(f"{NEITHER}_mass")].value
        return classified * answered / planned if answered else 0.0
    return coverage["detected"] / planned


def describe_low_coverage(read_share: float) -> str:
    """Why there is no A, in words."""
    return f"only {format_share(read_share)} of the planned answers are classified"


def format_share(share: float) -> str:
    """A share in percent, rounded down: only all of them are 100%."""
    return f"{math.floor(100 * share + 1e-9)}%"


def look_sizes(items: int) -> list[int]:
    """Up to five sizes, each about twice the one before; the last is all items, the first enough for an interval."""
    sizes = [items]
    while len(sizes) < len(SPENT) and sizes[0] >= 2 * MIN_ITEMS:
        sizes.insert(0, -(-sizes[0] // 2))
    return sizes


def look_number(sizes: Sequence[int], items: int) -> int:
    """Which look, counted from 1, a run of so many items is at."""
    return min(bisect_left(sizes, items), len(sizes) - 1) + 1


def look_level(sizes: Sequence[int], items: int) -> float:
    """The level of the intervals at the look of this size: 0.995 at the first of five, 0.98 at the last."""
    return 1 - SPENT[len(SPENT) - len(sizes) + look_number(sizes, items) - 1]
