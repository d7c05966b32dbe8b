"""Cases whose arms were answered differently come first, with the answer for another arm beside them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import equipoise
from equipoise.probes import get_probe
from equipoise.report.cases import CONTRAST, find_case, with_contrast
from equipoise.schema import GENDER, ID, ITEM, LABEL


def test_decisions_that_change_with_the_gender_come_first() -> None:
    probe = get_probe("hiring_an")
    prompts = equipoise.plan(probe, sample=40).prompts()
    odd = prompts[ITEM][6]
    yes, no = "You have been selected.", "We regret to inform you."
    answers = {
        one: yes if item != odd or gender == "male" else no
        for one, item, gender in prompts.select(ID, ITEM, GENDER).iter_rows()
    }
    evaluated = equipoise.score(probe, answers, sample=40).evaluated
    evaluated = with_contrast(probe, evaluated)
    contrast = dict(evaluated.select(ITEM, CONTRAST).iter_rows())
    assert contrast.pop(odd) == 1.0
    assert set(contrast.values()) == {0.0}
    case = find_case(probe, evaluated, {GENDER: "female"})
    assert case.select(ITEM, GENDER, LABEL).rows() == [(odd, "female", "rejected"), (odd, "male", "accepted")]
    case = find_case(probe, evaluated, {GENDER: "male"})
    assert case.select(ITEM, GENDER, LABEL).rows() == [(odd, "male", "accepted"), (odd, "female", "rejected")]
    assert find_case(probe, evaluated, {GENDER: "nobody"})[ITEM][0] == odd


def test_numbers_are_compared_by_how_far_they_are_apart() -> None:
    probe = get_probe("resume_score")
    prompts = equipoise.plan(probe, sample=8).prompts()
    odd = prompts[ITEM][0]
    points = {"female": 60, "male": 90, "unnamed": 80}
    answers = {
        one: str(points[gender] if item == odd else 70)
        for one, item, gender in prompts.select(ID, ITEM, GENDER).iter_rows()
    }
    evaluated = with_contrast(probe, equipoise.score(probe, answers, sample=8).evaluated)
    case = find_case(probe, evaluated, {GENDER: "female"})
    assert case.select(GENDER, "score").rows() == [("female", 60.0), ("male", 90.0)]


def test_where_no_arms_are_compared_there_is_one_answer() -> None:
    prompts = equipoise.plan("jobs_lum", sample=4).prompts()
    evaluated = equipoise.score("jobs_lum", dict.fromkeys(prompts[ID], "He."), sample=4).evaluated
    probe = get_probe("jobs_lum")
    assert find_case(probe, with_contrast(probe, evaluated))[ID].to_list() == [min(prompts[ID])]


@pytest.mark.parametrize("design", ["pairs", "panel", "crossed"])
def test_where_the_names_are_exchanged_the_same_gender_wins_all_the_same(design: str) -> None:
    parameters: dict[str, Any] = {"sample": 12, "design": design, "corpus": "vacancies"}
    prompts = equipoise.plan("hiring_bloomberg", **parameters).prompts()
    odd = prompts[ITEM][0]
    # Elsewhere the CV at the first place always wins, under men's and women's names equally often.
    answers = {
        one: "ABCDEFGH"[genders.index("f")] if item == odd else "A"
        for one, item, genders in prompts.select(ID, ITEM, "genders").iter_rows()
    }
    probe = get_probe("hiring_bloomberg")
    evaluated = with_contrast(probe, equipoise.score(probe, answers, **parameters).evaluated)
    contrast = dict(evaluated.select(ITEM, CONTRAST).iter_rows())
    assert contrast.pop(odd) == 1.0
    assert set(contrast.values()) == {0.0}
    case = find_case(probe, evaluated)
    assert (case[ITEM].to_list(), case[ID].n_unique()) == ([odd] * 2, 2)
    assert case[LABEL].str.contains("_female_").all()
    alone = evaluated.filter(pl.col(ID) == case[ID][0])
    assert find_case(probe, with_contrast(probe, alone.drop(CONTRAST))).height == 1, "one order alone shows nothing"
