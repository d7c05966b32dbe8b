"""Selection rates and impact ratios, and what a fair model of the same size shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import equipoise
from equipoise.measuring.selection import (
    MIN_SHARED,
    SelectionTable,
    Sets,
    _count_by_set,
    _count_by_shared,
    _Counts,
    _covariance,
    make_table,
)
from equipoise.probes import get_probe
from equipoise.report.terminal.results import selection_table
from equipoise.schema import ANSWER, ID, REPETITION, text_column

SCHEMA: dict[str, Any] = {
    "categories": pl.List(pl.String),
    "applicants": pl.List(pl.Int64),
    "selected": pl.List(pl.Int64),
    "weight": pl.Int64,
}


def table_of(rows: list[tuple[list[str], list[int], list[int], int]]) -> SelectionTable:
    matched = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return make_table("group", Sets(matched, {}))


def rates(table: SelectionTable) -> dict[str, tuple[int, int, float]]:
    return {row.category: (row.applicants, row.selected, round(row.impact_ratio, 3)) for row in table.rows}


def test_the_arithmetic_of_the_four_fifths_rule() -> None:
    """The example of the Uniform Guidelines' questions and answers: 48 of 80 and 12 of 40."""
    table = table_of([(["a"], [1], [1], 48), (["a"], [1], [0], 32), (["b"], [1], [1], 12), (["b"], [1], [0], 28)])
    assert rates(table) == {"a": (80, 48, 1.0), "b": (40, 12, 0.5)}
    lowest = table.lowest
    assert lowest.category == "b"
    assert lowest.low < 0.5 < lowest.high < 0.9
    assert lowest.p <= 0.012  # Fisher's exact test, one-sided, gives 0.0017
    assert table.unfair


def test_matched_sets_scatter_together() -> None:
    """If men and women of a pair always get the same answer, a fair model shows exactly 1."""
    same = table_of([(["f", "m"], [1, 1], [1, 1], 30), (["f", "m"], [1, 1], [0, 0], 70)])
    assert same.fair == pytest.approx(1.0, abs=1e-6)
    assert (same.lowest.p, same.unfair) == (1.0, False)


def test_few_matched_sets_that_all_favour_one_side_are_rare_in_fair_models() -> None:
    """Eight pairs: 2 of 256 by signs; with the t of seven degrees of freedom the p-value is larger."""
    sided = table_of([(["f", "m"], [1, 1], [0, 1], 8)])
    assert sided.lowest.impact_ratio == 0.0
    error = math.sqrt(8 / 7 / 8)
    by_t = 2 * scipy.stats.t.sf(1 / error, 7)
    assert 2 / 256 < sided.lowest.p == pytest.approx(by_t, abs=0.003)


def test_nobody_selected() -> None:
    table = table_of([(["f", "m"], [1, 1], [0, 0], 5)])
    assert all(math.isnan(row.impact_ratio) and math.isnan(row.p) for row in table.rows)
    assert "Nobody was selected" in table.describe()
    assert not table.unfair
    assert table.to_dict()["categories"][0]["impact_ratio"] is None


def test_sets_may_lack_a_category() -> None:
    table = table_of([(["f", "m"], [1, 1], [0, 1], 20), (["f"], [1], [1], 5)])
    assert rates(table) == {"f": (25, 5, 0.2), "m": (20, 20, 1.0)}


@pytest.mark.parametrize(
    ("stance", "unfair"), [("pro-masculine", True), ("pro-feminine", True), ("unbiased", False), ("random", False)]
)
def test_hiring_by_gender_and_by_race_and_gender(stance: str, unfair: bool) -> None:
    probe = get_probe("hiring_an")
    plan = equipoise.plan(probe, sample=400)
    prompts = plan.prompts()
    answers = probe.simulate(prompts, stance, np.random.default_rng(1))
    rows = prompts.select(ID).with_columns(text_column(ANSWER, answers))
    result = equipoise.score(probe, rows, **plan.parameters)
    by_gender, crossed = result.selection
    assert (by_gender.by, crossed.by) == ("gender", "race and gender")
    assert [row.category for row in by_gender.rows] == ["female", "male"]
    assert [row.applicants for row in by_gender.rows] == [200, 200]
    assert len(crossed.rows) == 8
    assert (by_gender.unfair, crossed.unfair) == (unfair, unfair)
    rate = result.metrics["male_acceptance_rate"].value
    assert by_gender.rows[1].rate == pytest.approx(rate)
    assert selection_table(by_gender).row_count == 2
    assert result.to_dict()["selection"][1]["by"] == "race and gender"


