"""How much to ask: half-widths shrink with the square root of the number of items."""

from __future__ import annotations

import math

import numpy as np

POWER = 0.8
"""A difference is called detectable if a test finds it in this share of studies."""


def detectable_difference(half_width: float, *, tests: int = 1, significance: float = 0.05) -> float:
    """The difference that one of several tests finds with 80% power, by the half-width of its interval.

    (z_{1 - α/2m} + z_{0.8}) se, with se = half-width / z_{0.975} and m tests after Bonferroni.
    """
    from scipy.special import ndtri

    error = half_width / float(ndtri(0.975))
    return error * float(ndtri(1 - significance / 2 / tests) + ndtri(POWER))


def detectable_between_models(half_width: float) -> float:
    """The difference between two models with such intervals that one test finds with 80% power."""
    return detectable_difference(half_width) * math.sqrt(2)


def items_for_half_width(items: int, half_width: float, wanted: float) -> int:
    """How many items give a wanted half-width, if `items` give `half_width`: n (h / wanted)²."""
    return max(1, math.ceil(items * (half_width / wanted) ** 2))


def remaining_variance(repetitions: int, share_asked: float) -> float:
    """An upper bound of the variance that remains, as a share of that of one answer to each item.

    The larger of two extreme cases: a model that flips a coin for every answer (1/r), and one that always
    gives the same answer to an item, for which only a larger share of the items helps (1 - n/N).
    """
    return float(np.maximum(1 / repetitions, 1 - share_asked))
