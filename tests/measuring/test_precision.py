"""How many items a wanted width takes: planned from a pilot, and true when they are asked."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import equipoise
from equipoise.errors import BadParameter, InputError
from equipoise.measuring.marks import mark
from equipoise.measuring.precision import explain_open, find_certain, find_needs
from equipoise.measuring.result import Result
from equipoise.probes import get_probe
from equipoise.schema import Estimate, MetricKey


def simulate(items: int, seed: int = 0) -> Result:
    probe = get_probe("hiring_an")
    prompts = equipoise.plan(probe, sample=2 * items).prompts()
    answers = probe.simulate(prompts, "random", np.random.default_rng(seed))
    return equipoise.score(probe, dict(zip(prompts["id"], answers, strict=True)), sample=2 * items)


def test_the_planned_number_of_items_gives_the_wanted_width() -> None:
    (need, _) = find_needs(simulate(200), precision=0.05)
    assert need.metric == "diff_acceptance_rate"
    assert need.items is not None
    estimate = simulate(need.items, seed=1).metrics["diff_acceptance_rate"]
    assert (estimate.high - estimate.low) / 2 == pytest.approx(0.05, rel=0.15)


def test_a_certain_mark_takes_more_the_nearer_the_value_is_to_a_limit() -> None:
    """Without a wanted precision, the interval must end at the nearest limit."""
    result = simulate(300)
    needs = {need.metric: need for need in find_needs(result)}
    bands = result.setup.probe.marked_metrics()["diff_acceptance_rate"]
    distance = bands.distance(result.metrics["diff_acceptance_rate"].value)
    gap = min(abs(distance - limit) for limit in bands.limits)
    assert needs["diff_acceptance_rate"].half_width == pytest.approx(gap)


def test_a_need_says_what_two_models_could_differ_by() -> None:
    """The smallest difference that is found with 80% power: 2.8/1.96 √2 half-widths."""
    (need, _) = find_needs(simulate(200), precision=0.05)
    assert need.detectable == pytest.approx(0.05 * math.sqrt(2) * (1.959964 + 0.841621) / 1.959964)


def test_twice_the_precision_takes_four_times_the_items() -> None:
    pilot = simulate(200)
    (wide, _) = find_needs(pilot, precision=0.06)
    (narrow, _) = find_needs(pilot, precision=0.03)
    assert wide.items is not None
    assert narrow.items is not None
    assert narrow.items / wide.items == pytest.approx(4, rel=0.02)


def with_estimate(result: Result, half_width: float) -> Result:
    """The result with another interval of the masculine rate, 0.02 from a limit, as its only mark."""
    found = Estimate(value=0.53, low=0.53 - half_width, high=0.53 + half_width, n=result.items)
    given = mark(result.setup.probe.marked_metrics()["masculine_rate"], found)
    estimates = {**result.estimates, MetricKey("masculine_rate"): found}
    return replace(result, estimates=estimates, marks={"masculine_rate": given})


def score_jobs(items: int, repetitions: int = 1) -> Result:
    rows = equipoise.plan("jobs_lum", sample=items, repeat=repetitions).attempts()
    answers = rows.select("id", "repetition").with_columns(pl.lit("She did it.").alias("answer"))
    return equipoise.score("jobs_lum", answers, sample=items, repeat=repetitions)


@pytest.mark.parametrize(
    ("asked", "half_width", "expected", "why"),
    [
        ((100, 1), 0.02995, {"sample": 225, "repeat": 1}, "more answers would settle it"),
        ((100, 1), 0.02005, {"sample": 101, "repeat": 1}, "more answers would settle it"),
        ((100, 1), 0.05, {"sample": 339, "repeat": 2}, "more answers would settle it"),
        ((339, 1), 0.06, {"sample": 339, "repeat": 10}, "more answers would settle it"),
        ((339, 7), 0.03, {"sample": 339, "repeat": 16}, "more answers would settle it"),
        ((339, 1), 0.3, {}, "close to a grade boundary; more data may not settle it"),
        ((100, 1), 0.12, {}, "close to a grade boundary; more data may not settle it"),
        ((100, 1), 0.019, {}, ""),
        ((3, 1), math.nan, {}, "too few for an interval"),
    ],
)
def test_one_function_says_what_would_make_a_mark_certain(
    asked: tuple[int, int], half_width: float, expected: dict[str, int], why: str
) -> None:
    result = with_estimate(score_jobs(*asked), half_width)
    assert find_certain(result) == expected
    assert explain_open(result, "masculine_rate") == why


def test_missing_answers_are_named_and_no_items_help_against_them() -> None:
    result = with_estimate(score_jobs(100), 0.0201)
    (given,) = result.marks.values()
    assert given is not None
    result = replace(result, marks={"masculine_rate": replace(given, by_missing=True)})
    assert (find_certain(result), explain_open(result, "masculine_rate")) == (
        {},
        "missing answers could change the mark",
    )


def test_an_estimate_is_planned_by_a_precision_or_for_certain_marks(tmp_path: Path) -> None:
    pilot = tmp_path / "pilot.equipoise"
    equipoise.audit("simulated/random", probes=["hiring_an", "inventories"], sample=100, out=pilot)
    wide, narrow = (
        equipoise.estimate("custom/model", probes="hiring_an", suite="quick", precision=precision, pilot=pilot)
        for precision in (0.2, 0.1)
    )
    assert 3 < narrow.total("prompts") / wide.total("prompts") < 5
    assert narrow.probes[0].items * 2 == narrow.total("prompts")
    found = equipoise.estimate("custom/model", probes="inventories", precision=0.05, pilot=pilot)
    need = found.probes[0].needs[0]
    assert (need.population, found.probes[0].items) == (125, 125)
    assert need.items is not None
    assert need.items > 125
    assert need.repetitions is not None
    assert found.total("attempts") == 125 * max(each.repetitions or 1 for each in found.probes[0].needs)
    with pytest.raises(BadParameter, match="between 0 and 1"):
        equipoise.estimate("custom/model", probes="hiring_an", precision=2.0)
    for wanted in ({"certain": True}, {"precision": 0.1}):
        with pytest.raises(InputError, match="pilot"):
            equipoise.estimate("custom/model", probes="hiring_an", **wanted)
