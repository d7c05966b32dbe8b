"""Student's quantiles and tails, the margin where nothing was seen, folded and clipped intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from equipoise.stats.intervals import (
    LEVEL,
    MIN_ITEM_DEGREES,
    clip_interval,
    fold,
    interval_p_value,
    item_degrees,
    student_quantile,
    student_tail,
    width_factor,
    zero_count_changes,
    zero_count_margin,
)

DEGREES = np.array([1.0, 2.0, 2.5, 3.0, 7.0, 30.0, 1e4])
NUMBERS = st.floats(-3, 3)


# Student's t


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.98, 0.995, 1 - 1e-9])
def test_quantiles_are_those_of_scipy(level: float) -> None:
    """Two-sided, for whole and broken degrees of freedom."""
    expected = scipy.stats.t.ppf((1 + level) / 2, DEGREES)
    assert student_quantile(DEGREES, level) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.995])
def test_infinite_degrees_of_freedom_are_those_of_the_normal_distribution(level: float) -> None:
    """Among others they do not disturb."""
    found = student_quantile(np.array([np.inf, 4.0]), level)
    assert found[0] == pytest.approx(scipy.stats.norm.ppf((1 + level) / 2), rel=1e-12)
    assert found[1] == pytest.approx(scipy.stats.t.ppf((1 + level) / 2, 4), rel=1e-9)


def test_unknown_degrees_of_freedom_have_no_quantile() -> None:
    """NaN stays NaN, and one number is enough."""
    assert np.isnan(student_quantile(np.nan, 0.95))
    assert np.isnan(student_quantile(np.array([np.nan, 5.0]), 0.95)).tolist() == [True, False]


@given(degrees=st.floats(1, 200), more=st.floats(0.5, 50), level=st.floats(0.5, 0.99))
def test_quantiles_shrink_with_degrees_and_grow_with_the_level(degrees: float, more: float, level: float) -> None:
    """More items make an interval shorter, more confidence makes it longer."""
    quantile = float(student_quantile(degrees, level))
    assert float(student_quantile(degrees + more, level)) < quantile
    assert float(student_quantile(degrees, level + 0.005)) > quantile


@pytest.mark.parametrize("statistic", [-40.0, -2.2, 0.0, 0.7, 3.0, 40.0])
def test_tails_are_those_of_scipy(statistic: float) -> None:
    """One-sided, upwards; far tails keep their digits."""
    expected = scipy.stats.t.sf(statistic, DEGREES)
    found = student_tail(np.full(len(DEGREES), statistic), DEGREES)
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_tail_beyond_an_infinite_statistic_is_empty() -> None:
    """And all lies beyond minus infinity."""
    found = student_tail(np.array([np.inf, -np.inf]), np.array([5.0, 5.0]))
    assert found.tolist() == [0.0, 1.0]


def test_items_have_at_least_four_degrees_of_freedom() -> None:
    """Also where nothing varies and the degrees are not known; more are kept."""
    assert MIN_ITEM_DEGREES == 4
    found = item_degrees(np.array([np.nan, 0.5, 3.99, 4.0, 4.5, 400.0, np.inf]))
    assert found.tolist() == [4, 4, 4, 4, 4.5, 400, np.inf]


def test_the_usual_level_is_95_percent() -> None:
    """All that is printed says so."""
    assert LEVEL == 0.95


# The margin where nothing was seen


@pytest.mark.parametrize("level", [0.9, 0.95, 0.995])
def test_the_margin_where_nothing_was_seen_is_the_exact_limit_of_none_of_many(level: float) -> None:
    """Clopper and Pearson's upper limit of 0 of n, times n."""
    many = 1_000_000
    _, upper = proportion_confint(0, many, alpha=1 - level, method="beta")
    assert zero_count_margin(level) == pytest.approx(many * upper, rel=1e-5)


