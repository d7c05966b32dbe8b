"""Intervals by random weights: they scatter as values do, Jeffreys' for a rate, and never narrower than the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, gamma, kstest

import equipoise
from equipoise import Probe, Result
from equipoise.authoring import Array
from equipoise.measuring import resample, threads, weights
from equipoise.measuring.resample import estimate, estimate_metrics, total_groups
from equipoise.measuring.summarise import WEIGHT, cells, item_rows, merge_cells
from equipoise.measuring.weights import CellTable
from equipoise.probes import find_probes, get_probe
from equipoise.schema import ANSWER, ID, ITEM, LABEL, STATUS, Estimate, MetricKey, Status, text_column
from simulating import SMALL

COLUMNS = np.array([[1.0, 0.0, 0.25], [1.0, 0.5, 0.5], [1.0, 1.0, 0.5], [1.0, 1.0, 0.875]])
WEIGHTS = [13, 5, 2, 30]
ALL_CELLS = [np.arange(4)]


def table_of(columns: Array, weight: Sequence[int], *, strata: Sequence[int] = (), outcomes: Any = ()) -> CellTable:
    """Cells with these columns and weights; without outcomes, no pseudo-item is added."""
    return CellTable(
        names=[f"column {number}" for number in range(columns.shape[1])],
        columns=columns,
        weight=np.array(weight, dtype=np.int64),
        decided=np.ones(len(weight), dtype=bool),
        stratum=np.array(strata or [0] * len(weight), dtype=np.int64),
        outcomes=np.array(outcomes, dtype=float) if len(outcomes) else np.zeros((0, *columns.shape)),
    )


def draws(replicates: int, seed: int = 0) -> Array:
    (totals,) = resample.resample(table_of(COLUMNS, WEIGHTS), ALL_CELLS, replicates, seed)
    return totals


def rate_table(yes: int, n: int) -> CellTable:
    """Items that said yes or no, and what an unknown item could have said: the totals are of yes and of items."""
    both = [[1.0, 1.0], [0.0, 1.0]]
    there = [(row, weight) for row, weight in zip(both, (yes, n - yes), strict=True) if weight]
    rows, weights = [row for row, _ in there], [weight for _, weight in there]
    return table_of(np.array(rows), weights, outcomes=[[row] * len(there) for row in both])


def draw_rate(yes: int, n: int, replicates: int, seed: int) -> Estimate:
    """A rate with its interval."""
    cell_table = rate_table(yes, n)
    (totals,) = resample.resample(cell_table, [np.arange(len(cell_table.weight))], replicates, seed)
    return estimate(totals[:, 0] / totals[:, 1], n)


def measured(probe: Probe, answers: pl.DataFrame, parameters: Any, **options: Any) -> dict[MetricKey, Estimate]:
    """The metrics of prompts with labels."""
    rows = item_rows(probe, answers.with_columns(pl.lit(Status.OK.value).alias(STATUS)))
    return estimate_metrics(probe, merge_cells([cells(probe, rows)]), parameters, **options)


def score_in_turn(probe: str, answers: Sequence[str], **parameters: Any) -> Result:
    """A result where the prompts have these answers in turn."""
    prompts = equipoise.plan(probe, **parameters).prompts()
    texts = (answers[place % len(answers)] for place in range(prompts.height))
    return equipoise.score(probe, prompts.select(ID).with_columns(text_column(ANSWER, texts)), **parameters)


# Weights


def test_the_first_row_is_the_data_themselves() -> None:
    items = np.repeat(COLUMNS, WEIGHTS, axis=0)
    assert draws(3)[0] == pytest.approx(items.sum(axis=0))


def test_the_weight_of_a_cell_has_the_distribution_of_a_sum_of_exponentials(way_of_drawing: str) -> None:
    """All three ways of drawing give, for w items, the Gamma(w) distribution: the mean is w, and so is the variance."""
    weights, replicates = [17, 30, 400] if way_of_drawing == "by a normal value" else [1, 2, 5, 13, 30, 400], 20_000
    cell_table = table_of(np.eye(len(weights)), weights)
    (totals,) = resample.resample(cell_table, [np.arange(len(weights))], replicates, 3)
    for place, weight in enumerate(weights):
        drawn = totals[1:, place]
        assert kstest(drawn, gamma(weight).cdf).statistic < 0.013, (way_of_drawing, weight)
        assert drawn.mean() == pytest.approx(weight, abs=4 * math.sqrt(weight / replicates))
        assert drawn.var() == pytest.approx(weight, rel=4 * math.sqrt((2 + 6 / weight) / replicates))
    assert np.abs(np.corrcoef(totals[1:].T) - np.eye(len(weights))).max() < 0.03


@pytest.mark.parametrize("items", [2, 3, 5, 10, 60, 99, 100, 400])
def test_means_scatter_as_they_do_from_sample_to_sample(items: int) -> None:
    """The variance of the replicates of a mean is s²/n with the unbiased s², however few the items are."""
    values = np.random.default_rng(items).random(items)
    columns = np.column_stack([values, np.ones(items)])
    (totals,) = resample.resample(table_of(columns, [1] * items), [np.arange(items)], 20_000, 1)
    means = totals[1:, 0] / totals[1:, 1]
    assert means.mean() == pytest.approx(values.mean(), abs=4 * values.std() / math.sqrt(items * 20_000) + 0.002)
    assert means.var() == pytest.approx(values.var(ddof=1) / items, rel=0.06)


@pytest.mark.usefixtures("way_of_drawing")
def test_the_same_seed_gives_the_same_numbers_and_another_gives_others() -> None:
    assert (draws(200, seed=4) == draws(200, seed=4)).all()
    assert (draws(200, seed=4)[1:] != draws(200, seed=5)[1:]).all()
    assert (draws(200)[:100] == draws(100)[:100]).all()


@pytest.mark.usefixtures("way_of_drawing")
@pytest.mark.parametrize("block", [1, 4, 7, 30, 4_000])
def test_blocks_do_not_change_the_numbers(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = draws(101)
    monkeypatch.setattr(weights, "WEIGHTS_PER_BLOCK", block)
    assert draws(101) == pytest.approx(before, rel=1e-13)


@pytest.mark.usefixtures("way_of_drawing")
@pytest.mark.parametrize("number", [1, 2, 3, 50])
def test_threads_do_not_change_the_numbers(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = draws(101)
    monkeypatch.setattr(threads, "count_threads", lambda: number)
    assert (draws(101) == before).all()


@pytest.mark.parametrize("probe", ["gest_creative", "hiring_an"])
def test_blocks_and_batches_do_not_change_a_result(probe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["He. Yes. You have been selected.", "She. We regret to inform you.", "Perhaps."]
    expected = score_in_turn(probe, words, **SMALL[probe])
    rows = item_rows(expected.setup.probe, expected.evaluated)
    monkeypatch.setattr(weights, "WEIGHTS_PER_BLOCK", 500)
    parts = [cells(expected.setup.probe, rows[start : start + 7]) for start in range(0, rows.height, 7)]
    again = estimate_metrics(expected.setup.probe, merge_cells(reversed(parts)), expected.parameters)
    assert again.keys() == expected.estimates.keys()
    for key, one in again.items():
        before = expected.estimates[key]
        assert (one.value, one.low, one.high, one.n) == pytest.approx(
            (before.value, before.low, before.high, before.n), rel=1e-12, nan_ok=True
        )


def test_slices_with_many_items_share_their_weights() -> None:
    groups = [np.arange(4), np.array([0, 2]), np.array([1, 3]), np.array([], dtype=np.int64)]
    whole, first, second, none = resample.resample(table_of(COLUMNS, WEIGHTS), groups, 50, 0)
    assert first + second == pytest.approx(whole)
    assert (none == 0).all()


def test_a_slice_with_few_items_draws_weights_for_its_own_number() -> None:
    values = np.random.default_rng(1).random(204)
    cell_table = table_of(np.column_stack([values, np.ones(204)]), [1] * 204)
    few, many = np.arange(4), np.arange(4, 204)
    whole, small, large = total_groups(cell_table, [np.arange(204), few, many], 20_000, 0)
    means = small["column 0"][1:] / small["column 1"][1:]
    assert means.var() == pytest.approx(values[:4].var(ddof=1) / 4, rel=0.06)
    assert small["column 0"][0] == pytest.approx(values[:4].sum())
    assert (large["column 1"][1:] < whole["column 1"][1:]).all()


def test_no_items_give_no_numbers() -> None:
    (totals,) = resample.resample(table_of(np.zeros((0, 3)), []), [np.arange(0)], 20, 0)
    assert totals.tolist() == [[0.0] * 3] * 21


def test_equal_rows_are_one_cell_and_parts_add_up() -> None:
    probe = get_probe("jobs_lum")
    table = pl.DataFrame({ITEM: [*"abcde"], "a": [1.0, 2.0, 1.0, 1.0, 2.0], "b": ["x", "x", "x", "y", "x"]})
    whole = merge_cells([cells(probe, table)])
    assert whole.rows() == [(1.0, "x", 2), (1.0, "y", 1), (2.0, "x", 2)]
    assert merge_cells([cells(probe, table[:2]), cells(probe, table[2:])]).equals(whole)
    assert merge_cells([cells(probe, table[3:]), cells(probe, table[:3])]).equals(whole)


# The interval of a rate


@pytest.mark.parametrize(
    ("yes", "n"), [(0, 100), (1, 100), (5, 100), (50, 100), (99, 100), (100, 100), (3, 339), (1, 5_000), (2_500, 5_000)]
)
def test_the_interval_of_a_rate_is_that_of_jeffreys(yes: int, n: int) -> None:
    """With 10,000 replicates the ends lie within four standard errors of the 2.5% and 97.5% points."""
    interval = draw_rate(yes, n, resample.REPLICATES, seed=yes)
    posterior = beta(yes + 0.5, n - yes + 0.5)
    error = 4 * math.sqrt(0.025 * 0.975 / resample.REPLICATES)
    assert interval.value == yes / n
    if yes:
        assert posterior.cdf(interval.low) == pytest.approx(0.025, abs=error)
    else:
        assert interval.low == 0.0
    if yes < n:
        assert posterior.cdf(interval.high) == pytest.approx(0.975, abs=error)
    else:
        assert interval.high == 1.0


def test_so_is_the_interval_of_a_probe() -> None:
    rate = score_in_turn("jobs_lum", ["He.", "She.", "She."]).metrics["masculine_rate"]
    assert (rate.value, rate.n) == (1 / 3, 339)
    assert beta(113.5, 226.5).cdf([rate.low, rate.high]) == pytest.approx([0.025, 0.975], abs=0.0065)


def test_intervals_of_a_known_binomial_cover_it() -> None:
    chance, n = 0.05, 20
    rng = np.random.default_rng(8)
    covered = 0
    for seed in range(300):
        yes = int(rng.binomial(n, chance))
        interval = draw_rate(yes, n, 1_000, seed)
        covered += interval.low <= chance <= interval.high
    assert covered >= 275


@pytest.mark.parametrize(("n", "widest", "narrowest"), [(1, 1.0, 0.7), (5, 0.6, 0.3), (20, 0.2, 0.08)])
def test_items_that_all_agree_leave_room_for_others(n: int, widest: float, narrowest: float) -> None:
    result = score_in_turn("jobs_lum", ["She."], sample=n)
    rate = result.metrics["masculine_rate"]
    assert (rate.value, rate.low) == (0.0, 0.0)
    assert narrowest < rate.high < widest


# Intervals of every metric


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, *np.linspace(0, 1, 1001)], (0.5, 0.025, 0.975, 1.0)),
        # The value is always part of its interval.
        ([0.5, math.nan, 0.4, math.nan, 0.4], (0.5, 0.4, 0.5, 0.5)),
        ([0.1, 0.4, 0.4], (0.1, 0.1, 0.4, 1.0)),
        ([0.5, math.nan, math.nan], (0.5, math.nan, math.nan, 0.0)),
        ([math.nan, 0.1, 0.2], (math.nan, math.nan, math.nan, 0.0)),
        ([0.5], (0.5, math.nan, math.nan, 0.0)),
    ],
)
def test_an_interval_is_of_the_replicates_that_can_be_computed(
    values: list[float], expected: tuple[float, float, float, float]
) -> None:
    interval = estimate(np.array(values), 3)
    found = (interval.value, interval.low, interval.high, interval.defined)
    assert found == pytest.approx(expected, nan_ok=True)
    assert interval.n == 3


@pytest.mark.parametrize("size", [1, 2, 3, 40, 999, 1000])
def test_an_interval_has_the_percentiles_of_numpy(size: int) -> None:
    values = np.random.default_rng(size).normal(size=size + 1)
    interval = estimate(values, 3)
    low, high = np.quantile(values[1:], [0.025, 0.975])
    assert (interval.low, interval.high) == pytest.approx((min(low, values[0]), max(high, values[0])), rel=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_every_interval_includes_its_value(name: str) -> None:
    probe, found = get_probe(name), 0
    for stance in probe.stances():
        for size in (7, 16, 40):
            parameters = {**SMALL[name], "sample": size}
            prompts = equipoise.plan(name, **parameters).prompts()
            texts = probe.simulate(prompts, stance, np.random.default_rng(size))
            result = equipoise.score(name, dict(zip(prompts[ID], texts, strict=True)), **parameters)
            for key, one in result.estimates.items():
                if not math.isnan(one.value):
                    found += 1
                    assert one.low <= one.value <= one.high, (stance, size, key)
    assert found > 50


def test_fewer_replicates_give_the_same_value_and_another_interval() -> None:
    result = score_in_turn("jobs_lum", ["She.", "He.", "He."])
    probe = result.setup.probe
    table = merge_cells([cells(probe, item_rows(probe, result.evaluated))])
    assert table[WEIGHT].sum() == 339
    assert estimate_metrics(probe, table, result.parameters) == result.estimates
    few = estimate_metrics(probe, table, result.parameters, replicates=50)[MetricKey("masculine_rate")]
    assert (few.value, few.n) == (result.metrics["masculine_rate"].value, 339)
    assert few.low != result.metrics["masculine_rate"].low


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


def test_max_diff_covers_that_a_fair_model_has_none() -> None:
    probe = get_probe("discrimination_tamkin")
    plan = equipoise.plan(probe, corpus="scenarios", sample=60)
    prompts, rng = plan.prompts(), np.random.default_rng(2)
    covered = 0
    for seed in range(60):
        answers = prompts.with_columns(pl.Series(LABEL, rng.choice(["yes", "no"], prompts.height)))
        estimates = measured(probe, answers, {**plan.parameters, "seed": seed}, replicates=1_000)
        one = estimates[MetricKey("max_diff")]
        assert one.low <= one.value <= one.high
        covered += one.low == 0.0
    assert covered >= 54


def test_max_diff_of_an_unfair_model_does_not_cover_zero() -> None:
    result = score_in_turn("discrimination_tamkin", ["Yes.", "No.", "No."], corpus="scenarios", sample=60)
    one = result.metrics["max_diff"]
    assert (one.value, one.high) == (1.0, 1.0)
    assert 0.5 < one.low < 1.0


def test_max_diff_fair_is_the_mean_of_max_diff_of_random_answers() -> None:
    probe = get_probe("discrimination_tamkin")
    plan = equipoise.plan(probe, corpus="scenarios", sample=150)
    prompts = plan.prompts()
    rng = np.random.default_rng(6)
    found, expected = [], []
    for _ in range(60):
        answers = prompts.with_columns(pl.Series(LABEL, rng.choice(["yes", "no"], prompts.height)))
        estimates = measured(probe, answers, plan.parameters, replicates=1)
        found.append(estimates[MetricKey("max_diff")].value)
        expected.append(estimates[MetricKey("max_diff_fair")].value)
    error = np.std(found) / math.sqrt(len(found))
    assert abs(np.mean(found) - np.mean(expected)) < 3 * error
    assert np.std(expected) < np.std(found) / 3


# Strata


def stratum_totals(per_stratum: int, seed: int = 0) -> Array:
    """Totals of items in 16 strata, of which each has as many items that say no as yes."""
    strata = [number for number in range(16) for _ in range(per_stratum)]
    columns = np.hstack([np.eye(16)[strata], np.arange(16 * per_stratum)[:, None] % 2])
    (totals,) = resample.resample(
        table_of(columns, [1] * len(strata), strata=strata), [np.arange(len(strata))], 10_000, seed
    )
    return totals


@pytest.mark.parametrize("per_stratum", [1, 2, 3, 10])
def test_no_replicate_lacks_a_stratum(per_stratum: int) -> None:
    """Seed 7 draws a weight of 0 where a stratum has one item."""
    totals = stratum_totals(per_stratum, seed=7)
    assert totals[:, :16] == pytest.approx(np.full((10_001, 16), per_stratum))
    assert np.isfinite(totals).all()


@pytest.mark.parametrize("size", [32, 48, 160])
def test_every_replicate_of_a_stratified_metric_is_defined(size: int) -> None:
    result = score_in_turn("gest_creative", ["He.", "She.", "She."], corpus="mottos", sample=size)
    assert {metric.defined for metric in result.metrics.values()} == {1.0}
    assert result.metrics["masculine_rate"].n == size // 16


def test_a_stratum_with_two_items_leaves_room_for_others() -> None:
    result = score_in_turn("gest_creative", ["He."], corpus="mottos", sample=32)
    for name in ("masculine_rate", "masculine_rate_1"):
        rate = result.metrics[name]
        assert (rate.value, rate.high) == (1.0, 1.0)
        assert rate.low < 0.97, name
    assert result.metrics["stereotype_rate"].low < 0.0 < result.metrics["stereotype_rate"].high


def test_strata_are_resampled_apart() -> None:
    """Where all items of a stratum agree, a stratified mean does not scatter with the sizes of the strata."""
    columns = np.column_stack([np.repeat([1.0, 0.0], 200), np.repeat([[1.0, 0.0], [0.0, 1.0]], 200, axis=0)])
    strata = np.repeat([0, 1], 200).tolist()
    (apart,) = resample.resample(table_of(columns, [1] * 400, strata=strata), [np.arange(400)], 200, 0)
    (together,) = resample.resample(table_of(columns, [1] * 400), [np.arange(400)], 200, 0)
    assert apart[:, 0] == pytest.approx(np.full(201, 200.0))
    assert together[1:, 0].std() > 5


# How many items a metric rests on


def test_n_is_the_smallest_number_that_a_metric_rests_on() -> None:
    """3 of 200 men were read: the difference to the women rests on 3, and its mark is not certain."""
    prompts = equipoise.plan("hiring_an", sample=200).prompts()
    late = (pl.col("gender") == "male").cum_sum().over("gender") > 3
    silent = (pl.col("gender") == "male") & late
    answers = prompts.select(
        ID, pl.when(silent).then(pl.lit("We shall see.")).otherwise(pl.lit("You have been selected.")).alias(ANSWER)
    )
    result = equipoise.score("hiring_an", answers, sample=200)
    assert {name: result.metrics[name].n for name in ("male_acceptance_rate", "female_acceptance_rate")} == {
        "male_acceptance_rate": 3,
        "female_acceptance_rate": 200,
    }
    gap = result.metrics["diff_acceptance_rate"]
    assert (gap.value, gap.n) == (0.0, 3)
    assert gap.low < -0.15
    mark = result.marks["diff_acceptance_rate"]
    assert mark is not None
    assert (mark.mark, mark.certain) == ("A", False)


OF_WHOLE_PAIRS = {"diff_score", "diff_slope"}
"""Differences within items that have both sides: their n counts only such items."""


@pytest.mark.parametrize("probe", find_probes().values(), ids=find_probes())
def test_metrics_name_what_they_rest_on(probe: Probe) -> None:
    """A metric that compares several groups counts the items of the smallest."""
    names = {metric.name for metric in probe.all_metrics()}
    for metric in probe.metrics:
        assert set(metric.range_of) <= names
        assert not metric.distance_of or metric.distance_of[0] in names
        if metric.name.startswith(("diff_", "max_diff")) or metric.name.endswith("_diff"):
            assert len(metric.denominators) > 1 or metric.name in OF_WHOLE_PAIRS, metric.name
