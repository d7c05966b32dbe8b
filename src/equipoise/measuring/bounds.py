"""What missing answers leave open: the least and the largest value if all of them had gone one way or the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from equipoise.authoring import Array, Parameters, Probe, Totals
from equipoise.measuring.outcomes import MISSING, filled_outcomes
from equipoise.measuring.resample import measure_totals
from equipoise.measuring.summarise import WEIGHT, statistics
from equipoise.schema import Bounds

STEPS = 3
"""How often the worst case is looked for again from where it was found."""


def bound_metrics(probe: Probe, table: pl.DataFrame, parameters: Parameters) -> dict[str, Bounds]:
    """For each marked metric the values it could have if the missing answers were known; none if nothing is missing.

    An answer is missing if it failed or was not detected. Each cell goes the way that moves the metric farthest, by its
    derivative: exact for rates, differences and means of them, and close for slopes.
    """
    prefixes = probe.arms.prefixes.values() if probe.arms else [""]
    missing = table.select(pl.sum_horizontal(pl.col(f"{prefix}{MISSING}").sum() for prefix in prefixes)).item()
    if not probe.detector.labels or not missing:
        return {}
    ways = np.stack([statistics(probe, rows, parameters).to_numpy() for rows in filled_outcomes(probe, table)])
    names = statistics(probe, table[:0], parameters).columns
    weight = table[WEIGHT].to_numpy().astype(np.float64)
    bounds = {}
    for metric in probe.marked_metrics():
        ends = [
            value * side
            for side in (-1.0, 1.0)
            for value in [max(_climb(probe, metric, parameters, names, ways, weight, side), default=np.nan)]
        ]
        if not np.isnan(ends).any():
            bounds[metric] = Bounds(low=float(ends[0]), high=float(ends[1]))
    return bounds


def _climb(
    probe: Probe, metric: str, parameters: Parameters, names: list[str], ways: Array, weight: Array, side: float
) -> Iterator[float]:
    """Values of the metric (times `side`) on the way up, from each start in which all missing answers go one way."""

    def values(totals: Array) -> Array:
        return side * measure_totals(probe, Totals(names, totals), parameters)[metric]

    for start in range(len(ways)):
        total = weight @ ways[start]
        for _ in range(STEPS):
            steps = np.maximum(np.abs(total), 1.0) * 1e-6
            around = values(np.vstack([total, total + np.diag(steps)]))
            if np.isnan(around).any():
                break
            yield float(around[0])
            gradient = (around[1:] - around[0]) / steps
            chosen = np.argmax(ways @ gradient, axis=0)
            total = weight @ ways[chosen, np.arange(len(weight))]
        value = values(total[None])[0]
        if not np.isnan(value):
            yield float(value)
