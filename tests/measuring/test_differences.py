"""Paired differences between two sets of answers to the same items, measured with the same weights."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import kstest

import equipoise
from equipoise import Result
from equipoise.errors import InputError
from equipoise.measuring.compare import MetricComparison
from equipoise.measuring.differences import paired_differences
from equipoise.measuring.summarise import item_rows
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, ID, LABEL, text_column

pytestmark = pytest.mark.usefixtures("both_ways_of_drawing")


def answered(seed: int, flipped: int = 0, men: int = 0, missing: int = 0, **parameters: Any) -> Result:
    """Answers to jobs_lum, half of them about men. Of the first prompts so many answers change their gender
    (`flipped`), become men (`men`) or are left out (`missing`)."""
    prompts = equipoise.plan("jobs_lum", **parameters).prompts()
    male = np.random.default_rng(seed).random(prompts.height) < 0.5
    male[:flipped] = ~male[:flipped]
    male[:men] = True
    rows = prompts.select(ID).with_columns(text_column(ANSWER, ("He." if is_male else "She." for is_male in male)))
    return equipoise.score("jobs_lum", rows[missing:], **parameters)


def compared(first: Result, second: Result) -> dict[str, MetricComparison]:
    """The metrics of two results of one probe, compared."""
    (probe,) = equipoise.compare(first, second).probes.values()
    return dict(probe.metrics)


def test_the_same_answers_do_not_differ() -> None:
    for metric in compared(answered(1), answered(1)).values():
        assert metric.first == metric.second
        difference = metric.difference
        assert (difference.value, difference.low, difference.high, metric.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_shift_is_found_in_its_direction() -> None:
    there = compared(answered(1), answered(1, men=80))["masculine_rate"]
    assert there.difference.value == pytest.approx(there.second - there.first)
    assert 0 < there.difference.low < there.difference.value < there.difference.high
    assert there.p < 0.01
    back = compared(answered(1, men=80), answered(1))["masculine_rate"]
    assert back.difference.value == -there.difference.value


def test_chance_is_not_taken_for_a_difference() -> None:
    probe = get_probe("jobs_lum")
    plan = equipoise.plan(probe)
    prompts, rng = plan.prompts(), np.random.default_rng(7)
    values = []
    for _ in range(60):
        first, second = (
            item_rows(probe, prompts.with_columns(pl.Series(LABEL, rng.choice(["male", "female"], prompts.height))))
            for _ in range(2)
        )
        values.append(paired_differences(plan, first, second, replicates=300)["masculine_rate"].p)
    assert sum(p < 0.05 for p in values) <= 8
    assert kstest(values, "uniform").pvalue > 0.01


def test_shared_weights_give_a_narrower_interval() -> None:
    first, second = answered(1), answered(1, flipped=12)
    paired = compared(first, second)["masculine_rate"].difference
    single = [result.metrics["masculine_rate"] for result in (first, second)]
    unpaired = math.hypot(*(estimate.high - estimate.low for estimate in single))
    assert paired.high - paired.low < unpaired / 2


def test_only_prompts_that_both_answered_count() -> None:
    first, second = answered(1, missing=100), answered(1, men=100)
    metric = compared(first, second)["masculine_rate"]
    assert metric.difference.value == 0.0
    assert metric.difference.n == 239


def test_in_a_pair_only_what_both_answered_counts() -> None:
    prompts = equipoise.plan("hiring_an", sample_k=100).prompts()
    yes, no = "You have been selected.", "We regret to inform you."
    his, early = pl.col("gender") == "male", pl.int_range(pl.len()) < 100
    hired = prompts.with_columns(pl.when(his & ~early).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    refused = prompts.with_columns(pl.when(his).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    first = equipoise.score("hiring_an", hired, sample_k=100)
    assert first.metrics["male_acceptance_rate"].value == 0.5
    some_men = compared(first, equipoise.score("hiring_an", refused.filter(~his | early), sample_k=100))
    assert (some_men["male_acceptance_rate"].first, some_men["male_acceptance_rate"].second) == (1.0, 0.0)
    assert some_men["diff_acceptance_rate"].difference.value == -1.0
    no_men = compared(first, equipoise.score("hiring_an", refused.filter(~his), sample_k=100))
    assert math.isnan(no_men["diff_acceptance_rate"].difference.value)
    assert math.isnan(no_men["diff_acceptance_rate"].p)
    assert no_men["female_acceptance_rate"].difference.value == 0.0


def test_nothing_in_common_is_not_computable() -> None:
    first, second = answered(1, missing=339), answered(1)
    rows = [item_rows(result.setup.probe, result.evaluated) for result in (first, second)]
    for difference in paired_differences(first.setup, rows[0], rows[1]).values():
        assert math.isnan(difference.difference.value)
        assert math.isnan(difference.p)
    with pytest.raises(InputError, match="no prompt has an answer in both"):
        equipoise.compare(first, second)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("version", "version is 1 in A and 2 in B"),
        ("parameters", "random_seed is 0 in A and 3 in B"),
        ("probe", "jobs_lum: only A has it"),
        ("corpus", "corpus is None in A and 'mottos' in B"),
    ],
)
def test_results_of_different_measurements_are_not_compared(change: str, reason: str) -> None:
    first = answered(1)
    setup = first.setup
    second = {
        "version": replace(first, setup=replace(setup, probe=replace(setup.probe, version=2))),
        "parameters": answered(1, random_seed=3),
        "probe": replace(first, setup=replace(setup, probe=get_probe("gest_creative"))),
        "corpus": replace(first, setup=replace(setup, corpus="mottos")),
    }[change]
    with pytest.raises(InputError) as error:
        equipoise.compare(first, second)
    assert reason in str(error.value)


def test_the_order_of_item_rows_does_not_matter() -> None:
    first, second = answered(1), answered(2)
    rows = [item_rows(result.setup.probe, result.evaluated) for result in (first, second)]
    in_order = paired_differences(first.setup, rows[0], rows[1])
    shuffled = rows[1].sample(fraction=1.0, shuffle=True, seed=1)
    assert paired_differences(first.setup, rows[0].reverse(), shuffled) == in_order
    for name, metric in compared(first, second).items():
        expected = in_order[name]
        assert (metric.first, metric.second, metric.difference, metric.p, metric.distance) == (
            expected.first,
            expected.second,
            expected.difference,
            expected.p,
            expected.distance,
        )
