"""Corrections for many tests at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.stats.influence import Array

SMALLEST_P = float(np.finfo(np.float64).tiny)
"""P-values are never 0 (Phipson and Smyth 2010). A smaller one cannot be written as a number."""


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted so that the family-wise error rate is at most the level (Holm 1979)."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    result = np.empty_like(values)
    result[order] = adjusted
    return [float(value) for value in result]


def benjamini_hochberg(p_values: Array) -> Array:
    """P-values adjusted for the false discovery rate (Benjamini and Hochberg 1995)."""
    values = np.asarray(p_values, dtype=np.float64)
    count = len(values)
    order = np.argsort(values, kind="stable")[::-1]
    factors = count / np.arange(count, 0, -1)
    adjusted = np.minimum(np.minimum.accumulate(values[order] * factors), 1.0)
    result = np.empty_like(values)
    result[order] = adjusted
    return result
