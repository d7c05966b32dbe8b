"""Selection rates of several categories: impact ratios, and what a fair model would show.

The impact ratio of a category is its selection rate over the highest one. The highest of several rates
is an estimate too, and so is which one it is; and it is the lowest ratio that is looked at. So the
intervals are simultaneous. With l the logarithms of the rates, s_ij the standard error of l_i - l_j, and
q the 95% quantile of max_ij |x_i - x_j| / s_ij for x with the covariance of l, all differences
l_i - l_j lie within q s_ij of their estimates at once. The logarithm of the ratio of i is
min_j (l_i - l_j), so that it lies between

    min_j (l_i - l_j - q s_ij)   and   min_j (l_i - l_j + q s_ij)

The errors are estimates with ν degrees of freedom. So x is a multivariate Student's t: normal
values over one common √(χ²_ν/ν). For equal and independent rates, q is then Tukey's studentised
range with ν degrees of freedom, over √2. These are multiple comparisons with the best, for all categories
together (Hsu 1996, chapters 4 and 5).
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


def error_factors(degrees: float) -> Array:
    """Estimated over true standard errors, √(χ²_ν/ν), for each of the draws; 1 for infinite ν.

    These are the quantiles of that distribution at equal steps, one for each draw. The normal draws
    are independent of each other, so it does not matter which of them has which factor; and the
    factors themselves add no random error.
    """
    if np.isinf(degrees):
        return np.ones(DRAWS)
    from scipy.special import chdtri

    upper_shares = (np.arange(DRAWS) + 0.5) / DRAWS
    result: Array = np.sqrt(chdtri(degrees, upper_shares) / degrees)
    return result


def rate_influence(selected: Array, applicants: Array, totals: Array, rates: Array) -> Array:
    """What each set of applicants adds to the rate of each category: (selected - r applicants) / n."""
    result: Array = (selected - rates * applicants) / totals
    return result


def ratios_to_best(
    log_rates: Array,
    covariance: Array,
    degrees: float,
    level: float = 0.95,
) -> tuple[Array, Array]:
    """Simultaneous intervals of the ratios of some rates to the highest true rate.

    `degrees` are the degrees of freedom of the estimated covariance.
    """
    variances = np.diag(covariance)
    errors = np.sqrt(np.maximum(variances[:, None] + variances - 2 * covariance, 0.0))
    margins = all_pairs_quantile(covariance, errors, degrees, level) * errors
    gaps = log_rates[:, None] - log_rates
    lower = np.exp((gaps - margins).min(axis=1))
    upper = np.exp((gaps + margins).min(axis=1))
    return np.minimum(lower, 1.0), np.minimum(upper, 1.0)


def all_pairs_quantile(covariance: Array, errors: Array, degrees: float, level: float) -> float:
    """The quantile of the largest scaled difference between two of some values.

    The values are normal with this covariance, divided by one common √(χ²_ν/ν) for ν degrees of
    freedom. Two values have one difference, and its quantile is that of Student's t.
    """
    categories = len(covariance)
    if categories <= 2:
        return float(student_quantile(degrees, level))
    draws = draw_normal(covariance)
    largest = np.zeros(len(draws))
    for first in range(1, categories):
        scale = np.where(errors[first, :first] > 0, errors[first, :first], np.inf)
        scaled = np.abs(draws[:, :first] - draws[:, [first]]) / scale
        largest = np.maximum(largest, scaled.max(axis=1))
    largest /= error_factors(degrees)
    place = int(np.ceil(level * len(largest))) - 1
    return float(np.partition(largest, place)[place])


def lowest_ratios_of_fair_models(rate: float, covariance: Array, degrees: float) -> Array:
    """The lowest impact ratios of models whose rates are all equal and vary with this covariance.

    The covariance is an estimate with these degrees of freedom, so each draw of all rates has an
    error of its own: a multivariate Student's t.
    """
    deviations = draw_normal(covariance) / error_factors(degrees)[:, None]
    rates = np.maximum(rate + deviations, 0.0)
    highest = rates.max(axis=1)
    ratios = rates.min(axis=1)[highest > 0] / highest[highest > 0]
    return np.asarray(ratios)


def share_as_low(ratios: Array, observed: Array) -> Array:
    """For each observed ratio how often a fair model shows one as low: (1 + as low) / (1 + all)."""
    ordered = np.sort(ratios)
    as_low = np.searchsorted(ordered, np.asarray(observed) + 1e-9, side="right")
    return np.asarray((1 + as_low) / (1 + len(ordered)))


def largest_lowest_ratio(low_rates: Array, high_rates: Array) -> float:
    """What the lowest impact ratio is at most, if each rate lies anywhere from its low to its high.

    The lowest rate is at most the smallest high, and the highest rate at least the largest low. If
    no low exceeds a high, all rates can be equal.
    """
    smallest_high = float(high_rates.min())
    largest_low = float(low_rates.max())
    if smallest_high >= largest_low:
        return 1.0
    return smallest_high / largest_low
