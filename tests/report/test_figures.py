"""What the probes show of themselves: facts that can be counted again, and default figures for a probe without any."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from equipoise.authoring import GENDER, LABEL, Evidence, Figure, Finding, Intervals, MetricKey, Scatter
from equipoise.errors import ProbeError
from equipoise.probes import find_probes
from equipoise.report.charts.drawing import WIDTH, Drawing
from equipoise.report.charts.figures import FEWEST_ITEMS, draw_figures, round_range
from equipoise.report.html.page import render, worst_findings
from equipoise.report.html.sections import build_sections, gather_evidence
from equipoise.report.words import compare_words
from equipoise.runs.run import Run
from equipoise.schema import Estimate
from report.fakes import alone, change, make_run

PROBES = find_probes()


def make_figures(run: Run, probe: str) -> list[Figure]:
    evidence = gather_evidence(run[probe])
    return [figure(evidence) if callable(figure) else figure for figure in PROBES[probe].figures]


def make_findings(run: Run, probe: str) -> list[Finding]:
    findings = PROBES[probe].findings
    return list(findings(gather_evidence(run[probe]))) if findings else []


def draw(figure: Figure, estimates: Mapping[MetricKey, Estimate]) -> Drawing | None:
    (drawing,) = draw_figures([figure], [estimates])
    return drawing


def with_display(run: Run, probe: str, **shown: Any) -> Run:
    """The run with this probe alone, as if it showed nothing but this."""
    result = run[probe]
    nothing: dict[str, Any] = {"figures": (), "findings": None, "published": ""}
    shown_probe = replace(result.setup.probe, **{**nothing, **shown})
    return change(run, results={probe: replace(result, setup=replace(result.setup, probe=shown_probe))})


WITH_FIGURES = sorted(name for name, probe in PROBES.items() if probe.figures)
WITH_FINDINGS = sorted(name for name, probe in PROBES.items() if probe.findings)


@pytest.mark.parametrize("name", WITH_FIGURES)
def test_every_figure_can_be_drawn(one: Run, name: str) -> None:
    figures = make_figures(one, name)
    assert figures
    for figure in figures:
        drawing = draw(figure, one[name].estimates)
        assert drawing is not None
        assert drawing.width == WIDTH
        assert figure.title in drawing.label


@pytest.mark.parametrize("name", WITH_FIGURES)
def test_every_figure_names_metrics_that_are_there(one: Run, name: str) -> None:
    for figure in make_figures(one, name):
        if not isinstance(figure, Intervals):
            continue
        metrics = {metric.name for metric in PROBES[name].all_metrics()}
        known = [{key.metric in metrics for key in row.values()} for row in figure.rows.values()]
        assert all(len(row) == 1 for row in known), "a row is there, or not, with all its series"
        few = "few rows are for what another choice of parameters would give"
        assert 2 * known.count({True}) > len(known), few
        keys = {key for row in figure.rows.values() for key in row.values()}
        shown = {(key.metric, key.slice) for key in keys}
        missed = {key for key in one[name].estimates if (key.metric, key.slice) in shown} - keys
        assert not missed, "every group of a slice that is drawn has a row"


@pytest.mark.parametrize("name", WITH_FINDINGS)
def test_findings_are_about_marked_metrics(one: Run, name: str) -> None:
    findings = make_findings(one, name)
    assert findings
    assert {finding.metric for finding in findings} <= one[name].marks.keys()


@pytest.mark.parametrize("name", WITH_FINDINGS)
def test_no_finding_counts_more_than_there_are(one: Run, name: str) -> None:
    for finding in make_findings(one, name):
        for part, whole in re.findall(r"([\d,]+) (?:times )?of ([\d,]+)", finding.text):
            assert int(part.replace(",", "")) <= int(whole.replace(",", ""))


def test_the_line_of_jobs_lum_is_that_of_least_squares(three: list[Run]) -> None:
    (figure,) = make_figures(three[1], "jobs_lum")
    assert isinstance(figure, Scatter)
    assert figure.line is not None
    x, y = (np.array([getattr(spot, axis) for spot in figure.spots]) for axis in ("x", "y"))
    slope, intercept = np.polyfit(x, y, 1)
    assert figure.line == pytest.approx((intercept, slope))
    assert figure.line[1] == three[1]["jobs_lum"].metrics["stereotype_rate"].value


def test_counts_of_hiring_are_those_of_the_answers(one: Run) -> None:
    rows = gather_evidence(one["hiring_an"]).detected().filter(pl.col(GENDER) == "male")
    accepted = rows.filter(pl.col(LABEL) == "accepted").height
    finding = make_findings(one, "hiring_an")[0]
    assert f"With a man’s name, {accepted:,} of {rows.height:,} " in finding.text


def test_words_that_differ_between_letters_for_women_and_men(one: Run) -> None:
    run = alone(one, "business_vocabulary")
    read = compare_words(run, "business_vocabulary")
    assert read is not None
    assert read.sides == ("men", "women")
    assert not {"she", "he", "her", "his"} & {*read.found["word"]}
    first = read.found.row(0, named=True)
    letters = one.transcripts("business_vocabulary")
    for gender, share in (("female", first["second_share"]), ("male", first["first_share"])):
        of_gender = letters.filter(pl.col(GENDER) == gender)
        pattern = rf"(?i)\b{first['word']}\b"
        held = of_gender.filter(pl.col("answer").str.contains(pattern)).height / of_gender.height
        assert held == pytest.approx(share, abs=0.02)  # the same share of each template and race on both sides
    page = render([run], full=True)
    assert "Answers with the same template and race are compared." in page
    assert f"<bdi>{first['word']}</bdi>" in page


@pytest.mark.parametrize("name", WITH_FINDINGS)
def test_a_run_without_answers_has_no_findings(name: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run.equipoise", "model", "unbiased", [name], answered=0)
    (section,) = build_sections([run], full=True)
    assert section.findings == {0: []}


def test_findings_are_worse_than_a_and_the_worst_come_first(one: Run) -> None:
    sections = build_sections([one], full=False)
    marks = [finding.mark.letter for section in sections for finding in section.findings[0]]
    worst = [finding.mark.letter for finding in worst_findings(sections, 0, 3)]
    assert worst == sorted(marks, reverse=True)[:3]
    assert min(marks) > "A"


@pytest.mark.parametrize(("runs", "shown"), [(1, 6), (2, 3)], ids=["one run", "several runs"])
def test_a_report_on_one_run_shows_more_findings_than_one_on_several_shows_of_each(
    one: Run, runs: int, shown: int
) -> None:
    sections = build_sections([one], full=False)
    assert len(worst_findings(sections, 0, runs)) == shown


def test_a_probe_without_a_display_shows_its_marked_metrics_and_slices(one: Run) -> None:
    (section,) = build_sections([with_display(one, "hiring_an")], full=True)
    metrics, race, qualification = (figure for figure, _ in section.pictures)
    assert (metrics.name, race.name, qualification.name) == ("metrics", "race", "qualification")
    assert isinstance(race, Intervals)
    marked = one["hiring_an"].marks
    assert race.rows["white"] == {metric: MetricKey(metric, "race", "white") for metric in marked}
    assert (section.published, section.findings) == ({}, {0: []})


def test_a_probe_without_a_display_names_its_marked_metrics_in_the_report(one: Run) -> None:
    assert "diff_acceptance_rate" in render([with_display(one, "hiring_an")])


def test_a_finding_counts_the_men_of_all_characters(three: list[Run]) -> None:
    majority = make_findings(three[0], "jobs_lum")[0]
    rows = gather_evidence(three[0]["jobs_lum"]).detected()
    men = rows.filter(pl.col(LABEL) == "male").height
    numbers = [int(number) for number in re.findall(r"\d+(?!%|\d)", majority.text)]
    assert rows.height in numbers
    assert men in numbers or rows.height - men in numbers


def test_the_example_of_a_finding_is_what_most_answers_say(three: list[Run]) -> None:
    finding = make_findings(three[0], "jobs_lum")[-1]
    assert finding.metric == "stereotype_rate"
    assert finding.example is not None
    rows = gather_evidence(three[0]["jobs_lum"]).detected()
    shown = rows.filter(occupation=finding.example["occupation"])
    assert 2 * shown.filter(pl.col(LABEL) == finding.example[LABEL]).height > shown.height


def test_a_probe_that_is_not_installed_brings_its_own_display(one: Run) -> None:
    figure = Intervals(name="mine", title="My title", caption="", axis="", rows={"row": {"": MetricKey("mean_diff")}})
    findings = [Finding(metric="mean_diff", text="My finding.")]
    run = with_display(
        one, "business_vocabulary", figures=[lambda _evidence: figure], findings=lambda _evidence: findings
    )
    page = render([run])
    assert "My title" in page
    assert "My finding." in page


def test_a_mistake_in_a_display_is_reported_as_the_probes(one: Run) -> None:
    def make_figure(_evidence: Evidence) -> Figure:
        raise ZeroDivisionError

    with pytest.raises(ProbeError, match="The probe 'jobs_lum' has a mistake in its figures: ZeroDivisionError"):
        build_sections([with_display(one, "jobs_lum", figures=[make_figure])], full=True)


def make_intervals(low: float, n: int) -> Mapping[MetricKey, Estimate]:
    """Estimates of two groups: one of so many items, and one of a few."""
    many = Estimate(value=low + 0.1, low=low, high=low + 0.2, n=n)
    few = replace(many, n=FEWEST_ITEMS - 1)
    return {MetricKey("rate", "race", "many"): many, MetricKey("rate", "race", "few"): few}


BY_RACE = Intervals(
    name="race",
    title="By race",
    caption="",
    axis="rate",
    rows={name: {"": MetricKey("rate", "race", name)} for name in ("many", "few")},
)


def test_groups_of_few_items_are_not_drawn() -> None:
    drawing = draw(BY_RACE, make_intervals(0.1, FEWEST_ITEMS))
    assert drawing is not None
    assert ">many<" in drawing.svg()
    assert ">few<" not in drawing.svg()


def test_models_side_by_side_have_one_scale() -> None:
    models = [make_intervals(0.1, FEWEST_ITEMS), make_intervals(0.7, FEWEST_ITEMS)]
    for drawing in draw_figures([BY_RACE, BY_RACE], models):
        assert drawing is not None
        assert ">0.2<" in drawing.svg()
        assert ">0.8<" in drawing.svg()


def test_a_model_alone_has_a_scale_of_its_own() -> None:
    drawing = draw(BY_RACE, make_intervals(0.7, FEWEST_ITEMS))
    assert drawing is not None
    assert ">0.2<" not in drawing.svg()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.31, 0.92], (0.3, 1.0)),
        ([0.0, 0.0], (0.0, 0.02)),
        ([-0.05, 0.04], (-0.06, 0.04)),
        ([0.3, 0.7], (0.3, 0.7)),
    ],
)
def test_a_scale_goes_from_one_round_number_to_another(values: list[float], expected: tuple[float, float]) -> None:
    assert round_range(values) == expected
