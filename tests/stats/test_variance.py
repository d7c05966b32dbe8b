"""Linearised variances against heteroscedasticity-consistent errors and textbook formulas."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from equipoise.stats.influence import Array, differentiate
from equipoise.stats.variance import (
    Contributions,
    covariance,
    divide,
    finite_population_squares,
    is_covariance,
    positive_part,
    repetition_variance,
    stratum_factors,
    sum_by_label,
    variance,
)
from stats.samples import draw_influence, draw_weights, repeat_rows

SEEDS = st.integers(0, 10_000)


def draw_regression(seed: int, rows: int = 40) -> tuple[Array, Array]:
    """A covariate, and an outcome of which the error grows with the covariate."""
    random = np.random.default_rng(seed)
    x = random.uniform(0, 4, size=rows)
    y = 0.3 * x + (0.2 + x) * random.standard_normal(rows)
    return x, y


def slope_influence(x: Array, y: Array) -> Array:
    """What each item adds to the slope of y on x, by the derivatives of the slope."""
    columns = np.column_stack([np.ones(len(x)), x, y, x * y, x * x])

    def slope(rows: Array) -> Array:
        n, sx, sy, sxy, sxx = rows.T
        return np.array([(n * sxy - sx * sy) / (n * sxx - sx**2)])

    _, gradient = differentiate(slope, columns.sum(axis=0))
    return np.asarray(columns @ gradient)


# Linearised variances


@pytest.mark.parametrize("seed", range(4))
def test_the_variance_of_a_slope_is_that_of_heteroscedastic_errors(seed: int) -> None:
    """Σ z² is HC0, and with n/(n - 2) HC1, as statsmodels computes them."""
    x, y = draw_regression(seed)
    fitted = sm.OLS(y, sm.add_constant(x))
    squares = slope_influence(x, y) ** 2
    found, _ = variance(squares, np.ones(40))
    assert found[0] == pytest.approx(fitted.fit(cov_type="HC0").cov_params()[1, 1], rel=1e-7)
    assert found[0] * 40 / 38 == pytest.approx(fitted.fit(cov_type="HC1").cov_params()[1, 1], rel=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_the_variance_of_a_mean_is_that_of_heteroscedastic_errors(seed: int) -> None:
    """With Bessel's correction, Σ z² is the HC1 of a regression on a constant."""
    _, y = draw_regression(seed)
    influence = (y - y.mean())[:, None] / len(y)
    factors = stratum_factors(np.ones(len(y)), np.zeros(len(y), dtype=np.int64))
    found, _ = variance(factors[:, None] * influence**2, np.ones(len(y)))
    fitted = sm.OLS(y, np.ones(len(y))).fit(cov_type="HC1")
    assert found[0] == pytest.approx(fitted.cov_params()[0, 0], rel=1e-12)


def test_covariances_are_those_of_two_coefficients() -> None:
    """Off the diagonal, too: intercept and slope with HC0 of statsmodels."""
    x, y = draw_regression(9)
    design = sm.add_constant(x)
    fitted = sm.OLS(y, design).fit(cov_type="HC0")
    influence = (design * fitted.resid[:, None]) @ np.linalg.inv(design.T @ design)
    found = covariance(Contributions(influence, np.ones(len(y))))
    assert found == pytest.approx(fitted.cov_params(), rel=1e-9)
    assert found[0, 1] < 0


def test_degrees_of_freedom_are_those_of_satterthwaite() -> None:
    """A sum of χ² with these weights has the mean V and the variance 2 V² / ν."""
    squares = np.array([[1.0, 1.0], [4.0, 1.0], [0.25, 1.0]])
    weight = np.array([3.0, 1.0, 4.0])
    total, degrees = variance(squares, weight)
    assert total == pytest.approx([3 + 4 + 1, 8])
    assert degrees[0] == pytest.approx(8**2 / (3 * 1 + 1 * 16 + 4 * 0.0625))
    assert degrees[1] == pytest.approx(8)


def test_degrees_of_freedom_are_not_known_where_nothing_varies() -> None:
    """Then they are NaN, not infinite."""
    total, degrees = variance(np.zeros((3, 1)), np.ones(3))
    assert total[0] == 0
    assert math.isnan(degrees[0])


