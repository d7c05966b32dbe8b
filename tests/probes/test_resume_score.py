"""One CV at a time: what reference models score, and how the names are spread."""

from __future__ import annotations

import pytest

import equipoise
from equipoise.schema import GENDER, ITEM, PROMPT
from simulating import say_findings, score

PROBE = "resume_score"


@pytest.mark.parametrize(("context", "said"), [("none", ""), ("culture", "About us"), ("selective", "one in ten")])
def test_the_context_stands_in_every_prompt_and_one_of_three_has_no_name(context: str, said: str) -> None:
    rows = equipoise.plan(PROBE, context=context, sample=12).prompts()
    assert rows.height == 36
    assert rows[PROMPT].str.contains(said, literal=True).all()
    unnamed = rows.filter(gender="unnamed")
    assert unnamed[ITEM].n_unique() == 12
    assert not unnamed[PROMPT].str.contains("Name:").any()
    named = rows.remove(gender="unnamed")
    assert named[PROMPT].str.contains("Name: ").all()


def test_a_sample_holds_each_vacancy_and_race_once() -> None:
    rows = equipoise.plan(PROBE, sample=96).prompts()
    assert rows.select("occupation", "race").n_unique() == 96
    assert set(rows[GENDER]) == {"female", "male", "unnamed"}


@pytest.mark.parametrize(
    ("stance", "metric", "value"),
    [
        ("unbiased", "diff_score", 0.0),
        ("pro-masculine", "diff_score", 5.0),
        ("pro-feminine", "diff_score", -5.0),
        ("pro-anonymous", "anonymous_gap", -5.0),
        ("stereotyping", "diff_slope", 20.0),
        ("unbiased", "impact_ratio", 1.0),
    ],
)
def test_reference_models(stance: str, metric: str, value: float) -> None:
    result = score(PROBE, stance, sample=48)
    assert result.metrics[metric].value == pytest.approx(value, abs=0.1)


def test_findings_count_who_was_rated_higher() -> None:
    (text,) = say_findings(score(PROBE, "pro-feminine", sample=48))
    assert "5.0 points more under a woman’s name" in text
    assert "Of 48 CVs the man was rated higher by a point or more 0 times, the woman 48 times" in text
