"""Worst-case bounds: what a metric could be if some answers are missing (Horowitz and Manski 2000).

A missing answer could have gone any of several ways. If all others are fixed, a metric that is linear
in the columns of items is smallest (or largest) where each missing answer goes the way that lowers
(or raises) it most. So no enumeration of all fills is needed: the gradient of the metric says which way.
"""

from __future__ import annotations

import numpy as np

from equipoise.stats.influence import Array
from equipoise.stats.variance import Labels


def extreme_fill(base: Array, changes: Array, gradient: Array) -> tuple[Array, Labels]:
    """The columns in which each missing answer goes the way that makes a linear metric largest.

    `base` holds the columns if every missing answer goes the first way: row, column. `changes` says how
    they change if those of an arm go another way: arm, way, row, column (0 for the first way).
    `gradient` is the derivative of the metric by each column; that of its negative gives the smallest
    value. Also returned is the way that was chosen: arm, row. Of equally good ways it is the first.
    """
    gains = changes @ gradient
    ways = np.argmax(gains, axis=1)
    columns = base.copy()
    rows = np.arange(len(base))
    for change, way in zip(changes, ways, strict=True):
        columns += change[way, rows]
    return columns, ways
