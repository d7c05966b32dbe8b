"""Intervals by linearisation: textbook formulas for simple cases, and properties for all probes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, linregress, t

import equipoise
from equipoise import Plan, Probe, Result
from equipoise.authoring import Array
from equipoise.measuring.cells import prepare_cells
from equipoise.measuring.estimates import _follows_numbers, estimate_cells, estimate_groups
from equipoise.measuring.marks import Mark
from equipoise.measuring.summarise import answered_rows, cells, is_answered, merge_cells
from equipoise.probes import get_probe
from equipoise.schema import (
    ANSWER,
    ID,
    ITEM,
    LABEL,
    MIN_ITEMS,
    STATUS,
    Estimate,
    MetricKey,
    Status,
    text_column,
)
from equipoise.stats.intervals import student_quantile

SILENT = -math.log(0.025)
"""How many of n items may do what none was seen to do, at the exact 97.5% bound: 3.7."""


def score_in_turn(probe: str, answers: Sequence[str], **parameters: Any) -> Result:
    """A result where the prompts have these answers in turn."""
    prompts = equipoise.plan(probe, **parameters).prompts()
    texts = (answers[place % len(answers)] for place in range(prompts.height))
    return equipoise.score(probe, prompts.select(ID).with_columns(text_column(ANSWER, texts)), **parameters)


def score_rate(yes: int, n: int) -> Estimate:
    """The masculine rate of so many characters, of whom so many are men."""
    return score_in_turn("jobs_lum", ["He."] * yes + ["She."] * (n - yes), sample=n).metrics["masculine_rate"]


def measured(probe: Probe, answers: pl.DataFrame, parameters: Any) -> dict[MetricKey, Estimate]:
    """The metrics of prompts with labels."""
    rows = answered_rows(probe, answers.with_columns(pl.lit(Status.OK.value).alias(STATUS)))
    table = cells(rows).filter(is_answered(probe))
    return estimate_groups(prepare_cells(probe, table, parameters), table, table)


def test_equal_rows_are_one_cell_and_parts_add_up() -> None:
    table = pl.DataFrame({ITEM: [*"abcde"], "a": [1.0, 2.0, 1.0, 1.0, 2.0], "b": ["x", "x", "x", "y", "x"]})
    whole = cells(table)
    assert whole.rows() == [(1.0, "x", 2), (1.0, "y", 1), (2.0, "x", 2)]
    assert merge_cells([cells(table[:2]), cells(table[2:])]).equals(whole)
    assert merge_cells([cells(table[3:]), cells(table[:3])]).equals(whole)


@pytest.mark.parametrize("degrees", [3, 4, 7, 15, 1_000])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.995])
def test_the_quantile_of_student_is_that_of_scipy(degrees: int, level: float) -> None:
    assert student_quantile(degrees, level) == pytest.approx(t(degrees).ppf((1 + level) / 2), rel=0.004)


# A single rate


@pytest.mark.parametrize(("yes", "n"), [(1, 40), (7, 24), (113, 339), (20, 20)])
def test_the_interval_of_a_rate_is_its_formula(yes: int, n: int) -> None:
    """One item more, half a yes and half a no; then t √V around its rate, and the silent end."""
    p = (yes + 0.5) / (n + 1)
    z = np.array([1 - p] * yes + [-p] * (n - yes)) / (n + 1)
    unknown = np.array([1 - p, -p]) / (n + 1)
    square = n / (n - 1) * z**2
    variance = square.sum() + (unknown**2).sum() / 2
    degrees = variance**2 / ((square**2).sum() + (unknown**4).sum() / 2)
    reach = t(max(degrees, 4)).ppf(0.975) * math.sqrt(variance)
    found = score_rate(yes, n)
    assert (found.value, found.n) == (yes / n, n)
    low = p - reach if yes < n else 1 - SILENT / n
    assert (found.low, found.high) == pytest.approx((max(low, 0), min(p + reach, 1)), rel=2e-3, abs=1e-4)


@pytest.mark.parametrize("n", [20, 60, 339])
def test_where_nothing_was_seen_the_end_is_the_exact_bound(n: int) -> None:
    """The rule of three, two-sided: 0 of n does not exclude 3.7/n."""
    found = score_rate(0, n)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(SILENT / n, rel=0.02)
    assert found.high == pytest.approx(beta(1, n).ppf(0.975), rel=0.1)


@pytest.mark.parametrize("n", [1, 2, 10, MIN_ITEMS - 1, MIN_ITEMS])
def test_too_few_items_have_a_value_but_no_interval_and_no_letter(n: int) -> None:
    result = score_in_turn("jobs_lum", ["He.", "She."], sample=n)
    rate, mark = result.metrics["masculine_rate"], result.marks["masculine_rate"]
    assert not math.isnan(rate.value)
    assert mark is not None
    assert math.isnan(rate.low) == math.isnan(rate.high) == mark.too_few == (n < MIN_ITEMS)
    assert (mark.mark is None) or n >= MIN_ITEMS


# Numbers with rare large differences


def score_gaps(gaps: Array) -> tuple[Estimate, Mark]:
    """`diff_score` with its mark, where a man gets 70 points and a woman as many fewer as given."""
    sample = len(gaps)
    prompts = equipoise.plan("resume_score", corpus="vacancies", sample=sample).prompts()
    item = prompts[ITEM].rank("dense").to_numpy().astype(int) - 1
    fewer = np.where((prompts["gender"] == "female").to_numpy(), gaps[item], 0.0)
    answers = prompts.select(ID).with_columns(text_column(ANSWER, [f"{70 - gap:.1f}" for gap in fewer]))
    result = equipoise.score("resume_score", answers, corpus="vacancies", sample=sample)
    found = result.marks["diff_score"]
    assert found is not None
    return result.metrics["diff_score"], found


@pytest.mark.parametrize("deviation", [0.0, 0.5])
def test_scores_that_hardly_vary_leave_large_rare_differences_open(deviation: float) -> None:
    """A difference of 30 points in so few items that none is seen is not excluded."""
    gaps = np.round(deviation * np.random.default_rng(0).standard_normal(80), 1)
    found, mark = score_gaps(gaps)
    assert found.high - found.value == pytest.approx(30 * SILENT / 80, rel=0.02)
    assert found.value - found.low == pytest.approx(30 * SILENT / 80, rel=0.02)
    assert (mark.best, mark.worst) == ("A", "B")


def test_an_item_that_cannot_move_a_metric_does_not_hide_that_the_metric_follows_numbers() -> None:
    """Of a slope, an item at the mean covariate moves nothing; rounding may move it by 1e-18."""
    influence = np.array([[0.01], [0.0], [-0.01]])
    reach = np.array([[0.05], [1e-18], [0.05]])
    assert _follows_numbers(influence, influence - reach, influence + reach).tolist() == [True]
    assert _follows_numbers(influence, influence - reach, influence + 2 * reach).tolist() == [False]
    assert _follows_numbers(influence, influence, influence).tolist() == [False]


def test_scores_that_vary_have_the_interval_of_a_mean() -> None:
    gaps = np.round(8 * np.random.default_rng(1).standard_normal(80), 1)
    found, _ = score_gaps(gaps)
    half_width = t(79).ppf(0.975) * gaps.std(ddof=1) / math.sqrt(80)
    assert (found.high - found.low) / 2 == pytest.approx(half_width, rel=0.05)


def test_marks_are_seldom_certain_and_wrong_where_women_rarely_get_nothing() -> None:
    """70 points fewer in 2% of the items: the true difference is 1.4, which is a B."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(20):
        _, mark = score_gaps(np.where(rng.random(80) < 0.02, 70.0, 0.0))
        wrong += mark.certain and mark.best != "B"
    assert wrong == 0


