"""Charts: where shapes stand, what is drawn for a metric, for a run and for several, and what is saved."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import equipoise
from equipoise.errors import InputError, StorageError, UnknownName
from equipoise.measuring.result import Audit
from equipoise.report.charts import drawing
from equipoise.report.charts.drawing import (
    Drawing,
    Scale,
    draw_bottom_axis,
    fit_text,
    interval,
    label_ticks,
    text,
    text_width,
)
from equipoise.runs.run import Run
from equipoise.schema import MetricKey
from report.fakes import change

EVIL = "<script>alert('x')</script>\u202e"


def draw(*shapes: str) -> list[ET.Element]:
    """The elements of a chart with these shapes."""
    chart = Drawing(label="", width=120, height=60, left=10, top=5, shapes=shapes)
    return list(ET.fromstring(chart.svg())[0])


def texts(svg: str) -> set[str]:
    return {element.text or "" for element in ET.fromstring(svg).iter() if element.tag.endswith("text")}


def test_a_scale_goes_from_end_to_end_and_a_bent_one_is_the_same_on_both_sides_of_its_centre() -> None:
    x = Scale(domain=(0.4, 0.6), extent=(0, 100))
    assert [x(value) for value in (0.4, 0.5, 0.6)] == pytest.approx([0, 50, 100])
    bent = Scale(domain=(-0.5, 1.5), extent=(0, 100), centre=0.5, bend=0.05)
    assert bent(0.6) - bent(0.5) == pytest.approx(bent(0.5) - bent(0.4))
    assert bent(0.6) - bent(0.5) == pytest.approx(50 * math.log(3) / math.log(21))
    (ends,) = draw(interval(5, 0.42, 0.46, x, "accent", 2) + interval(5, math.nan, math.nan, x, "accent", 2))
    assert (ends.get("x1"), ends.get("x2")) == ("10", "30")


@pytest.mark.fault("S1")
def test_foreign_text_cannot_leave_its_place_and_is_cut_to_its_width() -> None:
    (element,) = draw(text(1, 2, '<b a="1">&', text_anchor="end"))
    assert (element.text, element.get("text-anchor"), list(element)) == ('<b a="1">&', "end", [])
    assert fit_text("short", 100) == "short"
    cut = fit_text("a long\nname \u202e of a model", 60)
    assert cut.endswith("…")
    assert "\n" not in cut
    assert text_width(cut, 12) <= 60


@pytest.mark.parametrize(
    ("domain", "labels"),
    [
        ((0.0, 1.0), "0.0 0.2 0.4 0.6 0.8 1.0"),
        ((0.4, 0.62), "0.40 0.45 0.50 0.55 0.60"),
        ((-0.04, 0.04), "−0.04 −0.02 0.00 0.02 0.04"),
        ((40_000, 90_000), "40000 50000 60000 70000 80000 90000"),
    ],
)
def test_ticks_are_round_numbers_within_the_domain(domain: tuple[float, float], labels: str) -> None:
    ticks = label_ticks(domain)
    assert " ".join(ticks.values()) == labels
    assert all(domain[0] - 1e-9 <= value <= domain[1] + 1e-9 for value in ticks)


def test_labels_without_room_are_left_out_and_their_ticks_stay() -> None:
    labels = {value / 10: f"0.{value}00" for value in range(1, 10)}
    elements = draw(*draw_bottom_axis(Scale(domain=(0, 1), extent=(0, 100)), labels, 40))
    assert sum(element.tag.endswith("line") for element in elements) == 9
    ends = [(float(e.get("x", "")), text_width(e.text, 10.5) / 2) for e in elements if e.text]
    assert 1 < len(ends) < 9
    assert all(a + wide < b - other for (a, wide), (b, other) in itertools.pairwise(ends))


def test_charts_are_saved_as_their_names_end(one: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = equipoise.plot(one, "jobs_lum.stereotype_rate")
    assert chart.save(str(tmp_path / "chart.PNG")).read_bytes().startswith(b"\x89PNG")
    assert chart.save(tmp_path / "chart.svg").read_text().startswith("<svg")
    with pytest.raises(InputError, match=r"'chart\.pdf' is neither"):
        chart.save(tmp_path / "chart.pdf")
    with pytest.raises(StorageError, match="no folder"):
        chart.save(tmp_path / "no" / "chart.svg")
    monkeypatch.setattr(drawing, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"pip install 'equipoise\[png\]'"):
        chart.save(tmp_path / "other.png")
    assert {file.name for file in tmp_path.iterdir() if file.is_file()} == {"chart.PNG", "chart.svg"}


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
    one = three[0]
    chart = equipoise.plot(one, "jobs_lum.stereotype_rate")
    for same in (
        one.plot("jobs_lum.stereotype_rate"),
        equipoise.plot(one.path, "jobs_lum.stereotype_rate"),
    ):
        assert same.label == chart.label
    assert chart.label.startswith("stereotype_rate on the scale A to D. atlas-large-2: ")
    assert {"A", "B", "C", "D", "atlas-large-2"} <= texts(chart.svg())
    two = equipoise.plot([one, one], "jobs_lum.stereotype_rate")
    assert {"atlas-large-2 1", "atlas-large-2 2"} <= texts(two.svg())


def test_other_metrics_and_groups_are_drawn_as_intervals(one: Run) -> None:
    value = one["jobs_lum"].metrics["correlation"].value
    assert f"atlas-large-2: {value:.3f}" in equipoise.plot(one, "jobs_lum.correlation").label
    by_race = equipoise.plot(one["hiring_an"], "diff_acceptance_rate", by="race")
    for group, metrics in one["hiring_an"].slices["race"].items():
        assert f"{group}: {metrics['diff_acceptance_rate'].value:.3f}".replace("-", "−") in by_race.label
    several = equipoise.plot([one, one], "diff_acceptance_rate", by="race")
    assert {"atlas-large-2 1", "atlas-large-2 2", "white"} <= texts(several.svg())


def test_what_cannot_be_drawn_is_refused(one: Run) -> None:
    for metric, by, message in (
        ("jobs_lum.stereotype_rat", None, "Did you mean 'jobs_lum.stereotype_rate'"),
        ("diff_regression", "rase", "Did you mean 'race'"),
    ):
        with pytest.raises(UnknownName, match=message):
            equipoise.plot(one, metric, by)
    with pytest.raises(InputError, match=r"several probes. Say which: .*jobs_lum\.masculine_rate"):
        equipoise.plot(one, "masculine_rate")
    with pytest.raises(InputError, match="at least one run"):
        equipoise.plot([])
    result = one["jobs_lum"]
    nothing = {key: replace(value, value=math.nan) for key, value in result.estimates.items()}
    with pytest.raises(InputError, match="correlation is not computable"):
        equipoise.plot(replace(result, estimates=nothing), "correlation")


def test_all_marks_are_a_map_that_says_what_was_not_asked_or_not_computable(three: list[Run]) -> None:
    audits = [run.results() for run in three]
    columns = {(probe, metric) for audit in audits for probe, result in audit.items() for metric in result.marks}
    shown = texts(equipoise.plot(audits).svg())
    assert {*(audit.model for audit in audits), "even-handed", "0", "0.5"} <= shown
    assert {metric for _, metric in columns} <= shown
    assert {str(audit[probe].marks[metric]) for audit in audits for probe, metric in columns} <= shown
    result = audits[0]["jobs_lum"]
    rate = replace(result.metrics["masculine_rate"], value=math.nan)
    estimates = {**result.estimates, MetricKey("masculine_rate"): rate}
    nothing = replace(result, marks=dict.fromkeys(result.marks), estimates=estimates)
    assert {"not asked", "–"} <= texts(equipoise.plot([audits[0], Audit({"jobs_lum": nothing}, model="c")]).svg())
