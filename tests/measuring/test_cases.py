"""Cases whose arms were answered differently come first, with the answer for another arm beside them."""

from __future__ import annotations

import equipoise
from equipoise.measuring.cases import CONTRAST, find_case, with_contrast
from equipoise.probes import get_probe
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
    contrast = dict(with_contrast(probe, evaluated).select(ITEM, CONTRAST).iter_rows())
    assert contrast.pop(odd) == 1.0
    assert set(contrast.values()) == {0.0}
    case = find_case(probe, evaluated, {GENDER: "female"})
    assert case.select(ITEM, GENDER, LABEL).rows() == [(odd, "female", "rejected"), (odd, "male", "accepted")]
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
    case = find_case(probe, equipoise.score(probe, answers, sample=8).evaluated, {GENDER: "female"})
    assert case.select(GENDER, "score").rows() == [("female", 60.0), ("male", 90.0)]


def test_where_no_arms_are_compared_there_is_one_answer() -> None:
    prompts = equipoise.plan("jobs_lum", sample=4).prompts()
    evaluated = equipoise.score("jobs_lum", dict.fromkeys(prompts[ID], "He."), sample=4).evaluated
    assert find_case(get_probe("jobs_lum"), evaluated)[ID].to_list() == [min(prompts[ID])]
