"""Corrections for many tests against those of statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from equipoise.stats.multiple_testing import benjamini_hochberg, holm

P_VALUES = st.lists(st.sampled_from([0.0, 1e-6, 0.004, 0.01, 0.02, 0.05, 0.3, 0.7, 1.0]), min_size=1)


# Few lists: multipletests collects garbage each time, which takes a tenth of a second.
TIES = [
    [0.02, 0.02, 0.02],
    [0.0, 1.0, 0.0, 1.0],
    [0.05, 0.01, 0.05, 0.01, 0.3],
    [1.0, 0.7, 0.7, 0.3, 0.004, 0.004],
]


@pytest.mark.parametrize("p_values", TIES)
def test_holm_with_ties_is_that_of_statsmodels(p_values: list[float]) -> None:
    """Zeros and ones included."""
    _, expected, _, _ = multipletests(p_values, method="holm")
    assert holm(p_values) == pytest.approx(expected.tolist(), rel=1e-12)


@pytest.mark.parametrize("p_values", TIES)
def test_benjamini_and_hochberg_with_ties_is_that_of_statsmodels(p_values: list[float]) -> None:
    """Zeros and ones included."""
    _, expected, _, _ = multipletests(p_values, method="fdr_bh")
    assert benjamini_hochberg(np.array(p_values)) == pytest.approx(expected, rel=1e-12)


@given(p_values=P_VALUES)
def test_holm_is_the_step_down_procedure_by_loops(p_values: list[float]) -> None:
    """A hypothesis is rejected at a level if all smaller p-values are, each at the level that is its turn."""
    adjusted = holm(p_values)
    ordered = sorted(p_values)
    for level in (0.013, 0.0517, 0.2113, 0.8731):
        rejected = 0
        while rejected < len(ordered) and ordered[rejected] * (len(ordered) - rejected) <= level:
            rejected += 1
        assert sum(value <= level for value in adjusted) == rejected


@given(p_values=P_VALUES)
def test_benjamini_and_hochberg_is_the_step_up_procedure_by_loops(p_values: list[float]) -> None:
    """As many are rejected as the last one that is small enough for its place."""
    adjusted = benjamini_hochberg(np.array(p_values))
    ordered = sorted(p_values)
    for level in (0.013, 0.0517, 0.2113, 0.8731):
        places = [place for place, value in enumerate(ordered, start=1) if value * len(ordered) / place <= level]
        assert sum(value <= level for value in adjusted) == max(places, default=0)


@pytest.mark.parametrize("seed", range(3))
def test_many_p_values_are_those_of_statsmodels(seed: int) -> None:
    """Two hundred different ones, in any order."""
    p_values = np.random.default_rng(seed).uniform(size=200) ** 3
    _, by_holm, _, _ = multipletests(p_values, method="holm")
    _, by_rate, _, _ = multipletests(p_values, method="fdr_bh")
    assert holm(p_values.tolist()) == pytest.approx(by_holm.tolist(), rel=1e-12)
    assert benjamini_hochberg(p_values) == pytest.approx(by_rate, rel=1e-12)


def test_one_test_needs_no_correction() -> None:
    """And no test has none."""
    assert holm([0.03]) == [0.03]
    assert holm([]) == []
    assert benjamini_hochberg(np.array([0.03])).tolist() == [0.03]
    assert benjamini_hochberg(np.zeros(0)).tolist() == []


def test_adjusted_values_stand_where_the_values_stood() -> None:
    """The smallest is multiplied by the number of tests, the next by one less."""
    assert holm([0.04, 0.001, 0.02]) == pytest.approx([0.04, 0.003, 0.04])
    assert benjamini_hochberg(np.array([0.04, 0.001, 0.02])) == pytest.approx([0.04, 0.003, 0.03])


@given(p_values=P_VALUES)
def test_holm_is_at_least_the_value_and_at_least_the_false_discovery_rate(
    p_values: list[float],
) -> None:
    """A family-wise error is harder to hold than a rate of false discoveries."""
    by_holm = np.array(holm(p_values))
    by_rate = benjamini_hochberg(np.array(p_values))
    assert (by_rate >= np.array(p_values) - 1e-15).all()
    assert (by_holm >= by_rate - 1e-15).all()
    assert by_holm.max() <= 1
