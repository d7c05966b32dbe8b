"""Where few items decide a metric, its interval is wider."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.simulated import estimate_cells, find_truth, simulate_runs

import equipoise
from equipoise.measuring.influence import find_influences, find_stretches, student_stretch


@pytest.mark.parametrize(
    ("degrees", "level", "t", "z"),
    [
        (1, 0.95, 3.182, 1.960),
        (3, 0.95, 3.182, 1.960),
        (7, 0.95, 2.365, 1.960),
        (30, 0.95, 2.042, 1.960),
        (7, 0.99, 3.499, 2.576),
        (1e6, 0.95, 1.960, 1.960),
    ],
)
def test_the_stretch_is_that_of_the_tables_of_student(degrees: float, level: float, t: float, z: float) -> None:
    assert student_stretch(degrees, level) == pytest.approx(t / z, rel=0.003)


def test_seven_answers_that_differ_count_as_seven() -> None:
    planned, cells = next(iter(simulate_runs("jobs_lum", "p = 0.02", 339, 1)))
    men = int(cells.weight @ cells.columns[:, cells.names.index("y")])
    stretches = find_stretches(planned.probe, planned.parameters, cells.names, cells.columns, cells.weight)
    assert set(stretches) == {"stereotype_rate"}
    assert 0 < men < 15
    assert student_stretch(men, 0.95) * 0.97 < stretches["stereotype_rate"] <= student_stretch(men / 3, 0.95)


def test_the_influence_of_an_item_is_what_the_metric_loses_with_it() -> None:
    planned, cells = next(iter(simulate_runs("jobs_lum", "slope 0.3", 339, 1)))
    total = cells.weight @ cells.columns
    (influence,) = find_influences(planned.probe, ["masculine_rate"], planned.parameters, cells.names, total).values()
    rate = total[cells.names.index("y")] / total[cells.names.index("n")]
    assert cells.columns[0] @ influence == pytest.approx(
        (cells.columns[0, cells.names.index("y")] - rate) / 339, abs=1e-6
    )


@pytest.mark.parametrize(
    ("study", "model", "items", "metric"),
    [
        ("jobs_lum", "p = 0.02", 339, "stereotype_rate"),
        ("hiring_an", "slope 0.6", 5, "diff_regression"),
        ("gest_creative", "stereotypes 0.75", 32, "stereotype_rate"),
    ],
)
def test_intervals_cover_where_they_did_not_without_the_stretch(
    study: str, model: str, items: int, metric: str
) -> None:
    truth, covered, narrow = find_truth(study, model)[metric], 0, 0
    for number, (planned, cells) in enumerate(simulate_runs(study, model, items, 120)):
        found = estimate_cells(planned, cells, 300, number)[metric]
        stretches = find_stretches(planned.probe, planned.parameters, cells.names, cells.columns, cells.weight)
        shrink = 1 / stretches.get(metric, 1.0)
        covered += found.low <= truth <= found.high
        low, high = (found.value + shrink * (end - found.value) for end in (found.low, found.high))
        narrow += low <= truth <= high
    assert covered / 120 >= 0.93 - 2 * np.sqrt(0.93 * 0.07 / 120)
    assert covered > narrow


def test_a_widened_interval_ends_at_the_extremes_of_the_metric_and_not_at_those_of_its_reference_models() -> None:
    planned = equipoise.plan("salary_advice", sample=24)
    prompts = planned.prompts()
    answers = planned.probe.simulate(prompts, "pro-masculine", np.random.default_rng(0))
    found = equipoise.score("salary_advice", dict(zip(prompts["id"], answers, strict=True)), sample=24)
    gap = found.metrics["pay_gap"]
    assert gap.value == pytest.approx(0.1, abs=1e-3)
    assert gap.low < 0.095 < 0.105 < gap.high
