"""Variances for items that share a template, a question or a name, and so err together.

With Z_k the sum of the influences of cluster k of K,

    V = K/(K - 1) Σ Z_k Z_k'           one way (Liang and Zeger 1986, with the usual correction)
    V = Σ_f V_f - (F - 1) V_items      F crossed ways (Cameron, Gelbach and Miller 2011)

How far such a variance can be trusted depends on how equal the clusters are. With a_k what cluster k
can add at most, Σ a_k² χ² has (Σ a_k²)² / Σ a_k⁴ degrees of freedom: the effective number of clusters
(Satterthwaite 1946; Bell and McCaffrey 2002; Carter, Schnepel and Steigerwald 2017). It is K for
equal clusters, and near 1 if one dominates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.stats.influence import Array


def cluster_covariance(sums: Array) -> Array:
    """K/(K - 1) Σ Z Z' for the sums of clusters: cluster, metric."""
    count = len(sums)
    result: Array = sums.T @ sums * count / max(count - 1, 1)
    return result


def crossed_covariance(item_covariance: Array, factor_covariances: Sequence[Array]) -> Array:
    """The covariance for several crossed factors: Σ V_f - (F - 1) V_items.

    Where several items share all factors it is an approximation: it counts what they have in common
    once for each factor. As an estimate it can fall below its parts, or below 0. So the largest is taken
    of it, of each V_f and of V_items.
    """
    total = item_covariance * (1 - len(factor_covariances))
    for part in factor_covariances:
        total = total + part
    return max([item_covariance, total, *factor_covariances], key=np.trace)


def effective_clusters(max_influence: Array) -> float:
    """(Σ a²)² / Σ a⁴, with a what each cluster can add to a metric; 0 if none can."""
    squares = np.asarray(max_influence, dtype=np.float64) ** 2
    fourths = float((squares**2).sum())
    if not fourths:
        return 0.0
    return float(squares.sum() ** 2 / fourths)


def welch_variance(sides: Sequence[tuple[Array, Array]]) -> tuple[float, float]:
    """The variance of a sum of means of two or more groups, and Welch's degrees of freedom.

    Each side holds the rates of its members and their coefficients a. V = Σ a² s² over all members, with s²
    the variance of the rates on their side. One member leaves s² unknown: the result is then (0, 0).
    """
    variances = []
    degrees = []
    for rates, coefficients in sides:
        if len(rates) == 0:
            continue
        if len(rates) == 1:
            return 0.0, 0.0
        variances.append((coefficients**2).sum() * rates.var(ddof=1))
        degrees.append(len(rates) - 1.0)
    total = float(sum(variances))
    if not variances:
        return 0.0, 0.0
    if not total:
        return 0.0, min(degrees)
    parts = [each**2 / own for each, own in zip(variances, degrees, strict=True)]
    return total, float(total**2 / sum(parts))
