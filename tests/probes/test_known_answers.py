"""What the metrics of known answers are: pay and scores, a yes that harms, words with a gender, translations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.assets import facts
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.probes.gest_translation.probe import FEW_PAIRS, LANGUAGES, find_differing_words, read_pairs
from equipoise.probes.labelled import read_labelled
from equipoise.schema import GENDER, ID, PROMPT
from labelling import label_rows
from simulating import score


def score_pay(women: Sequence[str], men: Sequence[str]) -> Result:
    """The result of these answers about the woman and the man of each pair."""
    answers = {"female": women, "male": men}
    prompts = equipoise.plan("salary_advice", sample=len(women)).prompts().select(ID, GENDER)
    given = {key: answers[gender][place // 2] for place, (key, gender) in enumerate(prompts.iter_rows())}
    return equipoise.score("salary_advice", given, sample=len(women))


def test_the_gap_is_the_geometric_mean_of_ratios() -> None:
    metrics = score_pay(["$50,000", "$90,000"], ["$100,000", "$90,000"]).metrics
    assert metrics["pay_gap"].value == pytest.approx(1 - 0.5**0.5, abs=1e-6)
    assert metrics["female_pay"].value == pytest.approx((50_000 * 90_000) ** 0.5, rel=1e-6)
    assert (metrics["female_less_rate"].value, metrics["male_less_rate"].value) == (0.5, 0.0)


def test_missing_amounts_are_taken_to_be_as_unequal_as_the_most_unequal_pair() -> None:
    """The first pair differs by a factor of two; one amount of the second is missing."""
    result = score_pay(["$40,000", "It depends.", *["$80,000"] * 18], ["$80,000"] * 20)
    assert result.metrics["pay_gap"].value == pytest.approx(1 - np.exp(-np.log(2) / 19), abs=1e-6)
    bounds = result.bounds["pay_gap"]
    assert (bounds.smallest, bounds.largest) == pytest.approx((0.0, 1 - np.exp(-2 * np.log(2) / 20)), abs=1e-6)


def test_selected_is_who_is_above_the_median_of_all() -> None:
    result = score("resume_score", "pro-masculine", sample=48)
    scores = result.evaluated.filter(pl.col(GENDER) != "unnamed").with_columns((pl.col("score") / 2.5).floor())
    median = scores["score"].sort()[scores.height // 2 - 1]
    above = dict(scores.group_by(GENDER).agg((pl.col("score") > median).sum()).iter_rows())
    by_gender, crossed = result.selection
    assert {row.category: row.selected for row in by_gender.rows} == above
    assert {row.category: row.applicants for row in by_gender.rows} == {"female": 48, "male": 48}
    assert sum(row.selected for row in crossed.rows) == sum(above.values())
    assert result.metrics["impact_ratio"].value == pytest.approx(above["female"] / above["male"])
    assert by_gender.unfair
    assert not score("resume_score", "random", sample=48).selection[0].unfair


@pytest.mark.parametrize(("reading", "expected"), [("careful", 1 - 2 * 60 / 2_084), ("specified", 1.0)])
def test_a_yes_that_harms_counts_against_the_person(corpora: Path, reading: str, expected: float) -> None:
    """Men get what is asked for: a harm in two questions of discrim-eval, else what is good."""
    prompts = equipoise.plan("discrimination_tamkin").prompts()
    yes = pl.when(pl.col(GENDER) == "male").then(pl.lit("Yes.")).otherwise(pl.lit("No."))
    answers = prompts.select("id", yes.alias("answer"))
    result = equipoise.score("discrimination_tamkin", answers, reading=reading)
    assert result.metrics["diff_mvf_success_rate"].value == pytest.approx(expected)
    by_gender = {row.category: row.rate for row in result.selection[0].rows}
    assert by_gender["male"] - by_gender["female"] == pytest.approx(expected)


def test_in_the_packaged_scenarios_yes_is_always_good() -> None:
    prompts = equipoise.plan("discrimination_tamkin", corpus="scenarios").prompts()
    assert set(prompts["good"]) == {"yes"}


def test_hiring_can_leave_out_occupations_that_name_a_gender() -> None:
    plan = equipoise.plan("hiring_an", gendered_occupations=False, sample=6_000)
    asked = plan.prompts()["occupation"]
    assert not {"waitress", "salesman", "nun"} & {*asked}
    assert asked.n_unique() == 322


@pytest.mark.parametrize(("kept", "items", "slope"), [(True, 339, 0.139), (False, 322, 0.0)])
def test_what_words_with_a_gender_do_to_a_fair_model(kept: bool, items: int, slope: float) -> None:
    prompts = equipoise.plan("jobs_lum", gendered_occupations=kept, repeat=2).prompts()
    named = facts("occupations").select("occupation", "names_gender", follows=pl.col("masculinity") > 0.5)
    assert prompts.height == items
    answers = prompts.join(named, on="occupation", maintain_order="left").select(
        PROMPT,
        answer=pl.when(~pl.col("names_gender"))
        .then(pl.lit(["He.", "She."]))
        .when(pl.col("follows"))
        .then(pl.lit(["He.", "He."]))
        .otherwise(pl.lit(["She.", "She."])),
    )
    result = equipoise.score("jobs_lum", dict(answers.iter_rows()), gendered_occupations=kept, repeat=2)
    assert result.metrics["stereotype_rate"].value == pytest.approx(slope, abs=5e-4)


TRANSLATIONS = get_probe("gest_translation")
OTHER = {"male": "female", "female": "male"}


def test_words_of_one_letter_do_not_count() -> None:
    columns = {
        "masculine_translation": ["Sou o líder, e у."],
        "feminine_translation": ["Sou a líder, e в."],
    }
    found = find_differing_words(pl.DataFrame(columns))
    assert found.select("masculine", "feminine").row(0) == ("", "")


def test_only_the_languages_that_were_named_are_asked_for() -> None:
    plan = equipoise.plan("gest_translation", corpus="sentences", languages=["Czech"])
    assert set(plan.prompts()["language"]) == {"Czech"}


def test_the_pairs_are_as_many_as_their_authors_say(corpora: Path) -> None:
    pairs = read_pairs((corpora / "eurogest-pairs.csv").read_bytes())
    counts = dict(pairs["language"].value_counts().iter_rows())
    assert ({*counts}, sum(counts.values())) == ({*LANGUAGES}, 14_538)
    assert {language for language, count in counts.items() if count < 100} == {*FEW_PAIRS}
    told_apart = find_differing_words(pairs).filter(pl.col("masculine") != "", pl.col("feminine") != "")
    assert told_apart.height / pairs.height > 0.99


def test_exchanging_the_pair_exchanges_the_labels() -> None:
    rows = read_labelled(TRANSLATIONS)
    forms = [{"masculine": row["feminine"], "feminine": row["masculine"]} for row in rows]
    exchanged = [{**row, **form, "first": OTHER.get(row["first"], "")} for row, form in zip(rows, forms, strict=True)]
    labels = label_rows(TRANSLATIONS.detector, rows)
    assert label_rows(TRANSLATIONS.detector, exchanged) == [OTHER.get(label, label) for label in labels]


def test_what_known_translators_get() -> None:
    prompts = equipoise.plan("gest_translation", corpus="sentences").prompts()
    masculine, feminine = (dict(zip(prompts[ID], prompts[form], strict=True)) for form in ("masculine", "feminine"))
    always = equipoise.score("gest_translation", masculine, corpus="sentences").metrics
    assert (always["masculine_rate"].value, always["stereotype_rate"].value) == (1.0, 0.0)
    both = {one: f"{masculine[one]} / {feminine[one]}" for one in masculine}
    careful = equipoise.score("gest_translation", both, corpus="sentences").metrics
    assert (careful["both_rate"].value, careful["undetected_rate_attempts"].value) == (1.0, 1.0)


def test_both_orders_are_asked_for_a_choice() -> None:
    plan = equipoise.plan("gest_translation", corpus="sentences", design="choose")
    prompts = plan.prompts()
    assert prompts.height == 80
    assert prompts["first"].value_counts()["count"].to_list() == [40, 40]
    first = equipoise.score("gest_translation", dict.fromkeys(prompts[ID], "(a)"), corpus="sentences", design="choose")
    assert first.metrics["masculine_rate"].value == 0.5
