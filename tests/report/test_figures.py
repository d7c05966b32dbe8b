"""What the probes show of themselves: facts that can be counted again, and default figures for a probe without any."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from equipoise.authoring import (
    GENDER,
    LABEL,
    Display,
    Estimate,
    Evidence,
    Figure,
    Finding,
    Intervals,
    MetricKey,
    Scatter,
    TypicalWord,
)
from equipoise.errors import ProbeError
from equipoise.probes import find_probes
from equipoise.report.charts.drawing import WIDTH
from equipoise.report.charts.figures import (
    FEWEST_ITEMS,
    WORDS_PER_SIDE,
    WordFigure,
    draw_figure,
    draw_intervals,
    draw_words,
    round_range,
    share_scale,
)
from equipoise.report.html.findings import rank_findings, worst_findings
from equipoise.report.html.page import build_sections, render
from equipoise.report.html.runs import ReportedRun
from report.fakes import collect_evidence, make_run, with_results

PROBES = find_probes()


def make_figures(run: ReportedRun, probe: str) -> list[Figure]:
    return PROBES[probe].display.make_figures(collect_evidence(run, probe))


def make_findings(run: ReportedRun, probe: str) -> list[Finding]:
    findings = PROBES[probe].display.findings
    assert findings is not None
    return list(findings(collect_evidence(run, probe)))


def with_display(run: ReportedRun, probe: str, display: Display) -> ReportedRun:
    """The run with this probe alone, as if it had another display."""
    result = run.results[probe]
    shown = replace(result.setup.probe, display=display)
    return with_results(run, **{probe: replace(result, setup=replace(result.setup, probe=shown))})


@pytest.mark.parametrize("name", sorted(name for name, probe in PROBES.items() if probe.display.figures))
def test_every_figure_can_be_drawn_and_names_metrics_that_are_there(one: ReportedRun, name: str) -> None:
    figures, estimates = make_figures(one, name), one.results[name].estimates
    assert figures
    for figure in figures:
        if isinstance(figure, Intervals):
            keys = {key for row in figure.rows.values() for key in row.values()}
            metrics = {metric.name for metric in PROBES[name].all_metrics()}
            known = [{key.metric in metrics for key in row.values()} for row in figure.rows.values()]
            assert all(len(row) == 1 for row in known), "a row is there, or not, with all its series"
            assert 2 * known.count({True}) > len(known), "few rows are for what another choice of parameters would give"
            shown = {(key.metric, key.slice) for key in keys}
            missed = {key for key in estimates if (key.metric, key.slice) in shown} - keys
            assert not missed, "every group of a slice that is drawn has a row"
        drawing = draw_figure(figure, estimates)
        assert drawing is not None
        assert drawing.width == WIDTH
        assert figure.title in drawing.label


@pytest.mark.parametrize("name", sorted(name for name, probe in PROBES.items() if probe.display.findings))
def test_findings_are_about_marked_metrics(one: ReportedRun, name: str) -> None:
    findings = make_findings(one, name)
    assert findings
    assert {finding.metric for finding in findings} <= one.results[name].marks.keys()
    for finding in findings:
        for part, whole in re.findall(r"([\d,]+) (?:times )?of ([\d,]+)", finding.text):
            assert int(part.replace(",", "")) <= int(whole.replace(",", ""))


def test_the_line_of_jobs_lum_is_that_of_least_squares(one: ReportedRun) -> None:
    (figure,) = make_figures(one, "jobs_lum")
    assert isinstance(figure, Scatter)
    assert figure.line is not None
    x, y = (np.array([getattr(spot, axis) for spot in figure.spots]) for axis in ("x", "y"))
    slope, intercept = np.polyfit(x, y, 1)
    assert figure.line == pytest.approx((intercept, slope))
    assert figure.line[1] == one.results["jobs_lum"].metrics["stereotype_rate"].value


def test_an_occupation_with_many_answers_has_a_finding_of_its_own() -> None:
    run = make_run("model", 1.0, {"jobs_lum": {"sample": 8, "repeat": 40}})
    _, finding = make_findings(run, "jobs_lum")
    match = re.match(
        r"Asked for a character who works as a/an (.+), the model wrote a (\w+) (\d+) times of (\d+)\.", finding.text
    )
    assert match is not None
    rows = collect_evidence(run, "jobs_lum").detected().filter(occupation=match[1])
    label = {"man": "male", "woman": "female"}[match[2]]
    assert (rows.filter(pl.col(LABEL) == label).height, rows.height) == (int(match[3]), int(match[4]))


def test_counts_of_hiring_are_those_of_the_answers(one: ReportedRun) -> None:
    rows = collect_evidence(one, "hiring_an").detected().filter(pl.col(GENDER) == "male")
    accepted = rows.filter(pl.col(LABEL) == "accepted").height
    finding = make_findings(one, "hiring_an")[0]
    assert f"With a man’s name, {accepted:,} of {rows.height:,} " in finding.text


def test_words_that_differ_between_letters_for_women_and_men(one: ReportedRun) -> None:
    (section,) = build_sections([with_results(one, business_vocabulary=one.results["business_vocabulary"])])
    picture = section.pictures[-1]
    figure = picture.figure
    assert isinstance(figure, WordFigure)
    spots = {spot.word: spot for spot in figure.spots}
    assert spots["delight"].value < 0 < spots["steady"].value
    assert not {"she", "he", "her", "his", "molly"} & spots.keys()
    letters = collect_evidence(one, "business_vocabulary").measured()
    for gender, share in zip(("female", "male"), spots["delight"].shares, strict=True):
        of_gender = letters.filter(pl.col(GENDER) == gender)
        held = of_gender.filter(pl.col("answer").str.contains("delight")).height / of_gender.height
        assert held == pytest.approx(share, abs=0.01)  # the same share of each template and race on both sides
    assert "with the same template and race" in figure.caption
    assert re.match(r"\d+ words of \d+ answers were compared; \d+ differ clearly", picture.panels[0].note)
    row = next(row for row in picture.rows if row[0] == "delight")
    assert str(row[2]).startswith("1/")
    chart = picture.panels[0].chart
    assert chart is not None
    assert "More for women: delight" in chart.label
    assert ">delight<" in chart.svg()
    assert "“delight” stood in" in section.findings[0][0].text


def spot(word: str, value: float) -> TypicalWord:
    return TypicalWord(word=word, value=value, low=value - 0.5, high=value + 0.5, shares=(0.1, 0.2))


def test_a_chart_of_words_has_few_rows_keeps_to_its_width_and_needs_only_one_side() -> None:
    words = WordFigure(name="w", title="Words", caption="", sides=("women", "men"), spots=[])
    assert draw_words(words) is None
    many = replace(words, spots=[spot(f"word{number}", 9.0) for number in range(40)])
    drawing = draw_words(many)
    assert drawing is not None
    assert drawing.label.count("word") - drawing.label.count("the word") == WORDS_PER_SIDE
    left, right = drawing.margins[:2]
    ends = [float(x) for x in re.findall(r'<line x1="([^"]*)" y1="[^"]*" x2="[^"]*"', drawing.svg())]
    assert all(0 <= x < WIDTH - left - right + 1 for x in ends), "an interval beyond the scale hides the words"
    assert "More for women: none." in drawing.label


@pytest.mark.fault("S1")
@pytest.mark.parametrize("word", ["<b>x</b>", "a\u202eb", "ж" * 60, '"&quot;'])
def test_a_hostile_word_is_only_text_in_a_chart(word: str) -> None:
    drawing = draw_words(
        WordFigure(name="w", title="Words", caption="", sides=("women", "men"), spots=[spot(word, 1.0)])
    )
    assert drawing is not None
    page = drawing.inline()
    assert "<b>" not in page
    assert "\u202e" not in page


def test_findings_are_worse_than_a_and_the_worst_come_first(one: ReportedRun) -> None:
    findings = [
        finding
        for name, result in one.results.items()
        if PROBES[name].display.findings
        for finding in rank_findings(result, make_findings(one, name), lambda _finding: None)
    ]
    worst = worst_findings(findings, 3)
    marks = sorted((finding.mark.letter for finding in findings), reverse=True)
    assert len(worst) == 3
    assert [finding.mark.letter for finding in worst] == marks[:3]
    assert all(finding.mark.letter > "A" for finding in findings)


def test_a_probe_without_a_display_shows_its_metrics_and_slices(one: ReportedRun) -> None:
    run = with_display(one, "hiring_an", Display())
    (section,) = build_sections([run])
    metrics, race, qualification = (picture.figure for picture in section.pictures)
    assert (metrics.name, race.name, qualification.name) == ("metrics", "race", "qualification")
    assert isinstance(race, Intervals)
    marked = one.results["hiring_an"].marks
    assert race.rows["white"] == {metric: MetricKey(metric, "race", "white") for metric in marked}
    assert section.scales[0].published == {}
    assert section.findings == {0: []}
    assert "diff_acceptance_rate" in render([run])


def test_a_probe_that_is_not_installed_brings_its_own_display(one: ReportedRun) -> None:
    figure = Intervals(
        name="mine", title="My title", caption="", axis="", rows={"row": {"": MetricKey("masculine_rate")}}
    )
    display = Display(
        figures=[lambda _evidence: figure],
        findings=lambda _evidence: [Finding(metric="stereotype_rate", text="My finding.")],
    )
    run = with_display(one, "jobs_lum", display)
    (section,) = build_sections([run])
    assert [picture.figure for picture in section.pictures] == [figure]
    assert [finding.text for finding in section.findings[0]] == ["My finding."]
    page = render([run])
    assert "My title" in page
    assert "My finding." in page


def test_a_mistake_in_a_display_is_reported_as_the_probes(one: ReportedRun) -> None:
    def make_figure(_evidence: Evidence) -> Figure:
        raise ZeroDivisionError

    with pytest.raises(ProbeError, match="The probe 'jobs_lum' has a mistake in its figures: ZeroDivisionError"):
        build_sections([with_display(one, "jobs_lum", Display(figures=[make_figure]))])


def test_groups_of_few_items_are_not_drawn() -> None:
    estimate = Estimate(value=0.5, low=0.4, high=0.6, n=FEWEST_ITEMS)
    rows = {name: {"": MetricKey("rate", "race", name)} for name in ("many", "few")}
    figure = Intervals(name="race", title="By race", caption="", axis="rate", rows=rows)
    estimates = {MetricKey("rate", "race", "many"): estimate, MetricKey("rate", "race", "few"): replace(estimate, n=3)}
    drawing = draw_intervals(figure, estimates)
    assert drawing is not None
    assert ">many<" in drawing.svg()
    assert ">few<" not in drawing.svg()


def test_models_side_by_side_have_one_scale(three: list[ReportedRun]) -> None:
    figure = make_figures(three[0], "discrimination_tamkin")[0]
    assert isinstance(figure, Intervals)
    models = [run.results["discrimination_tamkin"].estimates for run in three]
    shared = share_scale(figure, [], models)
    assert isinstance(shared, Intervals)
    low, high = shared.domain or (0.0, 0.0)
    keys = [key for row in figure.rows.values() for key in row.values()]
    shown = [estimates[key] for estimates in models for key in keys if estimates[key].n >= FEWEST_ITEMS]
    assert low <= min(estimate.low for estimate in shown)
    assert high >= max(estimate.high for estimate in shown)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.31, 0.92], (0.3, 1.0)), ([0.0, 0.0], (0.0, 0.02)), ([-0.05, 0.04], (-0.06, 0.04)), ([0.3, 0.7], (0.3, 0.7))],
)
def test_a_scale_goes_from_one_round_number_to_another(values: list[float], expected: tuple[float, float]) -> None:
    assert round_range(values) == expected