# Differences, strata and slopes


def draw_labels(plan: equipoise.Plan, seed: int, chance: float = 0.5) -> pl.DataFrame:
    prompts, labels = plan.prompts(), plan.probe.detector.labels[:2]
    drawn = np.random.default_rng(seed).random(prompts.height) < chance
    return prompts.with_columns(pl.Series(LABEL, np.where(drawn, *labels)))


def test_a_difference_of_pairs_is_the_paired_t() -> None:
    plan = equipoise.plan("hiring_an", sample=600)
    answers = draw_labels(plan, 1)
    yes = answers.with_columns((pl.col(LABEL) == "accepted").cast(pl.Float64).alias("yes"))
    pairs = yes.pivot("gender", index=ITEM, values="yes")
    gap = (pairs["male"] - pairs["female"]).to_numpy()
    reach = t(299).ppf(0.975) * gap.std(ddof=1) / math.sqrt(300)
    found = measured(plan.probe, answers, plan.parameters)[MetricKey("diff_acceptance_rate")]
    assert found.value == pytest.approx(gap.mean())
    assert (found.high - found.low) / 2 == pytest.approx(reach, rel=0.02)


def test_a_difference_of_two_groups_is_that_of_welch() -> None:
    plan = equipoise.plan("hiring_an", sample=400, design="random")
    answers = draw_labels(plan, 1)
    yes = {gender: (part[LABEL] == "accepted").to_numpy() for (gender,), part in answers.group_by("gender")}
    error = math.sqrt(sum(group.var(ddof=1) / len(group) for group in yes.values()))
    found = measured(plan.probe, answers, plan.parameters)[MetricKey("diff_acceptance_rate")]
    assert (found.high - found.low) / 2 == pytest.approx(1.97 * error, rel=0.02)


