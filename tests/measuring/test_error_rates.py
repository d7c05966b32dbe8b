"""Small seeded experiments: how often a comparison, a gate or an impact ratio is wrong by chance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

import equipoise
from equipoise import Comparison, Result, compare
from equipoise.authoring import Array
from equipoise.measuring.compare import SIGNIFICANCE
from equipoise.measuring.differences import Verdict
from equipoise.measuring.gate import Check, Limit, Outcome, check_limits, describe_error_rate
from equipoise.measuring.selection import SelectionTable
from equipoise.schema import ID, Estimate, MetricKey
from equipoise.stats.multiple_testing import holm
from measuring.answered import answer_in_turn, score
from measuring.test_selection import table_of

# Comparisons of ranges


QUESTIONS: dict[str, Any] = {"corpus": "scenarios", "sample": 60}


def answer_questions(is_yes: NDArray[np.bool_]) -> Result:
    """A result of discrimination_tamkin in which these prompts are answered with yes."""
    prompts = equipoise.plan("discrimination_tamkin", **QUESTIONS).prompts()
    answers = {key: "Yes." if yes else "No." for key, yes in zip(prompts[ID], is_yes, strict=True)}
    return score("discrimination_tamkin", answers, **QUESTIONS)


def flip_coins(random: np.random.Generator) -> Result:
    """A model without any difference that tosses a coin for each prompt."""
    prompts = equipoise.plan("discrimination_tamkin", **QUESTIONS).prompts()
    return answer_questions(random.random(prompts.height) < 0.5)


def be_sure(random: np.random.Generator) -> Result:
    """A model without any difference that is sure of each question, and nearly always says so."""
    prompts = equipoise.plan("discrimination_tamkin", **QUESTIONS).prompts()
    numbers = prompts["item"].rank("dense").to_numpy() - 1
    is_yes = (random.random(int(numbers.max()) + 1) < 0.5)[numbers.astype(int)]
    slips = random.random(prompts.height) < 0.02
    return answer_questions(is_yes ^ slips)


@pytest.fixture(scope="module")
def coin_and_sure() -> list[Comparison]:
    """Comparisons of two models of which neither treats the genders differently."""
    random = np.random.default_rng(12)
    return [compare(flip_coins(random), be_sure(random)) for _ in range(12)]


def test_a_model_that_is_sure_is_not_better_than_one_that_flips_coins(
    coin_and_sure: list[Comparison],
) -> None:
    """Chance makes the range of a coin larger; neither is clearly nearer to even-handed."""
    verdicts = [each["discrimination_tamkin"].metrics["max_diff"].verdict for each in coin_and_sure]
    assert sum(verdict is not Verdict.UNCLEAR for verdict in verdicts) <= 1


def test_the_difference_of_two_ranges_without_differences_may_be_nothing(
    coin_and_sure: list[Comparison],
) -> None:
    """The interval holds 0, which is true."""
    metrics = [each["discrimination_tamkin"].metrics["max_diff"] for each in coin_and_sure]
    held = [metric.difference.low <= 0 <= metric.difference.high for metric in metrics]
    assert sum(held) >= 11


def test_a_range_that_is_there_is_found() -> None:
    """A model that prefers men by 40 points against one that is even-handed."""
    random = np.random.default_rng(3)
    prompts = equipoise.plan("discrimination_tamkin", **QUESTIONS).prompts()
    chance = 0.3 + 0.4 * (prompts["gender"] == "male").to_numpy()
    unfair = answer_questions(random.random(prompts.height) < chance)
    metric = compare(flip_coins(random), unfair)["discrimination_tamkin"].metrics["max_diff"]
    assert metric.verdict is Verdict.WORSE
    assert metric.difference.low > 0.05


# Many comparisons


def test_a_model_that_says_the_opposite_is_found_among_500_comparisons() -> None:
    """All men against all women: the p-value survives Holm's correction for 500 tests."""
    men = score("jobs_lum", answer_in_turn("jobs_lum", ["He."]))
    women = score("jobs_lum", answer_in_turn("jobs_lum", ["She."]))
    metric = compare(men, women)["jobs_lum"].metrics["masculine_rate"]
    assert (metric.first, metric.second) == (1.0, 0.0)
    assert max(holm([metric.p] * 500)) < SIGNIFICANCE


# Gates


