"""Small studies of `make calibrate`: they show intervals, bounds and tests that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

from equipoise.measuring import estimates
from equipoise.measuring.cells import prepare_cells
from equipoise.measuring.plan import plan

ROOT = Path(__file__).parents[2]
LoadModule = Callable[[str], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> LoadModule:
    """Import a module of the benchmarks by its name."""
    monkeypatch.syspath_prepend(ROOT)

    def load_module(name: str) -> ModuleType:
        return import_module(f"benchmarks.{name}")

    return load_module


@pytest.fixture
def narrower(load: LoadModule, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all standard errors half as large as they are."""
    # Modules that are imported later would keep the function below for other tests, too.
    load("calibration.jobs")
    find_errors = estimates.find_errors

    def halve(*arguments: Any) -> estimates.Errors:
        found = find_errors(*arguments)
        return replace(found, standard_error=found.standard_error / 2)

    monkeypatch.setattr(estimates, "find_errors", halve)


# Coverage


def cover(load: LoadModule) -> list[dict[str, Any]]:
    asking = load("calibration.answers").Asking(items=60)
    study = load("calibration.coverage").study_coverage
    rows: list[dict[str, Any]] = study("coverage", ("60",), "jobs_lum", "even", asking, 100)
    return rows


def test_intervals_cover_in_a_small_study(load: LoadModule) -> None:
    rows = cover(load)
    assert [row["metric"] for row in rows] == ["masculine_rate", "stereotype_rate"]
    assert all(row["covered"] >= 88 for row in rows)
    assert load("calibration.goals").find_missed({"coverage": rows}) == []


@pytest.mark.usefixtures("narrower")
def test_intervals_that_are_too_narrow_are_listed(load: LoadModule) -> None:
    missed = load("calibration.goals").find_missed({"coverage": cover(load)})
    assert len(missed) == 2
    assert all("does not cover" in line for line in missed)


def test_every_rate_of_20_to_24_items_is_covered(load: LoadModule) -> None:
    rows = load("calibration.rates").study_rates(20, 24)
    assert min(row["least"] for row in rows) >= 0.935
    assert max(row["mean"] for row in rows) <= 0.985
    assert load("calibration.goals").find_missed({"rates": rows}) == []


@pytest.mark.usefixtures("narrower")
def test_rates_with_narrower_intervals_are_not_covered(load: LoadModule) -> None:
    rows = load("calibration.rates").study_rates(20, 20)
    (line,) = load("calibration.goals").find_missed({"rates": rows})
    assert "rates of 20 items: covers 0." in line


def test_exact_coverage_is_that_of_a_simulation(load: LoadModule) -> None:
    rates = load("calibration.rates")
    lows, highs = rates.find_intervals(25)
    exact = rates.cover_exactly(lows, highs, np.array([0.3]))[0]
    counts = np.random.default_rng(1).binomial(25, 0.3, 200_000)
    holds = (lows[counts] <= 0.3) & (highs[counts] >= 0.3)
    assert exact == pytest.approx(holds.mean(), abs=0.002)


# Models at a limit, and lost answers


@pytest.mark.parametrize(
    ("study", "targets"),
    [
        ("jobs_lum", {"masculine_rate": 0.6, "stereotype_rate": -0.15}),
        ("hiring_an", {"diff_acceptance_rate": -0.051, "diff_regression": 0.499}),
        ("business_vocabulary", {"mean_diff": 0.299}),
        ("word_association", {"association": -0.601}),
    ],
)
def test_models_have_the_metrics_that_they_are_steered_to(
    load: LoadModule, study: str, targets: dict[str, float]
) -> None:
    world = load("calibration.worlds").make_world(study)
    limits = load("calibration.limits")
    chance = limits.steer(study, limits.find_steering(study, targets))
    truth = load("calibration.runs").find_truth(world, chance)
    assert truth == pytest.approx(targets, abs=1e-5)


