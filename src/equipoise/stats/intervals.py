"""Parts of intervals: quantiles, the margin where nothing was seen, and distances from a centre."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from equipoise.stats.influence import Array

Mask = NDArray[np.bool_]

LEVEL = 0.95
MIN_ITEM_DEGREES = 4.0
"""Student's t for items has at least this many degrees of freedom.

Where all items agree, only the pseudo-item varies, which is one observation: t with one degree of
freedom would make the interval of 0 of 60 end at 0.16, where the exact one ends at 0.06. With four, one
more contrary answer widens the interval of a rate by at most 2/n.
"""


def student_quantile(degrees: Array | float, level: float) -> Array:
    """The two-sided quantile of Student's t: P(|t| <= q) = level. Infinite degrees are the normal's."""
    from scipy.special import ndtri, stdtrit

    degrees = np.asarray(degrees, dtype=np.float64)
    finite = np.where(np.isfinite(degrees), degrees, 1.0)
    result: Array = np.where(
        np.isinf(degrees),
        ndtri((1 + level) / 2),
        stdtrit(finite, (1 + level) / 2),
    )
    return np.where(np.isnan(degrees), np.nan, result)


def student_tail(statistic: Array, degrees: Array) -> Array:
    """P(t > statistic) of Student's t."""
    from scipy.special import stdtr

    result: Array = stdtr(degrees, -np.asarray(statistic))
    return result


def normal_p_value(statistic: Array | float) -> Array:
    """The two-sided p-value of a statistic that is standard normal: P(|Z| >= |z|)."""
    from scipy.special import ndtr

    result: Array = 2 * ndtr(-np.abs(statistic))
    return result


def item_degrees(degrees: Array) -> Array:
    """Satterthwaite's degrees of freedom over items, at least MIN_ITEM_DEGREES."""
    known = np.where(np.isnan(degrees), MIN_ITEM_DEGREES, degrees)
    return np.maximum(known, MIN_ITEM_DEGREES)


def zero_count_margin(level: float) -> float:
    """The largest plausible count of an event that no item showed: -ln((1 - level)/2), which is 3.7 for 95%.

    With k of n expected, the chance to see none is about exp(-k): the two-sided form of the rule of
    three (Hanley and Lippman-Hand 1983).
    """
    return -math.log((1 - level) / 2)


def interval_p_value(
    values: Array,
    centres: Array,
    standard_errors: Array,
    degrees: Array,
    below: Array,
    above: Array,
) -> Array:
    """The error at which the interval of each value just reaches 0: the p-value that inverts the interval.

    The interval goes from min(centre - t s, value - m·below) to max(centre + t s, value + m·above), with m
    the margin of `zero_count_margin`. So the p-value is the larger of that of Student's t and, with c the
    change towards 0, of 2 exp(-|value| / c). It is 1 where the value is 0, and NaN where it is not known.
    """
    sign = np.sign(values)
    towards_zero = np.where(sign > 0, below, above)
    statistic = np.divide(
        sign * centres,
        standard_errors,
        out=np.copysign(np.inf, sign * centres),
        where=standard_errors > 0,
    )
    tails = 2 * student_tail(statistic, degrees)
    exponent = np.divide(
        -np.abs(values),
        towards_zero,
        out=np.full_like(values, -np.inf),
        where=towards_zero > 0,
    )
    p_values = np.minimum(np.maximum(tails, 2 * np.exp(exponent)), 1.0)
    p_values = np.where(sign == 0, 1.0, p_values)
    result: Array = np.where(np.isnan(values), np.nan, p_values)
    return result


def zero_count_changes(
    influence: Array,
    lowest: Array,
    highest: Array,
    weight: Array,
    has_all_answers: Mask,
    min_seen_share: Array | float,
) -> tuple[Array, Array]:
    """How far one item can move each metric down and up, on a side to which no item was seen to go; else 0.

    `influence` holds what the items add (item, metric), `lowest` and `highest` what they could add at most.
    The change is the root mean square over items of the way that is left. A side counts as seen if an
    item that has all its answers went at least `min_seen_share` of the farthest way to it.
    """
    changes = []
    for sign, farthest in ((-1.0, lowest), (1.0, highest)):
        change = np.sqrt(weight @ (farthest - influence) ** 2 / weight.sum())
        farthest_seen = (sign * influence[has_all_answers]).max(axis=0, initial=-np.inf)
        is_unseen = farthest_seen <= min_seen_share * (sign * farthest).max(axis=0)
        changes.append(np.where(is_unseen, change, 0.0))
    return changes[0], changes[1]


def fold(low: float, high: float) -> tuple[float, float]:
    """The smallest and the largest distance from 0 of the values in an interval."""
    if low <= 0 <= high:
        return 0.0, max(-low, high)
    return min(abs(low), abs(high)), max(abs(low), abs(high))


def clip_interval(value: float, low: float, high: float, domain: tuple[float, float]) -> tuple[float, float]:
    """An interval that holds its value and ends where the metric ends."""
    smallest, largest = domain
    return min(max(low, smallest), value), max(min(high, largest), value)


def width_factor(degrees: float, level: float, other_level: float) -> float:
    """How many times as wide an interval at one level is at another: the ratio of Student's quantiles.

    It serves the rule of three, too. From 95% to 99.4% that margin grows by 1.58; where it applies, there
    are about 4 degrees of freedom, and the ratio is 1.92.
    """
    known = math.inf if math.isnan(degrees) else degrees
    return float(student_quantile(known, other_level) / student_quantile(known, level))
