"""Variances of linearised metrics, and how many degrees of freedom they have.

With z_i what row i adds to a metric and w_i how many rows are like it,

    V = Σ w_i z_i²                     the linearised variance (Binder 1983)
    ν = V² / Σ w_i z_i⁴                its degrees of freedom (Satterthwaite 1946)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.influence import Array

Labels = NDArray[np.int64]
"""For each row the number of its stratum or cluster, counted from 0."""


@dataclass(frozen=True)
class Contributions:
    """Independent rows that add up to some metrics."""

    influence: Array
    """What a row adds: row, metric."""
    weight: Array
    """How many rows are like it."""


def covariance(contributions: Contributions) -> Array:
    """Σ w z z' of every pair of metrics."""
    influence = contributions.influence
    result: Array = (influence * contributions.weight[:, None]).T @ influence
    return result


def is_covariance(matrix: Array) -> bool:
    """Whether a symmetric matrix has no negative eigenvalue, but for rounding."""
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    return bool(values.min() >= -1e-9 * np.abs(values).max())


def positive_part(matrix: Array) -> Array:
    """A symmetric matrix with its negative eigenvalues set to 0: the nearest one that is a covariance."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    result: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return result


def variance(squares: Array, weight: Array) -> tuple[Array, Array]:
    """V = Σ w z² of each metric, and Satterthwaite's degrees of freedom; `squares` holds the z²."""
    total = weight @ squares
    return total, divide(total**2, weight @ (squares * squares))


def stratum_factors(weight: Array, stratum: Labels) -> Array:
    """n/(n - 1) for the stratum of each row, with n its items: Bessel's correction, at least 1."""
    items = np.bincount(stratum, weights=weight)
    factors = np.maximum(items / np.maximum(items - 1, 0.5), 1.0)
    return np.asarray(factors[stratum])


def repetition_variance(label_counts: Array, outcome_effects: Array) -> Array:
    """The variance that repeated answers leave in what an item adds to each metric.

    An item with r answers, a share p_l of them with label l, adds the mean of the effects e_l. If the
    model were asked again, that mean would vary by (Σ p_l e_l² - (Σ p_l e_l)²) / (r - 1), the usual
    unbiased estimate. `label_counts` has a row for each label and a column for each item;
    `outcome_effects` is label, item, metric. Items with one answer have 0.
    """
    answers = label_counts.sum(axis=0)
    shares = label_counts / np.maximum(answers, 1)
    mean = np.einsum("li,lim->im", shares, outcome_effects)
    mean_square = np.einsum("li,lim->im", shares, outcome_effects**2)
    within = np.maximum(mean_square - mean**2, 0.0)
    return np.asarray(within / np.maximum(answers - 1, 1)[:, None])


def finite_population_squares(squares: Array, within: Array, share: float) -> Array:
    """What items add to a variance if a share n/N of a finite population was asked, several times each.

        (1 - n/N) z² + (n/N) v

    with z² from the variance between items (times the finite population correction 1 - n/N) and v that of
    an item's own repetitions (Cochran 1977, section 10.4). With all items asked only the second is left.
    """
    return (1 - share) * squares + share * within


def divide(part: Array, whole: Array, otherwise: float = np.nan) -> Array:
    """The quotient, or another value where the divisor is 0."""
    whole = np.broadcast_to(whole, np.shape(part))
    filled = np.full(np.shape(part), otherwise)
    result: Array = np.divide(part, whole, out=filled, where=whole != 0)
    return result


def sum_by_label(rows: Array, labels: Labels) -> Array:
    """The sums of the rows with each label."""
    sums = np.zeros((int(labels.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, labels, rows)
    return sums