def test_the_margin_is_the_two_sided_rule_of_three() -> None:
    """3.7 items for 95%."""
    assert zero_count_margin(0.95) == pytest.approx(3.689, abs=5e-4)


# Folded and clipped intervals


@pytest.mark.parametrize(
    ("ends", "folded"),
    [
        ((-0.2, 0.3), (0, 0.3)),
        ((-0.4, 0.3), (0, 0.4)),
        ((0.1, 0.3), (0.1, 0.3)),
        ((-0.3, -0.1), (0.1, 0.3)),
        ((0.0, 0.3), (0, 0.3)),
        ((-0.3, 0.0), (0, 0.3)),
    ],
)
def test_distances_from_zero(ends: tuple[float, float], folded: tuple[float, float]) -> None:
    """The smallest is 0 where the interval holds 0."""
    assert fold(*ends) == folded


@given(first=NUMBERS, second=NUMBERS)
def test_folded_ends_are_those_of_all_values_inside(first: float, second: float) -> None:
    """Compared with many values of the interval."""
    low = min(first, second)
    high = max(first, second)
    values = np.abs(np.linspace(low, high, 2_001))
    smallest, largest = fold(low, high)
    assert smallest == pytest.approx(values.min(), abs=6 / 2_000)
    assert largest == values.max()
    assert smallest <= values.min()


@given(value=st.floats(0, 1), low=NUMBERS, high=NUMBERS)
def test_a_clipped_interval_holds_its_value_and_ends_where_the_metric_does(
    value: float, low: float, high: float
) -> None:
    """Whatever the ends were."""
    start, end = clip_interval(value, low, high, (0.0, 1.0))
    assert 0 <= start <= value <= end <= 1


def test_ends_inside_the_domain_stay_as_they_are() -> None:
    """Only what reaches too far is cut, and only what does not reach the value is moved."""
    assert clip_interval(0.4, 0.2, 0.7, (0, 1)) == (0.2, 0.7)
    assert clip_interval(0.4, -0.2, 1.7, (0, 1)) == (0, 1)
    assert clip_interval(0.4, 0.5, 0.7, (0, 1)) == (0.4, 0.7)
    assert clip_interval(0.4, 0.2, 0.3, (0, 1)) == (0.2, 0.4)


# Other levels


@pytest.mark.parametrize("degrees", [3.0, 12.5, 400.0])
def test_the_width_at_another_level_is_the_ratio_of_quantiles(degrees: float) -> None:
    """From 95% to 99.5%."""
    expected = scipy.stats.t.ppf(0.9975, degrees) / scipy.stats.t.ppf(0.975, degrees)
    assert width_factor(degrees, 0.95, 0.995) == pytest.approx(expected, rel=1e-9)
    assert width_factor(degrees, 0.995, 0.95) == pytest.approx(1 / expected, rel=1e-9)


def test_without_degrees_of_freedom_the_width_is_that_of_the_normal_distribution() -> None:
    """NaN stands for unknown."""
    expected = scipy.stats.norm.ppf(0.9975) / scipy.stats.norm.ppf(0.975)
    assert width_factor(math.nan, 0.95, 0.995) == pytest.approx(expected, rel=1e-12)


def test_the_width_at_the_same_level_is_the_same() -> None:
    """A factor of one."""
    assert width_factor(8.0, 0.95, 0.95) == 1


# How far one item can move a metric on a side to which none was seen to go


def shares(yes: int, items: int, *, complete: int | None = None) -> tuple[float, float]:
    """What one item can change of the share of yes, downwards and upwards, as numbers of items."""
    share = yes / items
    influence = (np.arange(items) < yes)[:, None] / items - share / items
    lowest = np.full((items, 1), -share / items)
    highest = np.full((items, 1), (1 - share) / items)
    has_all_answers = np.arange(items) < (items if complete is None else complete)
    below, above = zero_count_changes(influence, lowest, highest, np.ones(items), has_all_answers, 0.02)
    return float(below[0] * items), float(above[0] * items)


