"""The drawing kit: where shapes stand, that foreign text is only text, and what is saved."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from equipoise.errors import InputError
from equipoise.report.charts import drawing
from equipoise.report.charts.drawing import (
    LIGHT,
    Drawing,
    Scale,
    draw_bottom_axis,
    element,
    fit_text,
    interval,
    label_ticks,
    line,
    symbol,
    text,
    text_width,
)


def make_drawing(*shapes: str) -> Drawing:
    return Drawing(label="", width=120, height=60, left=10, top=5, shapes=shapes)


def draw(*shapes: str) -> list[ET.Element]:
    """The elements of a chart with these shapes."""
    (group,) = ET.fromstring(make_drawing(*shapes).svg())
    assert group.get("transform") == "translate(10,5)"
    return list(group)


# Scales


def test_a_scale_goes_from_end_to_end() -> None:
    x = Scale(domain=(0.4, 0.6), extent=(0, 100))
    assert [x(value) for value in (0.4, 0.5, 0.6)] == pytest.approx([0, 50, 100])
    assert Scale(domain=(0, 1), extent=(100, 0))(0.25) == 75


def test_a_bent_scale_is_the_same_on_both_sides_of_0() -> None:
    bent = Scale(domain=(-1, 1), extent=(0, 100), bend=0.05)
    assert bent(0) == pytest.approx(50)
    assert bent(0.1) - bent(0) == pytest.approx(bent(0) - bent(-0.1))
    assert bent(0.1) - bent(0) == pytest.approx(50 * math.log(3) / math.log(21))


def test_a_bent_scale_is_the_same_on_both_sides_of_its_centre() -> None:
    bent = Scale(domain=(-0.5, 1.5), extent=(0, 100), centre=0.5, bend=0.05)
    assert bent(0.6) - bent(0.5) == pytest.approx(bent(0.5) - bent(0.4))
    assert bent(0.6) - bent(0.5) == pytest.approx(50 * math.log(3) / math.log(21))


# Shapes


def test_a_rectangle_stands_where_it_is_told_in_the_colour_of_that_name() -> None:
    (box,) = draw(element("rect", x=10, y=0, width=20, height=20, fill="band-a"))
    expected = {"x": "10", "y": "0", "width": "20", "height": "20", "fill": LIGHT["band-a"]}
    assert dict(box.attrib) == expected


def test_a_line_stands_where_it_is_told() -> None:
    (rule,) = draw(line(10, 8.25, 10, 20, "soft", dashed=True))
    assert [rule.get(name) for name in ("x1", "x2", "y1", "y2")] == ["10", "10", "8.2", "20"]
    assert rule.get("stroke") == LIGHT["soft"]
    assert rule.get("stroke-dasharray") == "3,3"


def test_a_circle_stands_around_its_point() -> None:
    (circle,) = draw(symbol(50, 10, 16, "ink"))
    assert [circle.get(name) for name in ("cx", "cy", "r")] == ["50", "10", "2"]


def test_a_square_stands_around_its_point() -> None:
    (square,) = draw(symbol(50, 10, 16, "ink", "square"))
    assert square.get("points") == "48,8 52,8 52,12 48,12"


def test_an_interval_goes_from_its_low_to_its_high_end() -> None:
    x = Scale(domain=(0, 1), extent=(0, 100))
    (ends,) = draw(interval(5, 0.1, 0.3, x, "accent", 2))
    assert (ends.get("x1"), ends.get("x2")) == ("10", "30")


def test_where_there_is_no_interval_nothing_is_drawn() -> None:
    x = Scale(domain=(0, 1), extent=(0, 100))
    assert draw(interval(5, math.nan, math.nan, x, "accent", 2)) == []


# Text


@pytest.mark.fault("S1")
def test_foreign_text_cannot_leave_its_place() -> None:
    (shown,) = draw(text(1, 2, '<b a="1">&', text_anchor="end"))
    assert shown.tag.endswith("text")
    assert shown.text == '<b a="1">&'
    assert shown.get("text-anchor") == "end"
    assert list(shown) == []


def test_text_is_cut_to_its_width() -> None:
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
        ((-6.3, 6.3), "−6 −4 −2 0 2 4 6"),
        ((0, 40), "0 10 20 30 40"),
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
    assert sum(each.tag.endswith("line") for each in elements) == 9
    ends = [(float(e.get("x", "")), text_width(e.text, 10.5) / 2) for e in elements if e.text]
    assert 1 < len(ends) < 9
    assert all(a + wide < b - other for (a, wide), (b, other) in itertools.pairwise(ends))


# Files


def test_png_is_an_extra_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(drawing, "find_spec", lambda _name: None)
    chart = make_drawing(text(1, 2, "text"))
    with pytest.raises(InputError, match=r"pip install 'equipoise\[png\]'"):
        chart.save(tmp_path / "chart.png")
    assert not list(tmp_path.glob("*.png"))
    assert chart.save(tmp_path / "chart.svg").read_text().startswith("<svg")
