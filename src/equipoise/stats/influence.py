"""Influences: what one item adds to a metric, by the derivatives of the metric.

A metric is a function f of totals T = Σ w x, with x the columns of an item and w how many items have
them. Its influence values are z = x · ∂f/∂T (Binder 1983; Deville 1999).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RELATIVE_STEP = float(np.cbrt(np.finfo(np.float64).eps))
"""The step of a central difference as a share of the total: 6.1e-6.

Truncation leaves an error of about h², rounding one of about eps/h. Their sum is least where h is
the cube root of eps; it is then about 1e-10 of the derivative. A step of 1e-8 leaves 1e-8, which
showed in the ninth printed digit and differed between processors.
"""


def differentiate(function: Callable[[Array], Array], totals: Array) -> tuple[Array, Array]:
    """The values of several metrics at some totals, and their derivatives by central differences.

    `function` takes rows of totals and gives a row of values for each metric. The derivatives have a
    row for each total and a column for each metric.
    """
    steps = RELATIVE_STEP * np.maximum(np.abs(totals), 1.0)
    rows = np.vstack([totals, totals + np.diag(steps), totals - np.diag(steps)])
    values = function(rows)
    above, below = np.split(values[:, 1:], 2, axis=1)
    return values[:, 0], ((above - below) / (2 * steps)).T