def test_where_all_said_no_one_item_can_raise_a_share_by_one_of_n() -> None:
    assert shares(0, 40) == pytest.approx((0.0, 1.0))


def test_where_all_said_yes_one_item_can_lower_a_share_by_one_of_n() -> None:
    assert shares(40, 40) == pytest.approx((1.0, 0.0))


def test_where_both_were_said_nothing_is_unseen() -> None:
    assert shares(1, 40) == (0.0, 0.0)


def test_an_item_that_lacks_answers_was_not_seen() -> None:
    """Of the 40 items only the last is a no, and it lacks an answer."""
    below, above = shares(39, 40, complete=39)
    assert below == pytest.approx(np.sqrt(39 / 40))
    assert above == 0.0


def test_a_side_counts_as_seen_from_a_share_of_the_farthest_way_on() -> None:
    influence = np.array([[0.4], [-0.4], [0.0]])
    lowest = np.full((3, 1), -1.0)
    highest = np.full((3, 1), 1.0)
    everything = np.ones(3, dtype=bool)
    for share, is_unseen in ((0.39, False), (0.41, True)):
        changes = zero_count_changes(influence, lowest, highest, np.ones(3), everything, share)
        assert [bool(change[0] > 0) for change in changes] == [is_unseen, is_unseen]


def test_rows_count_as_often_as_their_weight() -> None:
    influence = np.array([[0.0], [0.5]])
    highest = np.array([[1.0], [1.0]])
    everything = np.ones(2, dtype=bool)
    _, above = zero_count_changes(influence, -highest, highest, np.array([3.0, 1.0]), everything, 0.9)
    assert above[0] == pytest.approx(np.sqrt((3 * 1.0 + 1 * 0.25) / 4))


# The p-value that inverts an interval


def reaches_zero(error: float, value: float, centre: float, size: float, degrees: float, unseen: float) -> bool:
    """Whether the interval with this error holds 0, with scipy's quantiles."""
    half_width = scipy.stats.t.isf(error / 2, degrees) * size
    margin = -math.log(error / 2) * unseen
    low = min(centre - half_width, value - margin)
    high = max(centre + half_width, value + margin)
    return bool(low <= 0 <= high)


@given(
    value=st.floats(0.01, 3),
    sign=st.sampled_from([-1.0, 1.0]),
    shrink=st.floats(0.5, 1.0),
    size=st.floats(0.05, 2),
    degrees=st.floats(4, 100),
    unseen=st.sampled_from([0.0, 0.01, 0.5]),
)
def test_the_p_value_is_the_error_at_which_the_interval_reaches_zero(
    value: float, sign: float, shrink: float, size: float, degrees: float, unseen: float
) -> None:
    """Found by search; a change away from 0 does not matter."""
    centre = shrink * value
    low = 1e-12
    high = 1.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        if reaches_zero(middle, value, centre, size, degrees, unseen):
            low = middle
        else:
            high = middle
    changes = (unseen, 9.0) if sign > 0 else (9.0, unseen)
    numbers = [np.array([each]) for each in (sign * value, sign * centre, size, degrees, *changes)]
    found = float(interval_p_value(*numbers)[0])
    assert found == pytest.approx(high, rel=1e-6, abs=2e-12)


def test_p_values_of_differences_that_are_zero_unknown_or_without_error() -> None:
    zeros = np.zeros(4)
    found = interval_p_value(
        np.array([0.0, np.nan, 0.2, 0.2]),
        np.array([0.0, np.nan, 0.2, -0.1]),
        np.array([0.1, 0.1, 0.0, 0.1]),
        np.full(4, 10.0),
        zeros,
        zeros,
    )
    assert found[0] == 1
    assert np.isnan(found[1])
    assert found[2] == 0
    assert found[3] == 1, "the centre lies on the other side of 0"
