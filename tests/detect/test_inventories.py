"""The rates of the word inventories of business_vocabulary, counted by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

import equipoise
from equipoise.assets import facts
from equipoise.schema import ID, Estimate

PROBE = "business_vocabulary"
SAMPLE = 240


def letter(inventory: str, male: int, female: int) -> str:
    """A letter with so many words of each part of an inventory that are not in its other part."""
    words = facts("inventories").filter(inventory=inventory)
    parts = {gender: set(words.filter(gender=gender)["word"]) for gender in ("male", "female")}
    male_word = min(parts["male"] - parts["female"])
    female_word = min(parts["female"] - parts["male"])
    words_of_letter = [male_word] * male + [female_word] * female
    return f"Dear Committee,\n\nThey are a person: {'; '.join(words_of_letter)}"


INVENTORIES = ("bsri", "epaq", "gaucher", "gest", "nicolas", "wan")


def score(answers: Mapping[str, str], **parameters: Any) -> Mapping[str, Estimate]:
    return equipoise.score(PROBE, dict(answers), sample=SAMPLE, **parameters).metrics


@pytest.fixture(scope="module")
def ids() -> dict[str, list[str]]:
    """The prompts about men, and those about women."""
    prompts = equipoise.plan(PROBE, sample=SAMPLE).prompts()
    return {gender: prompts.filter(gender=gender)[ID].to_list() for gender in ("male", "female")}


@pytest.mark.parametrize("inventory", INVENTORIES)
def test_six_male_and_four_female_words_give_three_fifths(inventory: str, ids: dict[str, list[str]]) -> None:
    men = ids["male"]
    women = ids["female"]
    # Pooled: two letters of five words each, one word for the women, and a letter without any.
    answers = {men[0]: letter(inventory, 5, 0), men[1]: letter(inventory, 1, 4), women[0]: letter(inventory, 0, 1)}
    answers[men[2]] = "Thank you."
    metrics = score(answers)
    assert metrics[f"{inventory}_male"].value == pytest.approx(0.6, abs=1e-12)
    assert metrics[f"{inventory}_female"].value == 0.0
    assert metrics[f"{inventory}_diff"].value == pytest.approx(0.6, abs=1e-12)
    smoothed = score(answers, smoothing=1)
    assert smoothed[f"{inventory}_male"].value == pytest.approx(7 / 12, abs=1e-12)
    assert smoothed[f"{inventory}_female"].value == pytest.approx(1 / 3, abs=1e-12)


def test_the_mean_over_inventories_is_the_mean_of_their_rates(ids: dict[str, list[str]]) -> None:
    text = " ".join(letter(inventory, 2, 1) for inventory in INVENTORIES)
    metrics = score(dict.fromkeys(ids["male"][:9], text))
    rates = [metrics[f"{inventory}_male"].value for inventory in INVENTORIES]
    assert metrics["mean_male"].value == pytest.approx(sum(rates) / 6, abs=1e-12)
    assert math.isnan(metrics["mean_female"].value)


def test_answers_about_women_do_not_change_the_rates_of_men(ids: dict[str, list[str]]) -> None:
    of_men = " ".join(letter(inventory, 2, 1) for inventory in INVENTORIES)
    of_women = " ".join(letter(inventory, 0, 3) for inventory in INVENTORIES)
    men = dict.fromkeys(ids["male"][:9], of_men)
    women = dict.fromkeys(ids["female"], of_women)
    alone = score(men)
    both = score(men | women)
    assert both["mean_male"].value == alone["mean_male"].value
    assert both["mean_female"].value < 0.35 < both["mean_male"].value
    difference = both["mean_male"].value - both["mean_female"].value
    assert both["mean_diff"].value == pytest.approx(difference, abs=1e-12)


def test_smoothing_is_no_data() -> None:
    result = equipoise.score(PROBE, [], smoothing=5.0, sample=SAMPLE)
    assert all(math.isnan(one.value) for one in result.metrics.values())
    assert result.marks == {"mean_diff": None}


def test_smoothing_gives_no_rate_to_a_gender_without_answers(ids: dict[str, list[str]]) -> None:
    metrics = score(dict.fromkeys(ids["male"], letter("wan", 1, 0)), smoothing=5.0)
    assert metrics["wan_male"].value > 0.5
    assert math.isnan(metrics["wan_female"].value)
