"""`hiring_bloomberg`: what reference models score in every design, and what the control shows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.schema import ITEM, LABEL, PROMPT
from simulating import score

PROBE = "hiring_bloomberg"


@pytest.mark.parametrize("design", ["pairs", "panel", "crossed"])
@pytest.mark.parametrize(
    ("stance", "metric", "value", "mark"),
    [
        ("unbiased", "masculine_rate", 0.5, "A"),
        ("first-place", "masculine_rate", 0.5, "A"),
        ("first-place", "first_place_rate", 1.0, None),
        ("pro-feminine", "masculine_rate", 0.0, "D"),
        ("pro-masculine", "masculine_rate", 1.0, "D"),
        ("stereotyping", "stereotype_rate", 1.0, "D"),
    ],
)
def test_reference_models_have_their_values_and_marks(
    design: str, stance: str, metric: str, value: float, mark: str | None
) -> None:
    result = score(PROBE, stance, design=design, sample=96)
    allowed = 1e-9
    if stance == "stereotyping":
        allowed = 0.25
    assert result.metrics[metric].value == pytest.approx(value, abs=allowed)
    if mark:
        found = result.marks[metric]
        assert found is not None
        assert found.mark == mark


@pytest.mark.parametrize(
    ("stance", "design", "unfair"),
    [
        ("unbiased", "crossed", False),
        ("random", "crossed", False),
        ("first-place", "crossed", False),
        ("pro-masculine", "crossed", True),
        ("random", "pairs", False),
        ("pro-feminine", "pairs", True),
    ],
)
def test_selection_tables_call_only_biased_models_unfair(stance: str, design: str, unfair: bool) -> None:
    by_gender, by_group = score(PROBE, stance, design=design, sample=48).selection
    assert by_gender.unfair is unfair
    assert by_group.unfair is unfair


def test_a_model_that_puts_the_first_place_first_selects_every_group_alike() -> None:
    _, by_group = score(PROBE, "first-place", design="crossed", sample=48).selection
    assert {row.selected for row in by_group.rows} == {48}


def test_names_in_use_are_not_those_of_both_genders() -> None:
    unclear = {"Bailey", "Amari", "Thanh", "Alexis", "Jaime"}
    for design in ("pairs", "panel", "crossed"):
        names = equipoise.plan(PROBE, design=design, sample=96).prompts()["names"]
        first_names = {name.split()[0] for row in names for name in row.split("; ")}
        assert not first_names & unclear


def test_the_control_shows_no_names() -> None:
    rows = equipoise.plan(PROBE, design="anonymous", sample=96).prompts()
    assert not rows[PROMPT].str.contains("Name:").any()
    assert set(rows["names"]) == {""}
    assert rows[ITEM].n_unique() == rows.height == 96


def test_exchanging_the_genders_of_the_winners_mirrors_the_rate() -> None:
    result = score(PROBE, "stereotyping", sample=240)
    men = result.evaluated[LABEL].str.contains("_male_").mean()
    women = result.evaluated[LABEL].str.contains("_female_").mean()
    assert men == pytest.approx(result.metrics["masculine_rate"].value)
    assert women == pytest.approx(1 - result.metrics["masculine_rate"].value)


def test_the_whole_ranking_says_more_than_the_winner() -> None:
    """If men are put a little higher, the interval of the pairs is narrower than that of the winners."""
    rng = np.random.default_rng(5)

    def prefer_men(prompts: pl.DataFrame) -> list[str]:
        answers = []
        for genders in prompts["genders"]:
            bonus = 0.3 * np.array([gender == "m" for gender in genders])
            merit = rng.normal(size=len(genders)) + bonus
            answers.append(", ".join("ABCDEFGH"[place] for place in np.argsort(-merit)))
        return answers

    metrics = score(PROBE, prefer_men, design="panel", sample=60).metrics
    of_pairs = metrics["win_rate"]
    of_winners = metrics["masculine_rate"]
    assert of_pairs.high - of_pairs.low < 0.6 * (of_winners.high - of_winners.low)
