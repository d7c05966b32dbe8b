"""What scatters: rows that add up to metrics, their variance, and how far an interval reaches.

With z what a row adds to a metric and w how many rows are like it, V = Σ w z², and an interval reaches t_ν √V, with
ν = V² / Σ w z⁴ degrees of freedom (Satterthwaite), at least 3. Values, comparisons, clusters and bounds all use it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array

Groups = NDArray[np.int64]
"""For each row the number of its group."""
LEVEL = 0.95
LEAST_DEGREES = 3.0
DRAWS = 4_000
"""Of a few normal values, from a fixed seed: the distribution of a range has no simple formula."""


@dataclass(frozen=True)
class Spread:
    """Independent rows that add up to some metrics: what each adds, and how many rows are like it."""

    z: Array
    """Row, metric."""
    weight: Array

    def covariance(self) -> Array:
        """Σ w z z' of every two of the metrics."""
        result: Array = (self.z * self.weight[:, None]).T @ self.z
        return result

    def reach(self, level: float) -> Array:
        """How far the interval of each metric reaches from its centre: t √V."""
        return find_reach(self.z**2, self.weight, level)

    def draw(self, level: float) -> Array:
        """Normal values that scatter like the metrics, wider as t is: draw, metric."""
        _, degrees = add_squares(self.z**2, self.weight)
        wider = student_quantile(degrees.min(), level) / student_quantile(math.inf, level)
        return wider * draw_normal(self.covariance())


def add_squares(squares: Array, weight: Array) -> tuple[Array, Array]:
    """V = Σ w z² of each metric, and Satterthwaite's degrees of freedom, V² / Σ w z⁴."""
    variance = weight @ squares
    return variance, divide(variance**2, weight @ (squares * squares))


def find_reach(squares: Array, weight: Array, level: float) -> Array:
    """How far the interval of each metric reaches from its centre, by the squares of what rows add: t √V."""
    variance, degrees = add_squares(squares, weight)
    return np.asarray([student_quantile(each, level) for each in degrees] * np.sqrt(variance))


def draw_normal(covariance: Array) -> Array:
    """Normal values with this covariance, always the same ones: draw, place."""
    values, vectors = np.linalg.eigh(covariance)
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(covariance)))
    result: Array = draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return result


def student_quantile(degrees: float, level: float) -> float:
    """The two-sided quantile of Student's t, by Hill's expansion (1970); fewer than three degrees count as three."""
    n = max(degrees, LEAST_DEGREES) if degrees == degrees else LEAST_DEGREES
    normal = NormalDist().inv_cdf((1 - level) / 2)
    if n > 1e6:
        return -normal
    a = 1 / (n - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
    x = d * (1 - level)
    y = x ** (2 / n)
    if y > 0.05 + a:
        y = normal**2
        c += 0.3 * (n - 4.5) * (normal + 0.6) if n < 5 else 0.0
        c += (((0.05 * d * normal - 5) * normal - 7) * normal - 2) * normal + b
        y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * normal
        y = math.expm1(a * y**2)
    else:
        y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) / (
            n + 2
        ) + 1 / y
    return math.sqrt(n * y)


def divide(part: Array, whole: Array, otherwise: float = np.nan) -> Array:
    """The quotient, or another value where the divisor is 0."""
    whole = np.broadcast_to(whole, np.shape(part))
    result: Array = np.divide(part, whole, out=np.full(np.shape(part), otherwise), where=whole != 0)
    return result


def inflate(weight: Array, stratum: Groups) -> Array:
    """n/(n-1) of the stratum of each row, at least 1."""
    items = np.bincount(stratum, weights=weight)
    return np.asarray(np.maximum(items / np.maximum(items - 1, 0.5), 1.0)[stratum])


def number_values(values: pl.Series) -> Groups:
    """Equal values as one number, from 0."""
    return (values.cast(pl.String).fill_null("").rank("dense").cast(pl.Int64) - 1).to_numpy()


def sum_rows(rows: Array, group: Groups) -> Array:
    """The sums of the rows of each group; groups are numbered from 0."""
    sums = np.zeros((int(group.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, group, rows)
    return sums