KINDS_OF_ANSWERS = [
    ("jobs_lum", "shift"),
    ("jobs_lum", "slope"),
    ("hiring_an", "gap"),
    ("discrimination_tamkin", "gap"),
    ("pronoun_fidelity", "gap"),
    ("business_vocabulary", "gap"),
    ("word_association", "shift"),
    ("resume_score", "gap"),
    ("salary_advice", "gap"),
]


@pytest.mark.parametrize("share", [0.05, 0.4])
@pytest.mark.parametrize(("study", "what"), KINDS_OF_ANSWERS)
def test_the_share_of_answers_that_is_asked_for_is_lost(load: LoadModule, study: str, what: str, share: float) -> None:
    answers = load("calibration.answers")
    limits = load("calibration.limits")
    world = load("calibration.worlds").make_world(study)
    rng = np.random.default_rng(0)
    items = rng.integers(0, world.items.height, 2_000)
    asking = answers.Asking(items=2_000)
    drawn = answers.draw_answers(world, limits.steer(study, {}), items, asking, rng)
    loss = answers.lose_by_content(share, what)
    rows = answers.make_rows(world, items, drawn, asking, loss, rng)
    assert 1 - limits.find_read_share(world, rows) == pytest.approx(share, abs=0.025)


@pytest.mark.parametrize("lowers", [False, True])
@pytest.mark.parametrize(("study", "what"), KINDS_OF_ANSWERS)
def test_lost_answers_pull_what_they_are_to_pull(load: LoadModule, study: str, what: str, lowers: bool) -> None:
    answers = load("calibration.answers")
    limits = load("calibration.limits")
    world = load("calibration.worlds").make_world(study)
    rng = np.random.default_rng(0)
    items = rng.integers(0, world.items.height, 2_000)
    asking = answers.Asking(items=2_000)
    # Ahead for men, so that a range has room on both sides.
    chance = limits.steer(study, {"gap": 0.2})
    drawn = answers.draw_answers(world, chance, items, asking, rng)
    values = []
    for loss in (answers.NO_LOSS, answers.lose_by_content(0.2, what, lowers=lowers)):
        rows = answers.make_rows(world, items, drawn, asking, loss, rng)
        cells = prepare_cells(world.probe, rows, world.planned.parameters)
        values.append(estimates.estimate_cells(cells))
    parameters = limits.sensitive_parameters(study)
    (metric,) = (name for name, parameter in parameters.items() if parameter == what)
    before, after = (found[metric].value for found in values)
    assert (after > before) is lowers


def count_wrong(load: LoadModule, study: str, metric: str, limit: int) -> int:
    rows = load("calibration.limits").study_limits(study, limit, (0.4,), 300, 40)
    return int(max(row["wrong"] for row in rows if row["metric"] == metric))


@pytest.mark.parametrize(
    ("study", "metric", "limit"),
    [("jobs_lum", "masculine_rate", 2), ("business_vocabulary", "mean_diff", 0)],
)
def test_bounds_keep_marks_from_being_certain_and_wrong(
    load: LoadModule, monkeypatch: pytest.MonkeyPatch, study: str, metric: str, limit: int
) -> None:
    assert count_wrong(load, study, metric, limit) <= 4
    limits = load("calibration.limits")
    monkeypatch.setattr(limits, "bound_runs", lambda _world, _metric, tables: [None] * len(tables))
    assert count_wrong(load, study, metric, limit) >= 12


