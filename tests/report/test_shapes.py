"""Marks, scales and axes as SVG: where things stand, and that foreign text is only text."""

from __future__ import annotations

import itertools
import math
from xml.etree import ElementTree as ET

import pytest

from equipoise.report.charts.axes import draw_bottom_axis, label_ticks
from equipoise.report.charts.canvas import Drawing
from equipoise.report.charts.palette import LIGHT
from equipoise.report.charts.shapes import Layer, Scale, col, layer, scaled, text
from equipoise.report.charts.widths import fit_text, text_width


def draw(*layers: Layer) -> list[ET.Element]:
    """The elements of a chart with these layers."""
    drawing = Drawing(label="", width=120, height=60, margins=(10, 10, 5, 5), layers=layers)
    (group,) = ET.fromstring(drawing.svg())
    assert group.get("transform") == "translate(10,5)"
    return list(group)


def test_a_scale_goes_from_end_to_end_and_a_bent_one_is_the_same_on_both_sides_of_0() -> None:
    assert [Scale(domain=(0.4, 0.6), extent=(0, 100))(value) for value in (0.4, 0.5, 0.6)] == pytest.approx(
        [0, 50, 100]
    )
    assert Scale(domain=(0, 1), extent=(100, 0))(0.25) == 75
    bent = Scale(domain=(-1, 1), extent=(0, 100), bend=0.05)
    assert bent(0) == pytest.approx(50)
    assert bent(0.1) - bent(0) == pytest.approx(bent(0) - bent(-0.1))
    assert bent(0.1) - bent(0) == pytest.approx(50 * math.log(3) / math.log(21))


def test_marks_stand_where_their_rows_say() -> None:
    x = Scale(domain=(0, 1), extent=(0, 100))
    rows = [{"from": 0.1, "to": 0.3, "y": 8, "colour": "#123456"}]
    (rect,) = draw(layer("rect", rows, x=scaled(x, "from"), x2=scaled(x, "to"), y=0, y2=20, fill=col("colour")))
    assert dict(rect.attrib) == {"x": "10", "y": "0", "width": "20", "height": "20", "fill": "#123456"}
    (line,) = draw(layer("rule", rows, x=scaled(x, "from"), y=col("y", 0.25), y2=20, stroke="soft", strokeDash="3,3"))
    assert (line.get("x1"), line.get("x2"), line.get("y1"), line.get("y2")) == ("10", "10", "8.2", "20")
    assert (line.get("stroke"), line.get("stroke-dasharray")) == (LIGHT["soft"], "3,3")
    shapes = [{"shape": shape} for shape in ("circle", "square", "diamond", "triangle-up")]
    circle, square, *_ = draw(layer("symbol", shapes, x=50, y=10, shape=col("shape"), size=16, fill="ink"))
    assert (circle.get("cx"), circle.get("cy"), circle.get("r")) == ("50", "10", "2")
    assert square.get("points") == "48,8 52,8 52,12 48,12"


@pytest.mark.fault("S1")
def test_foreign_text_and_colours_cannot_leave_their_place() -> None:
    rows = [{"name": '<b a="1">&', "colour": '"><script>'}]
    (element,) = draw(text(rows, col("name"), x=1, y=2, fill=col("colour"), align="right"))
    assert element.tag.endswith("text")
    assert element.text == '<b a="1">&'
    assert element.get("fill") == '"><script>'
    assert element.get("text-anchor") == "end"
    assert list(element) == []


@pytest.mark.parametrize(
    ("domain", "labels"),
    [
        ((0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ((0.4, 0.62), ["0.40", "0.45", "0.50", "0.55", "0.60"]),
        ((-0.04, 0.04), ["−0.04", "−0.02", "0.00", "0.02", "0.04"]),
        ((-6.3, 6.3), ["−6", "−4", "−2", "0", "2", "4", "6"]),
        ((40_000, 90_000), ["40000", "50000", "60000", "70000", "80000", "90000"]),
    ],
)
def test_ticks_are_round_numbers_within_the_domain(domain: tuple[float, float], labels: list[str]) -> None:
    ticks = label_ticks(domain)
    assert list(ticks.values()) == labels
    assert all(domain[0] - 1e-9 <= value <= domain[1] + 1e-9 for value in ticks)


def test_labels_without_room_are_left_out_and_their_ticks_stay() -> None:
    labels = {value / 10: f"0.{value}00" for value in range(1, 10)}
    elements = draw(*draw_bottom_axis(Scale(domain=(0, 1), extent=(0, 100)), labels, 40))
    lines, shown = ([e for e in elements if e.tag.endswith(kind)] for kind in ("line", "text"))
    assert len(lines) == 9
    ends = [(float(e.get("x", "")), text_width(e.text or "", 10.5) / 2) for e in shown if e.text]
    assert 1 < len(ends) < 9
    assert all(a + wide < b - other for (a, wide), (b, other) in itertools.pairwise(ends))


def test_text_is_cut_to_its_width() -> None:
    assert fit_text("short", 100) == "short"
    cut = fit_text("a long\nname \u202e of a model", 60)
    assert cut.endswith("…")
    assert "\n" not in cut
    assert text_width(cut, 12) <= 60
