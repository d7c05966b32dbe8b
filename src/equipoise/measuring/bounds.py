"""What missing answers leave open: the least and the largest value if all of them had gone one way or the other.

L and U are these values. With all missing answers filled in, a rate, a difference, a mean of rates or a free slope is
linear in every answer, so each goes the way of its influence z: L and U are exact. The bounds of a slope are those of
the free slope or of the limited one, whichever reach farther. The bounds of a range follow from those of its parts. For
metrics of other kinds, or if what an arm adds depends on what was said of another, it is a search. Numbers have no
limits: a missing one is taken to lie no farther from the others of its item than any that was read does.

Other items would have given other values, so that L and U each have a standard error, by the influences of the items as
they were filled in. What is shown and used for marks is [L - t se, U + t se], t the one-sided quantile (1.645 for many
items): it holds the truth with 95% (Imbens and Manski 2004), which can lie beyond one end only.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import polars as pl

from equipoise.authoring import Array, Parameters, Probe, Totals
from equipoise.measuring.interval import differentiate, measure_totals
from equipoise.measuring.outcomes import MISSING, filled_outcomes
from equipoise.measuring.scatter import LEVEL, Spread, inflate
from equipoise.measuring.summarise import WEIGHT, number_strata, stack_columns, statistics
from equipoise.schema import Bounds

STEPS = 2
"""How often the way of each answer is chosen anew: once is enough where the metric is linear in the answers."""


@dataclass(frozen=True)
class _End:
    """One end of what is possible: the value, and the influence of each item as filled in."""

    value: float
    z: Array

    def __sub__(self, other: _End) -> _End:
        return _End(self.value - other.value, self.z - other.z)


Ends = tuple[_End, _End]


@dataclass(frozen=True)
class _Filled:
    """The columns of cells whose missing answers all have one label, and how they change with the labels of an arm."""

    names: list[str]
    base: Array
    """Cell, column."""
    changes: Array
    """Arm, label, cell, column: 0 for the label of the base."""


def bound_metrics(probe: Probe, table: pl.DataFrame, parameters: Parameters, level: float = LEVEL) -> dict[str, Bounds]:
    """For each marked metric the values it could have if the missing answers were known; none if nothing is missing.

    An answer is missing if it failed or was not detected.
    """
    missing = table.select(pl.sum_horizontal(f"{prefix}{MISSING}" for prefix in probe.prefixes)).to_series()
    if not probe.detector.labels or not missing.sum():
        return {}
    names = statistics(probe, table[:0], parameters).columns
    base, *others = stack_columns(probe, [*filled_outcomes(probe, table)], parameters)
    changes = (np.array(others) - base).reshape(len(probe.prefixes), -1, *base.shape)
    filled = _Filled(names, base, np.concatenate([np.zeros_like(changes[:, :1]), changes], axis=1))
    weight = table[WEIGHT].to_numpy().astype(np.float64)
    scale = np.sqrt(inflate(weight, number_strata(probe, table)))[:, None]
    bounds = {}
    for metric in probe.metrics:
        if metric.bands is None:
            continue
        parts = [_find_ends(probe, filled, weight, parameters, part) for part in metric.range_of or (metric.name,)]
        low, high = _bound_range(parts) if metric.range_of else parts[0]
        if np.isnan([low.value, high.value]).any():
            continue
        down, up = Spread(scale * np.column_stack([low.z, high.z]), weight).reach(2 * level - 1)
        ends = [low.value - float(down), low.value, high.value, high.value + float(up)]
        least_low, least, most, most_high = np.clip(ends, *metric.extremes).tolist()
        bounds[metric.name] = Bounds(low=least_low, high=most_high, least=least, most=most)
    return bounds


def _find_ends(probe: Probe, filled: _Filled, weight: Array, parameters: Parameters, metric: str) -> Ends:
    """The least and the largest value of a metric: the missing answers of each arm of a cell go the best way."""
    place = [each.name for each in probe.all_metrics()].index(metric)
    ends = []
    for side in (-1.0, 1.0):
        columns = filled.base + filled.changes.mean(axis=1).sum(axis=0)
        for _ in range(STEPS):
            _, gradient = differentiate(probe, filled.names, weight @ columns, parameters)
            chosen = np.argmax(side * (filled.changes @ gradient[:, place]), axis=1)
            columns = filled.base + sum(
                change[best, np.arange(len(weight))] for change, best in zip(filled.changes, chosen, strict=True)
            )
        total = weight @ columns
        free, gradient = differentiate(probe, filled.names, total, parameters)
        limited = measure_totals(probe, Totals(filled.names, total[None]), parameters)[metric]
        value = side * max(side * float(free[place]), side * float(limited[0]))
        ends.append(_End(value, columns @ gradient[:, place]))
    return ends[0], ends[1]


def _bound_range(parts: list[Ends]) -> Ends:
    """The least and the largest difference between two of several metrics."""
    top, bottom = max(parts, key=lambda ends: ends[0].value)[0], min(parts, key=lambda ends: ends[1].value)[1]
    gaps = [one[1] - other[0] for one, other in itertools.permutations(parts, 2)]
    least = top - bottom
    return _End(max(0.0, least.value), least.z), max(gaps, key=lambda gap: gap.value)
