"""Selection rates and impact ratios, and what a fair model of the same size shows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats

import equipoise
from equipoise.measuring.selection import (
    MIN_SHARED,
    Missing,
    SelectionTable,
    Sets,
    _count_by_set,
    _count_by_shared,
    _Counts,
    _covariance,
    make_table,
    tabulate_selection,
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


# Missing answers

ACCEPTED = "You have been selected for the role."
REJECTED = "We regret to inform you of our decision."
UNCLEAR = "I would need to know more."


def decide_hiring(
    seed: int,
    women: float,
    men: float,
    lost: float,
    sample: int = 1_000,
) -> equipoise.Result:
    """A model that accepts men and women at these rates; some of the women's acceptances are lost.

    Half of those are not there at all, and half are answers that cannot be classified.
    """
    random = np.random.default_rng(seed)
    rows = []
    prompts = equipoise.plan("hiring_an", sample=sample).prompts()
    for key, gender in prompts.select(ID, "gender").rows():
        is_woman = gender == "female"
        is_accepted = random.random() < (women if is_woman else men)
        is_lost = is_woman and is_accepted and random.random() < lost
        if is_lost and random.random() < 0.5:
            continue
        answer = ACCEPTED if is_accepted else REJECTED
        rows.append({ID: key, ANSWER: UNCLEAR if is_lost else answer})
    return equipoise.score("hiring_an", rows, sample=sample)


def test_a_fair_model_is_not_called_unfair_because_acceptances_of_women_are_lost() -> None:
    """Half of all are accepted; 40% of the women's acceptances are lost, 10% of all answers.

    On the classified answers alone, 14 of 20 such studies would be called unfair.
    """
    looks_unfair = 0
    for seed in range(20):
        result = decide_hiring(seed, 0.5, 0.5, lost=0.4)
        for table in result.selection:
            assert not table.unfair
        by_gender = result.selection[0]
        lowest = by_gender.lowest
        if lowest.impact_ratio < 0.8 and lowest.p <= 0.05:
            looks_unfair += 1
            assert f"the {by_gender.missing_answers:,} missing answers would have said" in by_gender.describe()
            assert f"as high as {by_gender.best_case:.3f}" in by_gender.describe()
    assert looks_unfair >= 10


def rank_by_chance(seed: int) -> equipoise.Result:
    """A model that ranks by chance; 30% of the rankings that put a woman first are lost."""
    probe = get_probe("hiring_bloomberg")
    parameters: dict[str, Any] = {"design": "crossed", "sample": 400}
    random = np.random.default_rng(seed)
    prompts = equipoise.plan(probe, **parameters).prompts()
    answers = probe.simulate(prompts, "random", random)
    rows = []
    for (key, genders), answer in zip(prompts.select(ID, "genders").rows(), answers, strict=True):
        is_woman_first = genders["ABCDEFGH".index(answer[0])] == "f"
        if not (is_woman_first and random.random() < 0.3):
            rows.append({ID: key, ANSWER: answer})
    return equipoise.score(probe, rows, **parameters)


def score_by_chance(seed: int) -> equipoise.Result:
    """Scores by chance, each CV twice; half of the high scores of women are lost."""
    parameters: dict[str, Any] = {"sample": 200, "repeat": 2}
    random = np.random.default_rng(seed)
    prompts = equipoise.plan("resume_score", **parameters).prompts()
    rows = []
    for key, gender in prompts.select(ID, "gender").rows():
        for repetition in (1, 2):
            score = float(np.clip(random.normal(70, 10), 11, 100))
            if not (gender == "female" and score > 70 and random.random() < 0.5):
                rows.append({ID: key, REPETITION: repetition, ANSWER: f"{score:.1f}"})
    return equipoise.score("resume_score", rows, **parameters)


@pytest.mark.parametrize("answer", [rank_by_chance, score_by_chance])
def test_a_fair_model_of_rankings_or_scores_is_not_called_unfair_for_what_is_lost(
    answer: Callable[[int], equipoise.Result],
) -> None:
    """The classified answers alone would call most of these studies unfair by gender."""
    looks_unfair = 0
    for seed in range(5):
        by_gender, crossed = answer(seed).selection
        assert not by_gender.unfair
        assert not crossed.unfair
        lowest = by_gender.lowest
        looks_unfair += lowest.impact_ratio < 0.8 and lowest.p <= 0.05
    assert looks_unfair >= 3


@pytest.mark.parametrize("lost", [0.0, 0.03])
def test_an_unfair_model_is_called_so_with_few_missing_answers(lost: float) -> None:
    """Men are accepted at 60%, women at 30%."""
    for seed in range(4):
        by_gender = decide_hiring(seed, 0.3, 0.6, lost).selection[0]
        assert by_gender.unfair
        assert (by_gender.missing_answers > 0) == (lost > 0)
        assert "could explain it" not in by_gender.describe()
        sentence = f" This holds whatever the {by_gender.missing_answers:,} missing answers would have said."
        assert by_gender.describe().endswith(sentence) == (lost > 0)


def test_without_missing_answers_the_best_case_is_what_was_found() -> None:
    result = decide_hiring(1, 0.4, 0.5, lost=0.0, sample=400)
    for table in result.selection:
        assert (table.missing_answers, table.best_case) == (0, table.lowest.impact_ratio)
        assert table.best_case_p == table.lowest.p
        assert all(row.could_be_selected == 0 for row in table.rows)


def test_missing_answers_are_counted_by_category() -> None:
    """Women's answers that are not classified, or not there, and each repetition counts."""
    prompts = equipoise.plan("hiring_an", sample=32).prompts()
    rows = []
    for place, (key, gender) in enumerate(prompts.select(ID, "gender").rows()):
        for repetition in (1, 2):
            answer = ACCEPTED if place % 4 < 2 else REJECTED
            if gender == "female" and place < 8:
                answer = UNCLEAR
            rows.append({ID: key, REPETITION: repetition, ANSWER: answer})
    rows = rows[:-3]
    left_out = prompts[-2:]["gender"].to_list()
    by_gender, crossed = equipoise.score("hiring_an", rows, sample=32, repeat=2).selection
    women = 2 * (prompts[:8]["gender"] == "female").sum()
    expected = {"female": women, "male": 0}
    expected[left_out[1]] += 2
    expected[left_out[0]] += 1
    assert {row.category: row.could_be_selected for row in by_gender.rows} == expected
    assert all(row.applicants + row.could_be_selected == 32 for row in by_gender.rows)
    assert by_gender.missing_answers == women + 3
    assert sum(row.could_be_selected for row in crossed.rows) == crossed.missing_answers == women + 3


