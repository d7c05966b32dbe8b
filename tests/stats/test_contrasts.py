"""Limits for the difference of two maxima of contrasts: loops, Student's t, and simulated coverage."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from equipoise.stats.contrasts import (
    CLEARLY_BELOW,
    Contrasts,
    count_candidates,
    find_candidates,
    lower_limit,
    tail_beyond_zero,
)
from equipoise.stats.influence import Array
from equipoise.stats.multiple_testing import SMALLEST_P
from stats.samples import draw_influence, draw_weights, repeat_rows

SEEDS = st.integers(0, 10_000)
LEVELS = st.sampled_from([0.8, 0.9, 0.95, 0.99])
RUNS = 600
Sample = tuple[Contrasts, Contrasts, Array]
"""Contrasts of a first and a second model on the same rows, and the weights of the rows."""


def draw_sample(seed: int, contrasts: int = 3, rows: int = 12) -> Sample:
    """Contrasts near to each other, about as far apart as their errors."""
    influence = draw_influence(seed, rows, 2 * contrasts)
    weight = draw_weights(seed, rows)
    values = 4 * np.random.default_rng(seed + 2).standard_normal(2 * contrasts)
    first = Contrasts(values[:contrasts], influence[:, :contrasts])
    second = Contrasts(values[contrasts:], influence[:, contrasts:])
    return first, second, weight


def describe_pair(first: Contrasts, second: Contrasts, weight: Array, p: int, q: int) -> tuple[float, float, float]:
    """The difference of contrast p of the second and q of the first, its error and its degrees."""
    difference = float(second.values[p] - first.values[q])
    total = 0.0
    fourths = 0.0
    for row in range(len(weight)):
        gap = second.influence[row, p] - first.influence[row, q]
        total += weight[row] * gap**2
        fourths += weight[row] * gap**4
    degrees = max(total**2 / fourths, 4.0) if fourths else 4.0
    return difference, float(np.sqrt(total)), degrees


def lower_limit_by_loops(first: Contrasts, second: Contrasts, weight: Array, level: float) -> float:
    """min over q of max over the candidates p of δ_p - δ'_q - t s_pq, with Bonferroni's correction for the p."""
    candidates = np.flatnonzero(find_candidates(second, weight)).tolist()
    error = (1 - level) / 2 / len(candidates)
    smallest = np.inf
    for q in range(len(first.values)):
        largest = -np.inf
        for p in candidates:
            difference, size, degrees = describe_pair(first, second, weight, p, q)
            largest = max(largest, difference - scipy.stats.t.isf(error, degrees) * size)
        smallest = min(smallest, largest)
    return float(smallest)


# Which contrasts can be the largest


def test_contrasts_count_unless_they_are_clearly_below_the_largest() -> None:
    """Clearly is 4.5 standard errors of the gap; exactly as many still count."""
    values = np.array([0.0, 9.0, 4.5, 4.4])
    assert CLEARLY_BELOW == 4.5
    assert count_candidates(values, np.array([3.0, 0.0, 1.0, 1.0])) == 3
    assert count_candidates(values, np.array([1.0, 0.0, 1.0, 1.0])) == 2
    assert count_candidates(values, np.array([1.0, 0.0, 2.0, 2.0])) == 3
    assert count_candidates(values, np.zeros(4)) == 1


def test_there_is_a_largest_contrast_even_if_no_error_is_known() -> None:
    """NaN does not make the number of candidates zero."""
    assert count_candidates(np.array([1.0, 2.0]), np.full(2, np.nan)) == 1


@given(seed=SEEDS, scale=st.sampled_from([0.2, 1.0, 3.0, 8.0]))
def test_candidates_are_counted_by_the_errors_of_their_gaps(seed: int, scale: float) -> None:
    """Counted by loops, from what rows add."""
    first, _, weight = draw_sample(seed, contrasts=5)
    contrasts = Contrasts(scale * first.values, first.influence)
    largest = int(np.argmax(contrasts.values))
    expected = 0
    for place in range(5):
        gap = contrasts.influence[:, place] - contrasts.influence[:, largest]
        error = np.sqrt((weight * gap**2).sum())
        distance = contrasts.values[largest] - contrasts.values[place]
        expected += bool(distance <= 4.5 * error)
    assert find_candidates(contrasts, weight).sum() == expected


# The formula


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_limit_of_a_single_contrast_is_that_of_a_paired_t_test(level: float) -> None:
    """With Student's t for Satterthwaite's degrees of freedom, and scipy's standard error."""
    random = np.random.default_rng(3)
    before = random.standard_normal(30)
    after = before + 0.4 + 0.5 * random.standard_normal(30)
    bessel = np.sqrt(30 / 29) / 30
    first = Contrasts(np.array([before.mean()]), bessel * (before - before.mean())[:, None])
    second = Contrasts(np.array([after.mean()]), bessel * (after - after.mean())[:, None])
    weight = np.ones(30)
    paired = scipy.stats.ttest_rel(after, before)
    difference = after.mean() - before.mean()
    error = difference / paired.statistic
    _, _, degrees = describe_pair(first, second, weight, 0, 0)
    expected = difference - scipy.stats.t.isf((1 - level) / 2, degrees) * error
    assert lower_limit(first, second, weight, level) == pytest.approx(expected, rel=1e-9)
    tail = scipy.stats.t.sf(paired.statistic, degrees)
    assert tail_beyond_zero(first, second, weight) == pytest.approx(tail, rel=1e-9)


