"""Columns to be totalled, arithmetic on their totals, and metrics with the bands that turn their values into marks.

Undefined is NaN, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Array = NDArray[np.float64]
NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
"""Gauss-Hermite quadrature: a mean over the normal distribution."""
MARKS = "ABCD"
RATE, DIFFERENCE = (0.0, 1.0), (-1.0, 1.0)
"""What a rate can be, and a difference of two rates."""


@dataclass(frozen=True, kw_only=True)
class Bands:
    """Limits between the marks A, B, C, D on the distance of a value from `centre`, on either side of it."""

    limits: tuple[float, float, float]
    centre: float = 0.0

    def distances(self, values: Array) -> Array:
        """How far each value is from even-handed."""
        # Rounded, or 0.55 would be farther from 0.5 than 0.45 is.
        return np.abs(np.round(values - self.centre, 12))

    def distance(self, value: float) -> float:
        """How far one value is from even-handed."""
        return float(self.distances(np.float64(value)))  # type: ignore[arg-type]

    def mark(self, value: float) -> str:
        """The mark of a value: A up to and including the first limit, and so on."""
        return MARKS[int(np.searchsorted(self.limits, self.distance(value), side="left"))]


@dataclass(frozen=True)
class Metric:
    """A named number.

    n           the total that counts the items it rests on; of several, the smallest counts
    references  the values of models whose behaviour is known: "unbiased", "stereotyping", …
    distance_of another metric, if this one is its distance from a centre: its interval is folded
    range_of    other metrics, if this one is the largest difference between two of them
    support     totals of which each must be 20 at least for an interval, where items alone do not say how much there is
    domain      the smallest and the largest value that it can have: its interval ends there
    exchanged   what its value becomes if men and women change places, where that is not said by its references
    of_pairs    whether it counts pairs of answers to an item, so that their wavering is what it measures: its interval
                is always that of other items
    about       what it is about, where the name says so only by a number or an abbreviation: "emotional"
    """

    name: str
    summary: str
    n: str | tuple[str, ...] = "n"
    _: KW_ONLY
    bands: Bands | None = None
    references: Mapping[str, float] = field(default_factory=dict)
    distance_of: tuple[str, float] | None = None
    range_of: tuple[str, ...] = ()
    support: tuple[str, ...] = ()
    domain: tuple[float, float] = (-math.inf, math.inf)
    exchanged: Callable[[float], float] | None = None
    of_pairs: bool = False
    about: str = ""

    @property
    def title(self) -> str:
        """The name, and what it is about: "masculine_rate_1 · emotional"."""
        return f"{self.name} · {self.about}" if self.about else self.name

    @property
    def denominators(self) -> tuple[str, ...]:
        """The totals of which the smallest says how many items the metric rests on."""
        return (self.n,) if isinstance(self.n, str) else self.n

    def leaning(self, value: float) -> str:
        """Which reference model a value leans to, such as "anti-stereotyping"; nothing for a value with the mark A."""
        if self.bands is None or math.isnan(value) or self.bands.mark(value) == MARKS[0]:
            return ""
        side = math.copysign(1.0, value - self.bands.centre)
        reach = {name: side * (reference - self.bands.centre) for name, reference in self.references.items()}
        farthest = max(reach, key=lambda name: reach[name], default="")
        return farthest if reach.get(farthest, 0.0) > 0 else ""


rate = partial(Metric, domain=RATE)
"""A metric between 0 and 1."""
difference = partial(Metric, domain=DIFFERENCE)
"""A metric between -1 and 1: one rate less another."""


class Totals(dict[str, Array]):
    """Totals of the statistics: `total.n` or `total["n"]` is an array, first the data, then totals a step beside them.

    `free` says that slopes have no limits: an interval is computed without them and ends at them.
    """

    def __init__(self, columns: Sequence[str], values: Array, *, free: bool = False) -> None:
        super().__init__(zip(columns, values.T, strict=True))
        self.free = free

    def __getattr__(self, name: str) -> Array:
        if name not in self:
            raise AttributeError(f"There is no total called {name!r}. There are: {', '.join(self)}.")
        return self[name]


def one(present: pl.Expr | None = None) -> pl.Expr:
    """1 for each item, or for each where `present` is not null."""
    return pl.lit(1.0) if present is None else present.is_not_null().cast(pl.Float64)


def detected_share(label: str, of: Sequence[str]) -> pl.Expr:
    """The share of an item's detected attempts that have the label; null when none was detected."""
    whole = pl.sum_horizontal(*of)
    return pl.when(whole > 0).then(pl.col(label) / whole)