@given(seed=SEEDS)
def test_rows_with_weights_are_as_many_equal_rows(seed: int) -> None:
    """Splitting a cell into its items changes neither variances nor degrees of freedom."""
    influence = draw_influence(seed)
    weight = draw_weights(seed)
    items = repeat_rows(influence, weight)
    ones = np.ones(len(items))
    folded = variance(influence**2, weight)
    split = variance(items**2, ones)
    assert folded[0] == pytest.approx(split[0], rel=1e-12)
    assert folded[1] == pytest.approx(split[1], rel=1e-12)
    expected = covariance(Contributions(items, ones))
    assert covariance(Contributions(influence, weight)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(seed=SEEDS)
def test_the_order_of_rows_does_not_matter(seed: int) -> None:
    """A permutation of the rows gives the same."""
    influence = draw_influence(seed)
    weight = draw_weights(seed)
    order = np.random.default_rng(seed).permutation(len(weight))
    in_order = variance(influence**2, weight)
    permuted = variance(influence[order] ** 2, weight[order])
    assert permuted[0] == pytest.approx(in_order[0], rel=1e-12)
    assert permuted[1] == pytest.approx(in_order[1], rel=1e-12)


@given(seed=SEEDS, times=st.integers(2, 9))
def test_variances_shrink_with_the_number_of_items(seed: int, times: int) -> None:
    """With each item k times, a mean has the variance 1/k, and k times the degrees of freedom."""
    influence = draw_influence(seed)
    weight = draw_weights(seed)
    once = variance(influence**2, weight)
    often = variance((influence / times) ** 2, weight * times)
    assert often[0] == pytest.approx(once[0] / times, rel=1e-12)
    assert often[1] == pytest.approx(once[1] * times, rel=1e-12)


# Strata


@pytest.mark.parametrize(
    ("items", "factor"),
    [(1, 2.0), (2, 2.0), (3, 1.5), (11, 1.1), (1.25, 2.5)],
    ids=["one item", "two items", "three items", "eleven items", "a part of an item"],
)
def test_the_factor_of_a_stratum_is_bessels(items: float, factor: float) -> None:
    """n/(n - 1); a single item counts as if there were two."""
    found = stratum_factors(np.array([float(items)]), np.array([0]))
    assert found == pytest.approx([factor])


def test_an_empty_stratum_has_no_factor() -> None:
    """Its rows count as they are."""
    found = stratum_factors(np.array([0.0, 5.0]), np.array([0, 1]))
    assert found == pytest.approx([1.0, 1.25])


def test_rows_have_the_factor_of_their_own_stratum() -> None:
    """The items of a stratum are added up over its rows."""
    weight = np.array([2.0, 5.0, 1.0, 1.0])
    found = stratum_factors(weight, np.array([1, 0, 1, 0]))
    assert found == pytest.approx([3 / 2, 6 / 5, 3 / 2, 6 / 5])


def test_the_variance_of_a_stratified_mean_is_that_of_the_textbook() -> None:
    """Σ W² s²/n over the strata (Cochran 1977, 5.7)."""
    random = np.random.default_rng(3)
    stratum = np.repeat([0, 1, 2], [5, 9, 30])
    y = random.standard_normal(44) + stratum
    shares = np.array([0.5, 0.3, 0.2])
    influence = np.zeros(44)
    textbook = 0.0
    for number in range(3):
        inside = stratum == number
        size = inside.sum()
        influence[inside] = shares[number] * (y[inside] - y[inside].mean()) / size
        textbook += shares[number] ** 2 * y[inside].var(ddof=1) / size
    factors = stratum_factors(np.ones(44), stratum)
    found, _ = variance((factors * influence**2)[:, None], np.ones(44))
    assert found[0] == pytest.approx(textbook, rel=1e-12)


# Repetitions


def count_all_answers(repetitions: int, probabilities: Sequence[float]) -> list[tuple[Array, float]]:
    """Every way in which an item can be answered: how often each label, and how probable that is."""
    labels = range(len(probabilities))
    ways = []
    for answers in itertools.product(labels, repeat=repetitions):
        counts = np.bincount(answers, minlength=len(probabilities)).astype(float)
        ways.append((counts, math.prod(probabilities[label] for label in answers)))
    return ways


@pytest.mark.parametrize("repetitions", [2, 3, 5])
@pytest.mark.parametrize("probabilities", [(0.5, 0.5), (0.9, 0.1), (0.2, 0.5, 0.3)])
def test_the_variance_over_repetitions_is_unbiased(repetitions: int, probabilities: tuple[float, ...]) -> None:
    """Its mean over everything that could be answered is the variance of the mean effect."""
    effects = np.array([1.0, -0.5, 3.0])[: len(probabilities)]
    mean = float(np.dot(probabilities, effects))
    true_variance = float(np.dot(probabilities, (effects - mean) ** 2)) / repetitions
    expected = 0.0
    for counts, probability in count_all_answers(repetitions, probabilities):
        found = repetition_variance(counts[:, None], effects[:, None, None])
        expected += probability * found[0, 0]
    assert expected == pytest.approx(true_variance, rel=1e-12)


def test_each_item_and_metric_has_its_own_variance_over_repetitions() -> None:
    """Items with one answer, or none, have 0; the others s²/r of their effects."""
    counts = np.array([[1.0, 0.0, 2.0, 3.0], [0.0, 0.0, 1.0, 1.0]])
    random = np.random.default_rng(2)
    effects = random.standard_normal((2, 4, 3))
    found = repetition_variance(counts, effects)
    assert found.shape == (4, 3)
    assert not found[:2].any()
    for item in (2, 3):
        for metric in range(3):
            answers = np.repeat(effects[:, item, metric], counts[:, item].astype(int))
            expected = answers.var(ddof=1) / len(answers)
            assert found[item, metric] == pytest.approx(expected, rel=1e-12)


def test_equal_answers_have_no_variance_below_zero() -> None:
    """Rounding does not make a variance negative."""
    counts = np.array([[6.0], [1.0]])
    effects = np.full((2, 1, 1), 2.3)
    shares = counts[:, 0] / 7
    assert (shares * 2.3**2).sum() < (shares * 2.3).sum() ** 2, "by rounding"
    assert repetition_variance(counts, effects)[0, 0] == 0


# Quotients and sums


def test_what_is_divided_by_nothing_is_not_known() -> None:
    """Or what the caller says; a divisor may have fewer axes."""
    quotient = divide(np.array([1.0, 4.0, 0.0]), np.array([0.0, 2.0, 0.0]))
    assert math.isnan(quotient[0])
    assert quotient[1] == 2
    assert math.isnan(quotient[2])
    assert divide(np.array([1.0, 4.0]), np.array([0.0, 2.0]), 7.0).tolist() == [7, 2]
    table = divide(np.array([[2.0, 4.0], [6.0, 8.0]]), np.array([2.0, 4.0]))
    assert table.tolist() == [[1, 1], [3, 2]]


@given(seed=SEEDS)
def test_sums_by_label_are_those_of_each_label(seed: int) -> None:
    """A label without rows has the sum 0."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((9, 2))
    labels = random.integers(0, 4, size=9)
    found = sum_by_label(rows, labels)
    assert len(found) == labels.max() + 1
    for label in range(len(found)):
        assert found[label] == pytest.approx(rows[labels == label].sum(axis=0), abs=1e-12)


def test_no_rows_have_no_sums() -> None:
    """There is no label either."""
    assert sum_by_label(np.zeros((0, 2)), np.zeros(0, dtype=np.int64)).shape == (0, 2)


@given(seed=st.integers(0, 10_000), size=st.integers(1, 6))
def test_the_positive_part_is_the_nearest_covariance(seed: int, size: int) -> None:
    """A covariance is its own; of any other symmetric matrix, the difference is a covariance with the other sign."""
    random = np.random.default_rng(seed)
    root = random.standard_normal((size, size))
    assert positive_part(root @ root.T) == pytest.approx(root @ root.T)
    matrix = root + root.T
    found = positive_part(matrix)
    assert np.linalg.eigvalsh(found).min() >= -1e-9
    assert np.linalg.eigvalsh(found - matrix).min() >= -1e-9
    assert is_covariance(root @ root.T)
    assert is_covariance(matrix) is bool(np.linalg.eigvalsh(matrix).min() >= 0)
    assert np.trace(found @ (found - matrix)) == pytest.approx(0.0, abs=1e-8)


# A finite population


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, [4.0, 9.0]), (1.0, [1.0, 2.0]), (0.25, [3.25, 7.25])],
    ids=["a small part", "all", "a fourth"],
)
def test_the_more_of_a_population_was_asked_the_less_counts_how_items_differ(
    share: float, expected: list[float]
) -> None:
    squares = finite_population_squares(np.array([4.0, 9.0]), np.array([1.0, 2.0]), share)
    assert squares.tolist() == expected


def test_the_variance_of_a_mean_of_a_part_of_a_population_is_the_textbooks() -> None:
    """Two stages (Cochran 1977, section 10.4): (1 - f) s²/n between, f times the mean of w²/r within."""
    population = 12
    items = 9
    answers = np.random.default_rng(4).normal(size=(items, 3)) + np.arange(items)[:, None]
    means = answers.mean(axis=1)
    within = answers.var(axis=1, ddof=1) / 3
    share = items / population
    squares = (means - means.mean()) ** 2 / items**2 * items / (items - 1)
    total = finite_population_squares(squares, within / items**2, share).sum()
    between = means.var(ddof=1)
    assert total == pytest.approx((1 - share) * between / items + share * within.mean() / items)