@given(seed=SEEDS, level=LEVELS)
def test_the_limit_is_the_best_contrast_against_every_other(seed: int, level: float) -> None:
    """The same by loops."""
    first, second, weight = draw_sample(seed)
    expected = lower_limit_by_loops(first, second, weight, level)
    assert lower_limit(first, second, weight, level) == pytest.approx(expected, rel=1e-9)


@given(seed=SEEDS)
def test_the_p_value_is_the_error_at_which_the_limit_is_zero(seed: int) -> None:
    """It is the inverse of the lower limit."""
    first, second, weight = draw_sample(seed)
    tail = tail_beyond_zero(first, second, weight)
    if 1e-8 < tail < 0.49:
        limit = lower_limit(first, second, weight, 1 - 2 * tail)
        assert limit == pytest.approx(0, abs=1e-6)
        assert lower_limit(first, second, weight, 1 - 2.02 * tail) > 0
        assert lower_limit(first, second, weight, 1 - 1.98 * tail) < 0


@pytest.mark.parametrize("seed", range(3))
def test_the_p_value_is_found_by_searching_the_limits(seed: int) -> None:
    """The level at which the limit crosses zero, by bisection."""
    first, second, weight = draw_sample(seed)
    gap = first.values.max() - second.values.max() + 40
    second = Contrasts(second.values + gap, second.influence)

    def limit(level: float) -> float:
        return lower_limit(first, second, weight, level)

    root = scipy.optimize.brentq(limit, 0, 1 - 1e-9)
    assert tail_beyond_zero(first, second, weight) == pytest.approx((1 - root) / 2, rel=1e-5)


def test_only_the_contrasts_whose_maximum_is_above_are_corrected_for() -> None:
    """The second model has one clear maximum of three, the first has three that tie."""
    influence = draw_influence(4, 12, 6)
    weight = draw_weights(4)
    first = Contrasts(np.zeros(3), influence[:, :3])
    second = Contrasts(np.array([500.0, 0.0, 0.0]), influence[:, 3:])
    assert find_candidates(second, weight).tolist() == [True, False, False]
    assert find_candidates(first, weight).all()
    up = lower_limit_by_loops(first, second, weight, 0.95)
    assert lower_limit(first, second, weight, 0.95) == pytest.approx(up, rel=1e-12)
    down = lower_limit_by_loops(second, first, weight, 0.95)
    assert lower_limit(second, first, weight, 0.95) == pytest.approx(down, rel=1e-12)


# Properties


