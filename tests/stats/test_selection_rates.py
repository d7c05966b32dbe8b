"""Impact ratios: comparisons with the best against tables, simulations and other square roots."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from equipoise.stats.clusters import cluster_covariance
from equipoise.stats.influence import Array
from equipoise.stats.selection_rates import (
    DRAWS,
    all_pairs_quantile,
    draw_normal,
    error_factors,
    largest_lowest_ratio,
    lowest_ratios_of_fair_models,
    rate_influence,
    ratios_to_best,
    share_as_low,
)

SEEDS = st.integers(0, 10_000)


def draw_covariance(seed: int, size: int = 4) -> Array:
    """A covariance of full rank."""
    root = np.random.default_rng(seed).standard_normal((size, size + 2))
    return np.asarray(0.01 * root @ root.T)


# Normal draws


@pytest.mark.parametrize("seed", range(3))
def test_draws_are_made_by_the_symmetric_square_root(seed: int) -> None:
    """That of scipy, by another algorithm."""
    covariance = draw_covariance(seed)
    standard = np.random.default_rng(0).standard_normal((DRAWS, 4))
    expected = standard @ scipy.linalg.sqrtm(covariance)
    assert draw_normal(covariance) == pytest.approx(expected, abs=1e-9)


def test_draws_have_the_covariance_that_is_asked_for() -> None:
    """Up to the error of the draws, and a mean of 0."""
    covariance = draw_covariance(7)
    draws = draw_normal(covariance)
    assert len(draws) == DRAWS == 10_000
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs(np.cov(draws.T) - covariance).max() < 0.08 * scale.max()
    assert np.abs(draws.mean(axis=0) / np.sqrt(np.diag(covariance))).max() < 0.06


def test_tied_variances_give_the_draws_that_only_one_root_gives() -> None:
    """Exchangeable categories: eigenvectors are arbitrary there, the symmetric root is not."""
    covariance = np.full((3, 3), 0.2) + 0.8 * np.eye(3)
    off = (np.sqrt(1.4) - np.sqrt(0.8)) / 3
    root = np.full((3, 3), off) + np.sqrt(0.8) * np.eye(3)
    standard = np.random.default_rng(0).standard_normal((DRAWS, 3))
    assert draw_normal(covariance) == pytest.approx(standard @ root, abs=1e-12)


def test_a_covariance_without_full_rank_is_no_problem() -> None:
    """Rounding may make an eigenvalue a little negative."""
    covariance = np.array([[1.0, -1.0], [-1.0, 1.0]]) - 1e-17 * np.eye(2)
    draws = draw_normal(covariance)
    assert np.isfinite(draws).all()
    assert draws.sum(axis=1) == pytest.approx(np.zeros(DRAWS), abs=1e-7)


# The influence of a set of applicants


def test_what_sets_add_to_a_rate_gives_its_clustered_variance() -> None:
    """OLS of being selected on a constant, with the sets as clusters, by statsmodels."""
    random = np.random.default_rng(1)
    applicants = random.integers(1, 5, size=(12, 1)).astype(float)
    selected = np.minimum(random.integers(0, 4, size=(12, 1)), applicants)
    totals = applicants.sum(axis=0)
    rates = selected.sum(axis=0) / totals
    influence = rate_influence(selected, applicants, totals, rates)
    groups = np.repeat(np.arange(12), applicants[:, 0].astype(int))
    outcomes = np.concatenate(
        [np.arange(int(size)) < chosen for size, chosen in zip(applicants[:, 0], selected[:, 0], strict=True)]
    ).astype(float)
    fitted = sm.OLS(outcomes, np.ones(len(outcomes)))
    expected = fitted.fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert expected.params[0] == pytest.approx(rates[0])
    found = cluster_covariance(influence)
    assert found == pytest.approx(expected.cov_params(), rel=1e-9)
    assert influence.sum() == pytest.approx(0, abs=1e-12)


def test_a_set_adds_to_the_rate_of_a_category_what_it_selects_beyond_its_share() -> None:
    """(selected - rate x applicants) / all applicants."""
    found = rate_influence(
        np.array([[3.0, 0.0]]), np.array([[4.0, 2.0]]), np.array([40.0, 10.0]), np.array([0.5, 0.25])
    )
    assert found == pytest.approx(np.array([[1 / 40, -0.05]]))


# Comparisons with the best


def test_two_clearly_different_categories_have_the_interval_of_their_ratio() -> None:
    """The logarithm of a ratio of two rates, as statsmodels computes it."""
    selected = np.array([30.0, 160.0])
    totals = np.array([200.0, 200.0])
    rates = selected / totals
    covariance = np.diag((1 - rates) / selected)
    low, high = ratios_to_best(np.log(rates), covariance, np.inf)
    expected = confint_proportions_2indep(30, 200, 160, 200, compare="ratio", method="log")
    assert low[0] == pytest.approx(expected[0], rel=0.02)
    assert high[0] == pytest.approx(expected[1], rel=0.02)
    assert low[1] == 1
    assert high[1] == 1


@pytest.mark.parametrize("categories", [2, 3, 4, 5, 9])
def test_the_critical_value_is_that_of_the_studentised_range(categories: int) -> None:
    """Tukey's: scipy's studentised range over √2, for independent rates with equal errors."""
    covariance = 0.01 * np.eye(categories)
    errors = np.sqrt(0.02) * (1 - np.eye(categories))
    expected = scipy.stats.studentized_range.ppf(0.95, categories, np.inf) / np.sqrt(2)
    found = all_pairs_quantile(covariance, errors, np.inf, 0.95)
    assert found == pytest.approx(expected, rel=0.015)


@pytest.mark.parametrize("degrees", [9.0, 15.0, 30.0])
@pytest.mark.parametrize("categories", [2, 3, 8, 15])
def test_the_critical_value_has_one_estimated_error_for_all_differences(
    categories: int,
    degrees: float,
) -> None:
    """The studentised range at finite degrees of freedom: all differences share one divisor.

    The normal range times Student's factor for one difference is up to 11% too small. The 95%
    point of 10,000 draws is known to about 0.7%.
    """
    covariance = 0.01 * np.eye(categories)
    errors = np.sqrt(0.02) * (1 - np.eye(categories))
    expected = scipy.stats.studentized_range.ppf(0.95, categories, degrees) / np.sqrt(2)
    found = all_pairs_quantile(covariance, errors, degrees, 0.95)
    assert found == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_critical_value_of_two_categories_is_exact(level: float) -> None:
    """There is one difference: normal, or Student's t with an estimated error."""
    covariance = np.array([[0.04, 0.01], [0.01, 0.02]])
    errors = np.array([[0.0, 0.2], [0.2, 0.0]])
    expected = scipy.stats.norm.ppf((1 + level) / 2)
    found = all_pairs_quantile(covariance, errors, np.inf, level)
    assert found == pytest.approx(expected, rel=1e-9)
    expected = scipy.stats.t.ppf((1 + level) / 2, 7)
    found = all_pairs_quantile(covariance, errors, 7.0, level)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("degrees", [6.0, np.inf])