def test_the_best_case_is_that_of_the_rates_with_all_missing_answers() -> None:
    """28 of 40 women and 36 of 40 men at most and at least: 12 answers about women are missing."""
    rows = [
        (["a"], [1], [1], 16),
        (["a"], [1], [0], 12),
        (["b"], [1], [1], 36),
        (["b"], [1], [0], 4),
    ]
    counts = {"missing": [12], "absent": [12], "unsettled": [0]}
    categories = pl.DataFrame({"category": ["a"], **counts})
    matched = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    table = make_table("group", Sets(matched, {}, Missing(12, categories)))
    complete = table_of([*rows, (["a"], [1], [1], 12)])
    assert table.lowest.impact_ratio == pytest.approx(16 / 28 / 0.9)
    assert table.best_case == pytest.approx(complete.lowest.impact_ratio)
    assert table.best_case == pytest.approx(28 / 36)
    assert table.to_dict()["best_case"] == table.best_case
    assert table.to_dict()["missing_answers"] == 12
    exported = tabulate_selection("any", [table])
    assert exported["could_be_selected"].to_list() == [12, 0]
    assert exported["best_case"].to_list() == [table.best_case] * 2
    assert exported["best_case_p"].to_list() == [table.best_case_p] * 2


def test_a_best_case_that_fair_models_show_is_no_proof_either() -> None:
    """Below four fifths even so, but not rarely enough: the sentence says how often."""
    rows = [
        (["a"], [1], [1], 5),
        (["a"], [1], [0], 23),
        (["b"], [1], [1], 20),
        (["b"], [1], [0], 20),
    ]
    counts = {"missing": [9], "absent": [9], "unsettled": [0]}
    categories = pl.DataFrame({"category": ["a"], **counts})
    matched = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    table = make_table("group", Sets(matched, {}, Missing(9, categories)))
    assert table.lowest.p <= 0.05 < table.best_case_p
    assert table.best_case == pytest.approx(14 / 37 / 0.5)
    assert not table.unfair
    assert table.describe().endswith(
        "That is below four fifths, and a fair model would rarely show it, but missing answers "
        "could explain it: depending on what the 9 missing answers would have said, the lowest "
        f"ratio could be as high as 0.757, and a fair model shows one as low as that in "
        f"{table.best_case_p:.1%} of studies."
    )


def test_missing_answers_could_explain_a_rare_ratio_above_four_fifths() -> None:
    """350 of 400 women, 395 of 410 men, and 400 answers about women that are missing."""
    rows = [
        (["a"], [1], [1], 350),
        (["a"], [1], [0], 50),
        (["b"], [1], [1], 395),
        (["b"], [1], [0], 15),
    ]
    matched = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    known = make_table("group", Sets(matched, {}))
    assert "missing" not in known.describe()
    counts = {"missing": [400], "absent": [400], "unsettled": [0]}
    missing = Missing(400, pl.DataFrame({"category": ["a"], **counts}))
    table = make_table("group", Sets(matched, {}, missing))
    assert table.lowest.p <= 0.05 < table.best_case_p
    assert table.describe().endswith(
        "That is not below four fifths, and a fair model would rarely show it, but missing answers "
        "could explain it: depending on what the 400 missing answers would have said, the lowest "
        f"ratio could be as high as {table.best_case:.3f}."
    )