@pytest.fixture(scope="module")
def jobs() -> Result:
    """A result of which the estimate is replaced."""
    return score("jobs_lum", answer_in_turn("jobs_lum", ["He.", "She."], sample=60), sample=60)


def limit_at(result: Result, value: float, half_width: float, limit: float) -> Limit:
    """A limit on a rate that was estimated with this interval."""
    key = MetricKey("undetected_rate_attempts")
    estimate = Estimate(value=value, low=value - half_width, high=value + half_width, n=400)
    changed = replace(result, estimates={**result.estimates, key: estimate}, bounds={}, marks={})
    return Limit(result=changed, key=key, limit=limit, rule="--max", allowed=f"at most {limit}")


def check_statistics(result: Result, statistics: Array) -> list[Check]:
    """The checks of metrics that lie this many standard errors beyond their limits."""
    error = 0.02
    half_width = float(scipy.stats.norm.ppf(0.975)) * error
    limits = [limit_at(result, 0.5 + error * z, half_width, 0.5) for z in statistics.tolist()]
    return check_limits(limits)


def test_a_model_at_all_eight_limits_fails_a_gate_at_most_once_in_twenty_runs(jobs: Result) -> None:
    """Without a correction it would fail one in five."""
    random = np.random.default_rng(5)
    statistics = random.standard_normal((200, 8))
    failures = 0
    uncorrected = 0
    for row in statistics:
        checks = check_statistics(jobs, row)
        failures += any(check.outcome is Outcome.FAILED for check in checks)
        uncorrected += bool((row > scipy.stats.norm.ppf(0.975)).any())
    assert uncorrected / 200 > 0.12
    assert failures / 200 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize(
    ("statistics", "outcomes"),
    [
        ([1.9], ["undecided"]),
        ([2.0], ["failed"]),
        ([2.0, -3.0], ["undecided", "passed"]),
        ([2.25, -3.0], ["failed", "passed"]),
        ([2.0, 2.3], ["failed", "failed"]),
        ([2.0, 2.2], ["undecided", "undecided"]),
        ([-2.0], ["passed"]),
        ([-1.9], ["undecided"]),
    ],
)
def test_limits_are_broken_after_holms_correction(jobs: Result, statistics: list[float], outcomes: list[str]) -> None:
    """p = 2 P(Z > z), times the number of limits for the smallest; passing needs no correction."""
    checks = check_statistics(jobs, np.array(statistics))
    assert [str(check.outcome) for check in checks] == outcomes


def test_what_the_correction_leaves_open_says_so(jobs: Result) -> None:
    checks = check_statistics(jobs, np.array([2.0, -3.0]))
    said = "beyond the limit, but not clearly enough after Holm's correction for 2 limits"
    assert checks[0].found.endswith(said)


def test_clear_failures_stay_failures_beside_many_other_limits(jobs: Result) -> None:
    checks = check_statistics(jobs, np.array([5.0, *[-3.0] * 30]))
    assert checks[0].outcome is Outcome.FAILED


def test_a_gate_says_how_often_it_fails_by_chance() -> None:
    assert describe_error_rate(8) == (
        "A model that is inside all 8 limits fails one of them by chance with a probability of at most 5% "
        "(Holm's correction)."
    )


# Impact ratios


def study_of_fair_model(random: np.random.Generator, categories: int) -> SelectionTable:
    """100 decisions in each of which one of all is chosen by chance."""
    names = [f"group {number:02}" for number in range(categories)]
    chosen = random.multinomial(1, np.full(categories, 1 / categories), size=100)
    return table_of([(names, [1] * categories, row.tolist(), 1) for row in chosen])


@pytest.mark.parametrize("categories", [2, 8, 15])
def test_the_intervals_of_impact_ratios_hold_one_for_fair_models(categories: int) -> None:
    """That of the lowest category, too, which is the one that is looked at."""
    random = np.random.default_rng(categories)
    held = 0
    called = 0
    for _ in range(20):
        table = study_of_fair_model(random, categories)
        held += all(row.high >= 1 for row in table.rows)
        called += table.unfair
    assert held >= 17
    assert called <= 3


def test_the_four_fifths_rule_alone_would_call_fair_models_unfair() -> None:
    """Of fair studies with eight categories nearly all have a ratio below four fifths."""
    random = np.random.default_rng(8)
    tables = [study_of_fair_model(random, 8) for _ in range(10)]
    assert sum(table.lowest.impact_ratio < 0.8 for table in tables) >= 8
    assert sum(table.unfair for table in tables) <= 2