@pytest.mark.parametrize("seed", range(3))
def test_the_critical_value_is_that_of_the_draws_by_loops(seed: int, degrees: float) -> None:
    """The quantile of the largest scaled difference of any two."""
    covariance = draw_covariance(seed, size=5)
    variances = np.diag(covariance)
    errors = np.sqrt(variances[:, None] + variances - 2 * covariance)
    np.fill_diagonal(errors, 0.0)
    draws = draw_normal(covariance)
    largest = np.zeros(len(draws))
    for first, second in itertools.combinations(range(5), 2):
        scaled = np.abs(draws[:, first] - draws[:, second]) / errors[first, second]
        largest = np.maximum(largest, scaled)
    largest /= error_factors(degrees)
    expected = np.quantile(largest, 0.95, method="inverted_cdf")
    found = all_pairs_quantile(covariance, errors, degrees, 0.95)
    assert found == pytest.approx(expected, rel=1e-12)


def test_categories_without_an_error_between_them_do_not_count() -> None:
    """Two of three rates always go together: one difference is left, twice."""
    covariance = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    errors = np.sqrt(np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 2.0], [2.0, 2.0, 0.0]]))
    assert all_pairs_quantile(covariance, errors, np.inf, 0.95) == pytest.approx(1.96, rel=0.03)


