"""The paired sign-flip test against all signs, the normal distribution and its own guarantees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from equipoise.stats.influence import Array
from equipoise.stats.sign_flip import DRAWS, NORMAL_FROM, RADEMACHER_TAIL, sign_flip_p_values
from stats.samples import repeat_rows

SEEDS = st.integers(0, 10_000)


def enumerate_signs(contributions: Array) -> float:
    """The exact two-sided p-value: the share of all signs whose sum is as far from 0."""
    observed = abs(contributions.sum())
    signs = np.array(list(itertools.product([-1, 1], repeat=len(contributions))))
    sums = np.abs(signs @ contributions)
    return float((sums >= observed - 1e-9 * np.abs(contributions).sum()).mean())


def p_value(contributions: Array, weight: Array | None = None) -> float:
    """The p-value of one metric."""
    if weight is None:
        weight = np.ones(len(contributions))
    return float(sign_flip_p_values(contributions[:, None], weight)[0])


def allowance(exact: float) -> float:
    """Four standard errors of a share of 4,000 draws."""
    return 4 * float(np.sqrt(exact * (1 - exact) / DRAWS)) + 1 / DRAWS


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("items", [3, 6, 12])
def test_the_p_value_is_that_of_all_signs(items: int, seed: int) -> None:
    """For any contributions."""
    random = np.random.default_rng(seed)
    contributions = random.standard_normal(items) + 0.3
    exact = enumerate_signs(contributions)
    assert p_value(contributions) == pytest.approx(exact, abs=allowance(exact))


@pytest.mark.parametrize("minus", [0, 1, 2, 4])
def test_sums_as_far_out_as_the_observed_one_count(minus: int) -> None:
    """With equal contributions many signs tie with the observed sum: this is the sign test."""
    contributions = np.array([-1.0] * minus + [1.0] * (9 - minus))
    exact = scipy.stats.binomtest(minus, 9).pvalue
    assert p_value(contributions) == pytest.approx(exact, abs=allowance(exact))


def test_ties_by_rounding_count() -> None:
    """0.1 + 0.2 - 0.3 is not quite 0; the sums that equal the observed one are found all the same."""
    contributions = np.array([0.1, 0.2, -0.3, 0.1, 0.2, 0.3, -0.1])
    exact = enumerate_signs(contributions)
    assert p_value(contributions) == pytest.approx(exact, abs=allowance(exact))


def test_rows_with_weights_are_as_many_items_with_a_sign_of_their_own() -> None:
    """A cell of three items can have two with one sign and one with the other."""
    contributions = np.array([0.5, 0.2, -0.3])
    weight = np.array([3.0, 5.0, 2.0])
    exact = enumerate_signs(repeat_rows(contributions, weight))
    assert p_value(contributions, weight) == pytest.approx(exact, abs=allowance(exact))


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_matters_no_more_than_the_draws(seed: int) -> None:
    """The signs are drawn from a fixed seed, so that only their error can show."""
    random = np.random.default_rng(seed)
    contributions = random.standard_normal(30) + 0.25
    in_order = p_value(contributions)
    reverse = p_value(contributions[::-1].copy())
    assert reverse == pytest.approx(in_order, abs=2 * allowance(in_order))


@given(seed=SEEDS)
def test_the_p_value_is_two_sided(seed: int) -> None:
    """Exchanging the runs changes all signs and nothing else; so does measuring in other units."""
    contributions = np.random.default_rng(seed).standard_normal(15) + 0.3
    found = p_value(contributions)
    assert p_value(-contributions) == found
    assert p_value(1_024 * contributions) == found
    assert 0 < found <= 1


def test_each_metric_has_its_own_p_value() -> None:
    """Item, metric: one value for each column."""
    contributions = np.column_stack([np.ones(12), np.zeros(12), np.resize([1.0, -1.0], 12)])
    found = sign_flip_p_values(contributions, np.ones(12))
    assert found[0] == pytest.approx(2 / 2**12, abs=allowance(2 / 2**12))
    assert found[1] == 1
    assert found[2] == 1


# Small p-values


@pytest.mark.parametrize("items", [2, 5, 8])
def test_few_items_cannot_have_a_smaller_p_value_than_their_signs_allow(items: int) -> None:
    """If all go one way, two of 2^m signs are as far out."""
    assert p_value(np.ones(items)) == pytest.approx(2 / 2**items, abs=allowance(2 / 2**items))
    assert p_value(np.ones(items)) >= 2 / 2**items


def test_one_item_that_differs_says_nothing() -> None:
    """Its sign has two ways, and both are as far out."""
    contributions = np.zeros(40)
    contributions[7] = 1.0
    assert p_value(contributions) == 1


def test_an_item_that_differs_by_rounding_only_does_not_count() -> None:
    """Three items differ here, not forty."""
    contributions = np.full(40, 1e-13)
    contributions[:3] = 1.0
    assert p_value(contributions) >= 0.25


def test_a_cell_of_items_counts_all_of_them() -> None:
    """Thirty items in one row: p is far below what one item, or the draws alone, could show."""
    found = p_value(np.array([1.0]), np.array([30.0]))
    assert 2 / 2**30 <= found < 1e-6


def test_500_tests_of_all_against_nothing_are_all_found() -> None:
    """The p-value of 200 items that all say otherwise survives the correction for 500 tests."""
    p_values = sign_flip_p_values(np.ones((200, 500)), np.ones(200))
    assert p_values.max() * 500 < 1e-6
    assert p_values.min() > 0


@pytest.mark.parametrize("items", [1_500, 30_000])
def test_no_p_value_is_zero(items: int) -> None:
    """However many items all say otherwise."""
    assert 0 < p_value(np.ones(items)) < 1e-200


@pytest.mark.parametrize("items", [14, 18, 22])
def test_a_p_value_below_what_was_drawn_is_an_upper_bound_of_the_exact_one(items: int) -> None:
    """And not a bound that says nothing: within a factor that grows slowly."""
    exact = 2 / 2**items
    found = p_value(np.ones(items))
    bound = 2 * RADEMACHER_TAIL * scipy.stats.norm.sf(np.sqrt(items))
    assert found >= exact
    assert found == pytest.approx(min(bound, 1 / (DRAWS + 1)), rel=1e-9)


@given(seed=SEEDS)
def test_the_normal_bound_holds_for_any_contributions(seed: int) -> None:
    """3.18 times the normal tail is never below the exact one-sided p-value."""
    random = np.random.default_rng(seed)
    contributions = np.round(random.uniform(-2, 2, size=9) ** 3, 1)
    size = np.sqrt((contributions**2).sum())
    signs = np.array(list(itertools.product([-1, 1], repeat=9)))
    sums = np.sort(signs @ contributions)
    tails = 1 - np.searchsorted(sums, sums - 1e-9) / len(sums)
    if size:
        assert (tails <= RADEMACHER_TAIL * scipy.stats.norm.sf(sums / size) + 1e-12).all()


def test_the_constant_of_the_bound_is_the_smallest_that_holds() -> None:
    """Two equal items reach it: P(sum >= √2 sizes) is a quarter."""
    needed = 0.25 / scipy.stats.norm.sf(np.sqrt(2))
    assert needed <= RADEMACHER_TAIL < 1.002 * needed


# Equal runs, no items, many items


def test_equal_runs_have_p_one() -> None:
    """Also where there is no item at all."""
    assert p_value(np.zeros(30)) == 1
    assert p_value(np.zeros(0)) == 1


def test_contributions_that_cancel_have_p_one() -> None:
    """The observed sum is 0, and any is as far out."""
    assert p_value(np.array([0.5, -0.5, 0.25, -0.25])) == 1


@pytest.mark.parametrize("shift", [0.0, 1.3, 2.2])
def test_very_many_items_are_tested_by_the_normal_distribution(shift: float) -> None:
    """Which their sums have: two-sided."""
    items = NORMAL_FROM + 1
    contributions = np.resize([1.0, -1.0], items) + shift / np.sqrt(items)
    ratio = contributions.sum() / np.sqrt((contributions**2).sum())
    exact = 2 * scipy.stats.norm.sf(abs(ratio))
    assert p_value(contributions) == pytest.approx(exact, abs=allowance(exact))


@pytest.mark.parametrize(("differing", "minus"), [(24, 7), (24, 4), (10, 1), (40, 12)])
@pytest.mark.parametrize("items", [24_000, 60_000])
def test_few_items_that_differ_among_very_many_are_tested_by_their_signs(
    items: int, differing: int, minus: int
) -> None:
    """Items on which the runs agree have no sign, however many they are: this is the sign test."""
    contributions = np.zeros(items)
    contributions[:differing] = 1.0
    contributions[:minus] = -1.0
    exact = scipy.stats.binomtest(minus, differing).pvalue
    assert p_value(contributions) == pytest.approx(exact, abs=allowance(exact))


@pytest.mark.parametrize("seed", range(4))
def test_few_items_that_differ_by_different_amounts_are_tested_by_all_signs(seed: int) -> None:
    """A cell of very many items on which the runs agree changes nothing."""
    contributions = np.random.default_rng(seed).standard_normal(10) + 0.4
    exact = enumerate_signs(contributions)
    with_others = np.append(contributions, 0.0)
    weight = np.append(np.ones(10), 3.0 * NORMAL_FROM)
    assert p_value(with_others, weight) == pytest.approx(exact, abs=allowance(exact))


def test_each_metric_is_tested_by_the_items_that_differ_in_it() -> None:
    """In one all items differ, in the other 24 of them."""
    items = NORMAL_FROM + 1
    everywhere = np.resize([1.0, -1.0], items) + 1.3 / np.sqrt(items)
    somewhere = np.zeros(items)
    somewhere[:24] = [-1.0] * 7 + [1.0] * 17
    found = sign_flip_p_values(np.column_stack([everywhere, somewhere]), np.ones(items))
    ratio = everywhere.sum() / np.sqrt((everywhere**2).sum())
    normal = 2 * scipy.stats.norm.sf(ratio)
    exact = scipy.stats.binomtest(7, 24).pvalue
    assert found[0] == pytest.approx(normal, abs=allowance(normal))
    assert found[1] == pytest.approx(exact, abs=allowance(exact))


def test_many_rows_are_drawn_as_often_as_few() -> None:
    """In several pieces, so that they fit into memory: always 4,000 draws in all."""
    contributions = np.resize([1.0, -1.0, 0.5, -0.5], 1_500)
    contributions[:40] = 0.5
    found = p_value(contributions)
    exact = 2 * scipy.stats.norm.sf(contributions.sum() / np.sqrt((contributions**2).sum()))
    assert found * (DRAWS + 1) == pytest.approx(round(found * (DRAWS + 1)), abs=1e-6)
    assert found == pytest.approx(exact, abs=allowance(exact) + 0.01)


def test_p_values_of_equal_runs_are_spread_evenly() -> None:
    """Over 400 pairs of runs that do not differ, 5% lie below 0.05 and half below a half."""
    random = np.random.default_rng(11)
    p_values = sign_flip_p_values(random.standard_normal((40, 400)), np.ones(40))
    assert 0.02 <= (p_values < 0.05).mean() <= 0.08
    assert 0.42 <= (p_values < 0.5).mean() <= 0.58


def test_the_same_data_always_have_the_same_p_value() -> None:
    """The draws have a fixed seed."""
    contributions = np.random.default_rng(0).standard_normal(50)
    assert p_value(contributions) == p_value(contributions)
