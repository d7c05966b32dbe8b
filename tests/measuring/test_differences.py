"""Paired differences between two sets of answers to the same items: the same weights for both, and a swap test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, kstest

import equipoise
from equipoise import Result
from equipoise.authoring import Array, Totals
from equipoise.errors import InputError
from equipoise.measuring import differences
from equipoise.measuring.compare import MetricComparison
from equipoise.measuring.differences import Difference, paired_differences
from equipoise.measuring.influence import measure_totals
from equipoise.measuring.plan import Plan
from equipoise.measuring.resample import REPLICATES
from equipoise.measuring.summarise import item_rows, statistics
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
        assert -0.05 < difference.low <= 0.0 <= difference.high < 0.05


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
    for number in range(simulations):
        rows = [labelled_rows(plan, rng.choice(labels, size).tolist()) for _ in range(2)]
        seeded = replace(plan.setup, parameters={**plan.parameters, "seed": number})
        pairs.append(paired_differences(seeded, rows[0], rows[1], replicates=500))
    return pairs


# The swap test


def swap_by_hand(plan: Plan, first: pl.DataFrame, second: pl.DataFrame, metric: str) -> float:
    """The p-value by trying all exchanges of the items that differ."""
    sides = [statistics(plan.probe, rows, plan.parameters) for rows in (first, second)]
    names = sides[0].columns
    a, b = (side.to_numpy() for side in sides)
    places = np.flatnonzero((a != b).any(axis=1))
    assert 2 <= len(places) <= 10
    values: list[Array] = []
    exchanges = np.array(list(itertools.product([0, 1], repeat=len(places))), dtype=float)
    for one, other in ((a, b), (b, a)):
        totals = one.sum(axis=0) + exchanges @ (other - one)[places]
        values.append(measure_totals(plan.probe, Totals(names, totals), plan.parameters)[metric])
    found = values[1] - values[0]
    return float(np.mean(np.abs(found) >= abs(found[0]) - 1e-12))


@pytest.mark.parametrize("metric", ["masculine_rate", "stereotype_rate"])
@pytest.mark.parametrize(("changed", "men"), [(2, 2), (4, 3), (5, 5), (7, 6), (10, 9), (10, 5)])
def test_the_p_value_is_that_of_all_exchanges(changed: int, men: int, metric: str) -> None:
    """Of 40 items so many change their gender, and so many of those to a man."""
    plan = equipoise.plan("jobs_lum", sample=40)
    before = ["male", "female"] * 20
    flips = [place for place in range(40) if before[place] == "female"][:men]
    flips += [place for place in range(40) if before[place] == "male"][: changed - men]
    after = [label if place not in flips else {"male": "female", "female": "male"}[label]
             for place, label in enumerate(before)]  # fmt: skip
    first, second = labelled_rows(plan, before), labelled_rows(plan, after)
    exact = swap_by_hand(plan, first, second, metric)
    found = paired_differences(plan.setup, first, second)[metric].p
    assert found == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / REPLICATES) + 2 / REPLICATES)
    assert found >= 2 ** (1 - changed)


@pytest.mark.parametrize(("probe", "size"), [("jobs_lum", 12), ("hiring_an", 12), ("jobs_lum", 40)])
def test_the_same_model_is_rarely_told_apart_from_itself(probe: str, size: int) -> None:
    plan = equipoise.plan(probe, sample=size)
    pairs = simulate_pairs(plan, 200)
    for metric in plan.probe.marked_metrics():
        values = [pair[metric].p for pair in pairs if not math.isnan(pair[metric].p)]
        assert len(values) > 190
        assert sum(p < 0.05 for p in values) <= 0.08 * 200, metric


def test_p_values_of_the_same_model_are_uniform() -> None:
    values = [pair["stereotype_rate"].p for pair in simulate_pairs(equipoise.plan("jobs_lum"), 60)]
    assert kstest(values, "uniform").pvalue > 0.01


@pytest.mark.parametrize("limit", [100, 1_000_000])
def test_each_item_is_exchanged_with_probability_one_half(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit by bit, or with a normal value where the items are very many."""
    monkeypatch.setattr(differences, "WEIGHTS_PER_BLOCK", limit)
    weight = np.array([1, 10, 400])
    swaps = np.concatenate(list(differences._draw_swaps(weight, 20_000, 3)))
    assert swaps.shape == (20_000, 3)
    assert swaps.mean(axis=0) == pytest.approx(weight / 2, rel=0.03)
    assert swaps[:, 2].var() == pytest.approx(100, rel=0.05)
    assert swaps[:, 1].var() == pytest.approx(2.5, rel=0.08)
    assert np.abs(np.corrcoef(swaps.T) - np.eye(3)).max() < 0.03
    if limit > 411:
        for place, items in enumerate(weight):
            seen = np.bincount(swaps[:, place].astype(int), minlength=items + 1) / len(swaps)
            assert np.abs(np.cumsum(seen) - binom(items, 0.5).cdf(np.arange(items + 1))).max() < 0.013


def test_blocks_do_not_change_the_exchanges(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = np.array([3, 1, 90])
    before = np.concatenate(list(differences._draw_swaps(weight, 101, 3)))
    for limit in (94, 200, 5_000):
        monkeypatch.setattr(differences, "WEIGHTS_PER_BLOCK", limit)
        assert (np.concatenate(list(differences._draw_swaps(weight, 101, 3))) == before).all()


# Intervals


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
    prompts = equipoise.plan("hiring_an", sample=100).prompts()
    yes, no = "You have been selected.", "We regret to inform you."
    his, early = pl.col("gender") == "male", pl.int_range(pl.len()) < 100
    hired = prompts.with_columns(pl.when(his & ~early).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    refused = prompts.with_columns(pl.when(his).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    first = equipoise.score("hiring_an", hired, sample=100)
    assert first.metrics["male_acceptance_rate"].value == 0.5
    some_men = compared(first, equipoise.score("hiring_an", refused.filter(~his | early), sample=100))
    assert (some_men["male_acceptance_rate"].first, some_men["male_acceptance_rate"].second) == (1.0, 0.0)
    assert some_men["diff_acceptance_rate"].difference.value == -1.0
    no_men = compared(first, equipoise.score("hiring_an", refused.filter(~his), sample=100))
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
        ("parameters", "seed is 0 in A and 3 in B"),
        ("probe", "jobs_lum: only A has it"),
        ("corpus", "corpus is None in A and 'mottos' in B"),
    ],
)
def test_results_of_different_measurements_are_not_compared(change: str, reason: str) -> None:
    first = answered(1)
    setup = first.setup
    second = {
        "version": replace(first, setup=replace(setup, probe=replace(setup.probe, version=2))),
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