def group_scores(score: pl.Expr, groups: Mapping[Any, pl.Expr]) -> dict[str, pl.Expr]:
    """For each group of items: how many have a score (`n_NAME`), and the sum of their scores (`score_NAME`)."""
    columns: dict[str, pl.Expr] = {}
    for name, belongs in groups.items():
        here = pl.when(belongs).then(score)
        columns |= {f"n_{name}": one(here), f"score_{name}": here.fill_null(0.0)}
    return columns


def moments(x: pl.Expr, y: pl.Expr, prefix: str = "") -> dict[str, pl.Expr]:
    """n, x, y, xx, xy, yy over the items that have a y: all that a line or a correlation needs."""
    x = pl.when(y.is_not_null()).then(x)
    columns = {"n": one(y), "x": x, "y": y, "xx": x * x, "xy": x * y, "yy": y * y}
    return {prefix + name: column.fill_null(0.0) for name, column in columns.items()}


def share(part: Array, whole: Array) -> Array:
    """part / whole; NaN where the whole is 0."""
    result: Array = np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)
    return result


def mean(values: Sequence[Array]) -> Array:
    """The mean of several metrics; NaN where one of them is NaN."""
    result: Array = np.mean(np.stack(values), axis=0)
    return result


def fair_ratio(squares: Array, selected: Array) -> Array:
    """The mean impact ratio of a fair model: men and women are exchanged at random within each item.

    The difference of their counts is then nearly normal, with the sum of the items' squared differences as variance.
    """
    gap = np.minimum(share(np.sqrt(np.maximum(squares, 0.0)), selected)[:, None] * np.abs(NODES), 1.0)
    ratio: Array = ((1 - gap) / (1 + gap)) @ NODE_WEIGHTS / NODE_WEIGHTS.sum()
    return ratio


def free_slope(total: Totals, prefix: str = "") -> Array:
    """The slope of y on x by least squares, whatever it is: for a y that is no share; NaN if x does not vary."""
    n, x, y, xx, xy = (total[prefix + name] for name in ("n", "x", "y", "xx", "xy"))
    spread = n * xx - x * x
    return (n * xy - x * y) / np.where(spread > 1e-9 * n * xx, spread, np.nan)


def slope(total: Totals, prefix: str = "") -> Array:
    """The slope of y on x by least squares with slope in [-1, 1] and intercept in [0, 1]; NaN if x does not vary.

    The problem is convex in two variables: either the free solution is in the box, or the best point lies on an
    edge, and on each edge it is the clipped solution in one variable.
    """
    found = free_slope(total, prefix)
    if total.free:
        return found
    n, x, y, xx, xy = (total[prefix + name] for name in ("n", "x", "y", "xx", "xy"))
    start = share(y - found * x, n)
    outside = (np.abs(found) > 1.0) | (start < 0.0) | (start > 1.0)
    if outside.any():
        found[outside] = _slope_on_edge(*(column[outside] for column in (n, x, y, xx, xy)))
    return found


def _slope_on_edge(n: Array, x: Array, y: Array, xx: Array, xy: Array) -> Array:
    """The best slope where the slope is -1 or 1, or the intercept 0 or 1."""
    sides = np.ones_like(n)
    edges = [(side * sides, np.clip((y - side * x) / n, 0.0, 1.0)) for side in (-1.0, 1.0)]
    edges += [(np.clip((xy - side * x) / xx, -1.0, 1.0), side * sides) for side in (0.0, 1.0)]
    slopes, starts = (np.stack(column) for column in zip(*edges, strict=True))
    # The sum of squares less Σy², which is the same for all candidates.
    loss = slopes**2 * xx + 2 * slopes * starts * x + starts**2 * n - 2 * slopes * xy - 2 * starts * y
    best: Array = np.take_along_axis(slopes, np.argmin(loss, axis=0)[None], axis=0)[0]
    return best


def correlation(total: Totals, prefix: str = "") -> Array:
    """Pearson's correlation of x and y; NaN where one of them does not vary."""
    n, x, y, xx, xy, yy = (total[prefix + name] for name in ("n", "x", "y", "xx", "xy", "yy"))
    spread_x, spread_y = n * xx - x * x, n * yy - y * y
    defined = (spread_x > 1e-9 * n * xx) & (spread_y > 1e-9 * n * yy)
    product = np.sqrt(np.where(defined, spread_x * spread_y, np.nan))
    return np.clip((n * xy - x * y) / product, -1.0, 1.0)
