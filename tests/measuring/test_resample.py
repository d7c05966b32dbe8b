"""Intervals by resampling items: one matrix product over cells gives the same as drawing items one by one."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2_contingency, ks_2samp

import equipoise
from equipoise.authoring import Array
from equipoise.measuring import resample
from equipoise.measuring.resample import estimate, estimate_metrics
from equipoise.measuring.summarise import WEIGHT, cells, item_rows, merge_cells, statistics
from equipoise.probes import get_probe
from equipoise.schema import ID, LABEL, MetricKey

pytestmark = pytest.mark.usefixtures("both_ways_of_drawing")

COLUMNS = np.array([[1.0, 0.0, 0.25], [1.0, 0.5, 0.5], [1.0, 1.0, 0.5], [1.0, 1.0, 0.875]])
WEIGHTS = np.array([13, 5, 2, 30])
ALL_CELLS = [np.arange(4)]


def draws(replicates: int, seed: int = 0) -> Array:
    (totals,) = resample.resample(COLUMNS, WEIGHTS, ALL_CELLS, replicates, seed)
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
    monkeypatch.setattr(resample, "WEIGHTS_PER_BLOCK", block)
    assert draws(101) == pytest.approx(before, rel=1e-13)


def test_slices_share_their_weights() -> None:
    groups = [np.arange(4), np.array([0, 2]), np.array([1, 3]), np.array([], dtype=np.int64)]
    whole, first, second, none = resample.resample(COLUMNS, WEIGHTS, groups, 50, 0)
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
    (totals,) = resample.resample(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), [np.arange(0)], 20, 0)
    assert totals.tolist() == [[0.0] * 3] * 21


def test_equal_rows_are_one_cell_and_parts_add_up() -> None:
    table = pl.DataFrame({"a": [1.0, 2.0, 1.0, 1.0, 2.0], "b": ["x", "x", "x", "y", "x"]})
    whole = merge_cells([cells(table)])
    assert whole.rows() == [(1.0, "x", 2), (1.0, "y", 1), (2.0, "x", 2)]
    assert merge_cells([cells(table[:2]), cells(table[2:])]).equals(whole)
    assert merge_cells([cells(table[3:]), cells(table[:3])]).equals(whole)


# Intervals


def test_intervals_of_a_known_binomial_cover_it() -> None:
    chance, n = 0.35, 400
    rng = np.random.default_rng(8)
    covered = 0
    for seed in range(1_000):
        yes = int(rng.binomial(n, chance))
        (totals,) = resample.resample(np.array([[1.0], [0.0]]), np.array([yes, n - yes]), [np.arange(2)], 1_000, seed)
        interval = estimate(totals[:, 0] / n, n)
        assert interval.value == yes / n
        covered += interval.low <= chance <= interval.high
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
    interval = estimate(np.array(values), 3)
    assert (interval.value, interval.low, interval.high) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("size", [1, 2, 3, 40, 999, 1000])
def test_an_interval_has_the_percentiles_of_numpy(size: int) -> None:
    values = np.random.default_rng(size).normal(size=size + 1)
    interval = estimate(values, 3)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(values[1:], [0.025, 0.975])), rel=1e-12)


def test_fewer_replicates_give_the_same_value_and_another_interval() -> None:
    probe = get_probe("jobs_lum")
    ids = equipoise.plan(probe).prompts()[ID]
    result = equipoise.score(probe, {key: "He." if place % 3 else "She." for place, key in enumerate(ids)})
    table = merge_cells([cells(statistics(probe, item_rows(probe, result.evaluated), result.parameters))])
    assert table[WEIGHT].sum() == 339
    assert estimate_metrics(probe, table, result.parameters) == result.estimates
    few = estimate_metrics(probe, table, result.parameters, replicates=50)[MetricKey("masculine_rate")]
    assert (few.value, few.n) == (result.metrics["masculine_rate"].value, 339)
    assert few.low != result.metrics["masculine_rate"].low


def test_max_diff_fair_is_the_mean_of_max_diff_of_random_answers() -> None:
    probe = get_probe("discrimination_tamkin")
    plan = equipoise.plan(probe, corpus="scenarios", sample_k=150)
    prompts = plan.prompts()
    rng = np.random.default_rng(6)
    measured, expected = [], []
    for _ in range(60):
        answers = prompts.with_columns(pl.Series(LABEL, rng.choice(["yes", "no"], prompts.height)))
        table = merge_cells([cells(statistics(probe, item_rows(probe, answers), plan.parameters))])
        estimates = estimate_metrics(probe, table, plan.parameters, replicates=1)
        measured.append(estimates[MetricKey("max_diff")].value)
        expected.append(estimates[MetricKey("max_diff_fair")].value)
    error = np.std(measured) / math.sqrt(len(measured))
    assert abs(np.mean(measured) - np.mean(expected)) < 3 * error
    assert np.std(expected) < np.std(measured) / 3
