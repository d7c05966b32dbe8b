"""Every metric as the largest of some contrasts: itself, the differences of which it is the range, or both sides of it.

Most metrics are one contrast, themselves. The range of some rates is the largest of their differences,
and a distance |x - c| is the larger of x - c and c - x. What has several contrasts is not smooth where
they tie: `equipoise.stats.contrasts` says how its limits follow from those of the contrasts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from equipoise.authoring import Array, Metric


class Contrast(NamedTuple):
    """A metric less another one, or less nothing, or nothing less a metric; and a constant."""

    plus: int | None
    """The column of the metric that is added."""
    minus: int | None
    constant: float = 0.0

    @property
    def opposite(self) -> Contrast:
        """The contrast with the other sign."""
        return Contrast(self.minus, self.plus, -self.constant)


def subtract(table: Array, contrasts: Sequence[Contrast]) -> Array:
    """The contrasts of the columns of a table, which are its last axis, without their constants."""
    columns = np.zeros((*table.shape[:-1], len(contrasts)))
    for place, contrast in enumerate(contrasts):
        if contrast.plus is not None:
            columns[..., place] += table[..., contrast.plus]
        if contrast.minus is not None:
            columns[..., place] -= table[..., contrast.minus]
    return columns


def contrasts_of_value(metric: Metric, names: Sequence[str]) -> list[Contrast]:
    """The contrasts whose largest is the value of a metric. `names` are the columns: all metrics of the probe."""
    if metric.range_of:
        return _ordered_pairs(names, metric.range_of)
    if metric.distance_of:
        return _both_sides(names, *metric.distance_of)
    return [Contrast(names.index(metric.name), None)]


def contrasts_of_distance(metric: Metric, names: Sequence[str]) -> list[Contrast]:
    """The contrasts whose largest is the distance of a marked metric from even-handed."""
    assert metric.bands is not None
    if metric.range_of:
        return _ordered_pairs(names, metric.range_of)
    return _both_sides(names, metric.name, metric.bands.centre)


def _ordered_pairs(names: Sequence[str], parts: Sequence[str]) -> list[Contrast]:
    """The differences between any two of some metrics, in either order."""
    places = [names.index(name) for name in parts]
    return [Contrast(first, second) for first, second in itertools.permutations(places, 2)]


def _both_sides(names: Sequence[str], name: str, centre: float) -> list[Contrast]:
    """A metric less its centre, and the centre less the metric."""
    above = Contrast(names.index(name), None, -centre)
    return [above, above.opposite]
