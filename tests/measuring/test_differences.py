"""Paired differences between two sets of answers to the same items, and the test by signs that both share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import kstest, ttest_rel

import equipoise
from equipoise import Result
from equipoise.errors import InputError
from equipoise.measuring import differences
from equipoise.measuring.compare import MetricComparison
from equipoise.measuring.differences import Difference, paired_differences
from equipoise.measuring.interval import DRAWS
from equipoise.measuring.plan import Plan
from equipoise.measuring.summarise import item_rows
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, ID, LABEL, STATUS, Status, text_column


def answered(chance: int, flipped: int = 0, men: int = 0, missing: int = 0, **parameters: Any) -> Result:
    """Answers to jobs_lum, half of them about men. Of the first prompts so many answers change their gender
    (`flipped`), become men (`men`) or are left out (`missing`)."""
    prompts = equipoise.plan("jobs_lum", **parameters).prompts()
    male = np.random.default_rng(chance).random(prompts.height) < 0.5
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
        assert (difference.value, metric.p) == (0.0, 1.0)
        # The two unknown items, of which each has its own, leave a little room.
        assert -0.07 < difference.low <= 0.0 <= difference.high < 0.07


def test_a_shift_is_found_in_its_direction() -> None:
    there = compared(answered(1), answered(1, men=80))["masculine_rate"]
    assert there.difference.value == pytest.approx(there.second - there.first)
    assert 0 < there.difference.low < there.difference.value < there.difference.high
    assert there.p < 0.01
    back = compared(answered(1, men=80), answered(1))["masculine_rate"]
    assert back.difference.value == -there.difference.value


def labelled_rows(plan: Plan, labels: Sequence[str]) -> pl.DataFrame:
    """Item rows of prompts with these labels."""
    answered = plan.prompts().with_columns(pl.Series(LABEL, labels), pl.lit(Status.OK.value).alias(STATUS))
    return item_rows(plan.probe, answered)


def simulate_pairs(plan: Plan, simulations: int) -> list[dict[str, Difference]]:
    """Two runs of the same model, again and again."""
    rng, labels = np.random.default_rng(7), plan.probe.detector.labels[:2]
    size = plan.prompts().height
    pairs = []
    for _ in range(simulations):
        rows = [labelled_rows(plan, rng.choice(labels, size).tolist()) for _ in range(2)]
        pairs.append(paired_differences(plan.setup, rows[0], rows[1]))
    return pairs


# The test by shared signs


@pytest.mark.parametrize(("changed", "men"), [(2, 2), (4, 3), (5, 5), (7, 6), (10, 9), (10, 5)])
def test_the_p_value_of_a_rate_is_that_of_all_signs(changed: int, men: int) -> None:
    """Of 40 items so many change their gender, and so many of those to a man: a sign test of those that changed."""
    plan = equipoise.plan("jobs_lum", sample=40)
    before = ["male", "female"] * 20
    flips = [place for place in range(40) if before[place] == "female"][:men]
    flips += [place for place in range(40) if before[place] == "male"][: changed - men]
    after = [label if place not in flips else {"male": "female", "female": "male"}[label]
             for place, label in enumerate(before)]  # fmt: skip
    gaps = [1] * men + [-1] * (changed - men)
    sums = [abs(np.dot(signs, gaps)) for signs in itertools.product([-1, 1], repeat=changed)]
    exact = float(np.mean([total >= abs(sum(gaps)) for total in sums]))
    found = paired_differences(plan.setup, labelled_rows(plan, before), labelled_rows(plan, after))["masculine_rate"]
    assert found.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / DRAWS) + 2 / DRAWS)
    assert found.p >= 2 ** (1 - changed)


def test_p_values_of_the_same_model_are_uniform() -> None:
    values = [pair["stereotype_rate"].p for pair in simulate_pairs(equipoise.plan("jobs_lum"), 60)]
    assert kstest(values, "uniform").pvalue > 0.01


def test_very_many_items_are_tested_by_normal_values(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = answered(1), answered(1, men=50)
    signs = compared(first, second)
    monkeypatch.setattr(differences, "MOST_SIGNS", 10)
    for name, metric in compared(first, second).items():
        assert metric.p == pytest.approx(signs[name].p, abs=0.04), name


# Intervals


def test_the_interval_of_a_difference_is_that_of_the_paired_t() -> None:
    first, second = answered(1), answered(2)
    men = [result.evaluated.sort(ID)[LABEL] == "male" for result in (first, second)]
    exact = ttest_rel(*(side.cast(pl.Float64).to_numpy() for side in reversed(men)))
    found, limits = compared(first, second)["masculine_rate"], exact.confidence_interval(0.95)
    assert (found.difference.low, found.difference.high) == pytest.approx((limits.low, limits.high), abs=0.004)
    assert found.p == pytest.approx(exact.pvalue, abs=0.08)


def test_the_same_items_give_a_narrower_interval() -> None:
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
    prompts = equipoise.plan("hiring_an", sample=200).prompts()
    yes, no = "You have been selected.", "We regret to inform you."
    his, early = pl.col("gender") == "male", pl.int_range(pl.len()) < 100
    hired = prompts.with_columns(pl.when(his & ~early).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    refused = prompts.with_columns(pl.when(his).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    first = equipoise.score("hiring_an", hired, sample=200)
    assert first.metrics["male_acceptance_rate"].value == 0.5
    some_men = compared(first, equipoise.score("hiring_an", refused.filter(~his | early), sample=200))
    assert (some_men["male_acceptance_rate"].first, some_men["male_acceptance_rate"].second) == (1.0, 0.0)
    assert some_men["diff_acceptance_rate"].difference.value == -1.0
    no_men = compared(first, equipoise.score("hiring_an", refused.filter(~his), sample=200))
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
        ("version", " in A and 99 in B"),
        ("parameters", "seed is 0 in A and 3 in B"),
        ("probe", "jobs_lum: only A has it"),
        ("corpus", "corpus is None in A and 'mottos' in B"),
    ],
)
def test_results_of_different_measurements_are_not_compared(change: str, reason: str) -> None:
    first = answered(1)
    setup = first.setup
    second = {
        "version": replace(first, setup=replace(setup, probe=replace(setup.probe, version=99))),
        "parameters": answered(1, seed=3),
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