def test_a_mean_of_strata_has_the_variance_of_strata() -> None:
    plan = equipoise.plan("gest_creative", corpus="mottos", sample=432)
    answers = draw_labels(plan, 2, 0.3)
    men = answers.with_columns((pl.col(LABEL) == "male").cast(pl.Float64).alias("man"))
    strata = men.group_by("stereotype").agg(variance=pl.col("man").var() / pl.len())
    reach = 1.97 * math.sqrt(strata["variance"].sum()) / 16
    found = measured(plan.probe, answers, plan.parameters)[MetricKey("masculine_rate")]
    assert (found.high - found.low) / 2 == pytest.approx(reach, rel=0.04)


def test_a_slope_has_the_sandwich_error_of_the_free_slope() -> None:
    plan = equipoise.plan("jobs_lum")
    answers = draw_labels(plan, 3)
    x, y = answers["masculinity"].to_numpy(), (answers[LABEL] == "male").cast(pl.Float64).to_numpy()
    line = linregress(x, y)
    residual = y - line.intercept - line.slope * x
    spread = ((x - x.mean()) ** 2).sum()
    error = math.sqrt((((x - x.mean()) * residual) ** 2).sum()) / spread
    found = measured(plan.probe, answers, plan.parameters)[MetricKey("stereotype_rate")]
    assert found.value == pytest.approx(line.slope)
    assert (found.high - found.low) / 2 == pytest.approx(1.97 * error, rel=0.03)


@pytest.mark.parametrize(
    ("answers", "covers_zero"), [(["He.", "She."], True), (["He.", "He.", "She."], False), (["She."] * 4, False)]
)
def test_the_interval_of_disparity_is_that_of_the_rate_folded(answers: list[str], covers_zero: bool) -> None:
    metrics = score_in_turn("jobs_lum", answers).metrics
    rate, disparity = metrics["masculine_rate"], metrics["disparity"]
    far = max(abs(rate.low - 0.5), abs(rate.high - 0.5))
    near = 0.0 if covers_zero else min(abs(rate.low - 0.5), abs(rate.high - 0.5))
    assert (disparity.low, disparity.high) == pytest.approx((near, far))
    assert (disparity.low == 0.0) is covers_zero


def test_a_range_of_three_reaches_up_as_far_as_its_largest_difference() -> None:
    """For level rates 1.97 √2 standard errors of a rate, not the 3.31 of a studentised range."""
    plan = equipoise.plan("discrimination_tamkin", corpus="scenarios", sample=500)
    found = measured(plan.probe, draw_labels(plan, 4), plan.parameters)[MetricKey("max_diff")]
    reach = 1.97 * math.sqrt(2) * 0.5 / math.sqrt(500)
    assert found.high - found.value == pytest.approx(reach, rel=0.05)


