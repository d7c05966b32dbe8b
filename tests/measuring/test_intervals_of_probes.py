"""Intervals of whole probes: coverage by enumeration, properties of every metric, repeated answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats
from statsmodels.stats.proportion import proportion_confint

import equipoise
from equipoise import Probe, Result
from equipoise.authoring import Array
from equipoise.measuring.cells import CellTable, prepare_cells
from equipoise.measuring.estimates import estimate_cells, estimate_groups
from equipoise.measuring.summarise import answered_rows, cells, is_answered
from equipoise.probes import find_probes, get_probe
from equipoise.schema import ANSWER, ID, ITEM, LABEL, STATUS, MetricKey, Status
from measuring.answered import score, simulate_answers
from measuring.order_probe import ORDER_PROBE
from simulating import SMALL

# Single rates, by enumeration


RATES_IN_ORDERS = replace(
    ORDER_PROBE,
    metrics=(
        *(replace(metric, domain=(0.0, 1.0)) for metric in ORDER_PROBE.metrics[:2]),
        ORDER_PROBE.metrics[2],
    ),
)
"""Of which the rates end at 0 and at 1."""


@pytest.fixture(scope="module")
def yes_and_no() -> CellTable:
    """Two cells: items with a yes in both orders, and items with a no."""
    answers = pl.DataFrame(
        {
            ITEM: ["yes", "yes", "no", "no"],
            "topic": "care",
            "order": ["first", "second", "first", "second"],
            LABEL: ["yes", "yes", "no", "no"],
            STATUS: Status.OK.value,
        }
    )
    table = cells(answered_rows(RATES_IN_ORDERS, answers))
    prepared = prepare_cells(RATES_IN_ORDERS, table, {})
    is_yes = table["first_yes"].to_numpy() == 1
    return prepared.take(np.argsort(~is_yes))


def interval_of_rate(yes_and_no: CellTable, yes: int, items: int) -> tuple[float, float]:
    """The interval of so many yes among so many items."""
    weight = np.array([yes, items - yes])
    places = np.flatnonzero(weight > 0)
    table = replace(yes_and_no, weight=weight).take(places)
    found = estimate_cells(table)["first_rate"]
    assert found.value == yes / items
    return found.low, found.high


@pytest.mark.parametrize("items", [20, 33, 60, 120])
def test_intervals_of_rates_cover_every_true_rate(yes_and_no: CellTable, items: int) -> None:
    """By enumeration of all counts: at least 93.5% for every rate, and not far more on average."""
    ends = np.array([interval_of_rate(yes_and_no, yes, items) for yes in range(items + 1)])
    rates = np.linspace(0.0005, 0.9995, 1_999)
    chances = scipy.stats.binom.pmf(np.arange(items + 1)[:, None], items, rates)
    holds = (ends[:, :1] <= rates) & (rates <= ends[:, 1:])
    coverage = (chances * holds).sum(axis=0)
    assert coverage.min() >= 0.935
    assert coverage.mean() <= 0.985


@pytest.mark.parametrize(("yes", "items"), [(20, 100), (50, 100), (60, 339), (160, 339)])
def test_with_many_items_the_interval_is_that_of_agresti_and_coull(yes_and_no: CellTable, yes: int, items: int) -> None:
    """As statsmodels computes it."""
    expected = proportion_confint(yes, items, method="agresti_coull")
    assert interval_of_rate(yes_and_no, yes, items) == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize("items", [20, 60, 339])
def test_where_nothing_was_seen_the_interval_is_that_of_clopper_and_pearson(yes_and_no: CellTable, items: int) -> None:
    """As statsmodels computes it, on both sides."""
    _, highest = proportion_confint(0, items, method="beta")
    low, high = interval_of_rate(yes_and_no, 0, items)
    assert low == 0
    assert high == pytest.approx(highest, rel=0.12)
    assert interval_of_rate(yes_and_no, items, items) == pytest.approx((1 - high, 1.0))


@pytest.mark.parametrize("items", [24, 60])
def test_the_interval_of_no_is_that_of_yes_turned_round(yes_and_no: CellTable, items: int) -> None:
    for yes in range(items + 1):
        low, high = interval_of_rate(yes_and_no, yes, items)
        turned = interval_of_rate(yes_and_no, items - yes, items)
        assert turned == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_more_items_give_narrower_intervals(yes_and_no: CellTable, share: float) -> None:
    widths = []
    for items in (20, 40, 80, 160, 320):
        low, high = interval_of_rate(yes_and_no, round(share * items), items)
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)


def test_a_cell_that_is_split_gives_the_same_interval(yes_and_no: CellTable) -> None:
    """Two cells of 10 and 20 items, or three of 4, 6 and 20."""
    whole = estimate_cells(replace(yes_and_no, weight=np.array([10, 20])))
    split = yes_and_no.take(np.array([0, 0, 1]))
    parts = estimate_cells(replace(split, weight=np.array([4, 6, 20])))
    for name, estimate in whole.items():
        found = parts[name]
        assert (found.value, found.low, found.high, found.n) == pytest.approx(
            (estimate.value, estimate.low, estimate.high, estimate.n), rel=1e-9, abs=1e-12
        )


# Slopes and ranges


def labelled(plan: equipoise.Plan, labels: Array | Sequence[str]) -> pl.DataFrame:
    """The cells of answers with these labels."""
    answers = plan.prompts().with_columns(pl.Series(LABEL, labels), pl.lit(Status.OK.value).alias(STATUS))
    return cells(answered_rows(plan.probe, answers))


def test_the_interval_of_a_slope_ends_at_its_limits() -> None:
    """However steep it is."""
    plan = equipoise.plan("jobs_lum", sample=60)
    is_male = plan.prompts()["masculinity"] > 0.5
    table = labelled(plan, ["male" if male else "female" for male in is_male])
    found = estimate_cells(prepare_cells(plan.probe, table, plan.parameters))["stereotype_rate"]
    assert found.value == 1.0
    assert 0 < found.low <= found.value == found.high


def test_max_diff_fair_is_the_mean_of_max_diff_of_random_answers() -> None:
    plan = equipoise.plan("discrimination_tamkin", corpus="scenarios", sample=150)
    found = []
    expected = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        table = labelled(plan, random.choice(["yes", "no"], plan.prompts().height))
        estimates = estimate_cells(prepare_cells(plan.probe, table, plan.parameters))
        found.append(estimates["max_diff"].value)
        expected.append(estimates["max_diff_fair"].value)
    error = np.std(found) / math.sqrt(len(found))
    assert abs(np.mean(found) - np.mean(expected)) < 3 * error
    assert np.std(expected) < np.std(found) / 3


def test_cells_are_taken_with_all_that_belongs_to_them() -> None:
    """In another order they give the same."""
    plan = equipoise.plan("hiring_an", sample=120)
    random = np.random.default_rng(5)
    table = labelled(plan, random.choice(["accepted", "rejected"], plan.prompts().height))
    whole = prepare_cells(plan.probe, table, plan.parameters)
    turned = estimate_cells(whole.take(np.arange(table.height)[::-1]))
    for name, estimate in estimate_cells(whole).items():
        found = turned[name]
        assert found.n == estimate.n
        assert (found.value, found.low, found.high) == pytest.approx(
            (estimate.value, estimate.low, estimate.high), rel=1e-6, nan_ok=True
        )


# Repetitions


def score_repeated(counts: Sequence[int], repeat: int) -> Result:
    """All occupations, each asked so often; in turn so many of the answers are about a man."""
    prompts = equipoise.plan("jobs_lum").prompts()
    rows = []
    for place, key in enumerate(prompts[ID]):
        for number in range(repeat):
            text = "He." if number < counts[place % len(counts)] else "She."
            rows.append({ID: key, "repetition": number + 1, ANSWER: text})
    return equipoise.score("jobs_lum", rows, repeat=repeat)


def test_a_model_that_is_sure_of_every_item_is_known_if_all_are_asked() -> None:
    """For these prompts; for prompts like these the items vary."""
    result = score_repeated([5, 0], 5)
    found = result.metrics["masculine_rate"]
    assert found.high - found.low < 0.02
    assert result.generalised["masculine_rate"].high - found.high > 0.03


@pytest.mark.parametrize("repeat", [2, 3, 6])
def test_asking_all_items_again_leaves_the_variance_of_the_mean_answer(repeat: int) -> None:
    """s²/r of each item by hand: of items whose answers are split, so many of r for a man."""
    result = score_repeated([1], repeat)
    found = result.metrics["masculine_rate"]
    share = 1 / repeat
    within = 339 * share * (1 - share) / (repeat - 1) / 339**2
    expected = scipy.stats.t(339).ppf(0.975) * math.sqrt(within)
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.05)


def test_half_of_the_items_asked_again_leave_half_of_the_variance_between_items() -> None:
    """(1 - n/N) V_items + (n/N) Σ v_i, with half of the population there."""
    items = 170
    prompts = equipoise.plan("jobs_lum", sample=items).prompts()
    texts = ["He." if place % 2 else "She." for place in range(items)]
    once = prompts.select(ID).with_columns(pl.Series(ANSWER, texts))
    rows = once.join(pl.DataFrame({"repetition": [1, 2, 3, 4]}), how="cross")
    result = equipoise.score("jobs_lum", rows, sample=items, repeat=4)
    found = result.metrics["masculine_rate"]
    share = items / 339
    between = (1 - share) * 0.25 / (items - 1)
    expected = scipy.stats.t(items).ppf(0.975) * math.sqrt(between)
    assert (found.high - found.low) / 2 == pytest.approx(expected, rel=0.05)


# Properties of every metric


STANCES = [(name, stance) for name in SMALL for stance in get_probe(name).stances()]


def simulate(name: str, stance: str, size: int) -> Result:
    """A small result of a reference model."""
    parameters: dict[str, Any] = {**SMALL[name], "sample": size}
    answers = simulate_answers(name, stance, size, **parameters)
    return score(name, answers, **parameters)


@pytest.mark.parametrize(("name", "stance"), STANCES)
def test_every_interval_holds_its_value_and_stays_within_the_domain(name: str, stance: str) -> None:
    """In all groups of all slices, and for prompts like these."""
    result = simulate(name, stance, 60)
    domains = {metric.name: metric.domain for metric in result.setup.probe.all_metrics()}
    for key, estimate in result.estimates.items():
        smallest, largest = domains[key.metric]
        if not math.isnan(estimate.value):
            assert smallest - 1e-9 <= estimate.value <= largest + 1e-9, key
        if not math.isnan(estimate.low):
            assert smallest <= estimate.low <= estimate.value <= estimate.high <= largest, key
    for metric, wide in result.generalised.items():
        if wide.has_interval:
            estimate = result.metrics[metric]
            assert domains[metric][0] <= wide.low <= estimate.low, metric
            assert estimate.high <= wide.high <= domains[metric][1], metric


@pytest.mark.parametrize("name", SMALL)
def test_bounds_hold_the_value_and_stay_within_the_domain(name: str) -> None:
    """With a third of the answers missing."""
    parameters: dict[str, Any] = {**SMALL[name], "sample": 60}
    answers = simulate_answers(name, get_probe(name).stances()[0], 1, **parameters)
    kept = {key: text for place, (key, text) in enumerate(answers.items()) if place % 3}
    result = score(name, kept, **parameters)
    domains = {metric.name: metric.domain for metric in result.setup.probe.all_metrics()}
    assert result.bounds
    for metric, bounds in result.bounds.items():
        smallest, largest = domains[metric]
        assert smallest <= bounds.low <= bounds.smallest <= bounds.largest <= bounds.high <= largest
        value = result.metrics[metric].value
        if not math.isnan(value):
            assert bounds.smallest - 1e-9 <= value <= bounds.largest + 1e-9, metric


@pytest.mark.parametrize("name", SMALL)
def test_no_number_depends_on_the_seed_or_on_the_order(name: str) -> None:
    """The rows of the items in reverse, and another seed among the parameters."""
    result = simulate(name, get_probe(name).stances()[0], 40)
    probe = result.setup.probe
    prepared = []
    for reverse in (False, True):
        rows = answered_rows(probe, result.evaluated)
        table = cells(rows.reverse() if reverse else rows).filter(is_answered(probe))
        parameters = {**result.parameters, "seed": 77 if reverse else result.parameters["seed"]}
        prepared.append(estimate_groups(prepare_cells(probe, table, parameters), table, table))
    before, again = prepared
    assert again.keys() == before.keys()
    for key, estimate in again.items():
        expected = before[key]
        assert (estimate.value, estimate.low, estimate.high, estimate.n) == pytest.approx(
            (expected.value, expected.low, expected.high, expected.n), rel=1e-9, abs=1e-12, nan_ok=True
        )


RATES = ("masculine_rate", "masculine_rate_epaq")


@pytest.mark.parametrize("metric", RATES)
@pytest.mark.parametrize("stance", ["pro-masculine", "pro-feminine", "unbiased"])
def test_the_rates_of_an_inventory_end_at_nothing_and_at_all(stance: str, metric: str) -> None:
    """Also where all traits of it go one way."""
    found = simulate("inventories", stance, 125).metrics[metric]
    assert 0 <= found.low <= found.value <= found.high <= 1


OF_WHOLE_PAIRS = {"diff_score", "diff_slope"}
"""Differences within items that have both sides: their n counts only such items."""


@pytest.mark.parametrize("probe", find_probes().values(), ids=find_probes())
def test_metrics_name_what_they_rest_on(probe: Probe) -> None:
    """A metric that compares several groups counts the items of the smallest."""
    names = {metric.name for metric in probe.all_metrics()}
    for metric in probe.metrics:
        assert set(metric.range_of) <= names
        if metric.distance_of:
            assert metric.distance_of[0] in names
        is_gap = metric.name.startswith(("diff_", "max_diff")) or metric.name.endswith("_diff")
        if is_gap and metric.name not in OF_WHOLE_PAIRS:
            assert len(metric.denominators) > 1, metric.name


@pytest.mark.parametrize("probe", find_probes().values(), ids=find_probes())
def test_rates_have_a_domain_from_nothing_to_all(probe: Probe) -> None:
    """A metric that is called a rate of answers, and is no difference or slope, ends at 0 and at 1."""
    for metric in probe.all_metrics():
        if metric.name.startswith(("masculine_rate", "undetected_rate")):
            assert metric.domain == (0.0, 1.0), metric.name


def test_the_groups_of_a_slice_have_intervals_of_their_own() -> None:
    result = simulate("hiring_an", "random", 160)
    for race in result.slices["race"]:
        key = MetricKey("male_acceptance_rate", "race", race)
        estimate = result.estimates[key]
        assert estimate.n < result.estimates[MetricKey("male_acceptance_rate")].n
        assert math.isnan(estimate.low) == (estimate.n < 20)
