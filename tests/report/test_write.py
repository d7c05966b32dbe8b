"""Reports and charts as files, which appear whole or not at all."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import equipoise
from equipoise.errors import InputError, IntegrityError, StorageError
from equipoise.measuring.compare import compare_audits
from equipoise.probes import get_probe
from equipoise.probes.labelled import describe_accuracy
from equipoise.report.files import check_target, make_folder, writing
from equipoise.report.html.page import render
from equipoise.report.html.write import check_report, save_charts, seal_page
from equipoise.runs.run import Run
from report.fakes import alone


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("write") / "run.equipoise"
    equipoise.audit(lambda _prompt: "She is.", probes="jobs_lum", out=path, sample=3)
    return path


def test_a_report_on_a_path_and_an_opened_run(path: Path, tmp_path: Path) -> None:
    assert equipoise.write_report(path, tmp_path / "one.html", full=True) == []
    assert equipoise.write_report([str(path), Run.open(path)], str(tmp_path / "two.html")) == []
    one, two = ((tmp_path / name).read_text(encoding="utf-8") for name in ("one.html", "two.html"))
    assert one.startswith("<!DOCTYPE html>")
    assert '<mark class="group-1">She</mark>' in one
    assert "2 models side by side" in two
    assert sorted(file.name for file in tmp_path.iterdir() if file.is_file()) == ["one.html", "two.html"]


def test_a_report_is_the_short_one_unless_the_full_one_is_asked_for(path: Path, tmp_path: Path) -> None:
    pages = {name: tmp_path / f"{name}.html" for name in ("default", "short", "full")}
    equipoise.write_report(path, pages["default"])
    equipoise.write_report(path, pages["short"], full=False)
    equipoise.write_report(path, pages["full"], full=True)
    assert pages["default"].read_bytes() == pages["short"].read_bytes()
    assert pages["full"].stat().st_size > pages["short"].stat().st_size


def test_the_digest_of_a_report_covers_a_second_digest_in_it(path: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    equipoise.write_report(path, report)
    second = '<meta name="equipoise-sha256" content="abc">'
    page = seal_page(report.read_text(encoding="utf-8").replace("</head>", f"{second}</head>"))
    report.write_text(page.replace(second, second.replace("abc", "def")), encoding="utf-8")
    with pytest.raises(IntegrityError, match="was changed after it was written"):
        check_report(report, {})


def test_a_report_compares_each_model_with_the_first(three: list[Run]) -> None:
    runs = [alone(run, "jobs_lum") for run in three]
    cells = re.findall(r'<td data-compared="(\d)">.*?class="value" value="(.*?)"', render(runs), flags=re.DOTALL)
    expected = [
        (str(place), repr(metric.difference.value))
        for place in (1, 2)
        for _, metric in compare_audits([runs[0].results(), runs[place].results()])[0].marked()
    ]
    assert sorted(cells) == sorted(expected)


def test_charts_are_written_into_a_new_folder_as_svg_and_png(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "charts"
    charts = equipoise.write_report(path, tmp_path / "report.html", folder)
    assert {chart.parent for chart in charts} == {folder}
    assert {chart.suffix for chart in charts} == {".svg", ".png"}
    assert {chart.name for chart in charts} == {chart.name for chart in folder.iterdir()}


def test_a_run_and_its_results_write_the_same_report(path: Path, tmp_path: Path) -> None:
    run = Run.open(path)
    assert run.report(tmp_path / "run.html") == []
    assert run.results().report(tmp_path / "audit.html") == []
    assert (tmp_path / "run.html").read_bytes() == (tmp_path / "audit.html").read_bytes()


def test_a_report_says_of_which_file_and_when_and_by_what_the_run_was_made(path: Path, tmp_path: Path) -> None:
    run = Run.open(path)
    run.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for shown in ("run.equipoise", run.record.equipoise, run.record.spec.suite):
        assert shown
        assert shown in page


def test_a_report_shows_the_error_of_the_detector_and_both_readings(path: Path, tmp_path: Path) -> None:
    error = describe_accuracy(get_probe("jobs_lum"))
    for full in (False, True):
        equipoise.write_report(path, tmp_path / "one.html", full=full)
        page = (tmp_path / "one.html").read_text(encoding="utf-8")
        assert error in page
        assert ('<td data-reading="specified">' in page) == full
        assert ("The two readings differ on 0 of 3 answers." in page) == full


def test_a_probe_whose_error_nobody_measured_says_so(tmp_path: Path) -> None:
    detector = replace(get_probe("jobs_lum").detector, version=999)
    probe = replace(get_probe("jobs_lum"), name="mine", specified=None, detector=detector)
    out = tmp_path / "a.equipoise"
    audit = equipoise.audit(lambda _prompt: "He is.", probes=[probe], out=out, sample=2)
    equipoise.write_report(audit, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    reading = f"the careful reading ({probe.detector.title})"
    assert f"How often {reading} is wrong has not been measured" in page
    assert "data-reading=" not in page


def test_a_report_on_an_audit_of_a_probe_that_is_not_installed(tmp_path: Path) -> None:
    probe = replace(get_probe("jobs_lum"), name="mine")
    out = tmp_path / "a.equipoise"
    audit = equipoise.audit(lambda _prompt: "He is.", probes=[probe], out=out, sample=2)
    equipoise.write_report(audit, tmp_path / "report.html")
    assert 'id="probe-mine"' in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_full_report_on_all_probes_is_small(one: Run, tmp_path: Path) -> None:
    equipoise.write_report(one, tmp_path / "report.html", full=True)
    size = (tmp_path / "report.html").stat().st_size
    assert size < 200_000 * len(one.planned), "5 MB is what is promised for a report"


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


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="it is a folder"):
        check_target(tmp_path)
    with pytest.raises(StorageError, match="it is a folder"), writing(tmp_path):
        pass


def test_a_file_in_a_folder_that_is_not_there_cannot_be_written(tmp_path: Path) -> None:
    target = tmp_path / "no" / "file"
    with pytest.raises(StorageError, match="there is no folder"):
        check_target(target)
    with pytest.raises(StorageError, match="there is no folder"), writing(target):
        pass


def test_a_run_file_is_not_written_over(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError, match="its answers would be lost"):
        check_target(path)
    with pytest.raises(InputError, match="its answers would be lost"), writing(path):
        pass
    assert path.read_bytes() == before


def test_a_folder_cannot_take_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        make_folder(tmp_path / "file")


def test_nothing_is_checked_where_stdout_is_written() -> None:
    check_target(None)


def test_a_report_needs_a_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one run"):
        equipoise.write_report([], tmp_path / "report.html")
    assert list(tmp_path.glob("*.html")) == []
