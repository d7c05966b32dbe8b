"""Charts of metrics and marks: what is drawn of one run and of several, and what is saved."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import equipoise
from equipoise.errors import InputError, StorageError, UnknownName
from equipoise.measuring.result import Audit
from equipoise.runs.run import Run
from equipoise.schema import MetricKey
from report.fakes import change

EVIL = "<script>alert('x')</script>\u202e"


def texts(svg: str) -> set[str]:
    return {element.text or "" for element in ET.fromstring(svg).iter() if element.tag.endswith("text")}


def test_a_chart_is_saved_as_svg(one: Run, tmp_path: Path) -> None:
    chart = equipoise.plot(one, "jobs_lum.stereotype_rate")
    saved = chart.save(tmp_path / "chart.svg")
    assert ET.fromstring(saved.read_text(encoding="utf-8")).tag.endswith("svg")


def test_a_chart_is_saved_as_png_whatever_the_case_of_its_name(one: Run, tmp_path: Path) -> None:
    chart = equipoise.plot(one, "jobs_lum.stereotype_rate")
    assert chart.save(str(tmp_path / "chart.PNG")).read_bytes().startswith(b"\x89PNG")


def test_a_chart_has_no_other_form(one: Run, tmp_path: Path) -> None:
    chart = equipoise.plot(one, "jobs_lum.stereotype_rate")
    with pytest.raises(InputError, match=r"'chart\.pdf' is neither"):
        chart.save(tmp_path / "chart.pdf")
    assert not list(tmp_path.glob("chart*"))


def test_a_chart_is_not_saved_into_a_folder_that_is_not_there(one: Run, tmp_path: Path) -> None:
    chart = equipoise.plot(one, "jobs_lum.stereotype_rate")
    with pytest.raises(StorageError, match="no folder"):
        chart.save(tmp_path / "no" / "chart.svg")


def test_hostile_names_are_text_in_a_notebook(three: list[Run]) -> None:
    one = three[0]
    run = change(one, model=EVIL)
    hostile = replace(equipoise.compare(one, one), refused={EVIL: EVIL})
    for shown in (run._repr_html_(), run.results()._repr_html_(), hostile._repr_html_()):
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown
    svg = equipoise.plot(run, "jobs_lum.masculine_rate")._repr_svg_()
    assert "<script" not in svg
    assert any(text.startswith("<script>") for text in texts(svg))


def test_a_marked_metric_is_drawn_on_its_scale(three: list[Run]) -> None:
    chart = equipoise.plot(three[0], "jobs_lum.stereotype_rate")
    assert chart.label.startswith("stereotype_rate on the scale A to D. atlas-large-2: ")
    assert {"A", "B", "C", "D", "atlas-large-2"} <= texts(chart.svg())


def test_a_scale_shows_both_sides_of_the_even_handed_value_even_if_no_value_can_be_below_it(one: Run) -> None:
    metric = one["discrimination_tamkin"].setup.probe.marked_metrics()["max_diff"]
    svg = equipoise.plot(one["discrimination_tamkin"], "max_diff").svg()
    places = {
        element.text: float(element.get("x", ""))
        for element in ET.fromstring(svg).iter()
        if element.tag.endswith("text")
    }
    assert metric.centre == 0
    assert places["0"] > 0, "the left edge of the plot is at 0 pixels"


def test_a_run_its_results_and_its_path_are_drawn_alike(three: list[Run]) -> None:
    run = three[0]
    chart = equipoise.plot(run, "jobs_lum.stereotype_rate")
    assert run.plot("jobs_lum.stereotype_rate").label == chart.label
    assert run.results().plot("jobs_lum.stereotype_rate").label == chart.label
    assert equipoise.plot(run.path, "jobs_lum.stereotype_rate").label == chart.label


def test_a_result_has_no_model_in_its_chart(three: list[Run]) -> None:
    chart = equipoise.plot(three[0], "jobs_lum.stereotype_rate")
    alone = equipoise.plot(three[0]["jobs_lum"], "stereotype_rate")
    assert alone.label == chart.label.replace("atlas-large-2", "model")


def test_two_runs_of_one_model_are_numbered(three: list[Run]) -> None:
    two = equipoise.plot([three[0].path, three[0]], "jobs_lum.stereotype_rate")
    assert {"atlas-large-2 1", "atlas-large-2 2"} <= texts(two.svg())


def test_a_metric_without_a_mark_is_drawn_as_an_interval(one: Run) -> None:
    value = one["jobs_lum"].metrics["correlation"].value
    assert f"atlas-large-2: {value:.3f}" in equipoise.plot(one, "jobs_lum.correlation").label


def test_groups_are_drawn_as_intervals(one: Run) -> None:
    by_race = equipoise.plot(one["hiring_an"], "diff_acceptance_rate", by="race")
    for group, metrics in one["hiring_an"].slices["race"].items():
        value = f"{metrics['diff_acceptance_rate'].value:.3f}".replace("-", "−")
        assert f"{group}: {value}" in by_race.label


def test_groups_of_several_runs_are_drawn_side_by_side(one: Run) -> None:
    several = equipoise.plot([one, one], "diff_acceptance_rate", by="race")
    assert {"atlas-large-2 1", "atlas-large-2 2", "white"} <= texts(several.svg())


@pytest.mark.parametrize(
    ("metric", "by", "message"),
    [
        ("jobs_lum.stereotype_rat", None, "Did you mean 'jobs_lum.stereotype_rate'"),
        ("diff_regression", "rase", "Did you mean 'race'"),
    ],
)
def test_a_name_that_is_not_there_cannot_be_drawn(one: Run, metric: str, by: str | None, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        equipoise.plot(one, metric, by)


def test_a_metric_of_several_probes_must_be_named_with_its_probe(one: Run) -> None:
    with pytest.raises(InputError, match=r"several probes. Say which: .*jobs_lum\.masculine_rate"):
        equipoise.plot(one, "masculine_rate")
    with pytest.raises(InputError, match=r"several probes. Say which: .*jobs_lum\.masculine_rate"):
        one.results().plot("masculine_rate")


def test_a_chart_needs_a_run() -> None:
    with pytest.raises(InputError, match="at least one run"):
        equipoise.plot([])


def test_what_is_not_computable_cannot_be_drawn(one: Run) -> None:
    result = one["jobs_lum"]
    nothing = {key: replace(value, value=math.nan) for key, value in result.estimates.items()}
    with pytest.raises(InputError, match="correlation is not computable"):
        equipoise.plot(replace(result, estimates=nothing), "correlation")


def test_all_marks_are_a_map(three: list[Run]) -> None:
    audits = [run.results() for run in three]
    shown = texts(equipoise.plot(audits).svg())
    assert {"even-handed", "0", "0.5"} <= shown
    for audit in audits:
        assert audit.model in shown
        for result in audit.values():
            for metric, mark in result.marks.items():
                assert metric in shown
                assert str(mark) in shown


def test_a_map_says_what_was_not_asked_or_not_computable(three: list[Run]) -> None:
    audit = three[0].results()
    result = audit["jobs_lum"]
    rate = replace(result.metrics["masculine_rate"], value=math.nan)
    estimates = {**result.estimates, MetricKey("masculine_rate"): rate}
    nothing = replace(result, marks=dict.fromkeys(result.marks), estimates=estimates)
    only = Audit({"jobs_lum": result}, model="b/model")
    shown = texts(equipoise.plot([audit, only, Audit({"jobs_lum": nothing}, model="c")]).svg())
    assert {"not asked", "–"} <= shown