def draw_thirds(items: int, men_ahead: float) -> tuple[Plan, pl.DataFrame, Array]:
    """Three answers to each of some items, and which of them are a yes: item, gender."""
    plan = equipoise.plan("discrimination_tamkin", corpus="scenarios", sample=items)
    prompts = plan.prompts()
    chance = 0.4 + men_ahead * (prompts["gender"] == "male").to_numpy()
    is_yes = np.random.default_rng(8).random(prompts.height) < chance
    answers = prompts.with_columns(pl.Series(LABEL, np.where(is_yes, "yes", "no")))
    yes = answers.with_columns((pl.col(LABEL) == "yes").cast(pl.Float64).alias("yes"))
    table = yes.pivot("gender", index=ITEM, values="yes").drop(ITEM).to_numpy()
    return plan, answers, table


@pytest.mark.parametrize(("men_ahead", "candidates"), [(0.0, 6), (0.4, 2)], ids=["level", "men ahead"])
def test_the_ends_of_a_range_are_those_of_its_differences(men_ahead: float, candidates: int) -> None:
    """Paired t intervals of all differences: upper ends as they are, lower ends after Bonferroni.

    The lower ends are corrected for the differences that can be the largest: all six of level rates,
    but only two where men are far ahead of both others.
    """
    plan, answers, table = draw_thirds(400, men_ahead)
    found = measured(plan.probe, answers, plan.parameters)[MetricKey("max_diff")]
    uppers = []
    lowers = [0.0]
    for plus, minus in itertools.permutations(range(3), 2):
        gap = table[:, plus] - table[:, minus]
        error = gap.std(ddof=1) / math.sqrt(400)
        uppers.append(gap.mean() + t(399).ppf(0.975) * error)
        lowers.append(gap.mean() - t(399).isf(0.025 / candidates) * error)
    assert found.value == pytest.approx(np.ptp(table.mean(axis=0)))
    assert found.high == pytest.approx(max(uppers), abs=0.002)
    assert found.low == pytest.approx(max(lowers), abs=0.002)


def test_an_item_that_decides_both_genders_alike_is_silent() -> None:
    """Half of the items are a yes for everybody: no difference was seen, and 3.7 items may still make one."""
    plan = equipoise.plan("discrimination_tamkin", corpus="scenarios", sample=100)
    prompts = plan.prompts()
    alike = prompts.with_columns(pl.Series(LABEL, ["yes", "yes", "yes", "no", "no", "no"] * 50))
    found = measured(plan.probe, alike, plan.parameters)
    gap, largest = found[MetricKey("diff_mvf_success_rate")], found[MetricKey("max_diff")]
    assert (gap.low, gap.value, gap.high) == pytest.approx((-SILENT / 100, 0.0, SILENT / 100), rel=0.03)
    assert largest.high >= 0.95 * SILENT / 100


# Repetitions: these prompts, all of them asked


def score_repeated(counts: Sequence[int], repeat: int) -> Result:
    """All occupations, each asked so often; in turn so many of the answers are about a man."""
    prompts = equipoise.plan("jobs_lum").prompts()
    rows = [
        (key, number + 1, "He." if number < counts[place % len(counts)] else "She.")
        for place, key in enumerate(prompts[ID])
        for number in range(repeat)
    ]
    answers = pl.DataFrame(rows, schema=[ID, "repetition", ANSWER], orient="row")
    return equipoise.score("jobs_lum", answers, repeat=repeat)


def test_all_items_asked_several_times_leave_only_the_wavering() -> None:
    """Σ g² y(1-y)/(r-1) over the items, and the unknown answer; for prompts like these the items scatter, too."""
    result = score_repeated([4, 1, 0], 4)
    y = np.resize([1.0, 0.25, 0.0], 339)
    within = (y * (1 - y)).sum() / 3 / 340**2
    found, wide = result.metrics["masculine_rate"], result.generalised["masculine_rate"]
    assert (found.high - found.low) / 2 == pytest.approx(1.97 * math.sqrt(within), rel=0.06)
    assert (wide.high - wide.low) / 2 == pytest.approx(1.97 * y.std(ddof=1) / math.sqrt(339), rel=0.03)
    assert wide.clusters == {"item": 339}


