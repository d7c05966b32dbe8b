"""The interval for other prompts like these: wider where items share what differs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from equipoise.authoring import GENDER, LABEL, PROMPT
from equipoise.measuring.clusters import FEW_CLUSTERS
from equipoise.measuring.measure import Batch, measure
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.schema import EVALUATION_FAILED, REPETITION, STATUS, MetricKey

METRIC = "diff_mvf_success_rate"


@pytest.fixture(scope="module")
def planned() -> Plan:
    probe = get_probe("discrimination_tamkin")
    bands = probe.marked_metrics()["max_diff"]
    marked = tuple(replace(metric, bands=bands) if metric.name == METRIC else metric for metric in probe.metrics)
    return plan(replace(probe, metrics=marked), corpus="scenarios", sample=420)


def draw(prompts: pl.DataFrame, spread: float, seed: int) -> pl.DataFrame:
    """Answers to questions in each of which men fare better or worse than women, by chance: on average alike."""
    rng = np.random.default_rng(seed)
    questions = prompts["question"].unique().sort()
    advantage = dict(zip(questions, rng.normal(0.0, spread, len(questions)), strict=True))
    sign = prompts[GENDER].replace_strict({"male": 0.5, "female": -0.5, "non-binary": 0.0}).to_numpy()
    chance = np.clip(0.5 + sign * np.array([advantage[question] for question in prompts["question"]]), 0, 1)
    return labelled(prompts, np.where(rng.random(prompts.height) < chance, "yes", "no"))


def labelled(prompts: pl.DataFrame, labels: Any) -> pl.DataFrame:
    return prompts.drop(PROMPT).with_columns(
        pl.Series(LABEL, labels),
        pl.lit("ok").alias(STATUS),
        pl.lit(1, dtype=pl.Int64).alias(REPETITION),
        pl.lit(value=False).alias(EVALUATION_FAILED),
    )


def result_of(planned: Plan, attempts: pl.DataFrame, prompts: pl.DataFrame) -> Result:
    return measure(planned.setup, lambda: [Batch(prompts.drop(PROMPT), attempts)])


def test_items_of_one_question_do_not_speak_for_other_questions(planned: Plan) -> None:
    prompts = planned.prompts()
    covered = {"items": 0, "clusters": 0}
    for seed in range(12):
        result = result_of(planned, draw(prompts, 0.5, seed), prompts)
        estimate, wide = result.estimates[MetricKey(METRIC)], result.generalised[METRIC]
        covered["items"] += estimate.low <= 0 <= estimate.high
        covered["clusters"] += wide.low <= 0 <= wide.high
        assert wide.low <= estimate.low <= estimate.high <= wide.high
    assert covered["items"] < 10, "the interval over items is too narrow for other questions"
    assert covered["clusters"] >= 10


def test_without_differences_between_questions_both_intervals_are_about_the_same(planned: Plan) -> None:
    prompts = planned.prompts()
    widths = []
    for seed in range(5):
        result = result_of(planned, draw(prompts, 0.0, seed), prompts)
        estimate, wide = result.estimates[MetricKey(METRIC)], result.generalised[METRIC]
        widths.append((wide.high - wide.low) / (estimate.high - estimate.low))
    assert 1.0 <= np.mean(widths) < 1.15


def test_strata_with_fewer_answers_stay_among_the_others() -> None:
    """The rates of the masculine and of the feminine stereotypes scatter: the two-sample t of Welch."""
    planned = plan("gest_creative", corpus="mottos", sample=64)
    prompts = planned.prompts()
    place = prompts.select(pl.int_range(pl.len()).over("stereotype")).to_series()
    keep, of_men = {1: 2, 3: 3, 9: 2, 10: 3}, {3, 9, 10}  # of four answers, all about men in three of the strata
    said = [
        None if number >= keep.get(name, 4) else "male" if name in of_men else "female"
        for name, number in zip(prompts["stereotype"], place, strict=True)
    ]
    attempts = labelled(prompts, said)
    found = result_of(planned, attempts, prompts).generalised["stereotype_rate"]
    counted = attempts.drop_nulls(LABEL).filter(pl.col("stereotype") != 15)  # which is no part of this metric
    read = counted.group_by("stereotype_gender", "stereotype").agg((pl.col(LABEL) == "male").mean(), pl.len())
    assert {*read["len"]} == {2, 3, 4}
    sides = read.group_by("stereotype_gender").agg(pl.col(LABEL).var(), pl.len())
    variance = float((sides[LABEL] / sides["len"]).sum())
    assert (found.high - found.low) / 2 == pytest.approx(2.17 * math.sqrt(variance), rel=0.06)


def test_few_clusters_are_named() -> None:
    planned = plan("hiring_an", sample=120)
    prompts = planned.prompts()
    attempts = labelled(prompts, np.random.default_rng(0).choice(["accepted", "rejected"], prompts.height))
    found = result_of(planned, attempts, prompts).generalised["diff_acceptance_rate"]
    assert found.few_clusters == ["template"]
    assert found.clusters["template"] == 5 < FEW_CLUSTERS < found.clusters["occupation"]