@pytest.mark.parametrize("seed", range(3))
def test_a_category_that_is_hardly_ever_chosen_is_called_unfair_and_its_interval_ends_below_one(
    seed: int,
) -> None:
    """P-value and interval say the same."""
    random = np.random.default_rng(seed)
    names = [f"group {number}" for number in range(8)]
    chances = np.array([0.02, *[0.14] * 7])
    chosen = random.multinomial(1, chances / chances.sum(), size=300)
    table = table_of([(names, [1] * 8, row.tolist(), 1) for row in chosen])
    assert table.unfair
    assert table.lowest.category == "group 0"
    assert table.lowest.high < 0.8


# Models with equal metrics whose answers differ in a lopsided way


def score_vacancies(fewer: NDArray[np.float64]) -> equipoise.Result:
    """Scores of 80 points for everybody, but for as many fewer as given for the man of each item."""
    sample = len(fewer)
    prompts = equipoise.plan("resume_score", corpus="vacancies", sample=sample).prompts()
    item = prompts["item"].rank("dense").to_numpy().astype(int) - 1
    gap = np.where((prompts["gender"] == "male").to_numpy(), fewer[item], 0.0)
    answers = {key: f"{80 - each:.1f}" for key, each in zip(prompts["id"], gap, strict=True)}
    return equipoise.score("resume_score", answers, corpus="vacancies", sample=sample)


@pytest.mark.parametrize("items", [40, 100])
def test_rare_large_differences_one_way_and_small_ones_the_other_are_no_clear_difference(items: int) -> None:
    """30 points fewer in one of 31 items and one point more in the others: the true difference is 0.

    By the signs alone, p is below 0.05 in 0.15 to 0.28 of such comparisons.
    """
    even = score_vacancies(np.zeros(items))
    random = np.random.default_rng(items)
    rejected = 0
    for _ in range(20):
        lopsided = score_vacancies(np.where(random.random(items) < 1 / 31, 30.0, -1.0))
        found = equipoise.compare(even, lopsided)["resume_score"].metrics["diff_score"]
        rejected += found.p < 0.05
        assert found.difference.low <= 0 <= found.difference.high
    assert rejected <= 1


def test_equal_scores_leave_rare_large_differences_open() -> None:
    """Up to 3.7 of 40 items could still be 30 points apart: for the difference, and for how far it is from 0."""
    even = score_vacancies(np.zeros(40))
    found = equipoise.compare(even, even)["resume_score"].metrics["diff_score"]
    assert found.distance is not None
    for estimate in (found.difference, found.distance):
        assert estimate.high == pytest.approx(-np.log(0.025) * 30 / 40, rel=0.05)
        assert estimate.low == pytest.approx(np.log(0.025) * 30 / 40, rel=0.05)


def test_a_few_occupations_with_much_leverage_are_no_clear_difference() -> None:
    """A says "She" always; B says "He" for the 8 most masculine occupations and for 54 slightly feminine ones.

    The slopes over all occupations are equal. By the signs alone, p is below 0.05 in 0.17 of 40 items.
    """
    prompts = equipoise.plan("jobs_lum", sample=339).prompts().sort("masculinity")
    lean = prompts["masculinity"].to_numpy()
    lean = lean - lean.mean()
    is_man = np.zeros(339, dtype=bool)
    is_man[-8:] = True
    feminine = np.flatnonzero(lean < 0)[::-1]
    for place in feminine:
        if lean[is_man].sum() <= 0:
            break
        is_man[place] = True
    says_he = dict(zip(prompts["id"], is_man.tolist(), strict=True))
    rejected = 0
    runs = 60
    for seed in range(runs):
        keys = equipoise.plan("jobs_lum", sample=40, seed=seed).prompts()["id"]
        both = (
            equipoise.score("jobs_lum", dict.fromkeys(keys, "She."), sample=40, seed=seed),
            equipoise.score("jobs_lum", {key: "He." if says_he[key] else "She." for key in keys}, sample=40, seed=seed),
        )
        found = equipoise.compare(*both)["jobs_lum"].metrics["stereotype_rate"]
        rejected += found.p < 0.05
    assert rejected <= 0.1 * runs
