"""Drawing with Vega: scales, axes and layers of marks as plain values in, SVG and PNG out. Nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import vl_convert
from markupsafe import Markup, escape

from equipoise.errors import InputError
from equipoise.report.charts.palette import LIGHT
from equipoise.report.files import writing
from equipoise.report.text import reveal_invisible

WIDE, NARROW = 720, 350
"""The widths of charts: for screens and paper, and for telephones and charts side by side."""
FONT = "Arial, Helvetica, sans-serif"
"""Fonts of one width on all systems, so that labels fit where they are drawn."""
SMALL, NORMAL = 10.5, 12
PNG_SCALE = 3

_TAG = re.compile(r"<[^>]+>")
_UNUSED_ATTRIBUTE = re.compile(
    r' (?:class|role|aria-\w+|pointer-events|font-family|opacity="1"|stroke-width="1")(?:="[^"]*")?'
)
_EMPTY_PATH = re.compile(r'<path(?: d="(?:M0,0h[\d.]+v[\d.]+h-[\d.]+Z)?")?(?: display="none")?/>')
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")

Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Marks of one kind, one per row. A channel is a constant, `col("field")` or `scaled("scale", "field")`."""

    kind: str
    rows: Sequence[Values]
    channels: Values


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart that can be drawn, and what it shows in words. `margins`: left, right, top, bottom."""

    label: str
    width: int
    height: int
    margins: tuple[int, int, int, int]
    scales: Sequence[Values]
    axes: Sequence[Values]
    layers: Sequence[Layer]

    def spec(self) -> dict[str, Any]:
        """The Vega specification."""
        left, right, top, bottom = self.margins
        return {
            "width": self.width - left - right,
            "height": self.height - top - bottom,
            "padding": {"left": left, "right": right, "top": top, "bottom": bottom},
            "autosize": "none",
            "data": [{"name": f"rows{i}", "values": list(layer.rows)} for i, layer in enumerate(self.layers)],
            "scales": list(self.scales),
            "axes": list(self.axes),
            "marks": [
                {"type": layer.kind, "from": {"data": f"rows{i}"}, "encode": {"enter": dict(layer.channels)}}
                for i, layer in enumerate(self.layers)
            ],
        }

    def svg(self) -> str:
        """The chart as an SVG file."""
        return vl_convert.vega_to_svg(self.spec(), allowed_base_urls=[])

    def png(self) -> bytes:
        """The chart as a PNG file on white."""
        return vl_convert.vega_to_png(self.spec() | {"background": "white"}, scale=PNG_SCALE, allowed_base_urls=[])

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: str | Path) -> Path:
        """Write the chart to a file, as SVG or PNG by its name; return its path."""
        out = Path(path)
        forms = {".svg": lambda: self.svg().encode(), ".png": self.png}
        if out.suffix.lower() not in forms:
            raise InputError(f"A chart is written as .svg or .png. {out.name!r} is neither.")
        content = forms[out.suffix.lower()]()
        with writing(out) as file:
            file.write(content)
        return out

    def inline(self, drawn: str | None = None) -> Markup:
        """The chart as an element of a page, with a label for readers who cannot see it, and as small as possible.

        `drawn` is its SVG, if it has been drawn already.
        """
        svg = drawn or self.svg()
        body = _TAG.sub(lambda tag: _shorten_tag(tag[0]), svg[svg.index(">") + 1 :])
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        # Vega has escaped all text in the body.
        return Markup(f'<svg role="img" aria-label="{escape(reveal_invisible(self.label))}" {size}>{body}')  # noqa: S704


def _shorten_tag(tag: str) -> str:
    """A tag without attributes that the page does not need and digits that nobody sees; empty if it draws nothing."""
    tag = _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.1f}", _UNUSED_ATTRIBUTE.sub("", tag))
    return "" if _EMPTY_PATH.fullmatch(tag) else tag


def label_margin(width: int) -> int:
    """How wide the labels on the left may be."""
    return 112 if width < WIDE else 184


def col(field: str) -> Values:
    """The field of the row as it is."""
    return {"field": field}


def scaled(scale: str, field: str) -> Values:
    """The field of the row on a scale."""
    return {"scale": scale, "field": field}


def layer(kind: str, rows: Sequence[Values], **channels: Any) -> Layer:
    """Marks of a kind, one per row. Constants are wrapped, and the names of colours become colours."""
    wrapped = {name: value if isinstance(value, Mapping) else {"value": value} for name, value in channels.items()}
    for name in ("fill", "stroke"):
        if "value" in wrapped.get(name, {}):
            wrapped[name] = {"value": LIGHT[wrapped[name]["value"]]}
    return Layer(kind=kind, rows=rows, channels=wrapped)


def text(rows: Sequence[Values], content: Any, **channels: Any) -> Layer:
    """Text. By default it has the colour `ink` and stands in the middle of its line."""
    defaults = {"fill": "ink", "font": FONT, "fontSize": NORMAL, "baseline": "middle"}
    return layer("text", rows, text=content, **defaults | channels)


def text_with_halo(rows: Sequence[Values], content: Any, **channels: Any) -> list[Layer]:
    """Text that stays readable over other marks."""
    halo = {"stroke": "page", "strokeWidth": 3, "strokeOpacity": 0.85, "strokeJoin": "round"}
    return [text(rows, content, **channels | halo), text(rows, content, **channels)]


def row_labels(rows: Sequence[Values], width: float, size: float = NORMAL, **channels: Any) -> Layer:
    """The `name` of each row to the left of the plot, at its `y`, no wider than the margin."""
    bold = 1.08 if channels.get("fontWeight") == "bold" else 1.0
    rows = [{"y": row["y"], "name": fit_text(row["name"], width - 12, size * bold)} for row in rows]
    return text(rows, col("name"), x=-10, y=col("y"), align="right", fontSize=size, **channels)


def interval_lines(rows: Sequence[Values], stroke: Any, width: float) -> Layer:
    """A line from `low` to `high` at the `y` of each row."""
    ends = {"x": scaled("x", "low"), "x2": scaled("x", "high")}
    return layer("rule", rows, y=col("y"), stroke=stroke, strokeWidth=width, strokeCap="round", **ends)


def fit_text(content: str, width: float, size: float = NORMAL) -> str:
    """Foreign text on one line, cut where it would be wider.

    Vega's own limit cuts in the middle of characters beyond U+FFFF and then fails.
    """
    content = " ".join(reveal_invisible(content).split())
    room = width / size
    for place, character in enumerate(content):
        room -= _width_in_ems(character)
        if room < 0:
            return f"{content[: max(place - 1, 0)]}…"
    return content


def _width_in_ems(character: str) -> float:
    """About how wide a character is in Arial."""
    if character in " -.,:;'|!()[]fijlrtI":
        return 0.31
    if east_asian_width(character) in "WF":
        return 1.0
    return 0.7 if character.isupper() or character in "mw" else 0.55


def axis(scale: str, orient: str = "bottom", **options: Any) -> Values:
    """An axis in quiet colours."""
    return {
        "orient": orient,
        "scale": scale,
        "labelFont": FONT,
        "labelFontSize": SMALL,
        "labelColor": LIGHT["soft"],
        "titleFont": FONT,
        "titleFontSize": NORMAL,
        "titleFontWeight": "normal",
        "titleColor": LIGHT["soft"],
        "titlePadding": 8,
        "domain": False,
        "tickColor": LIGHT["line"],
        "gridColor": LIGHT["line"],
        "labelOverlap": "greedy",
        "labelSeparation": 4,
        "labelPadding": 6,
        **options,
    }
