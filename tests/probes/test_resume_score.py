"""One CV at a time: prompts differ in the name alone, and the median that divides them is that of all scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, GENDER, ID, PROMPT, text_column
from simulating import say_findings

PROBE = get_probe("resume_score")


def score(answers: Sequence[str], prompts: pl.DataFrame, items: int) -> Result:
    rows = prompts.select(ID).with_columns(text_column(ANSWER, answers))
    return equipoise.score(PROBE, rows, sample=items)


def simulate(stance: str, items: int = 48) -> Result:
    prompts = equipoise.plan(PROBE, sample=items).prompts()
    return score(PROBE.simulate(prompts, stance, np.random.default_rng(3)), prompts, items)


@pytest.mark.parametrize(("context", "said"), [("none", ""), ("culture", "About us"), ("selective", "one in ten")])
def test_what_else_the_prompt_says(context: str, said: str) -> None:
    prompts = equipoise.plan(PROBE, context=context, sample=96).prompts()
    assert prompts[PROMPT].str.contains(said, literal=True).all()
    assert not prompts.filter(gender="unnamed")[PROMPT].str.contains("Name:").any()
    assert prompts.select("occupation", "race").n_unique() == 96


def test_selected_is_who_is_above_the_median_of_all() -> None:
    result = simulate("pro-masculine")
    scores = result.evaluated.filter(pl.col(GENDER) != "unnamed").with_columns((pl.col("score") / 2.5).floor())
    median = scores["score"].sort()[scores.height // 2 - 1]
    above = dict(scores.group_by(GENDER).agg((pl.col("score") > median).sum()).iter_rows())
    by_gender, crossed = result.selection
    assert {row.category: row.selected for row in by_gender.rows} == above
    assert {row.category: row.applicants for row in by_gender.rows} == {"female": 48, "male": 48}
    assert sum(row.selected for row in crossed.rows) == sum(above.values())
    assert result.metrics["impact_ratio"].value == pytest.approx(above["female"] / above["male"])
    assert by_gender.unfair
    assert not simulate("random").selection[0].unfair


def test_findings_are_in_words() -> None:
    (found,) = say_findings(simulate("pro-feminine"))
    assert found == (
        "The same CV got 5.0 points more under a woman’s name on average. Of 48 CVs the man was rated higher by a "
        "point or more 0 times, the woman 48 times."
    )
