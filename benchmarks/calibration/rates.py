"""The coverage of the interval of a single rate, by exact enumeration of what n items can say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from scipy.stats import binom

from benchmarks.calibration.runs import Row
from benchmarks.calibration.worlds import make_world
from equipoise.authoring import Array
from equipoise.measuring.cells import CellTable, prepare_cells
from equipoise.measuring.estimates import estimate_cells
from equipoise.measuring.outcomes import ATTEMPTS, MISSING
from equipoise.measuring.summarise import WEIGHT

STUDY = "jobs_lum"
METRIC = "masculine_rate"
TINY = 1e-9


def study_rates(smallest: int, largest: int) -> list[Row]:
    """The smallest and the mean coverage for every number of items from one to another."""
    rows = []
    for items in range(smallest, largest + 1):
        lows, highs = find_intervals(items)
        chances = _grid(lows, highs)
        coverage = cover_exactly(lows, highs, chances)
        worst = int(np.argmin(coverage))
        even = np.linspace(0.0005, 0.9995, 1_000)
        rows.append(
            {
                "table": "rates",
                "items": items,
                "least": float(coverage[worst]),
                "at": float(chances[worst]),
                "mean": float(cover_exactly(lows, highs, even).mean()),
            }
        )
    return rows


def find_intervals(items: int) -> tuple[Array, Array]:
    """The ends of the intervals for 0 to n first outcomes of n items."""
    cells = _make_cells()
    found = []
    for first in range(items + 1):
        weight = np.array([first, items - first])
        there = np.flatnonzero(weight)
        some = replace(cells.take(there), weight=weight[there])
        found.append(estimate_cells(some)[METRIC])
    return np.array([each.low for each in found]), np.array([each.high for each in found])


def _make_cells() -> CellTable:
    """Two cells: an item with the first outcome, and one with the second."""
    world = make_world(STUDY)
    columns = {"male": [1, 0], "female": [0, 1], ATTEMPTS: [1, 1], MISSING: [0, 0]}
    columns |= {name: [0, 0] for name in world.probe.detector.other_labels}
    table = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.UInt32)).with_columns(
        pl.lit(0.5).alias("masculinity"), pl.lit(1, pl.Int64).alias(WEIGHT)
    )
    return prepare_cells(world.probe, table, world.planned.parameters)


def _grid(lows: Array, highs: Array) -> Array:
    """Chances from 0 to 1: evenly, near the ends, and on either side of each end of an interval.

    The coverage jumps where an interval ends, so that it is smallest just beside one of them.
    """
    near_zero = np.geomspace(1e-6, 0.05, 200)
    ends = np.concatenate([lows, highs])
    beside = [ends - TINY, ends + TINY]
    chances = np.concatenate([np.linspace(0, 1, 2_001), near_zero, 1 - near_zero, *beside])
    return np.unique(chances[(chances >= 0) & (chances <= 1)])


def cover_exactly(lows: Array, highs: Array, chances: Array) -> Array:
    """The probability that the interval holds each chance."""
    items = len(lows) - 1
    counts = np.arange(items + 1)
    result = np.zeros(len(chances))
    for start in range(0, len(chances), 1_000):
        some = chances[start : start + 1_000, None]
        holds = (lows - 1e-12 <= some) & (some <= highs + 1e-12)
        result[start : start + 1_000] = (binom.pmf(counts, items, some) * holds).sum(axis=1)
    return result