@given(seed=SEEDS, level=LEVELS)
def test_rows_with_weights_are_as_many_equal_rows(seed: int, level: float) -> None:
    """Splitting a cell into its items, in any order, changes nothing."""
    first, second, weight = draw_sample(seed)
    order = np.random.default_rng(seed).permutation(int(weight.sum()))
    split_first = Contrasts(first.values, repeat_rows(first.influence, weight)[order])
    split_second = Contrasts(second.values, repeat_rows(second.influence, weight)[order])
    ones = np.ones(len(order))
    found = lower_limit(first, second, weight, level)
    assert lower_limit(split_first, split_second, ones, level) == pytest.approx(found, rel=1e-9)
    tail = tail_beyond_zero(first, second, weight)
    assert tail_beyond_zero(split_first, split_second, ones) == pytest.approx(tail, rel=1e-9)


@given(seed=SEEDS, level=LEVELS)
def test_the_sign_of_influences_does_not_matter(seed: int, level: float) -> None:
    """Only how large they are, and how they go together."""
    first, second, weight = draw_sample(seed)
    found = lower_limit(first, second, weight, level)
    turned = lower_limit(
        Contrasts(first.values, -first.influence),
        Contrasts(second.values, -second.influence),
        weight,
        level,
    )
    assert turned == pytest.approx(found, rel=1e-12)


@given(seed=SEEDS, level=LEVELS)
def test_the_limits_of_both_directions_hold_the_difference(seed: int, level: float) -> None:
    """The upper limit is the lower one of the exchanged models, with the other sign."""
    first, second, weight = draw_sample(seed)
    difference = second.values.max() - first.values.max()
    low = lower_limit(first, second, weight, level)
    high = -lower_limit(second, first, weight, level)
    assert low <= difference <= high


@given(seed=SEEDS, level=LEVELS, shift=st.floats(-3, 3))
def test_what_is_added_to_one_model_is_added_to_the_limit(seed: int, level: float, shift: float) -> None:
    """The errors stay the same."""
    first, second, weight = draw_sample(seed)
    found = lower_limit(first, second, weight, level)
    shifted = lower_limit(first, Contrasts(second.values + shift, second.influence), weight, level)
    assert shifted == pytest.approx(found + shift, abs=1e-9)


@given(seed=SEEDS)
def test_limits_are_lower_at_a_higher_level(seed: int) -> None:
    """More confidence costs width."""
    first, second, weight = draw_sample(seed)
    limits = [lower_limit(first, second, weight, level) for level in (0.5, 0.9, 0.95, 0.999)]
    assert limits == sorted(limits, reverse=True)
    assert len(set(limits)) == 4


@given(seed=SEEDS)
def test_limits_are_nearer_with_four_times_the_items(seed: int) -> None:
    """For a single contrast at most half as far, as the errors are half as large."""
    first, second, weight = draw_sample(seed, contrasts=1)
    difference = float(second.values[0] - first.values[0])
    reach = difference - lower_limit(first, second, weight, 0.95)
    more_first = Contrasts(first.values, first.influence / 4)
    more_second = Contrasts(second.values, second.influence / 4)
    nearer = difference - lower_limit(more_first, more_second, 4 * weight, 0.95)
    assert 0 < nearer <= reach / 2 * (1 + 1e-12)


@given(seed=SEEDS, level=LEVELS)
def test_the_same_answers_twice_cannot_differ(seed: int, level: float) -> None:
    """However uncertain the maximum itself is: in each contrast, the runs agree for every item."""
    first, _, weight = draw_sample(seed)
    near = Contrasts(first.values / 8, first.influence)
    assert find_candidates(near, weight).all()
    assert lower_limit(near, near, weight, level) == 0
    assert tail_beyond_zero(near, near, weight) == 1


def test_equal_models_without_errors_do_not_differ() -> None:
    """p is a half on either side; where they differ without errors it is the smallest there is, or 1."""
    same = Contrasts(np.array([1.0]), np.zeros((4, 1)))
    more = Contrasts(np.array([2.0]), np.zeros((4, 1)))
    weight = np.ones(4)
    assert tail_beyond_zero(same, same, weight) == 0.5
    assert tail_beyond_zero(same, more, weight) == SMALLEST_P > 0
    assert tail_beyond_zero(more, same, weight) == 1
    assert lower_limit(same, more, weight, 0.95) == 1