@pytest.mark.parametrize("degrees", [4.0, 20.0])
def test_few_matched_sets_make_the_intervals_wider_by_the_studentised_range(degrees: float) -> None:
    """The upper ends of two categories far behind a third one are its quantile away."""
    log_rates = np.array([0.0, -2.0, -2.5])
    _, high = ratios_to_best(log_rates, 0.01 * np.eye(3), degrees)
    margins = np.log(high[1:]) - log_rates[1:]
    critical = scipy.stats.studentized_range.ppf(0.95, 3, degrees) / np.sqrt(2)
    assert margins == pytest.approx(np.full(2, critical * np.sqrt(0.02)), rel=0.02)


@pytest.mark.parametrize("degrees", [1.0, 4.0, 9.0, 30.0])
def test_estimated_errors_vary_like_the_root_of_chi_squared(degrees: float) -> None:
    """By all quantiles of χ² over its degrees of freedom; true errors do not vary."""
    factors = error_factors(degrees)
    assert len(factors) == DRAWS
    shares = (np.arange(DRAWS) + 0.5) / DRAWS
    expected = np.sqrt(scipy.stats.chi2.ppf(shares, degrees) / degrees)
    assert np.sort(factors) == pytest.approx(expected, rel=1e-9)
    assert error_factors(np.inf) == pytest.approx(np.ones(DRAWS), abs=0)


def test_a_higher_level_makes_the_intervals_wider() -> None:
    """99% against 95%: for two categories about 2.58 against 1.96."""
    log_rates = np.array([0.0, -2.0])
    covariance = 0.01 * np.eye(2)
    _, usual = ratios_to_best(log_rates, covariance, np.inf)
    _, wide = ratios_to_best(log_rates, covariance, np.inf, level=0.99)
    wider = (np.log(wide[1]) + 2) / (np.log(usual[1]) + 2)
    assert wider == pytest.approx(2.576 / 1.96, rel=0.05)


def test_categories_that_vary_together_have_shorter_intervals() -> None:
    """Only the errors of differences count."""
    log_rates = np.array([0.0, -1.0, -1.2])
    apart = 0.04 * np.eye(3)
    together = np.full((3, 3), 0.03) + 0.01 * np.eye(3)
    low_apart, _ = ratios_to_best(log_rates, apart, np.inf)
    low_together, _ = ratios_to_best(log_rates, together, np.inf)
    reach_apart = log_rates[1:] - np.log(low_apart[1:])
    reach_together = log_rates[1:] - np.log(low_together[1:])
    assert reach_together == pytest.approx(reach_apart / 2, rel=1e-6)


def test_a_category_that_can_be_the_best_has_one_as_its_upper_end() -> None:
    """Two leaders that cannot be told apart, and a third that is clearly behind."""
    log_rates = np.array([-0.02, 0.0, -3.0])
    low, high = ratios_to_best(log_rates, 0.01 * np.eye(3), np.inf)
    assert high[0] == 1
    assert high[1] == 1
    assert low[0] < 0.98
    assert low[1] < 1
    assert high[2] < 0.1


def test_a_third_category_is_compared_with_the_best_of_two_leaders() -> None:
    """By the studentised range of three."""
    log_rates = np.array([-0.1, 0.0, -3.0])
    low, high = ratios_to_best(log_rates, 0.01 * np.eye(3), np.inf)
    reach = scipy.stats.studentized_range.ppf(0.95, 3, np.inf) / np.sqrt(2) * np.sqrt(0.02)
    assert np.log(low[2]) == pytest.approx(-3.0 - reach, abs=0.01)
    assert np.log(high[2]) == pytest.approx(-3.0 + reach, abs=0.01)


