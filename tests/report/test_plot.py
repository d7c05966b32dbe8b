"""Charts of metrics and marks for notebooks and papers."""

from __future__ import annotations

import html
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
from simulating import simulated

EVIL = "<script>alert('x')</script>\u202e"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plot") / "run.equipoise"
    simulated(path, {"jobs_lum": "stereotyping", "hiring_an": "stereotyping"}, model="a/model")
    return path


def texts(svg: str) -> set[str]:
    return {element.text or "" for element in ET.fromstring(svg).iter() if element.tag.endswith("text")}


def test_a_run_is_indexed_by_probe_and_shows_itself(path: Path, tmp_path: Path) -> None:
    run = Run.open(path)
    assert list(run) == list(run.planned) == ["hiring_an", "jobs_lum"]
    assert "jobs_lum" in run
    assert "other" not in run
    assert run["jobs_lum"] is run.result("jobs_lum")
    with pytest.raises(UnknownName, match="Did you mean 'jobs_lum'"):
        run["jobs_lam"]
    assert set(run.results().to_frame()["model"]) == {"a/model"}
    assert html.escape(repr(run["hiring_an"])) in run._repr_html_()
    assert equipoise.write_report(run, tmp_path / "run.html") == run.results().report(tmp_path / "audit.html") == []
    assert (tmp_path / "run.html").read_bytes() == (tmp_path / "audit.html").read_bytes()


def test_hostile_names_are_text_in_a_notebook(path: Path) -> None:
    run = Run.open(path)
    run.model = EVIL
    comparison = equipoise.compare(path, path)
    hostile = replace(comparison, refused={EVIL: EVIL})
    for shown in (run._repr_html_(), run.results()._repr_html_(), hostile._repr_html_()):
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown
    svg = equipoise.plot(run, "jobs_lum.masculine_rate")._repr_svg_()
    assert "<script" not in svg
    assert any(text.startswith("<script>") for text in texts(svg))


def test_a_marked_metric_is_drawn_on_its_scale(path: Path) -> None:
    run = Run.open(path)
    chart = equipoise.plot(run, "stereotype_rate")
    for same in (run.results().plot("jobs_lum.stereotype_rate"), equipoise.plot(path, "stereotype_rate")):
        assert same.label == chart.label
    assert chart.label.startswith("stereotype_rate on the scale A to D. a/model: ")
    assert equipoise.plot(run["jobs_lum"], "stereotype_rate").label == chart.label.replace("a/model", "model")
    assert {"A", "B", "C", "D", "a/model"} <= texts(chart.svg())
    two = equipoise.plot([path, run], "stereotype_rate")
    assert {"a/model 1", "a/model 2"} <= texts(two.svg())


def test_other_metrics_and_groups_are_drawn_as_intervals(path: Path) -> None:
    run = Run.open(path)
    assert f"a/model: {run['jobs_lum'].metrics['correlation'].value:.3f}" in equipoise.plot(run, "correlation").label
    by_race = equipoise.plot(run, "diff_acceptance_rate", by="race")
    assert equipoise.plot(run["hiring_an"], "diff_acceptance_rate", "race").label == by_race.label
    for group, metrics in run["hiring_an"].slices["race"].items():
        assert f"{group}: {metrics['diff_acceptance_rate'].value:.3f}".replace("-", "−") in by_race.label
    several = equipoise.plot([path, path], "diff_acceptance_rate", by="race")
    assert {"a/model 1", "a/model 2", "white"} <= texts(several.svg())


def test_what_cannot_be_drawn_is_refused(path: Path, one: Run) -> None:
    for metric, by, message in (
        ("stereotype_rat", None, "Did you mean 'stereotype_rate'"),
        ("diff_regression", "rase", "Did you mean 'race'"),
    ):
        with pytest.raises(UnknownName, match=message):
            equipoise.plot(path, metric, by)
    with pytest.raises(InputError, match=r"several probes. Say which: .*jobs_lum\.masculine_rate"):
        one.results().plot("masculine_rate")
    with pytest.raises(InputError, match="at least one run"):
        equipoise.plot([])
    result = Run.open(path)["jobs_lum"]
    nothing = {key: replace(value, value=math.nan) for key, value in result.estimates.items()}
    with pytest.raises(InputError, match="correlation is not computable"):
        equipoise.plot(replace(result, estimates=nothing), "correlation")


def test_charts_are_saved_as_their_names_end(path: Path, tmp_path: Path) -> None:
    chart = equipoise.plot(path, "stereotype_rate")
    assert chart.save(str(tmp_path / "chart.PNG")).read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"'chart\.pdf' is neither"):
        chart.save(tmp_path / "chart.pdf")
    with pytest.raises(StorageError, match="no folder"):
        chart.save(tmp_path / "no" / "chart.svg")


def test_all_marks_are_a_map(three: list[Run]) -> None:
    audits = [run.results() for run in three]
    columns = {(probe, metric) for audit in audits for probe, result in audit.items() for metric in result.marks}
    shown = texts(equipoise.plot(audits).svg())
    assert {*(audit.model for audit in audits), "even-handed", "0", "0.5"} <= shown
    assert {metric for _, metric in columns} <= shown
    for audit in audits:
        for probe, metric in columns:
            assert str(audit[probe].marks[metric]) in shown


def test_a_map_says_what_was_not_asked_or_not_computable(path: Path) -> None:
    run = Run.open(path)
    only = Audit({"jobs_lum": run["jobs_lum"]}, model="b/model")
    result = run["jobs_lum"]
    rate = replace(result.metrics["masculine_rate"], value=math.nan)
    estimates = {**result.estimates, MetricKey("masculine_rate"): rate}
    nothing = replace(result, marks=dict.fromkeys(result.marks), estimates=estimates)
    shown = texts(equipoise.plot([run, only, Audit({"jobs_lum": nothing}, model="c")]).svg())
    assert {"not asked", "–"} <= shown
