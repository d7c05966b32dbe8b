"""What missing answers leave open: the least and the largest value if all of them had gone one way or the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Parameters, Probe, Totals
from equipoise.measuring.outcomes import MISSING, filled_outcomes
from equipoise.measuring.resample import measure_totals
from equipoise.measuring.summarise import WEIGHT, statistics
from equipoise.schema import Bounds

STEPS = 3
"""How often the worst case is looked for again from where it was found."""
BETWEEN = 21
"""Points between two starts: a range is smallest where two rates meet, which may be on the way."""
MAX_SWITCHES, MAX_TRIALS = 30, 4_000
"""Single cells are switched this often at most, and only where there are no more ways to try than this."""


def bound_metrics(probe: Probe, table: pl.DataFrame, parameters: Parameters) -> dict[str, Bounds]:
    """For each marked metric the values it could have if the missing answers were known; none if nothing is missing.

    An answer is missing if it failed or was not detected. Each cell goes the way that moves the metric farthest, by its
    derivative: exact for rates, differences and means of them. For slopes it is a search, and may be a little narrow.
    """
    missing = table.select(pl.sum_horizontal(pl.col(f"{prefix}{MISSING}").sum() for prefix in probe.prefixes)).item()
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
    """Values of the metric (times `side`) between and above the starts in which all missing answers go one way."""

    def values(totals: Array) -> Array:
        return side * measure_totals(probe, Totals(names, totals), parameters)[metric]

    starts = weight @ ways
    shares = np.linspace(0.0, 1.0, BETWEEN)[:, None]
    for first, second in itertools.combinations(starts, 2):
        yield from _known(values(first + shares * (second - first)))
    everywhere = np.arange(len(weight))
    for start in range(len(ways)):
        chosen = np.full(len(weight), start)
        for _ in range(STEPS):
            total = weight @ ways[chosen, everywhere]
            steps = np.maximum(np.abs(total), 1.0) * 1e-6
            around = values(np.vstack([total, total + np.diag(steps)]))
            if np.isnan(around).any():
                break
            yield float(around[0])
            chosen = np.argmax(ways @ ((around[1:] - around[0]) / steps), axis=0)
        yield from _known(values(_switch_cells(values, ways, weight, chosen)[None]))


def _switch_cells(values: Callable[[Array], Array], ways: Array, weight: Array, chosen: NDArray[np.int64]) -> Array:
    """The totals after switching single cells as long as that helps, where there are few enough to try them all."""
    everywhere, chosen = np.arange(len(weight)), chosen.copy()
    total: Array = weight @ ways[chosen, everywhere]
    for _ in range(min(MAX_SWITCHES, len(weight)) if ways.shape[0] * len(weight) <= MAX_TRIALS else 0):
        trials = total + weight[:, None] * (ways - ways[chosen, everywhere])
        found = values(trials.reshape(-1, trials.shape[-1]))
        best = int(np.nanargmax(found)) if not np.isnan(found).all() else 0
        before = values(total[None])[0]
        if np.isnan(found).all() or not found[best] > before + 1e-12:
            break
        way, cell = divmod(best, len(weight))
        chosen[cell] = way
        total = weight @ ways[chosen, everywhere]
    return total


def _known(values: Array) -> Iterator[float]:
    yield from map(float, values[~np.isnan(values)])
