"""Intervals by resampling items: the same as one by one, only in one product; and paired comparisons."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2_contingency, ks_2samp, kstest

import equipoise
from equipoise import Result
from equipoise.errors import InputError
from equipoise.frames import ANSWER, ID, LABEL, text
from equipoise.probe import Array
from equipoise.probes import get
from equipoise.stats import resample
from equipoise.stats.compare import differences
from equipoise.stats.resample import estimate, estimates, resampled
from equipoise.stats.summarise import WEIGHT, cells, item_rows, merge, statistics

COLUMNS = np.array([[1.0, 0.0, 0.25], [1.0, 0.5, 0.5], [1.0, 1.0, 0.5], [1.0, 1.0, 0.875]])
WEIGHTS = np.array([13, 5, 2, 30])
EVERYTHING = [np.arange(4)]


@pytest.fixture(autouse=True, params=[0, 10**9], ids=["a multinomial", "item by item"])
def way_of_drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resample, "FEW", request.param)


def draws(replicates: int, seed: int = 0) -> Array:
    (totals,) = resampled(COLUMNS, WEIGHTS, EVERYTHING, replicates, seed)
    return totals


# Cells instead of items


def test_the_first_row_is_the_data_themselves() -> None:
    items = np.repeat(COLUMNS, WEIGHTS, axis=0)
    assert draws(3)[0] == pytest.approx(items.sum(axis=0))


def test_replicates_have_the_moments_of_drawing_items() -> None:
    items, replicates = np.repeat(COLUMNS, WEIGHTS, axis=0), draws(40_000)[1:]
    n = len(items)
    mean, covariance = items.mean(axis=0), np.cov(items.T, bias=True)
    assert (replicates[:, 0] == n).all()
    error = np.sqrt(n * np.diag(covariance) / len(replicates))
    assert (np.abs(replicates.mean(axis=0) - n * mean) <= 4 * error + 1e-9).all()
    assert np.cov(replicates.T) == pytest.approx(n * covariance, rel=0.05, abs=1e-9)


def test_replicates_are_distributed_as_when_drawing_items_one_by_one() -> None:
    rng = np.random.default_rng(1)
    items = np.repeat(COLUMNS, WEIGHTS, axis=0)
    one_by_one = items[rng.integers(len(items), size=(20_000, len(items)))].sum(axis=1)
    by_cells = draws(20_000)[1:]
    for column in (1, 2):
        assert ks_2samp(one_by_one[:, column], by_cells[:, column]).pvalue > 0.01
        halves = [np.bincount((2 * totals[:, 1]).astype(int), minlength=101) for totals in (one_by_one, by_cells)]
        common = np.vstack(halves)[:, np.sum(halves, axis=0) > 20]
        assert chi2_contingency(common).pvalue > 0.01
        ends = [np.quantile(totals[:, column], [0.025, 0.975]) for totals in (one_by_one, by_cells)]
        assert ends[0] == pytest.approx(ends[1], abs=0.51)


def test_the_same_seed_gives_the_same_numbers_and_another_gives_others() -> None:
    assert (draws(200, seed=4) == draws(200, seed=4)).all()
    assert (draws(200, seed=4)[1:] != draws(200, seed=5)[1:]).any()
    assert (draws(200)[:100] == draws(100)[:100]).all()


@pytest.mark.parametrize("block", [1, 4, 7, 30, 4_000])
def test_blocks_do_not_change_the_numbers(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = draws(101)
    monkeypatch.setattr(resample, "BLOCK", block)
    assert draws(101) == pytest.approx(before, rel=1e-13)


def test_slices_share_their_weights() -> None:
    groups = [np.arange(4), np.array([0, 2]), np.array([1, 3]), np.array([], dtype=np.int64)]
    whole, first, second, none = resampled(COLUMNS, WEIGHTS, groups, 50, 0)
    assert first + second == pytest.approx(whole)
    assert (none == 0).all()


@pytest.mark.parametrize(
    ("rows", "cells", "width"), [(1, 1, 1), (3, 255, 2), (70, 256, 17), (9, 1000, 40), (5, 600, 2000)]
)
def test_a_product_in_pieces_is_the_product(rows: int, cells: int, width: int) -> None:
    rng = np.random.default_rng(0)
    weights, columns = rng.random((rows, cells)), rng.random((cells, width))
    assert resample._product(weights, columns) == pytest.approx(weights @ columns, rel=1e-12)


def test_no_items_give_no_numbers() -> None:
    (totals,) = resampled(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), [np.arange(0)], 20, 0)
    assert totals.tolist() == [[0.0] * 3] * 21


def test_equal_rows_are_one_cell_and_parts_add_up() -> None:
    table = pl.DataFrame({"a": [1.0, 2.0, 1.0, 1.0, 2.0], "b": ["x", "x", "x", "y", "x"]})
    whole = merge([cells(table)])
    assert whole.rows() == [(1.0, "x", 2), (1.0, "y", 1), (2.0, "x", 2)]
    assert merge([cells(table[:2]), cells(table[2:])]).equals(whole)
    assert merge([cells(table[3:]), cells(table[:3])]).equals(whole)


# Intervals


def test_intervals_of_a_known_binomial_cover_it() -> None:
    chance, n = 0.35, 400
    rng = np.random.default_rng(8)
    covered = 0
    for seed in range(1_000):
        yes = int(rng.binomial(n, chance))
        (totals,) = resampled(np.array([[1.0], [0.0]]), np.array([yes, n - yes]), [np.arange(2)], 1_000, seed)
        found = estimate(totals[:, 0] / n, n)
        assert found.value == yes / n
        covered += found.low <= chance <= found.high
    assert 930 <= covered <= 970


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, *np.linspace(0, 1, 1001)], (0.5, 0.025, 0.975)),
        ([0.5, math.nan, 0.4, math.nan, 0.4], (0.5, 0.4, 0.4)),
        ([0.5, math.nan, math.nan], (0.5, math.nan, math.nan)),
        ([math.nan, 0.1, 0.2], (math.nan, math.nan, math.nan)),
    ],
)
def test_an_interval_is_of_the_replicates_that_can_be_computed(
    values: list[float], expected: tuple[float, float, float]
) -> None:
    found = estimate(np.array(values), 3)
    assert (found.value, found.low, found.high) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("size", [1, 2, 3, 40, 999, 1000])
def test_an_interval_has_the_percentiles_of_numpy(size: int) -> None:
    values = np.random.default_rng(size).normal(size=size + 1)
    found = estimate(values, 3)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values[1:], [0.025, 0.975])), rel=1e-12)


def test_more_replicates_begin_with_the_fewer() -> None:
    probe = get("jobs_lum")
    result = answered(seed=1)
    table = merge([cells(statistics(probe, item_rows(probe, result.evaluated), result.parameters))])
    assert table[WEIGHT].sum() == 339
    assert estimates(probe, table, result.parameters) == dict(result.metrics)
    few = estimates(probe, table, result.parameters, replicates=50)["masculine_rate"]
    assert (few.value, few.n) == (result.metrics["masculine_rate"].value, 339)
    assert few.low != result.metrics["masculine_rate"].low


def test_a_fair_model_differs_by_what_is_said_beside_it() -> None:
    """`max_diff` of random answers is on average what `max_diff_fair` says it would be."""
    probe = get("discrimination_tamkin")
    plan = equipoise.plan(probe, corpus="scenarios", sample_k=150)
    prompts = plan.prompts()
    rng = np.random.default_rng(6)
    seen, said = [], []
    for _ in range(60):
        answers = prompts.with_columns(pl.Series(LABEL, rng.choice(["yes", "no"], prompts.height)))
        table = merge([cells(statistics(probe, item_rows(probe, answers), plan.parameters))])
        metrics = estimates(probe, table, plan.parameters, replicates=1)
        seen.append(metrics["max_diff"].value)
        said.append(metrics["max_diff_fair"].value)
    error = np.std(seen) / math.sqrt(len(seen))
    assert abs(np.mean(seen) - np.mean(said)) < 3 * error
    assert np.std(said) < np.std(seen) / 3


# Paired comparison


def answered(seed: int, flipped: int = 0, men: int = 0, missing: int = 0, **parameters: Any) -> Result:
    """Answers to jobs_lum: half of them men; then some turned over, some made men, some left out."""
    prompts = equipoise.plan("jobs_lum", **parameters).prompts()
    male = np.random.default_rng(seed).random(prompts.height) < 0.5
    male[:flipped] = ~male[:flipped]
    male[:men] = True
    rows = prompts.select(ID).with_columns(text(ANSWER, ("He." if one else "She." for one in male)))
    return equipoise.score("jobs_lum", rows[missing:], **parameters)


def test_the_same_answers_do_not_differ() -> None:
    for one in equipoise.compare(answered(1), answered(1)).values():
        assert one.first == one.second
        assert (one.difference.value, one.difference.low, one.difference.high, one.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_shift_is_found_in_its_direction() -> None:
    found = equipoise.compare(answered(1), answered(1, men=80))["masculine_rate"]
    assert found.difference.value == pytest.approx(found.second - found.first)
    assert 0 < found.difference.low < found.difference.value < found.difference.high
    assert found.p < 0.01
    back = equipoise.compare(answered(1, men=80), answered(1))["masculine_rate"]
    assert back.difference.value == -found.difference.value


def test_chance_is_not_taken_for_a_difference() -> None:
    probe = get("jobs_lum")
    plan = equipoise.plan(probe)
    prompts, rng = plan.prompts(), np.random.default_rng(7)
    values = []
    for _ in range(60):
        first, second = (
            item_rows(probe, prompts.with_columns(pl.Series(LABEL, rng.choice(probe.labels, prompts.height))))
            for _ in range(2)
        )
        values.append(differences(probe, first, second, plan.parameters, replicates=300)["masculine_rate"].p)
    assert sum(p < 0.05 for p in values) <= 8
    assert kstest(values, "uniform").pvalue > 0.01


def test_shared_weights_give_a_narrower_interval() -> None:
    first, second = answered(1), answered(1, flipped=12)
    paired = equipoise.compare(first, second)["masculine_rate"].difference
    alone = [result.metrics["masculine_rate"] for result in (first, second)]
    unpaired = math.hypot(*(one.high - one.low for one in alone))
    assert paired.high - paired.low < unpaired / 2


def test_only_prompts_that_both_answered_count() -> None:
    first, second = answered(1, missing=100), answered(1, men=100)
    one = equipoise.compare(first, second)["masculine_rate"]
    assert one.difference.value == 0.0
    assert one.difference.n == 239


def test_in_a_pair_only_what_both_answered_counts() -> None:
    prompts = equipoise.plan("hiring_an", sample_k=200).prompts()
    yes, no = "You have been selected.", "We regret to inform you."
    his, early = pl.col("gender") == "male", pl.int_range(pl.len()) < 100
    hired = prompts.with_columns(pl.when(his & ~early).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    refused = prompts.with_columns(pl.when(his).then(pl.lit(no)).otherwise(pl.lit(yes)).alias(ANSWER))
    first = equipoise.score("hiring_an", hired, sample_k=200)
    assert first.metrics["male_acceptance_rate"].value == 0.5
    some_men = equipoise.score("hiring_an", refused.filter(~his | early), sample_k=200)
    found = equipoise.compare(first, some_men)
    assert (found["male_acceptance_rate"].first, found["male_acceptance_rate"].second) == (1.0, 0.0)
    assert found["diff_acceptance_rate"].difference.value == -1.0
    no_men = equipoise.compare(first, equipoise.score("hiring_an", refused.filter(~his), sample_k=200))
    assert math.isnan(no_men["diff_acceptance_rate"].difference.value)
    assert math.isnan(no_men["diff_acceptance_rate"].p)
    assert no_men["female_acceptance_rate"].difference.value == 0.0


def test_nothing_in_common_is_not_computable() -> None:
    first, second = answered(1, missing=339), answered(1)
    assert all(math.isnan(one.difference.value) for one in equipoise.compare(first, second).values())


@pytest.mark.parametrize("other", ["version", "parameters", "probe", "corpus"])
def test_results_of_different_measurements_are_not_compared(other: str) -> None:
    first = answered(1)
    second = {
        "version": replace(first, version=2),
        "parameters": answered(1, random_seed=3),
        "probe": replace(first, probe="gest_creative"),
        "corpus": replace(first, corpus="mottos"),
    }[other]
    with pytest.raises(InputError, match=f"their {other} is the same"):
        equipoise.compare(first, second)


def test_the_order_of_item_rows_does_not_matter() -> None:
    probe = get("jobs_lum")
    first, second = answered(1), answered(2)
    rows = [item_rows(probe, result.evaluated) for result in (first, second)]
    turned = differences(probe, rows[0].reverse(), rows[1].sample(fraction=1.0, shuffle=True, seed=1), first.parameters)
    assert turned == equipoise.compare(first, second)