def test_rates_without_errors_have_their_ratio_alone() -> None:
    """Everything is known then."""
    low, high = ratios_to_best(np.log([0.5, 0.4, 0.1]), np.zeros((3, 3)), np.inf)
    assert low == pytest.approx([1, 0.8, 0.2])
    assert high == pytest.approx([1, 0.8, 0.2])


@given(seed=SEEDS, degrees=st.sampled_from([6.0, np.inf]))
def test_intervals_are_those_of_the_formula_by_loops(seed: int, degrees: float) -> None:
    """The smallest of the lower, and the smallest of the upper ends of all differences; at most 0."""
    covariance = draw_covariance(seed)
    log_rates = 0.4 * np.random.default_rng(seed).standard_normal(4)
    variances = np.diag(covariance)
    errors = np.sqrt(np.maximum(variances[:, None] + variances - 2 * covariance, 0.0))
    critical = all_pairs_quantile(covariance, errors, degrees, 0.95)
    low, high = ratios_to_best(log_rates, covariance, degrees)
    for place in range(4):
        lows = [0.0]
        highs = [0.0]
        for other in range(4):
            gap = log_rates[place] - log_rates[other]
            lows.append(gap - critical * errors[place, other])
            highs.append(gap + critical * errors[place, other])
        assert low[place] == pytest.approx(np.exp(min(lows)), rel=1e-9)
        assert high[place] == pytest.approx(np.exp(min(highs)), rel=1e-9)


def simulate_simultaneous_coverage(
    true_logs: Array,
    error: float,
    runs: int = 150,
    degrees: float = np.inf,
) -> float:
    """How often the intervals of all categories hold the true ratios to the truly highest rate.

    With finite degrees of freedom, each run has an estimated error instead of the true one.
    """
    random = np.random.default_rng(4)
    truth = np.exp(true_logs - true_logs.max())
    held = 0
    for _ in range(runs):
        log_rates = true_logs + error * random.standard_normal(len(true_logs))
        variance = error**2
        if np.isfinite(degrees):
            variance *= random.chisquare(degrees) / degrees
        covariance = variance * np.eye(len(true_logs))
        low, high = ratios_to_best(log_rates, covariance, degrees)
        held += bool(((low <= truth + 1e-12) & (truth - 1e-12 <= high)).all())
    return held / runs


@pytest.mark.parametrize("categories", [2, 8])
def test_the_intervals_of_fair_models_hold_one_for_all_categories_together(categories: int) -> None:
    """The lowest included: in 95% (less 3.6% for chance)."""
    assert simulate_simultaneous_coverage(np.zeros(categories), 0.1) >= 0.914


@pytest.mark.parametrize("categories", [8, 15])
def test_intervals_with_few_degrees_of_freedom_hold_for_all_categories(categories: int) -> None:
    """In 95% of 300 studies, less 2.5% for chance; Student's factor alone gives 92% and 90%."""
    logs = np.zeros(categories)
    assert simulate_simultaneous_coverage(logs, 0.1, runs=300, degrees=9.0) >= 0.925


def test_the_intervals_of_unfair_models_hold_their_ratios_together() -> None:
    """Also with one category clearly ahead of all others."""
    true_logs = np.array([0.0, -1.0, -1.0, -1.3, -1.6])
    assert simulate_simultaneous_coverage(true_logs, 0.1) >= 0.914


# What fair models show


def test_the_lowest_ratios_of_fair_models_are_those_of_equal_rates() -> None:
    """The same by other draws: mean, 5% point and their spread."""
    covariance = 0.002 * np.eye(4)
    found = lowest_ratios_of_fair_models(0.4, covariance, np.inf)
    random = np.random.default_rng(99)
    rates = np.maximum(random.multivariate_normal(np.full(4, 0.4), covariance, size=40_000), 0)
    expected = rates.min(axis=1) / rates.max(axis=1)
    assert len(found) == DRAWS
    assert found.mean() == pytest.approx(expected.mean(), abs=0.01)
    assert np.quantile(found, 0.05) == pytest.approx(np.quantile(expected, 0.05), abs=0.015)
    assert found.std() == pytest.approx(expected.std(), rel=0.06)


