"""Seeded numbers for the tests of the statistics, and ways to write the same cells otherwise."""

from __future__ import annotations

import numpy as np

from equipoise.stats.influence import Array


def draw_influence(seed: int, rows: int = 12, metrics: int = 2) -> Array:
    """What some rows add to some metrics, with different sizes and signs."""
    random = np.random.default_rng(seed)
    sizes = random.uniform(0.2, 3.0, size=(rows, 1))
    return np.asarray(sizes * random.standard_normal((rows, metrics)))


def draw_weights(seed: int, rows: int = 12) -> Array:
    """How many items each row stands for: one to five."""
    random = np.random.default_rng(seed + 1)
    return random.integers(1, 6, size=rows).astype(np.float64)


def repeat_rows(table: Array, weight: Array) -> Array:
    """A table with a row for each item, in the place of rows with weights."""
    return np.repeat(table, weight.astype(np.int64), axis=0)
