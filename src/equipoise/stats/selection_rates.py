"""Selection rates of several categories: impact ratios, and what a fair model would show.

The impact ratio of a category is its selection rate over the highest one. The highest of several rates
is an estimate too, and so is which one it is. So the intervals are comparisons with the best (Edwards
and Hsu 1983): with d_k the two-sided 95% quantile of max_j |x_j - x_k| / s_jk for normal x with the
covariance of the logarithms of the rates (Dunnett 1955), and k over the categories that could be best,

    log ratio of i:  min_k (l_i - l_k - d_k s_ik)  to  max_k (l_i - l_k + d_k s_ik),  at most 0

They hold for all categories together, the lowest included, which is the one that is looked at.
"""

from __future__ import annotations

import numpy as np

from equipoise.stats.influence import Array
from equipoise.stats.intervals import student_quantile

DRAWS = 10_000
_SEED = 0


def draw_normal(covariance: Array) -> Array:
    """Normal values with this covariance, always the same ones: draw, place.

    By the symmetric square root V Λ^½ V', which is unique also where eigenvalues are equal: the
    eigenvectors V alone are not, and then depend on the processor.
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    draws = np.random.default_rng(_SEED).standard_normal((DRAWS, len(covariance)))
    result: Array = draws @ root
    return result


def rate_influence(selected: Array, applicants: Array, totals: Array, rates: Array) -> Array:
    """What each set of applicants adds to the rate of each category: (selected - r applicants) / n."""
    result: Array = (selected - rates * applicants) / totals
    return result


def ratios_to_best(log_rates: Array, covariance: Array, degrees: float, level: float = 0.95) -> tuple[Array, Array]:
    """Simultaneous intervals of the ratios of some rates to the highest true rate."""
    wider = float(student_quantile(degrees, level) / student_quantile(np.inf, level))
    variances = np.diag(covariance)
    errors = np.sqrt(np.maximum(variances[:, None] + variances - 2 * covariance, 0.0))
    gaps = log_rates[:, None] - log_rates
    low = np.zeros_like(gaps)
    high = np.zeros_like(gaps)
    could_be_best = np.zeros(len(log_rates), dtype=bool)
    for best, quantile in enumerate(_dunnett_quantiles(covariance, errors, level)):
        error = errors[:, best]
        critical = wider * quantile
        low[:, best] = gaps[:, best] - critical * error
        high[:, best] = gaps[:, best] + critical * error
        could_be_best[best] = bool((low[:, best] <= 0).all())
    # At least the category with the highest rate could be the best one.
    could_be_best[int(np.argmax(log_rates))] = True
    lower = np.exp(np.minimum(low[:, could_be_best].min(axis=1), 0.0))
    upper = np.exp(np.minimum(high[:, could_be_best].max(axis=1), 0.0))
    return lower, upper


def _dunnett_quantiles(covariance: Array, errors: Array, level: float) -> list[float]:
    """For each category as the best the two-sided quantile of the largest of its scaled differences."""
    categories = len(covariance)
    if categories <= 2:
        return [float(student_quantile(np.inf, level))] * categories
    draws = draw_normal(covariance)
    quantiles = []
    for best in range(categories):
        scale = np.where(errors[:, best] > 0, errors[:, best], np.inf)
        largest = (np.abs(draws - draws[:, [best]]) / scale).max(axis=1)
        place = int(np.ceil(level * len(largest))) - 1
        quantiles.append(float(np.partition(largest, place)[place]))
    return quantiles


def lowest_ratios_of_fair_models(rate: float, covariance: Array, degrees: float) -> Array:
    """The lowest impact ratios of models whose rates are all the same and vary with this covariance."""
    level = 0.95
    wider = float(student_quantile(degrees, level) / student_quantile(np.inf, level))
    rates = np.maximum(rate + wider * draw_normal(covariance), 0.0)
    highest = rates.max(axis=1)
    ratios = rates.min(axis=1)[highest > 0] / highest[highest > 0]
    return np.asarray(ratios)


def share_as_low(ratios: Array, observed: Array) -> Array:
    """For each observed ratio how often a fair model shows one as low: (1 + as low) / (1 + all)."""
    ordered = np.sort(ratios)
    as_low = np.searchsorted(ordered, np.asarray(observed) + 1e-9, side="right")
    return np.asarray((1 + as_low) / (1 + len(ordered)))