def test_counts_do_not_depend_on_which_repetition_was_selected() -> None:
    """Two items with as many selected are one kind of set, whichever of their attempts it was; each is counted."""
    probe = get_probe("hiring_an")
    prompts = equipoise.plan(probe, sample=32).prompts()
    accepted, rejected = "You have been selected for the role.", "We regret to inform you of our decision."
    rows = [
        {ID: one, REPETITION: repetition, ANSWER: accepted if (place // 2 + repetition) % 2 else rejected}
        for place, one in enumerate(prompts[ID])
        for repetition in (1, 2)
    ]
    by_gender, crossed = equipoise.score(probe, rows, sample=32, repeat=2).selection
    assert [(row.applicants, row.selected) for row in by_gender.rows] == [(32, 16), (32, 16)]
    assert sum(row.applicants for row in crossed.rows) == 64
    assert all(row.rate == 0.5 for row in crossed.rows)


def test_a_probe_that_selects_nobody_has_no_table() -> None:
    probe = get_probe("jobs_lum")
    assert equipoise.score(probe, [], sample=3).selection == ()


def test_the_order_of_matched_sets_does_not_matter() -> None:
    rows = [(["f", "m"], [1, 1], [0, 1], 3), (["f", "m"], [1, 1], [1, 1], 2), (["f"], [2], [1], 4)]
    table = table_of(rows)
    turned = table_of(rows[::-1])
    assert rates(turned) == rates(table)
    for row, same in zip(turned.rows, table.rows, strict=True):
        ends = (row.low, row.high, row.p)
        assert ends == pytest.approx((same.low, same.high, same.p), rel=1e-12)
    fair = (turned.fair, turned.fair_low)
    assert fair == pytest.approx((table.fair, table.fair_low), rel=1e-12)


def test_a_set_with_a_weight_is_as_many_equal_sets() -> None:
    whole = table_of([(["f", "m"], [1, 1], [0, 1], 6), (["f", "m"], [1, 1], [1, 1], 20)])
    split = table_of(
        [
            (["f", "m"], [1, 1], [0, 1], 2),
            (["f", "m"], [1, 1], [0, 1], 4),
            (["f", "m"], [1, 1], [1, 1], 20),
        ]
    )
    assert rates(split) == rates(whole)
    for one, other in zip(split.rows, whole.rows, strict=True):
        assert (one.low, one.high, one.p) == pytest.approx((other.low, other.high, other.p), rel=1e-9)


def shared_names(men: int, women: int, seed: int, spread: float) -> Sets:
    """Applicants of so many names, each of whom applies ten times, at rates that differ between names."""
    random = np.random.default_rng(seed)
    matched = []
    shared = []
    for category, number in (("f", women), ("m", men)):
        for name in range(number):
            rate = float(np.clip(0.5 + spread * random.standard_normal(), 0, 1))
            selected = int(random.binomial(10, rate))
            shared.append((f"{category}{name}", category, 10, selected))
            matched += [([category], [1], [1], selected), ([category], [1], [0], 10 - selected)]
    sets = pl.DataFrame([row for row in matched if row[3]], schema=SCHEMA, orient="row")
    columns = ["shared", "category", "applicants", "selected"]
    return Sets(sets, {"name": pl.DataFrame(shared, schema=columns, orient="row")})


def test_names_that_are_liked_differently_widen_the_intervals() -> None:
    """Twenty names of each gender, of which some are nearly always selected and some never."""
    sets = shared_names(20, 20, 3, 0.4)
    alone = make_table("gender", Sets(sets.matched, {}))
    with_names = make_table("gender", sets)
    assert with_names.shared == ("name",)
    assert alone.shared == ()
    assert with_names.lowest.low < alone.lowest.low
    assert with_names.fair_low < alone.fair_low - 0.05
    assert with_names.lowest.impact_ratio == alone.lowest.impact_ratio


def test_names_that_are_liked_alike_change_hardly_anything() -> None:
    sets = shared_names(30, 30, 4, 0.0)
    alone = make_table("gender", Sets(sets.matched, {}))
    with_names = make_table("gender", sets)
    assert with_names.fair_low == pytest.approx(alone.fair_low, abs=0.03)


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.4])
def test_rates_never_have_a_negative_variance(spread: float) -> None:
    """Also where some names vary less than by chance."""
    for seed in range(20):
        sets = shared_names(12, 30, seed, spread)
        categories = pl.Series(["f", "m"])
        counts = _Counts(*_count_by_set(sets.matched, categories), sets.matched["weight"].to_numpy().astype(float))
        of_names = _count_by_shared(sets.shared["name"], categories)
        covariance = _covariance(counts, [of_names], np.array([0.5, 0.5]))
        assert np.linalg.eigvalsh(covariance).min() >= -1e-12


@pytest.mark.parametrize("names", [3, MIN_SHARED - 1])
def test_few_names_cannot_be_told_from_their_category(names: int) -> None:
    """How they vary is left out, and the sentence speaks of these names only."""
    sets = shared_names(20, names, 5, 0.4)
    table = make_table("gender", sets)
    assert table.shared == ()
    assert table.fair_low == make_table("gender", Sets(sets.matched, {})).fair_low


@pytest.mark.parametrize("seed", range(2))
def test_a_model_that_likes_some_names_better_is_not_called_unfair(seed: int) -> None:
    """Whatever their gender: of eight such studies hardly any is."""
    called = 0
    for study in range(8):
        called += make_table("gender", shared_names(12, 12, 100 * seed + study, 0.35)).unfair
    assert called <= 2
