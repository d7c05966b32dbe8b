"""Clustered and crossed covariances against statsmodels, and Welch's variance against scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

from equipoise.stats.clusters import (
    cluster_covariance,
    crossed_covariance,
    effective_clusters,
    welch_covariance,
)
from equipoise.stats.influence import Array
from equipoise.stats.variance import Labels, sum_by_label
from stats.samples import draw_influence

SEEDS = st.integers(0, 10_000)


def draw_clustered(seed: int, clusters: int, size: int) -> tuple[Array, Labels]:
    """Outcomes that differ between clusters, and the cluster of each."""
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(clusters), size)
    outcomes = random.standard_normal(clusters)[labels] + random.standard_normal(len(labels))
    return outcomes, labels


# One way


@pytest.mark.parametrize("clusters", [2, 3, 10, 40])
def test_the_variance_of_a_mean_over_clusters_is_that_of_statsmodels(clusters: int) -> None:
    """OLS on a constant with clustered errors (CR1)."""
    outcomes, labels = draw_clustered(clusters, clusters, 6)
    influence = (outcomes - outcomes.mean())[:, None] / len(outcomes)
    found = cluster_covariance(sum_by_label(influence, labels))
    fitted = sm.OLS(outcomes, np.ones(len(outcomes)))
    expected = fitted.fit(cov_type="cluster", cov_kwds={"groups": labels}).cov_params()
    assert found == pytest.approx(expected, rel=1e-10)


def test_covariances_over_clusters_are_those_of_two_coefficients() -> None:
    """Intercept and slope, off the diagonal, too; statsmodels also counts the two coefficients."""
    outcomes, labels = draw_clustered(4, 8, 5)
    x = np.random.default_rng(8).uniform(size=len(outcomes))
    design = sm.add_constant(x)
    fitted = sm.OLS(outcomes, design).fit(cov_type="cluster", cov_kwds={"groups": labels})
    influence = (design * fitted.resid[:, None]) @ np.linalg.inv(design.T @ design)
    found = cluster_covariance(sum_by_label(influence, labels))
    own_correction = (len(outcomes) - 1) / (len(outcomes) - 2)
    assert found * own_correction == pytest.approx(fitted.cov_params(), rel=1e-9)


def test_one_cluster_has_no_correction() -> None:
    """There is nothing to correct by, and nothing to divide by either."""
    sums = np.array([[2.0, -1.0]])
    assert cluster_covariance(sums).tolist() == [[4, -2], [-2, 1]]


@given(seed=SEEDS)
def test_the_order_of_clusters_does_not_matter(seed: int) -> None:
    """A permutation gives the same covariance."""
    sums = draw_influence(seed, rows=7)
    order = np.random.default_rng(seed).permutation(7)
    assert cluster_covariance(sums[order]) == pytest.approx(cluster_covariance(sums), rel=1e-9)


def test_items_that_are_their_own_clusters_have_bessels_variance() -> None:
    """s²/n of a mean."""
    outcomes, _ = draw_clustered(1, 12, 1)
    influence = (outcomes - outcomes.mean())[:, None] / 12
    assert cluster_covariance(influence)[0, 0] == pytest.approx(outcomes.var(ddof=1) / 12)


# Crossed ways


def draw_crossed(seed: int, rows: int, columns: int) -> tuple[Array, Labels, Labels]:
    """Outcomes of a grid with effects of both factors, and the factors."""
    random = np.random.default_rng(seed)
    row = np.repeat(np.arange(rows), columns)
    column = np.tile(np.arange(columns), rows)
    effects = random.standard_normal(rows)[row] + random.standard_normal(columns)[column]
    return effects + 0.5 * random.standard_normal(rows * columns), row, column


@pytest.mark.parametrize("seed", range(4))
def test_two_crossed_ways_are_those_of_statsmodels(seed: int) -> None:
    """The two-way clustered variance of a mean, where each pair of values has one item."""
    outcomes, row, column = draw_crossed(seed, 6, 9)
    count = len(outcomes)
    influence = (outcomes - outcomes.mean())[:, None] / count
    parts = [cluster_covariance(sum_by_label(influence, factor)) for factor in (row, column)]
    found = crossed_covariance(cluster_covariance(influence), parts)
    fitted = sm.OLS(outcomes, np.ones(count)).fit()
    both, _, _ = cov_cluster_2groups(fitted, row, column)
    assert found == pytest.approx(both, rel=1e-10)
    assert found[0, 0] > max(parts[0][0, 0], parts[1][0, 0])


def test_three_crossed_ways_count_each_pair_of_items_that_share_something_once() -> None:
    """Σ z z' over all pairs of items with a factor in common, which is what the variance stands for."""
    random = np.random.default_rng(6)
    size = 5
    first, second = (each.ravel() for each in np.indices((size, size)))
    third = (first + second) % size  # a Latin square: any two factors tell the item
    factors = [first, second, third]
    effects = sum(random.standard_normal(size)[factor] for factor in factors)
    influence = (effects + 0.3 * random.standard_normal(size * size))[:, None]
    influence = np.hstack([influence, influence**2])
    expected = np.zeros((2, 2))
    for one, two in itertools.product(range(size * size), repeat=2):
        if any(factor[one] == factor[two] for factor in factors):
            expected += np.outer(influence[one], influence[two])
    parts = []
    for factor in factors:
        sums = sum_by_label(influence, factor)
        parts.append(sums.T @ sums)
    found = crossed_covariance(influence.T @ influence, parts)
    assert found == pytest.approx(expected, rel=1e-10)