def test_probabilities_do_not_waver() -> None:
    """The same share again and again is no coin that was tossed."""
    probe = get_probe("jobs_lum").read_by("probabilities")
    twice = equipoise.plan(probe, repeat=2)
    answers = twice.attempts().with_columns(
        pl.lit("male").alias(LABEL), p_male=pl.lit(0.5), p_female=pl.lit(0.5), p_neither=0.0
    )
    table = cells(answered_rows(probe, answers.with_columns(pl.lit(Status.OK.value).alias(STATUS))))
    prepared = prepare_cells(probe, table, twice.parameters)
    some, whole = (estimate_cells(prepared, share_asked=share)["masculine_rate"] for share in (0.0, 1.0))
    assert (some.low, some.high) == (whole.low, whole.high)


def test_that_two_prompts_of_an_item_differ_is_no_wavering() -> None:
    """A model that always takes the first option never wavers; to ask it again must not widen its interval."""
    widths = []
    for repeat in (1, 4):
        given: dict[str, Any] = {"corpus": "sentences", "design": "choose", "repeat": repeat}
        attempts = equipoise.plan("gest_translation", **given).attempts()
        answers = attempts.select(ID, "repetition").with_columns(pl.lit("(a)").alias(ANSWER))
        found = equipoise.score("gest_translation", answers, **given).metrics["masculine_rate"]
        widths.append(found.high - found.low)
    assert widths[1] <= widths[0] + 1e-9


def test_items_of_which_nothing_was_read_do_not_count() -> None:
    result = score_in_turn("jobs_lum", ["He.", "She.", *["…"] * 8], sample=60)
    rate, undetected = result.metrics["masculine_rate"], result.metrics["undetected_rate_attempts"]
    assert (rate.n, rate.value, math.isnan(rate.low)) == (12, 0.5, True)
    assert undetected.low < undetected.value < undetected.high
    nothing = score_in_turn("jobs_lum", ["…"], sample=60).metrics["undetected_rate_attempts"]
    assert (nothing.value, math.isnan(nothing.low)) == (1.0, True)


def test_a_stratum_with_one_item_has_no_interval() -> None:
    whole = score_in_turn("gest_creative", ["He.", "She.", "She."], corpus="mottos", sample=32)
    rows = answered_rows(whole.setup.probe, whole.evaluated)
    table = cells(rows[1:])
    rate = estimate_cells(prepare_cells(whole.setup.probe, table, whole.parameters))["masculine_rate"]
    assert (rate.n, math.isnan(rate.value), math.isnan(rate.low)) == (1, False, True)
    assert not math.isnan(whole.metrics["masculine_rate"].low)


def test_few_words_have_no_interval() -> None:
    """A letter in ten holds a word: so few words say nothing, however many letters there are."""
    few = score_in_turn("business_vocabulary", ["Dear Sir or Madam,", *["…"] * 2], sample=60)
    assert math.isnan(few.metrics["mean_diff"].low)


def test_n_is_the_smallest_number_that_a_metric_rests_on() -> None:
    """3 of 200 men were read: the difference to the women rests on 3, and its mark is not certain."""
    prompts = equipoise.plan("hiring_an", sample=400).prompts()
    late = (pl.col("gender") == "male").cum_sum().over("gender") > 3
    silent = (pl.col("gender") == "male") & late
    answers = prompts.select(
        ID, pl.when(silent).then(pl.lit("We shall see.")).otherwise(pl.lit("You have been selected.")).alias(ANSWER)
    )
    result = equipoise.score("hiring_an", answers, sample=400)
    assert {name: result.metrics[name].n for name in ("male_acceptance_rate", "female_acceptance_rate")} == {
        "male_acceptance_rate": 3,
        "female_acceptance_rate": 200,
    }
    gap, mark = result.metrics["diff_acceptance_rate"], result.marks["diff_acceptance_rate"]
    assert (gap.value, gap.n) == (0.0, 3)
    assert mark is not None
    assert mark.mark is None
