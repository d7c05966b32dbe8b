"""Tests of two proportions against those of scipy, and the normal p-value against its quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, fisher_exact, norm

from equipoise.stats.intervals import normal_p_value
from equipoise.stats.proportions import fisher_exact_p_value, two_proportion_p_value

GROUP = st.integers(1, 40).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


def tabulate(successes: int, trials: int, other: int, other_trials: int) -> list[list[int]]:
    return [[successes, trials - successes], [other, other_trials - other]]


@pytest.mark.parametrize(
    "counts",
    [
        (3, 14, 8, 13),
        (14, 14, 9, 14),
        (7, 14, 7, 14),
        (0, 5, 0, 7),
        (1, 1, 0, 9),
        (5, 5, 5, 5),
        (30, 100, 10, 100),
    ],
)
def test_fishers_exact_test_is_that_of_scipy(counts: tuple[int, int, int, int]) -> None:
    expected = fisher_exact(tabulate(*counts)).pvalue
    assert fisher_exact_p_value(*counts) == pytest.approx(expected, rel=1e-9)


@given(first=GROUP, second=GROUP)
def test_fishers_exact_test_does_not_depend_on_which_group_comes_first(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    p_value = fisher_exact_p_value(*first, *second)
    assert p_value == pytest.approx(fisher_exact_p_value(*second, *first))
    assert 0 < p_value <= 1


@pytest.mark.parametrize(
    "counts",
    [(30, 100, 10, 100), (5, 1000, 9, 900), (50, 100, 51, 100), (1, 10, 9, 10), (0, 30, 4, 20)],
)
def test_the_z_test_of_two_proportions_is_the_chi_square_test_with_yates_correction(
    counts: tuple[int, int, int, int],
) -> None:
    expected = chi2_contingency(tabulate(*counts), correction=True).pvalue
    assert two_proportion_p_value(*counts) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("counts", [(0, 0, 1, 5), (1, 5, 0, 0), (0, 5, 0, 5), (5, 5, 5, 5), (1, 2, 1, 2)])
def test_without_evidence_the_p_value_of_the_z_test_is_one(counts: tuple[int, int, int, int]) -> None:
    assert two_proportion_p_value(*counts) == 1.0


def test_the_normal_p_value_is_twice_the_tail() -> None:
    statistics = np.array([0.0, 0.5, -1.96, 3.0, -6.0])
    expected = 2 * norm.sf(np.abs(statistics))
    assert normal_p_value(statistics) == pytest.approx(expected, rel=1e-12)
