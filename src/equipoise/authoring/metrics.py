"""Metrics as an author declares them, and the bands that turn their values into marks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial

import numpy as np

from equipoise.authoring.totals import Array

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
    extremes    the least and the largest value that it can have: its interval ends there
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
    extremes: tuple[float, float] = (-math.inf, math.inf)
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


rate = partial(Metric, extremes=RATE)
"""A metric between 0 and 1."""
difference = partial(Metric, extremes=DIFFERENCE)
"""A metric between -1 and 1: one rate less another."""
