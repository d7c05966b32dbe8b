"""Matrix products in pieces of which each stays in one thread."""

from __future__ import annotations

import numpy as np

from equipoise.authoring import Array

MAX_PRODUCTS, MAX_CELLS = 2**18, 256
"""Up to this many products, and this many cells at a time, BLAS works in one thread."""


def multiply(weights: Array, columns: Array) -> Array:
    """The matrix product in pieces so small that BLAS does not split them over threads.

    Its threads would wait for each other longer than they work: fifty times as long on a busy machine.
    """
    if len(columns) <= MAX_CELLS and weights.size * columns.shape[1] <= MAX_PRODUCTS:
        return weights @ columns
    result = np.zeros((len(weights), columns.shape[1]))
    height = max(1, MAX_PRODUCTS // (min(len(columns), MAX_CELLS) * columns.shape[1]))
    for left in range(0, len(columns), MAX_CELLS):
        right = slice(left, left + MAX_CELLS)
        for top in range(0, len(weights), height):
            rows = slice(top, top + height)
            result[rows] += weights[rows, right] @ columns[right]
    return result
