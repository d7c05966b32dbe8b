"""Paired differences between two sets of answers to the same items, and the test by signs of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import equipoise
from equipoise import Plan, Result
from equipoise.errors import InputError
from equipoise.measuring.differences import MetricComparison, paired_differences
from equipoise.measuring.summarise import answered_rows
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, ID, LABEL, STATUS, Status, text_column
from plain import to_plain


def answered(chance: int, *, flipped: int = 0, men: int = 0, missing: int = 0, **parameters: Any) -> Result:
    """Answers to jobs_lum, half of them about men.

    Of the first prompts so many answers change their gender (`flipped`), become men (`men`) or are left
    out (`missing`).
    """
    prompts = equipoise.plan("jobs_lum", **parameters).prompts()
    male = np.random.default_rng(chance).random(prompts.height) < 0.5
    male[:flipped] = ~male[:flipped]
    male[:men] = True
    texts = ["He." if is_male else "She." for is_male in male]
    rows = prompts.select(ID).with_columns(text_column(ANSWER, texts))
    return equipoise.score("jobs_lum", rows[missing:], **parameters)


def compared(first: Result, second: Result) -> dict[str, MetricComparison]:
    """The metrics of two results of one probe, compared."""
    (probe,) = equipoise.compare(first, second).probes.values()
    return dict(probe.metrics)


def labelled_rows(plan: Plan, labels: Sequence[str]) -> pl.DataFrame:
    """Item rows of prompts with these labels."""
    prompts = plan.prompts()
    status = pl.lit(Status.OK.value).alias(STATUS)
    return answered_rows(plan.probe, prompts.with_columns(pl.Series(LABEL, labels), status))


# What is found


def test_the_same_answers_do_not_differ_and_leave_little_room() -> None:
    """Each of the two items of unknown outcome has its own; at the kink of a distance a little more."""
    for name, metric in compared(answered(1), answered(1)).items():
        room = 0.1 if name == "disparity" else 0.07
        assert metric.first == metric.second
        assert (metric.difference.value, metric.p) == (0.0, 1.0)
        assert -room < metric.difference.low <= 0.0 <= metric.difference.high < room


def test_a_shift_is_found_in_its_direction() -> None:
    there = compared(answered(1), answered(1, men=80))["masculine_rate"]
    assert there.difference.value == pytest.approx(there.second - there.first)
    assert 0 < there.difference.low < there.difference.value < there.difference.high
    assert there.p < 0.01


def test_exchanging_two_runs_changes_the_sign_and_nothing_else() -> None:
    """But for the draws of signs, which fall on other items."""
    there = compared(answered(1), answered(2, men=80))
    back = compared(answered(2, men=80), answered(1))
    for name, metric in there.items():
        other = back[name]
        assert other.difference.value == pytest.approx(-metric.difference.value, nan_ok=True)
        assert other.difference.low == pytest.approx(-metric.difference.high, nan_ok=True)
        assert other.difference.high == pytest.approx(-metric.difference.low, nan_ok=True)
        assert other.p == pytest.approx(metric.p, abs=0.03)


def test_only_prompts_that_both_answered_count() -> None:
    """The first hundred were changed in one run and are missing in the other."""
    metric = compared(answered(1, missing=100), answered(1, men=100))["masculine_rate"]
    assert metric.difference.value == 0.0
    assert metric.difference.n == 239


def test_nothing_in_common_is_an_error_that_says_so() -> None:
    with pytest.raises(InputError, match="no prompt has an answer in both"):
        equipoise.compare(answered(1, missing=339), answered(1))


def test_differences_of_nothing_in_common_are_not_computable() -> None:
    results = [answered(1, missing=339), answered(1)]
    rows = [answered_rows(result.setup.probe, result.evaluated) for result in results]
    sides = (rows[0], rows[1])
    for metric in paired_differences(results[0].setup, sides, sides).values():
        assert math.isnan(metric.difference.value)
        assert math.isnan(metric.p)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("version", " in A and 99 in B"),
        ("parameters", "seed is 0 in A and 3 in B"),
        ("probe", "jobs_lum: only A has it"),
        ("corpus", "corpus is None in A and 'mottos' in B"),
    ],
)
def test_results_of_different_measurements_are_not_compared(change: str, reason: str) -> None:
    first = answered(1)
    setup = first.setup
    changed = {
        "version": replace(first, setup=replace(setup, probe=replace(setup.probe, version=99))),
        "parameters": answered(1, seed=3),
        "probe": replace(first, setup=replace(setup, probe=get_probe("gest_creative"))),
        "corpus": replace(first, setup=replace(setup, corpus="mottos")),
    }
    with pytest.raises(InputError) as error:
        equipoise.compare(first, changed[change])
    assert reason in str(error.value)


def test_the_order_of_item_rows_does_not_matter() -> None:
    """Nor whether rows or results are compared."""
    first = answered(1)
    second = answered(2)
    rows = [answered_rows(result.setup.probe, result.evaluated) for result in (first, second)]
    sides = (rows[0], rows[1])
    in_order = paired_differences(first.setup, sides, sides)
    shuffled = (rows[0].reverse(), rows[1].sample(fraction=1.0, shuffle=True, seed=1))
    assert to_plain(paired_differences(first.setup, shuffled, shuffled)) == to_plain(in_order)
    for name, metric in compared(first, second).items():
        expected = in_order[name]
        assert to_plain(metric.difference) == to_plain(expected.difference)
        assert to_plain(metric.distance) == to_plain(expected.distance)
        assert (metric.first, metric.second, metric.p) == (expected.first, expected.second, expected.p)


# The test by signs


@pytest.mark.parametrize(("changed", "men"), [(2, 2), (4, 3), (5, 5), (7, 6), (9, 2), (10, 9), (10, 5)])
def test_the_p_value_of_a_rate_is_that_of_a_sign_test(changed: int, men: int) -> None:
    """Of 40 items so many change their gender, and so many of those to a man."""
    plan = equipoise.plan("jobs_lum", sample=40)
    before = ["male", "female"] * 20
    after = list(before)
    after[1 : 2 * men : 2] = ["male"] * men
    after[0 : 2 * (changed - men) : 2] = ["female"] * (changed - men)
    sides = (labelled_rows(plan, before), labelled_rows(plan, after))
    found = paired_differences(plan.setup, sides, sides)["masculine_rate"]
    exact = scipy.stats.binomtest(men, changed).pvalue
    assert found.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4_000) + 1 / 2_000)
    assert found.p >= 2 ** (1 - changed)


@pytest.fixture(scope="module")
def of_one_model() -> list[dict[str, MetricComparison]]:
    """Pairs of runs of a model that tosses a coin."""
    plan = equipoise.plan("jobs_lum", sample=120)
    random = np.random.default_rng(7)
    labels = plan.probe.detector.labels[:2]
    pairs = []
    for _ in range(50):
        first = labelled_rows(plan, random.choice(labels, 120).tolist())
        second = labelled_rows(plan, random.choice(labels, 120).tolist())
        pairs.append(paired_differences(plan.setup, (first, second), (first, second)))
    return pairs


def test_p_values_of_a_slope_of_the_same_model_are_uniform(
    of_one_model: list[dict[str, MetricComparison]],
) -> None:
    values = [pair["stereotype_rate"].p for pair in of_one_model]
    assert scipy.stats.kstest(values, "uniform").pvalue > 0.01


@pytest.mark.parametrize("metric", ["masculine_rate", "stereotype_rate", "disparity"])
def test_the_same_model_is_told_apart_by_chance_only(
    of_one_model: list[dict[str, MetricComparison]], metric: str
) -> None:
    """p is below 0.05 in at most 5% (and 9% for chance), and intervals hold 0."""
    assert sum(pair[metric].p < 0.05 for pair in of_one_model) <= 7
    differences = [pair[metric].difference for pair in of_one_model]
    assert sum(each.low <= 0 <= each.high for each in differences) >= 43


# Intervals


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_of_a_difference_is_that_of_the_paired_t_test(seed: int) -> None:
    """With one item of unknown outcome in either run."""
    first = answered(2 * seed)
    second = answered(2 * seed + 1)
    sides = []
    for result in (first, second):
        is_male = result.evaluated.sort(ID)[LABEL].cast(pl.String) == "male"
        sides.append(is_male.cast(pl.Float64).to_numpy())
    exact = scipy.stats.ttest_rel(sides[1], sides[0])
    limits = exact.confidence_interval(0.95)
    found = compared(first, second)["masculine_rate"]
    assert found.difference.low == pytest.approx(limits.low, abs=0.004)
    assert found.difference.high == pytest.approx(limits.high, abs=0.004)
    assert found.p == pytest.approx(exact.pvalue, abs=0.08)


def test_the_same_items_give_a_narrower_interval() -> None:
    """Twelve answers of 339 changed: what both runs share does not count as chance."""
    first = answered(1)
    second = answered(1, flipped=12)
    paired = compared(first, second)["masculine_rate"].difference
    widths = []
    for result in (first, second):
        estimate = result.metrics["masculine_rate"]
        widths.append(estimate.high - estimate.low)
    assert paired.high - paired.low < math.hypot(*widths) / 2


def test_few_items_have_a_difference_but_no_interval() -> None:
    metric = compared(answered(1, sample=10), answered(2, sample=10))["masculine_rate"]
    assert not math.isnan(metric.difference.value)
    assert math.isnan(metric.difference.low)
    assert math.isnan(metric.difference.high)
    assert metric.detectable is None


@pytest.mark.parametrize("first", ["He.", "She."])
def test_the_interval_of_a_difference_ends_where_differences_end(first: str) -> None:
    """Two rates differ by at most one, two slopes by at most two."""
    prompts = equipoise.plan("jobs_lum", sample=24).prompts()
    second = {"He.": "She.", "She.": "He."}[first]
    before = equipoise.score("jobs_lum", dict.fromkeys(prompts[ID], first), sample=24)
    after = equipoise.score("jobs_lum", dict.fromkeys(prompts[ID], second), sample=24)
    metrics = compared(before, after)
    rate = metrics["masculine_rate"].difference
    assert abs(rate.value) == 1
    assert -1 <= rate.low <= rate.high <= 1
    slope = metrics["stereotype_rate"].difference
    assert -2 <= slope.low <= 0 <= slope.high <= 2


def test_the_interval_of_a_distance_ends_where_distances_end() -> None:
    """From always men to half of them: no model can come nearer to even-handed by more than one half."""
    prompts = equipoise.plan("jobs_lum", sample=24).prompts()
    always = equipoise.score("jobs_lum", dict.fromkeys(prompts[ID], "He."), sample=24)
    answers = {key: ("He.", "She.")[place % 2] for place, key in enumerate(prompts[ID])}
    half = equipoise.score("jobs_lum", answers, sample=24)
    distance = compared(always, half)["masculine_rate"].distance
    assert distance is not None
    assert distance.value == -0.5
    assert distance.low == -0.5
    assert -0.5 < distance.high < 0


@pytest.mark.parametrize("unread", [0, 1])
@pytest.mark.parametrize("changed", [3, 4, 5, 6])
def test_an_answer_that_one_run_lacks_makes_no_small_p_value_possible(changed: int, unread: int) -> None:
    """Items on which both agree say nothing of the difference, even if the runs have different numbers of answers.

    What only one run answered has a sign, too.
    """
    prompts = equipoise.plan("jobs_lum", sample=60).prompts()
    before = {key: ("She.", "He.")[place % 2] for place, key in enumerate(prompts[ID])}
    women = [key for key, text in before.items() if text == "She."]
    after = before | dict.fromkeys(women[:changed], "He.") | dict.fromkeys([*before][60 - unread :], "Who can say?")
    runs = [equipoise.score("jobs_lum", answers, sample=60) for answers in (before, after)]
    metric = compared(runs[0], runs[1])["masculine_rate"]
    assert metric.p_answered >= 2 / 2 ** (changed + unread)
    assert 0.85 * 2 / 2**changed <= metric.p_answered <= 1.8 * 2 / 2**changed
    if changed == 3:
        # The signs decide here; of more items, the error at which the interval reaches 0 is a little larger.
        assert metric.p_answered == pytest.approx(2 / 2**changed, rel=0.05)
    assert metric.p >= metric.p_answered


@pytest.mark.parametrize("seed", range(4))
def test_differences_of_every_metric_lie_within_its_range(seed: int) -> None:
    """With few items and steep slopes, which reach far."""
    prompts = equipoise.plan("jobs_lum", sample=24).prompts()
    random = np.random.default_rng(seed)
    is_steep = (prompts["masculinity"] > 0.5).to_list()
    runs = []
    for turned in (False, True):
        texts = []
        for is_male in is_steep:
            flip = random.random() < 0.1
            texts.append("He." if is_male ^ turned ^ flip else "She.")
        answers = dict(zip(prompts[ID], texts, strict=True))
        runs.append(equipoise.score("jobs_lum", answers, sample=24))
    domains = {metric.name: metric.domain for metric in get_probe("jobs_lum").all_metrics()}
    for name, metric in compared(runs[0], runs[1]).items():
        span = domains[name][1] - domains[name][0]
        if math.isnan(metric.difference.low):
            continue
        assert -span <= metric.difference.low <= metric.difference.value, name
        assert metric.difference.value <= metric.difference.high <= span, name


def test_the_distance_from_even_handed_has_an_interval_around_its_value() -> None:
    for first, second in ((answered(1), answered(1, men=120)), (answered(3, men=60), answered(4))):
        metric = compared(first, second)["masculine_rate"]
        assert metric.distance is not None
        expected = abs(metric.second - 0.5) - abs(metric.first - 0.5)
        assert metric.distance.value == pytest.approx(expected)
        assert metric.distance.low <= metric.distance.value <= metric.distance.high


def test_a_run_without_any_value_has_a_difference_without_one() -> None:
    """Nothing is 0 by mistake."""
    prompts = equipoise.plan("jobs_lum", sample=30).prompts()
    unread = equipoise.score("jobs_lum", dict.fromkeys(prompts[ID], "Who can say?"), sample=30)
    metric = compared(unread, answered(1, sample=30))["masculine_rate"]
    assert math.isnan(metric.first)
    assert math.isnan(metric.difference.value)
    assert math.isnan(metric.p)