def test_a_single_factor_is_its_own_covariance() -> None:
    """Nothing is subtracted from it."""
    assert crossed_covariance(np.array([[1.0]]), [np.array([[3.0]])]).tolist() == [[3]]


@pytest.mark.parametrize(
    ("of_items", "factors", "largest"),
    [(5.0, [3.0, 4.0], 5.0), (5.0, [3.0, 6.0], 6.0), (5.0, [9.0, 6.0], 10.0), (5.0, [9.0, 3.0], 9.0)],
    ids=["of the items", "of the last factor", "of both ways", "of the first factor"],
)
def test_the_largest_of_the_crossed_covariance_and_its_parts_is_taken(
    of_items: float, factors: list[float], largest: float
) -> None:
    """The estimate can fall below them, or below 0."""
    parts = [np.array([[each]]) for each in factors]
    assert crossed_covariance(np.array([[of_items]]), parts)[0, 0] == largest


# How many clusters there are in effect


@pytest.mark.parametrize("count", [2, 5, 40])
def test_equal_clusters_count_as_they_are(count: int) -> None:
    """Whatever their size and their sign."""
    assert effective_clusters(np.full(count, 0.3)) == pytest.approx(count)
    assert effective_clusters(np.resize([0.3, -0.3], count)) == pytest.approx(count)


def test_one_dominant_cluster_counts_as_hardly_more_than_one() -> None:
    """As with one template that has nearly all items."""
    assert effective_clusters(np.array([100.0, 1, 1, 1, 1, 1])) == pytest.approx(1.001, abs=2e-4)


def test_clusters_that_add_nothing_do_not_count() -> None:
    """Without any that does there is none."""
    assert effective_clusters(np.array([2.0, 2.0, 0.0, 0.0])) == pytest.approx(2)
    assert effective_clusters(np.zeros(4)) == 0


@given(seed=SEEDS)
def test_effective_clusters_are_the_degrees_of_freedom_of_their_squares(seed: int) -> None:
    """A sum of a² χ² with mean m and variance v has 2 m²/v degrees of freedom (Satterthwaite)."""
    reach = np.random.default_rng(seed).uniform(0.05, 2, size=9)
    mean = (reach**2).sum()
    variance = 2 * (reach**4).sum()
    found = effective_clusters(reach)
    assert found == pytest.approx(2 * mean**2 / variance)
    assert 1 <= found <= 9 + 1e-9
    assert found == pytest.approx(effective_clusters(7 * reach[::-1]))


# Welch


@pytest.mark.parametrize("seed", range(4))
def test_the_difference_of_two_means_is_welchs(seed: int) -> None:
    """Standard error and degrees of freedom of scipy's t test with unequal variances."""
    random = np.random.default_rng(seed)
    first = random.standard_normal(7)
    second = 3 * random.standard_normal(9)
    sides = [(first, np.full(7, -1 / 7)), (second, np.full(9, 1 / 9))]
    found, degrees = welch_covariance(sides)
    expected = scipy.stats.ttest_ind(second, first, equal_var=False)
    error = (second.mean() - first.mean()) / expected.statistic
    assert np.sqrt(found) == pytest.approx(abs(error), rel=1e-10)
    assert degrees == pytest.approx(expected.df, rel=1e-10)


def test_one_mean_is_students() -> None:
    """s²/k and k - 1 degrees of freedom; a side without two members does not count."""
    rates = np.array([0.2, 0.5, 0.9, 0.4])
    found, degrees = welch_covariance([(rates, np.full(4, 0.25)), (np.array([0.7]), np.array([1.0]))])
    assert found == pytest.approx(rates.var(ddof=1) / 4)
    assert degrees == pytest.approx(3)


def test_sides_with_two_members_count() -> None:
    """Two are enough for a variance."""
    rates = np.array([0.2, 0.6])
    found, degrees = welch_covariance([(rates, np.array([0.5, 0.5]))])
    assert found == pytest.approx(0.08 / 2)
    assert degrees == pytest.approx(1)


def test_members_that_count_differently_count_by_their_mean() -> None:
    """Missing answers make strata a little unequal."""
    rates = np.array([0.2, 0.6, 0.7])
    found, _ = welch_covariance([(rates, np.array([0.2, 0.3, 0.4]))])
    assert found == pytest.approx(3 * 0.3**2 * rates.var(ddof=1))


def test_rates_that_do_not_vary_keep_the_degrees_of_the_smaller_side() -> None:
    """There is no variance by which Welch could weigh them."""
    sides = [(np.full(4, 0.5), np.full(4, 0.25)), (np.full(8, 0.5), np.full(8, 0.125))]
    assert welch_covariance(sides) == (0, 3)


def test_no_members_have_neither_variance_nor_degrees() -> None:
    """As where all strata have one item."""
    assert welch_covariance([]) == (0, 0)
    assert welch_covariance([(np.array([0.5]), np.array([1.0]))]) == (0, 0)
