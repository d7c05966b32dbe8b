"""What the probes show of themselves: facts that can be counted again, and something for a probe that says nothing."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from equipoise.figure import Contrast, Intervals, Scatter
from equipoise.frames import GENDER, LABEL
from equipoise.probe import Items, Parameters
from equipoise.probes import find, get
from equipoise.report import html
from equipoise.report.charts import draw, reach, together
from equipoise.report.displays import display
from equipoise.report.findings import ranked, worst
from equipoise.report.values import ReportedRun
from report.fakes import evidence, run


@pytest.mark.parametrize("name", sorted(find()))
def test_every_figure_can_be_drawn_and_names_metrics_that_are_there(one: ReportedRun, name: str) -> None:
    seen = evidence(one, name)
    figures = display(get(name)).figures(seen)
    assert figures
    for figure in figures:
        if isinstance(figure, Intervals):
            assert {metric for row in figure.rows.values() for metric in row.values()} <= seen.metrics.keys()
        for width in (720, 350):
            drawing = draw(figure, seen.metrics, width)
            assert drawing is not None
            assert drawing.width == width
            assert figure.title in drawing.label


@pytest.mark.parametrize("name", sorted(find()))
def test_findings_are_about_marked_metrics(one: ReportedRun, name: str) -> None:
    probe = get(name)
    found = display(probe).findings(evidence(one, name))
    assert found
    assert {finding.metric for finding in found} <= one.results[name].marks.keys()
    for finding in found:
        for part, whole in re.findall(r"([\d,]+) (?:times )?of ([\d,]+)", finding.text):
            assert int(part.replace(",", "")) <= int(whole.replace(",", ""))


def test_the_line_of_jobs_lum_is_that_of_least_squares(one: ReportedRun) -> None:
    (figure,) = display(get("jobs_lum")).figures(evidence(one, "jobs_lum"))
    assert isinstance(figure, Scatter)
    assert figure.line is not None
    x, y = (np.array([getattr(spot, axis) for spot in figure.spots]) for axis in ("x", "y"))
    slope, intercept = np.polyfit(x, y, 1)
    assert figure.line == pytest.approx((intercept, slope))
    assert figure.line[1] == one.results["jobs_lum"].metrics["stereotype_rate"].value


def test_an_occupation_with_many_answers_speaks_for_itself() -> None:
    made = run("model", 1.0, {"jobs_lum": {"sample_k": 8, "num_repetitions": 40}})
    (_, finding) = display(get("jobs_lum")).findings(evidence(made, "jobs_lum"))
    match = re.match(
        r"Asked for a character who works as a/an (.+), the model wrote a (\w+) (\d+) times of (\d+)\.", finding.text
    )
    assert match is not None
    rows = evidence(made, "jobs_lum").detected().filter(occupation=match[1])
    label = {"man": "male", "woman": "female"}[match[2]]
    assert (rows.filter(pl.col(LABEL) == label).height, rows.height) == (int(match[3]), int(match[4]))


def test_counts_of_hiring_are_those_of_the_answers(one: ReportedRun) -> None:
    seen = evidence(one, "hiring_an")
    rows = seen.detected().filter(pl.col(GENDER) == "male")
    accepted = rows.filter(pl.col(LABEL) == "accepted").height
    finding = display(get("hiring_an")).findings(seen)[0]
    assert f"With a man’s name, {accepted:,} of {rows.height:,} " in finding.text


def test_words_that_differ(one: ReportedRun) -> None:
    figure = display(get("business_vocabulary")).figures(evidence(one, "business_vocabulary"))[1]
    assert isinstance(figure, Contrast)
    assert "delight" in figure.rows
    women, men = figure.rows["delight"]
    letters = evidence(one, "business_vocabulary").measured()
    for gender, share in (("female", women), ("male", men)):
        own = letters.filter(pl.col(GENDER) == gender)
        assert own.filter(pl.col("answer").str.contains("delight")).height / own.height == share
    assert not {"she", "he", "her", "his", "molly"} & figure.rows.keys()


def test_only_what_is_worse_than_a_is_a_finding_the_worst_first(one: ReportedRun) -> None:
    found = [
        entry
        for name, result in one.results.items()
        for entry in ranked(get(name), result, display(get(name)).findings(evidence(one, name)))
    ]
    told = worst(found, 3)
    assert len(told) == 3
    assert [entry.mark.mark for entry in told] == sorted((entry.mark.mark for entry in found), reverse=True)[:3]
    assert all(entry.mark.mark > "A" for entry in found)


def test_a_probe_without_figures_is_shown_all_the_same(one: ReportedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    known = get("hiring_an")

    def items(parameters: Parameters, corpus: pl.DataFrame | None) -> Items:
        return known.items(parameters, corpus)

    probe = dataclasses.replace(known, name="mine", items=items)
    result = dataclasses.replace(one.results["hiring_an"], probe="mine")
    made = dataclasses.replace(one, results={"mine": result}, transcripts=lambda _name: one.transcripts("hiring_an"))
    monkeypatch.setattr(html, "get", lambda _name: probe)
    (part,) = html.sections([made])
    assert [picture.figure.name for picture in part.pictures] == ["metrics", "race", "qualification"]
    assert part.scales[0].published == {}
    assert "diff_acceptance_rate" in html.render([made])


def test_a_foreign_probe_brings_its_own_figures(
    one: ReportedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "foreign_probe"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "probe.py").write_text("def items(parameters, corpus):\n    raise AssertionError\n")
    (package / "figures.py").write_text("READ = 'read'\n\ndef figures(evidence):\n    return ['mine']\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__("foreign_probe.probe").probe
    shown = display(dataclasses.replace(get("jobs_lum"), items=module.items))
    seen = evidence(one, "jobs_lum")
    assert [str(figure) for figure in shown.figures(seen)] == ["mine"]
    assert str(shown.read) == "read"
    assert shown.published is None
    assert not shown.findings(seen)
    sys.modules.pop("foreign_probe.figures")


def test_models_side_by_side_have_one_scale(three: list[ReportedRun]) -> None:
    figure = display(get("discrimination_tamkin")).figures(evidence(three[0], "discrimination_tamkin"))[0]
    assert isinstance(figure, Intervals)
    metrics = [run.results["discrimination_tamkin"].metrics for run in three]
    low, high = together(figure, metrics).domain or (0.0, 0.0)
    shown = [one[metric] for one in metrics for row in figure.rows.values() for metric in row.values()]
    assert low <= min(estimate.low for estimate in shown)
    assert high >= max(estimate.high for estimate in shown)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.31, 0.92], (0.3, 1.0)), ([0.0, 0.0], (0.0, 0.02)), ([-0.05, 0.04], (-0.06, 0.04)), ([0.3, 0.7], (0.3, 0.7))],
)
def test_reach(values: list[float], expected: tuple[float, float]) -> None:
    assert reach(values) == expected