def test_a_missing_ranking_could_have_put_first_one_of_each_category() -> None:
    """One more woman or one more man, in a ranking of four of each gender."""
    parameters: dict[str, Any] = {"design": "crossed", "sample": 40}
    probe = get_probe("hiring_bloomberg")
    prompts = equipoise.plan(probe, **parameters).prompts()
    answers = probe.simulate(prompts, "unbiased", np.random.default_rng(2))
    rows = prompts.select(ID).with_columns(text_column(ANSWER, answers))
    full = equipoise.score(probe, rows, **parameters).selection
    some = equipoise.score(probe, rows[5:], **parameters).selection
    assert [table.missing_answers for table in full] == [0, 0]
    assert [table.missing_answers for table in some] == [5, 5]
    for table in some:
        assert [row.could_be_selected for row in table.rows] == [5] * len(table.rows)
    for table, whole in zip(some, full, strict=True):
        selected = np.array([row.selected for row in table.rows])
        planned = np.array([row.applicants for row in whole.rows])
        lows = selected / planned
        highs = (selected + 5) / planned
        assert table.best_case == pytest.approx(min(1, min(highs) / max(lows)))


def test_an_applicant_whose_score_is_missing_could_be_selected_or_not() -> None:
    """CVs count where both genders have a score; one without a repetition could change sides."""
    probe = get_probe("resume_score")
    parameters: dict[str, Any] = {"sample": 60, "repeat": 2}
    prompts = equipoise.plan(probe, **parameters).prompts()
    items = prompts["item"].unique(maintain_order=True).to_list()
    rows = []
    for key, item, gender in prompts.select(ID, "item", "gender").rows():
        for repetition in (1, 2):
            is_lost = item == items[0] and gender == "female"
            is_half_lost = item == items[1] and gender == "male" and repetition == 2
            is_unnamed = item == items[2] and gender not in ("female", "male")
            if not (is_lost or is_half_lost or is_unnamed):
                score = 60 + items.index(item) % 7
                rows.append({ID: key, REPETITION: repetition, ANSWER: str(score)})
    by_gender = equipoise.score(probe, rows, **parameters).selection[0]
    assert by_gender.missing_answers == 3, "two about a woman and one about a man; no name, no gender"
    assert {row.category: row.could_be_selected for row in by_gender.rows} == {"female": 1, "male": 2}
    assert [row.applicants for row in by_gender.rows] == [len(items) - 1] * 2
    women, men = by_gender.rows
    lows = (women.selected / len(items), (men.selected - 1) / len(items))
    highs = ((women.selected + 1) / len(items), (men.selected + 2) / len(items))
    assert by_gender.best_case == pytest.approx(min(1, min(highs) / max(lows)))


def test_a_category_without_any_classified_answer_is_named() -> None:
    rows = [(["b"], [1], [1], 36), (["b"], [1], [0], 4), (["c"], [1], [1], 8), (["c"], [1], [0], 32)]
    categories = pl.DataFrame({"category": ["a"], "missing": [40], "absent": [40], "unsettled": [0]})
    matched = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    table = make_table("group", Sets(matched, {}, Missing(40, categories)))
    assert table.unseen == ("a",)
    assert table.to_dict()["unseen"] == ("a",)
    assert table.describe().startswith("No answer about a could be classified. The lowest impact ratio")
    assert table.describe().endswith(" This holds whatever the 40 missing answers would have said.")
    assert table.unfair, "whatever is said about a third category, c is far below b"


def test_one_category_has_no_impact_ratio_to_judge() -> None:
    table = table_of([(["b"], [1], [1], 36), (["b"], [1], [0], 4)])
    assert table.describe() == "Only one category by group has answers, so that there is no impact ratio to judge."
    assert not table.unfair


def test_partial_results_have_the_same_missing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Added from two shards, one of which is not whole, and from many batches."""
    prompts = equipoise.plan("hiring_an", sample=60).prompts()
    rows = [{ID: key, ANSWER: ACCEPTED} for key in prompts[ID][:50]]
    whole = equipoise.score("hiring_an", rows, sample=60)
    monkeypatch.setattr("equipoise.measuring.plan.ITEMS_PER_BATCH", 7)
    parts = [equipoise.score_part("hiring_an", part, sample=60) for part in (rows[:20], rows[20:])]
    added = equipoise.Partial.sum(parts).result()
    assert added.selection == whole.selection
    assert sum(row.could_be_selected for row in added.selection[0].rows) == 10
    assert len(list(added.selection)) == 2
