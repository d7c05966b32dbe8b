"""The paired sign-flip test: how often would random signs give a difference this large?

If two runs do not differ, what item i adds to the difference of a metric, d_i, could as well have the
other sign. So the distribution of D = Σ d_i is that of Σ ε_i d_i with independent random signs ε_i
(Fisher 1935). It holds for any distribution of the d_i that is symmetric, and for many items for any
with mean 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.influence import Array
from equipoise.stats.multiple_testing import SMALLEST_P

DRAWS = 4_000
"""Draws of signs; their p-value is (1 + those as far out) / (1 + all) (Phipson and Smyth 2010)."""
NORMAL_FROM = 20_000
"""With more items that differ than this the sums of signs are drawn as normal values."""
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
    differing_items = weight @ _differs(contributions)
    smallest = 2.0 ** (1 - differing_items)
    least = np.clip(smallest, SMALLEST_P, 1.0)
    return np.where(size > 0, np.clip(result, least, 1.0), 1.0)


def _differs(contributions: Array) -> NDArray[np.bool_]:
    """Whether a row has a sign to flip: row, metric. With m such items p cannot be below 2^(1 - m)."""
    magnitudes = np.abs(contributions)
    result: NDArray[np.bool_] = magnitudes > 1e-9 * magnitudes.max(axis=0, initial=0.0)
    return result


def _draw_sums(contributions: Array, weight: Array) -> Array:
    """Sums with random signs from a fixed seed: draw, metric.

    Only items that differ have a sign. For each metric, their number decides how its sums are drawn.
    """
    random = np.random.default_rng(_SEED)
    differs = _differs(contributions)
    has_many = weight @ differs > NORMAL_FROM
    needs_signs = differs[:, ~has_many].any(axis=1)
    sums = np.empty((DRAWS, contributions.shape[1]))
    with_signs = contributions[needs_signs][:, ~has_many]
    sums[:, ~has_many] = _flip_signs(with_signs, weight[needs_signs], random)
    spread = np.sqrt(weight @ contributions[:, has_many] ** 2)
    sums[:, has_many] = random.standard_normal((DRAWS, len(spread))) * spread
    return sums


def _flip_signs(contributions: Array, weight: Array, random: np.random.Generator) -> Array:
    """Sums in which every item has a random sign: draw, metric."""
    whole = weight.astype(np.int64)
    size = max(1, 2_000_000 // max(len(whole), 1))
    sums = []
    for start in range(0, DRAWS, size):
        draws = min(size, DRAWS - start)
        plus = random.binomial(whole, 0.5, size=(draws, len(whole)))
        sums.append((2 * plus - whole) @ contributions)
    return np.concatenate(sums)