# Coverage


def ordered_differences(values: Array) -> Array:
    """The differences of any two of three rates, in either order; rates are the last axis."""
    columns = [values[..., a] - values[..., b] for a, b in itertools.permutations(range(3), 2)]
    return np.stack(columns, axis=-1)


RATES = {
    "a coin": (0.5, 0.5, 0.5),
    "a sure one": (0.05, 0.05, 0.05),
    "half tied": (0.3, 0.3, 0.7),
    "apart": (0.2, 0.5, 0.8),
}
"""The rates of three groups in models of different kinds."""


@functools.cache
def simulate_misses(
    first_model: str, second_model: str, items: int = 60, shared: float = 0.0
) -> tuple[float, float, float]:
    """How often limits for the difference of two ranges miss below and above, and p is below 0.05.

    A share of the items has the same uniform number for both models: one with equal rates answers the same.
    """
    random = np.random.default_rng(1)
    models = [np.array(RATES[first_model]), np.array(RATES[second_model])]
    truth = np.ptp(models[1]) - np.ptp(models[0])
    weight = np.ones(items)
    too_high = 0
    too_low = 0
    rejected = 0
    for _ in range(RUNS):
        sides = []
        common = random.uniform(size=(items, 3))
        is_shared = random.uniform(size=(items, 1)) < shared
        for rates in models:
            drawn = np.where(is_shared, common, random.uniform(size=(items, 3)))
            answers = (drawn < rates).astype(float)
            means = answers.mean(axis=0)
            centred = (answers - means) / np.sqrt(items * (items - 1))
            sides.append(Contrasts(ordered_differences(means), ordered_differences(centred)))
        first, second = sides
        too_high += lower_limit(first, second, weight, 0.95) > truth
        too_low += -lower_limit(second, first, weight, 0.95) < truth
        up = tail_beyond_zero(first, second, weight)
        down = tail_beyond_zero(second, first, weight)
        rejected += 2 * min(up, down) < 0.05
    return too_high / RUNS, too_low / RUNS, rejected / RUNS


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a coin", "a coin"),
        ("a coin", "a sure one"),
        ("apart", "apart"),
        ("a coin", "apart"),
        ("half tied", "apart"),
    ],
)
def test_limits_hold_at_ties_and_away_from_them(first: str, second: str) -> None:
    """Either limit misses the true difference of two ranges in at most 2.5% (and 1.3% for chance)."""
    too_high, too_low, _ = simulate_misses(first, second)
    assert too_high <= 0.038
    assert too_low <= 0.038


@pytest.mark.parametrize(("first", "second"), [("a coin", "a coin"), ("half tied", "apart")])
def test_limits_hold_where_both_models_answer_most_items_alike(first: str, second: str) -> None:
    """The contrasts of one model vary, and their differences between the models hardly do."""
    too_high, too_low, rejected = simulate_misses(first, second, shared=0.9)
    assert too_high <= 0.038
    assert too_low <= 0.038
    assert rejected <= 0.068 or first != second


@pytest.mark.parametrize(("first", "second"), [("a coin", "a coin"), ("a coin", "a sure one"), ("apart", "apart")])
def test_equal_ranges_are_told_apart_by_chance_only(first: str, second: str) -> None:
    """In at most 5% (and 1.8% for chance), also if one model is far surer of each item."""
    _, _, rejected = simulate_misses(first, second)
    assert rejected <= 0.068


def test_away_from_ties_limits_are_no_wider_than_they_need_to_be() -> None:
    """Where one contrast is the largest by far, both limits miss as often as said."""
    too_high, too_low, rejected = simulate_misses("apart", "apart", items=400)
    assert too_high >= 0.012
    assert too_low >= 0.012
    assert rejected >= 0.032
