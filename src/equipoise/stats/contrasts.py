"""The maximum of several contrasts: how wide it may be, and how two of them differ.

The range of some rates is the largest difference between two of them, and a distance |x - c| is the
larger of x - c and c - x. Both are maxima of contrasts δ_1 … δ_m, estimated with known errors. The
maximum is not smooth where contrasts tie, so that its own linearised error is wrong there. These
limits hold at ties, too; away from ties they are those of the single largest contrast.

For R = max δ, with t the one-sided quantile for an error of α:

    upper limit    max_p (δ_p + t(α) s_p)          because R is one of the δ_p
    lower limit    max_p (δ_p - t(α/m) s_p)        because R is at least each δ_p (Bonferroni over m)

For R - R' of two maxima (max_p δ_p and max_q δ'_q), with s_pq the error of δ_p - δ'_q:

    lower limit    min_q max_p (δ_p - δ'_q - t(α/m) s_pq)

For the q at which R' is reached, no δ_p - δ'_q exceeds R - R'. So the lower limit exceeds R - R' only
if, for this q, one of the m limits of δ_p - δ'_q exceeds its own δ_p - δ'_q: an intersection-union
test (Berger 1982) over q, Bonferroni over p. The order of min and max matters: where the two runs are
the same, δ_q - δ'_q is 0 for each q, and so is the limit.
The upper limit exchanges the two. Contrasts so far below the largest that they cannot be the
maximum do not count in m (a first step as in Romano, Shaikh and Wolf 2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.influence import Array
from equipoise.stats.intervals import item_degrees, student_quantile, student_tail
from equipoise.stats.multiple_testing import SMALLEST_P
from equipoise.stats.variance import variance

CLEARLY_BELOW = 4.5
"""A contrast this many standard errors below the largest is taken not to be the maximum: error 3.4 in a million."""


@dataclass(frozen=True)
class Contrasts:
    """Some contrasts: their values, and what each row adds to them."""

    values: Array
    influence: Array
    """Row, contrast. Two sets of contrasts that are compared have the same rows."""


def count_candidates(values: Array, errors_of_gaps: Array, largest_values: Array | None = None) -> int:
    """How many of some contrasts could be the largest.

    `errors_of_gaps` holds the standard error of the gap between each and the largest one. Where a
    contrast can be larger than its value, because answers are missing, `largest_values` says how large.
    """
    return int(_could_be_largest(values, errors_of_gaps, largest_values).sum())


def find_candidates(contrasts: Contrasts, weight: Array) -> NDArray[np.bool_]:
    """Which of the contrasts could be the largest."""
    largest = int(np.argmax(contrasts.values))
    gaps = contrasts.influence - contrasts.influence[:, largest : largest + 1]
    squares, _ = variance(gaps**2, weight)
    return _could_be_largest(contrasts.values, np.sqrt(squares))


def _could_be_largest(values: Array, errors_of_gaps: Array, largest_values: Array | None = None) -> NDArray[np.bool_]:
    if largest_values is None:
        largest_values = values
    gaps = values.max() - largest_values
    is_candidate = np.asarray(gaps <= CLEARLY_BELOW * errors_of_gaps)
    is_candidate[np.argmax(values)] = True
    return is_candidate


def lower_limit(first: Contrasts, second: Contrasts, weight: Array, level: float) -> float:
    """The lower limit of max(second) - max(first), with a one-sided error of (1 - level)/2."""
    differences, errors, degrees = _paired(first, second, weight)
    is_candidate = find_candidates(second, weight)
    error = (1 - level) / 2 / is_candidate.sum()
    limits = differences - student_quantile(degrees, 1 - 2 * error) * errors
    return float(limits[is_candidate].max(axis=0).min())


def tail_beyond_zero(first: Contrasts, second: Contrasts, weight: Array) -> float:
    """The one-sided p-value for max(second) <= max(first): the error at which the lower limit is 0, at most 1."""
    differences, errors, degrees = _paired(first, second, weight)
    statistic = np.divide(differences, errors, out=np.copysign(np.inf, differences), where=errors > 0)
    statistic[(errors == 0) & (differences == 0)] = 0.0
    tails = student_tail(statistic, degrees)
    is_candidate = find_candidates(second, weight)
    tail = is_candidate.sum() * tails[is_candidate].min(axis=0).max()
    return float(np.clip(tail, SMALLEST_P, 1.0))


def _paired(first: Contrasts, second: Contrasts, weight: Array) -> tuple[Array, Array, Array]:
    """Differences of each contrast of the second and each of the first, their errors and degrees."""
    differences = second.values[:, None] - first.values[None, :]
    influence = second.influence[:, :, None] - first.influence[:, None, :]
    squares = influence.reshape(len(weight), differences.size) ** 2
    total, degrees = variance(squares, weight)
    shape = differences.shape
    return differences, np.sqrt(total).reshape(shape), item_degrees(degrees).reshape(shape)
