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
    Drawing,
    Scale,
    draw_bottom_axis,
    fit_text,
    interval,
    label_ticks,
    text,
    text_width,
)


def make_drawing(*shapes: str) -> Drawing:
    return Drawing(label="", width=120, height=60, left=10, top=5, shapes=shapes)


def draw(*shapes: str) -> list[ET.Element]:
    """The elements of a chart with these shapes."""
    return list(ET.fromstring(make_drawing(*shapes).svg())[0])


def test_a_scale_goes_from_end_to_end_and_a_bent_one_is_the_same_on_both_sides_of_0() -> None:
    x = Scale(domain=(0.4, 0.6), extent=(0, 100))
    assert [x(value) for value in (0.4, 0.5, 0.6)] == pytest.approx([0, 50, 100])
    bent = Scale(domain=(-1, 1), extent=(0, 100), bend=0.05)
    assert bent(0.1) - bent(0) == pytest.approx(bent(0) - bent(-0.1))
    assert bent(0.1) - bent(0) == pytest.approx(50 * math.log(3) / math.log(21))
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


def test_png_is_an_extra_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(drawing, "find_spec", lambda _name: None)
    chart = make_drawing(text(1, 2, "text"))
    with pytest.raises(InputError, match=r"pip install 'equipoise\[png\]'"):
        chart.save(tmp_path / "chart.png")
    assert not list(tmp_path.iterdir())
    assert chart.save(tmp_path / "chart.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("domain", "labels"),
    [
        ((0.0, 1.0), "0.0 0.2 0.4 0.6 0.8 1.0"),
        ((0.4, 0.62), "0.40 0.45 0.50 0.55 0.60"),
        ((-0.04, 0.04), "−0.04 −0.02 0.00 0.02 0.04"),
        ((-6.3, 6.3), "−6 −4 −2 0 2 4 6"),
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
