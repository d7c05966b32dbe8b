"""Drawing with Vega: scales, axes and layers of marks as plain values in, SVG and PNG out. Nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import east_asian_width

import vl_convert
from markupsafe import Markup, escape

from equipoise.report.palette import LIGHT
from equipoise.report.words import plain

FONT = "Arial, Helvetica, sans-serif"
"""Fonts of one width on all systems, so that labels fit where they are drawn."""
SMALL, NORMAL = 10.5, 12
PNG_SCALE = 3

Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Marks of one kind, one a row. A channel is a constant, or `col("field")`, or `on("scale", "field")`."""

    kind: str
    rows: Sequence[Values]
    channels: Values


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart that can be drawn, and what it says in words. `margins`: left, right, top, bottom."""

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

    def inline(self) -> Markup:
        """The chart as an element of a page: named for those who cannot see it, without what nobody needs."""
        drawn = self.svg()
        body = TAG.sub(lambda tag: _slim(tag[0]), drawn[drawn.index(">") + 1 :])
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        # Vega has escaped all text in the body.
        return Markup(f'<svg role="img" aria-label="{escape(plain(self.label))}" {size}>{body}')  # noqa: S704


TAG = re.compile(r"<[^>]+>")
NEEDLESS = re.compile(r' (?:class|role|aria-\w+|pointer-events|font-family|opacity="1"|stroke-width="1")(?:="[^"]*")?')
UNDRAWN = re.compile(r'<path(?: d="(?:M0,0h[\d.]+v[\d.]+h-[\d.]+Z)?")?(?: display="none")?/>')
LONG = re.compile(r"-?\d+\.\d{2,}")


def _slim(tag: str) -> str:
    """A tag of Vega's without what the page says itself and digits that nobody sees; none if it draws nothing."""
    tag = LONG.sub(lambda number: f"{float(number[0]):.1f}", NEEDLESS.sub("", tag))
    return "" if UNDRAWN.fullmatch(tag) else tag


def col(field: str) -> Values:
    """The field of the row as it is."""
    return {"field": field}


def on(scale: str, field: str) -> Values:
    """The field of the row on a scale."""
    return {"scale": scale, "field": field}


def layer(kind: str, rows: Sequence[Values], **channels: Any) -> Layer:
    """Marks of a kind, one a row; constants are wrapped, and the names of colours become colours."""
    wrapped = {name: value if isinstance(value, Mapping) else {"value": value} for name, value in channels.items()}
    for name in ("fill", "stroke"):
        if "value" in wrapped.get(name, {}):
            wrapped[name] = {"value": LIGHT[wrapped[name]["value"]]}
    return Layer(kind=kind, rows=rows, channels=wrapped)


def text(rows: Sequence[Values], content: Any, **channels: Any) -> Layer:
    """Text, in the ink of the page and the middle of its line unless told otherwise."""
    defaults = {"fill": "ink", "font": FONT, "fontSize": NORMAL, "baseline": "middle"}
    return layer("text", rows, text=content, **defaults | channels)


def fitted(content: str, width: float, size: float = NORMAL) -> str:
    """Foreign text on one line, cut where it would be wider.

    Vega's own limit cuts in the middle of characters beyond U+FFFF and then fails.
    """
    content = " ".join(plain(content).split())
    room = width / size
    for place, character in enumerate(content):
        room -= _em(character)
        if room < 0:
            return f"{content[: max(place - 1, 0)]}…"
    return content


def _em(character: str) -> float:
    """About how wide a character is in Arial, in ems."""
    if character in " -.,:;'|!()[]fijlrtI":
        return 0.31
    return 1.0 if east_asian_width(character) in "WF" else 0.7 if character.isupper() or character in "mw" else 0.55


def beside(rows: Sequence[Values], width: float, size: float = NORMAL, **channels: Any) -> Layer:
    """The `name` of each row left of the plot, at its `y`, no wider than the margin."""
    bold = 1.08 if channels.get("fontWeight") == "bold" else 1.0
    rows = [{"y": row["y"], "name": fitted(row["name"], width - 12, size * bold)} for row in rows]
    return text(rows, col("name"), x=-10, y=col("y"), align="right", fontSize=size, **channels)


def spans(rows: Sequence[Values], stroke: Any, width: float) -> Layer:
    """A line from `low` to `high` at the `y` of each row."""
    ends = {"x": on("x", "low"), "x2": on("x", "high")}
    return layer("rule", rows, y=col("y"), stroke=stroke, strokeWidth=width, strokeCap="round", **ends)


def haloed(rows: Sequence[Values], content: Any, **channels: Any) -> list[Layer]:
    """Text that stays readable over other marks."""
    halo = {"stroke": "page", "strokeWidth": 3, "strokeOpacity": 0.85, "strokeJoin": "round"}
    return [text(rows, content, **channels | halo), text(rows, content, **channels)]


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
