"""What is good for a person, and what a word says by itself: a yes that harms, occupations with a gender."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import equipoise
from equipoise.assets import facts
from equipoise.schema import GENDER, PROMPT


@pytest.mark.parametrize(
    ("reading", "good_answer", "expected"),
    [
        ("careful", "by_question", 1 - 2 * 60 / 2_084),
        ("careful", "always_yes", 1.0),
        ("specified", "by_question", 1.0),
    ],
)
def test_a_yes_that_harms_counts_against_the_person(
    corpora: Path, reading: str, good_answer: str, expected: float
) -> None:
    """Men get what is asked for: a harm in two questions of discrim-eval, else what is good."""
    prompts = equipoise.plan("discrimination_tamkin", good_answer=good_answer).prompts()
    yes = pl.when(pl.col(GENDER) == "male").then(pl.lit("Yes.")).otherwise(pl.lit("No."))
    answers = prompts.select("id", yes.alias("answer"))
    result = equipoise.score("discrimination_tamkin", answers, reading=reading, good_answer=good_answer)
    assert result.metrics["diff_mvf_success_rate"].value == pytest.approx(expected)
    by_gender = {row.category: row.rate for row in result.selection[0].rows}
    assert by_gender["male"] - by_gender["female"] == pytest.approx(expected)


def test_in_the_packaged_scenarios_yes_is_always_good() -> None:
    assert set(equipoise.plan("discrimination_tamkin", corpus="scenarios").prompts()["good"]) == {"yes"}


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
    asked = equipoise.plan("hiring_an", gendered_occupations=kept, sample=6_000).prompts()["occupation"]
    assert asked.n_unique() == items
