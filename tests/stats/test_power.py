"""Detectable differences and sizes against the power functions of statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import samplesize_confint_proportion

from equipoise.stats.power import (
    POWER,
    detectable_between_models,
    detectable_difference,
    items_for_half_width,
    remaining_variance,
)


@pytest.mark.parametrize("tests", [1, 7, 200])
@pytest.mark.parametrize("significance", [0.05, 0.01])
def test_a_detectable_difference_is_found_in_four_of_five_studies(tests: int, significance: float) -> None:
    """By a two-sided test after Bonferroni's correction for all tests."""
    half_width = 0.07
    error = half_width / scipy.stats.norm.ppf(0.975)
    found = detectable_difference(half_width, tests=tests, significance=significance)
    critical = scipy.stats.norm.ppf(1 - significance / 2 / tests)
    assert scipy.stats.norm.sf(critical - found / error) == pytest.approx(0.8, rel=1e-9)
    assert POWER == 0.8


def test_one_test_at_five_percent_is_the_default() -> None:
    """2.8 standard errors: 1.96 and 0.84."""
    assert detectable_difference(1.959964) == pytest.approx(1.959964 + 0.841621, rel=1e-6)


def test_two_models_are_compared_like_two_samples() -> None:
    """The power of a test of two samples, as statsmodels computes it, is 80%."""
    deviation = 0.4
    items = 150
    half_width = scipy.stats.norm.ppf(0.975) * deviation / math.sqrt(items)
    effect = detectable_between_models(half_width) / deviation
    power = NormalIndPower().power(effect_size=effect, nobs1=items, alpha=0.05)
    assert power == pytest.approx(0.8, abs=1e-5)


@pytest.mark.parametrize("wanted", [0.2, 0.05, 0.013])
@pytest.mark.parametrize("rate", [0.5, 0.1])
def test_the_size_for_a_half_width_is_that_of_statsmodels(rate: float, wanted: float) -> None:
    """From a pilot of 100 items."""
    half_width = scipy.stats.norm.ppf(0.975) * math.sqrt(rate * (1 - rate) / 100)
    expected = math.ceil(samplesize_confint_proportion(rate, wanted))
    assert items_for_half_width(100, half_width, wanted) == expected


@given(items=st.integers(20, 5_000), wanted=st.floats(0.005, 0.5))
def test_the_size_is_the_smallest_that_is_enough(items: int, wanted: float) -> None:
    """One item fewer would give a wider interval."""
    size = items_for_half_width(items, 0.1, wanted)
    assert 0.1 * math.sqrt(items / size) <= wanted * (1 + 1e-12)
    if size > 1:
        assert 0.1 * math.sqrt(items / (size - 1)) > wanted * (1 - 1e-12)


def test_the_size_is_at_least_one_item() -> None:
    """Also where the wanted interval is far wider than the pilot's."""
    assert items_for_half_width(20, 0.001, 0.9) == 1


@pytest.mark.parametrize(
    ("repetitions", "share", "left"),
    [(1, 0.0, 1.0), (4, 1.0, 0.25), (4, 0.9, 0.25), (4, 0.5, 0.5), (100, 0.25, 0.75)],
)
def test_what_is_left_of_the_variance(repetitions: int, share: float, left: float) -> None:
    """The larger of a coin's 1/r and, for a model that is sure of each item, 1 - n/N."""
    assert remaining_variance(repetitions, share) == pytest.approx(left)


def test_no_model_between_coin_and_certainty_has_more_variance_left() -> None:
    """A part w of the variance is wavering, the rest between items: (1 - n/N) and w/r n/N add up."""
    for wavering in np.linspace(0, 1, 11):
        for repetitions in (1, 3, 20):
            for share in (0.0, 0.3, 0.8, 1.0):
                between = (1 - share) * (1 - wavering)
                within = wavering / repetitions
                assert between + within <= remaining_variance(repetitions, share) + 1e-12