def test_the_truth_at_the_end_of_the_bounds_is_held_by_the_bounds_and_not_by_the_interval(
    load: LoadModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = load("calibration.missing")
    (row,) = missing.study_missing("rate", 6.0, 60)
    assert row["width"] == pytest.approx(6, abs=0.6)
    assert row["covered"] >= 53
    monkeypatch.setattr(missing, "unite", lambda found, _: found)
    (row,) = missing.study_missing("rate", 6.0, 60)
    assert row["covered"] < 30


# Two runs, and gates


def compare(load: LoadModule, *models: str) -> dict[str, Any]:
    comparing = load("calibration.comparing")
    pair = comparing.Pair(kind="a pair", models=models)
    (row, _) = comparing.study_pair(pair, "hiring_an", 60, 40)
    return dict(row)


def test_models_with_equal_metrics_are_seldom_told_apart(load: LoadModule) -> None:
    row = compare(load, "coin", "sure of each item")
    assert row["rejected"] <= 6
    assert row["judged"] <= 6
    assert row["covered"] >= 34
    assert row["distance"] >= 34


def test_models_with_different_metrics_are_told_apart(load: LoadModule) -> None:
    row = compare(load, "leaning to men", "leaning to women")
    assert row["rejected"] >= 25
    assert row["covered"] <= 15
    assert row["judged"] <= 6


def gate_row(metric: str, values: list[tuple[float, float, float]]) -> dict[str, Any]:
    """A row of a metric of which the truth is 0.5."""
    estimates_of_runs = [[value, low, high, 30.0, 0.5] for value, low, high in values]
    about = {"size": "ci", "study": "jobs_lum", "model": "even", "runs": len(values)}
    return {**about, "metric": metric, "items": 300, "estimates": estimates_of_runs}


def test_a_gate_fails_by_metrics_beyond_the_limit(load: LoadModule) -> None:
    inside = (0.5, 0.48, 0.52)
    beyond = (0.7, 0.67, 0.73)
    rows = [gate_row("masculine_rate", [inside, beyond])]
    judged = {row["rule"]: row for row in load("calibration.gates").judge_gates(rows)}
    assert (judged["C"]["passed"], judged["C"]["failed"], judged["C"]["wrongly"]) == (1, 1, 1)
    assert (judged["D"]["passed"], judged["D"]["failed"]) == (2, 0)


def test_a_gate_does_not_fail_by_what_missing_answers_could_undo(load: LoadModule) -> None:
    row = gate_row("masculine_rate", [(0.7, 0.67, 0.73), (0.7, 0.67, 0.73)])
    # In the second run the missing answers allow 0.55 to 0.75.
    row["estimates"][1] += [0.55, 0.75, 0.52, 0.78]
    judged = {each["rule"]: each for each in load("calibration.gates").judge_gates([row])}
    assert judged["C"]["failed"] == 1


@pytest.mark.parametrize("share_lost", [0.0, 0.05])
def test_models_just_inside_a_limit_seldom_fail_a_gate(load: LoadModule, share_lost: float) -> None:
    asking = load("calibration.answers").Asking(items=300)
    study = load("calibration.limits").study_gate_limits
    rows = study(("ci",), "jobs_lum", asking, 1, -1.0, share_lost, 40)
    assert [row["truth"] for row in rows] == pytest.approx([0.401, -0.149], abs=1e-5)
    (judged,) = load("calibration.gates").judge_gates(rows)
    assert (judged["rule"], judged["lost"]) == ("C", share_lost)
    assert judged["wrongly"] <= 4


def regression_row(load: LoadModule, metric: str, tests: list[list[float]]) -> dict[str, Any]:
    about = {"kind": "the same model", "study": "jobs_lum", "models": "coin", "equal_metrics": True}
    return {**about, "metric": metric, "items": 100, "runs": len(tests), "tests": tests}


def test_a_gate_on_regressions_fails_only_after_the_correction_for_all_metrics(
    load: LoadModule,
) -> None:
    worse = [0.03, 0.2, 0.1, 0.3]
    much_worse = [0.001, 0.2, 0.1, 0.3]
    equal = [0.9, 0.0, -0.1, 0.1]
    rows = [
        regression_row(load, "masculine_rate", [worse, much_worse]),
        regression_row(load, "stereotype_rate", [equal, equal]),
    ]
    (judged,) = load("calibration.gates").judge_regressions(rows)
    assert judged["failed"] == 1


def test_prompts_that_one_run_lacks_are_not_compared(load: LoadModule) -> None:
    comparing = load("calibration.comparing")
    world = load("calibration.worlds").make_world("business_vocabulary")
    answers = load("calibration.answers")
    rng = np.random.default_rng(0)
    items = np.arange(4)
    asking = answers.Asking(items=4)
    drawn = answers.draw_answers(world, np.full(world.prompts.height, 0.5), items, asking, rng)
    whole = answers.make_rows(world, items, drawn, asking, rng=rng)
    lossy = answers.make_rows(world, items, drawn, asking, answers.lose_evenly(1.0), rng)
    assert lossy["male_missing"].sum() + lossy["female_missing"].sum() == 4
    for side in comparing.keep_prompts_of_both(world.probe, whole, lossy):
        assert side["male_attempts"].sum() + side["female_attempts"].sum() == 0
        assert side["male_wan_male"].sum() == 0


@pytest.mark.parametrize("study", ["discrimination_tamkin", "gest_creative", "resume_score"])
def test_many_comparisons_at_once_are_those_of_one_after_the_other(load: LoadModule, study: str) -> None:
    comparing = load("calibration.comparing")
    world = load("calibration.worlds").make_world(study)
    pair = comparing.Pair(kind="a pair", models=("coin", "even beta items"))
    rng = np.random.default_rng(0)
    items = np.arange(90) % world.items.height
    sides = [comparing._draw_side(world, pair, side, None, items, rng) for side in (0, 1)]
    many = list(comparing.compare_many(world, *sides, 3))
    for run in range(3):
        own = [side[run * 30 : run * 30 + 30] for side in sides]
        alone = comparing.compare_rows(world, *own)
        for name in world.probe.marked_metrics():
            assert many[run][name].p == pytest.approx(alone[name].p, abs=1e-9)
            low = alone[name].difference.low
            assert many[run][name].difference.low == pytest.approx(low, nan_ok=True)


def test_resumes_without_their_score_steps_have_the_same_interval(load: LoadModule) -> None:
    answers = load("calibration.answers")
    world = load("calibration.worlds").make_world("resume_score")
    rng = np.random.default_rng(0)
    items = np.arange(40)
    asking = answers.Asking(items=40)
    drawn = answers.draw_answers(world, np.full(world.prompts.height, 0.5), items, asking, rng)
    rows = answers.make_rows(world, items, drawn, asking, rng=rng)
    whole = plan("resume_score", corpus="vacancies")
    found = [
        estimates.estimate_cells(prepare_cells(probe, rows, whole.parameters))["diff_score"]
        for probe in (world.probe, whole.probe)
    ]
    assert found[0].low == pytest.approx(found[1].low)
    assert found[0].high == pytest.approx(found[1].high)


# Clusters and impact ratios


def test_two_clusters_have_no_interval_and_ten_do(load: LoadModule) -> None:
    generalising = load("calibration.generalising")
    for clusters, expected in ((2, 0), (10, 20)):
        design = generalising.Design(clusters=clusters, sizes=generalising.EQUAL)
        for row in generalising.study_designs(design, 20):
            assert row["intervals"] == expected
            assert row["covered"] >= 0.8 * expected


def test_the_unfair_model_is_called_unfair_and_the_fair_one_is_not(load: LoadModule) -> None:
    study = load("calibration.ratios").study_ratios
    (fair, _) = study("hiring_an at random", 20)
    (unfair, _) = study("hiring_an prefers men", 20)
    assert fair["unfair"] <= 3
    assert unfair["unfair"] >= 8


def test_some_unequal_clusters_have_an_interval(load: LoadModule) -> None:
    generalising = load("calibration.generalising")
    design = generalising.Design(clusters=10, sizes=generalising.DOUBLED)
    assert design.shares().tolist() == pytest.approx([2 / 15] * 5 + [1 / 15] * 5)
    for row in generalising.study_designs(design, 10):
        assert row["intervals"] == 10


def test_few_questions_and_lost_answers_have_tables_of_impact_ratios(load: LoadModule) -> None:
    study = load("calibration.ratios").study_ratios
    rows = study("discrimination_tamkin 12 questions questions differ, by gender too", 3)
    assert [(row["categories"], row["prompts"]) for row in rows] == [(3, 1_080), (15, 1_080)]
    assert {row["lost"] for row in rows} == {0.0}
    assert {row["lost"] for row in study("hiring_an 5% lost by content", 3)} == {0.05}


def test_of_labels_the_share_that_is_asked_for_is_lost(load: LoadModule) -> None:
    ratios = load("calibration.ratios")
    prompts = pl.DataFrame({"gender": ["male", "female"] * 5_000})
    labels = ["accepted", "accepted", "rejected", "rejected"] * 2_500
    lost = ratios.lose_labels(prompts, labels, 0.05, np.random.default_rng(0))
    missing = [label for label, left in zip(labels, lost, strict=True) if left is None]
    assert len(missing) / len(labels) == pytest.approx(0.05, abs=0.006)
    men = [lost[place] is None for place in range(0, 10_000, 4)]
    assert sum(men) > 6 * sum(lost[place] is None for place in range(1, 10_000, 4))


# Goals and results


def test_chance_of_many_promises_is_not_listed_and_a_clear_miss_is(load: LoadModule) -> None:
    goals = load("calibration.goals")
    row: dict[str, Any] = {"study": "jobs_lum", "metric": "masculine_rate", "model": "even"}
    row |= {
        "asked": "300",
        "items": 300,
        "runs": 600,
        "intervals": 600,
        "wrong": 0,
        "width": 1.0,
        "estimates": [],
    }
    by_chance = {**row, "covered": 552}
    missed = {**row, "covered": 500}
    findings = {"coverage": [by_chance] * 20 + [missed]}
    (line,) = goals.find_missed(findings)
    assert "0.167 of 600 runs" in line
    assert len(goals.find_missed({"coverage": [by_chance]}, correct=False)) == 1


@pytest.mark.parametrize(
    ("study", "items", "is_listed"),
    [
        ("jobs_lum", 20, False),
        ("jobs_lum", 40, True),
        ("word_association", 28, False),
        ("word_association", 48, True),
    ],
)
def test_less_coverage_is_allowed_at_the_smallest_size_only(
    load: LoadModule, study: str, items: int, is_listed: bool
) -> None:
    row: dict[str, Any] = {"study": study, "metric": "a metric", "model": "even"}
    row |= {"asked": str(items), "items": items, "wrong": 0, "width": 1.0}
    row |= {"runs": 10_000, "intervals": 10_000, "covered": 9_320}
    missed = load("calibration.goals").find_missed({"coverage": [row]})
    assert bool(missed) is is_listed


def test_an_interrupted_run_uses_the_rows_that_are_there(
    load: LoadModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibrate = load("calibrate")
    jobs = load("calibration.jobs")
    rates = load("calibration.rates")
    path = tmp_path / "rows.jsonl"
    job = jobs.Job(rates.study_rates, (20, 20))
    first = calibrate.run_jobs([job], path, 1)
    with path.open("a") as file:
        file.write('{"job": "cut off')
    monkeypatch.setattr(rates, "find_intervals", None)
    assert calibrate.run_jobs([job], path, 1) == first
    monkeypatch.setattr(calibrate, "digest_code", lambda: "other code")
    with pytest.raises(TypeError):
        calibrate.run_jobs([job], path, 1)


def test_the_page_has_a_place_for_each_table(load: LoadModule) -> None:
    tables = load("calibration.page").make_tables({}, 600)
    page = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8")
    for name in tables:
        assert f"<!-- {name} -->" in page
        assert f"<!-- /{name} -->" in page


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ('"""Other words."""\nLIMIT = 2  # and a comment\n"""About the limit."""\n', True),
        ("LIMIT = 3\n", False),
    ],
)
def test_rows_are_made_again_for_other_code_and_not_for_other_words(
    load: LoadModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_same: bool
) -> None:
    calibrate = load("calibrate")
    monkeypatch.setattr(calibrate, "SOURCE", tmp_path)
    module = tmp_path / "stats" / "limits.py"
    module.parent.mkdir()
    module.write_text('"""A module."""\nLIMIT = 2\n')
    before = calibrate.digest_code()
    module.write_text(text)
    assert (calibrate.digest_code() == before) is is_same
