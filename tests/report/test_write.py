"""Reports and charts as files, which appear whole or not at all."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import equipoise
from equipoise.errors import InputError, StorageError
from equipoise.probes import get_probe
from equipoise.probes.labelled import describe_accuracy
from equipoise.report.files import check_target, make_folder, writing
from equipoise.report.html.write import save_charts
from equipoise.runs.run import Run
from report.fakes import alone


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("write") / "run.equipoise"
    equipoise.audit(lambda _prompt: "She is.", probes="jobs_lum", out=path, sample=3)
    return path


def test_a_report_on_a_path_and_an_opened_run(path: Path, tmp_path: Path) -> None:
    charts = equipoise.write_report(path, tmp_path / "one.html", tmp_path / "new" / "charts", full=True)
    assert {(chart.parent, chart.suffix) for chart in charts} == {
        (tmp_path / "new" / "charts", ending) for ending in (".svg", ".png")
    }
    assert equipoise.write_report([str(path), Run.open(path)], str(tmp_path / "two.html")) == []
    one, two = ((tmp_path / name).read_text(encoding="utf-8") for name in ("one.html", "two.html"))
    assert one.startswith("<!DOCTYPE html>")
    assert '<mark class="group-1">She</mark>' in one
    assert "2 models side by side" in two
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == ["one.html", "two.html"]


def test_a_report_shows_the_error_of_the_detector_and_both_readings(path: Path, tmp_path: Path) -> None:
    error = describe_accuracy(get_probe("jobs_lum"))
    for full in (False, True):
        equipoise.write_report(path, tmp_path / "one.html", full=full)
        page = (tmp_path / "one.html").read_text(encoding="utf-8")
        assert error in page
        assert ('<td data-reading="specified">' in page) == full
        assert ("The two readings differ on 0 of 3 answers." in page) == full


def test_a_report_on_a_probe_that_is_not_installed_and_whose_error_nobody_measured(tmp_path: Path) -> None:
    detector = replace(get_probe("jobs_lum").detector, version=999)
    probe = replace(get_probe("jobs_lum"), name="mine", specified=None, detector=detector)
    audit = equipoise.audit(lambda _prompt: "He is.", probes=[probe], out=tmp_path / "a.equipoise", sample=2)
    equipoise.write_report(audit, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="probe-mine"' in page
    assert f"How often the careful reading ({probe.detector.title}) is wrong has not been measured" in page
    assert "data-reading=" not in page


def test_charts_have_safe_names(tmp_path: Path, one: Run) -> None:
    small = alone(one, "jobs_lum", model="../../evil <model>")
    paths = save_charts([small, small], tmp_path)
    names = {path.name for path in paths}
    assert names == {path.name for path in tmp_path.iterdir() if path.is_file()}
    stems = {"jobs_lum-masculine_rate", "jobs_lum-stereotype_rate"}
    stems |= {f"jobs_lum-occupations-{place}-evil-model-{place}" for place in (1, 2)}
    drawn = {f"{stem}.{ending}" for stem in (*stems, "heatmap") for ending in ("svg", "png")}
    assert names == drawn
    for path in paths:
        if path.suffix == ".svg":
            assert ET.fromstring(path.read_text(encoding="utf-8")).tag.endswith("svg")
        else:
            assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("before")
    with contextlib.suppress(ZeroDivisionError), writing(target) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert target.read_text() == "before"
    with writing(target) as file:
        file.write(b"whole")
        assert target.read_text() == "before"
    assert target.read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["table.csv"]


def test_what_cannot_be_written_is_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target, error, message in (
        (tmp_path, StorageError, "it is a folder"),
        (tmp_path / "no" / "file", StorageError, "there is no folder"),
        (path, InputError, "its answers would be lost"),
    ):
        with pytest.raises(error, match=message):
            check_target(target)
        with pytest.raises(error, match=message), writing(target):
            pass
    with pytest.raises(InputError, match="at least one run"):
        equipoise.write_report([], tmp_path / "report.html")
    with pytest.raises(StorageError, match="cannot be written"):
        make_folder(tmp_path / "file")
    check_target(None)
