"""The paired sign-flip test: how often would random signs give a difference this large?

If two runs do not differ, what item i adds to the difference of a metric, d_i, could as well have the
other sign. So the distribution of D = Σ d_i is that of Σ ε_i d_i with independent random signs ε_i
(Fisher 1935). It holds for any distribution of the d_i that is symmetric, and for many items for any
with mean 0.
"""

from __future__ import annotations

import numpy as np

from equipoise.stats.influence import Array
from equipoise.stats.multiple_testing import SMALLEST_P

DRAWS = 4_000
"""Draws of signs; their p-value is (1 + those as far out) / (1 + all) (Phipson and Smyth 2010)."""
NORMAL_FROM = 20_000
"""With more items than this the sums of signs are drawn as normal values."""
RADEMACHER_TAIL = 3.18
"""P(Σ ε d >= x √Σd²) <= 3.18 P(Z >= x) for every d (Bentkus and Dzindzalieta 2015): an upper bound
of the exact p-value that can be far below 1/4001. Where it is the smaller one, it is used in place of the
drawn p-value. That happens only for very small p-values, where the bound is several times the exact one:
taking the smaller of the two hardly raises the error rate."""
_SEED = 0


def sign_flip_p_values(contributions: Array, weight: Array) -> Array:
    """The two-sided p-value of each metric, by what items add to its difference: item, metric.

    `weight` says how many items each row stands for. Equal runs have p = 1.
    """
    from scipy.special import ndtr

    observed = np.abs(weight @ contributions)
    sums = np.abs(_draw_sums(contributions, weight))
    rounding = 1e-9 * (weight @ np.abs(contributions))
    as_far = (sums >= observed - rounding).sum(axis=0)
    drawn = (1 + as_far) / (1 + len(sums))
    size = np.sqrt(weight @ contributions**2)
    ratio = np.divide(observed, size, out=np.zeros_like(observed), where=size > 0)
    bound = 2 * RADEMACHER_TAIL * ndtr(-ratio)
    result: Array = np.minimum(np.minimum(drawn, bound), 1.0)
    smallest = 2.0 ** (1 - _differing_items(contributions, weight))
    least = np.clip(smallest, SMALLEST_P, 1.0)
    return np.where(size > 0, np.clip(result, least, 1.0), 1.0)


def _differing_items(contributions: Array, weight: Array) -> Array:
    """The number m of items that have a sign to flip; p cannot be below 2^(1 - m)."""
    scale = np.abs(contributions).max(axis=0, initial=0.0)
    counts: Array = weight @ (np.abs(contributions) > 1e-9 * scale)
    return counts


def _draw_sums(contributions: Array, weight: Array) -> Array:
    """Sums with random signs from a fixed seed: draw, metric."""
    random = np.random.default_rng(_SEED)
    if weight.sum() > NORMAL_FROM:
        spread = np.sqrt(weight @ contributions**2)
        return random.standard_normal((DRAWS, contributions.shape[1])) * spread
    whole = weight.astype(np.int64)
    size = max(1, 2_000_000 // max(len(whole), 1))
    sums = []
    for start in range(0, DRAWS, size):
        draws = min(size, DRAWS - start)
        plus = random.binomial(whole, 0.5, size=(draws, len(whole)))
        sums.append((2 * plus - whole) @ contributions)
    return np.concatenate(sums)
