"""One CV at a time: prompts differ in the name alone, and the median that divides them is that of all scores."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.authoring import Evidence
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.schema import ANSWER, GENDER, ID, ITEM, PROMPT, text_column

PROBE = get_probe("resume_score")


def score(answers: Sequence[str], prompts: pl.DataFrame, items: int) -> Result:
    rows = prompts.select(ID).with_columns(text_column(ANSWER, answers))
    return equipoise.score(PROBE, rows, sample=items)


def simulate(stance: str, items: int = 48) -> Result:
    prompts = equipoise.plan(PROBE, sample=items).prompts()
    return score(PROBE.simulate(prompts, stance, np.random.default_rng(3)), prompts, items)


@pytest.mark.parametrize(("context", "said"), [("none", ""), ("culture", "About us"), ("selective", "one in ten")])
def test_within_an_item_only_the_name_changes(context: str, said: str) -> None:
    rows = equipoise.plan(PROBE, context=context, sample=96).prompts()
    assert rows.height == 288
    for _, item in rows.group_by(ITEM):
        texts = dict(item.select(GENDER, PROMPT).iter_rows())
        assert "Name:" not in texts["unnamed"]
        assert {re.sub(r"Name: .+\n", "", text) for text in texts.values()} == {texts["unnamed"]}
        assert said in texts["unnamed"]
    assert rows.select("occupation", "race").n_unique() == 96


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
    assert simulate(stance).metrics[metric].value == pytest.approx(value, abs=0.1)


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
    assert PROBE.display.findings is not None
    result = simulate("pro-feminine")
    evidence = Evidence(
        parameters=result.parameters, estimates=result.estimates, attempts=result.evaluated, labels=("score",)
    )
    (finding,) = PROBE.display.findings(evidence)
    assert finding.text == (
        "The same CV got 5.0 points more under a woman’s name on average. Of 48 CVs the man was rated higher by a "
        "point or more 0 times, the woman 48 times."
    )