def test_few_matched_sets_make_fair_models_vary_more() -> None:
    """Each draw by its own estimated error, which both rates share."""
    covariance = 0.0004 * np.eye(2)
    found = lowest_ratios_of_fair_models(0.5, covariance, 5.0)
    deviations = np.random.default_rng(0).standard_normal((DRAWS, 2)) * 0.02
    rates = np.maximum(0.5 + deviations / error_factors(5.0)[:, None], 0.0)
    assert found == pytest.approx(rates.min(axis=1) / rates.max(axis=1), rel=1e-9)


@pytest.mark.parametrize("degrees", [5.0, 9.0, 30.0])
def test_how_often_a_fair_model_looks_this_bad_is_students_t_for_two_opposite_rates(
    degrees: float,
) -> None:
    """Where one rate is as much above as the other is below, their ratio is a function of one t."""
    error = 0.02
    covariance = error**2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    found = lowest_ratios_of_fair_models(0.5, covariance, degrees)
    for ratio in (0.95, 0.9, 0.8):
        deviation = 0.5 * (1 - ratio) / (1 + ratio)
        expected = 2 * scipy.stats.t.sf(deviation / error, degrees)
        assert (found <= ratio).mean() == pytest.approx(expected, abs=0.008)


def test_rates_do_not_fall_below_nothing() -> None:
    """A fair model that rarely selects anybody shows 0, not less; studies without anybody do not count."""
    found = lowest_ratios_of_fair_models(0.02, 0.002 * np.eye(2), np.inf)
    assert found.min() == 0
    assert found.max() <= 1
    assert len(found) < DRAWS


@given(
    ratios=st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=12),
    observed=st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=1, max_size=5),
)
def test_the_share_as_low_counts_ties_and_the_observed_one(ratios: list[float], observed: list[float]) -> None:
    """(1 + as low) / (1 + all), never 0."""
    found = share_as_low(np.array(ratios), np.array(observed))
    for place, value in enumerate(observed):
        as_low = sum(ratio <= value for ratio in ratios)
        assert found[place] == pytest.approx((1 + as_low) / (1 + len(ratios)))


def test_a_tie_by_rounding_is_a_tie() -> None:
    """0.1 + 0.2 and 0.3 are the same ratio."""
    assert share_as_low(np.array([0.1 + 0.2, 0.9, 0.9]), np.array([0.3])) == pytest.approx([0.5])


# Rates that are not fully known


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ([0.2, 0.5], [0.2, 0.5], 0.4),
        ([0.2, 0.5], [0.3, 0.5], 0.6),
        ([0.2, 0.4], [0.2, 0.6], 0.5),
        ([0.2, 0.4], [0.4, 0.6], 1.0),
        ([0.0, 0.0], [0.0, 0.0], 1.0),
        ([0.0, 0.5, 0.1], [0.0, 0.5, 0.9], 0.0),
    ],
)
def test_the_lowest_ratio_is_at_most_the_smallest_high_over_the_largest_low(
    low: list[float],
    high: list[float],
    expected: float,
) -> None:
    """Worked by hand; 1 where all rates can be equal."""
    assert largest_lowest_ratio(np.array(low), np.array(high)) == pytest.approx(expected)


@given(seed=SEEDS)
def test_no_rates_within_their_ends_have_a_higher_lowest_ratio(seed: int) -> None:
    """By a grid of all combinations of three rates, one of which reaches it."""
    random = np.random.default_rng(seed)
    ends = np.sort(random.integers(1, 9, size=(2, 3)), axis=0)
    best = 0.0
    for rates in itertools.product(*(range(low, high + 1) for low, high in ends.T)):
        best = max(best, min(rates) / max(rates))
    found = largest_lowest_ratio(ends[0] / 8, ends[1] / 8)
    assert found == pytest.approx(best)
