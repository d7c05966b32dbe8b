"""Marks as SVG: rectangles, lines, symbols and text, one per row of a table, placed by channels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from equipoise.report.charts.palette import LIGHT

FONT = "Arial, Helvetica, sans-serif"
"""Fonts of one width on all systems, so that labels fit where they are drawn."""
SMALL, NORMAL = 10.5, 12
MIDDLE = 0.3
"""How far below the middle of a line its letters stand, in parts of their size."""

Values = Mapping[str, Any]
Channel = Callable[[Values], Any]
"""What a row gives for a property of its mark: a position, a colour, a text."""

_ATTRIBUTES = {
    "fill": "fill",
    "fillOpacity": "fill-opacity",
    "stroke": "stroke",
    "strokeWidth": "stroke-width",
    "strokeOpacity": "stroke-opacity",
    "strokeDash": "stroke-dasharray",
    "strokeCap": "stroke-linecap",
    "strokeJoin": "stroke-linejoin",
    "fontSize": "font-size",
    "fontWeight": "font-weight",
    "fontStyle": "font-style",
}
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Where numbers stand between two pixels. With `bend`, distances from 0 beyond about that are logarithmic."""

    domain: tuple[float, float]
    extent: tuple[float, float]
    bend: float | None = None

    def __call__(self, value: float) -> float:
        """The pixel at which a number stands."""
        low, high, place = (self._stretch(number) for number in (*self.domain, value))
        start, end = self.extent
        return start + (end - start) * (place - low) / (high - low)

    def _stretch(self, value: float) -> float:
        return value if self.bend is None else math.copysign(math.log1p(abs(value) / self.bend), value)


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Marks of one kind, one per row."""

    kind: str
    rows: Sequence[Values]
    channels: Mapping[str, Channel]

    def svg(self) -> str:
        """The marks as elements of an SVG."""
        draw = _KINDS[self.kind]
        return "".join(draw({name: channel(row) for name, channel in self.channels.items()}) for row in self.rows)


def col(field: str, offset: float = 0) -> Channel:
    """The field of the row as it is, or so many pixels beyond it."""
    return lambda row: row[field] + offset if offset else row[field]


def scaled(scale: Scale, field: str) -> Channel:
    """The field of the row on a scale."""
    return lambda row: scale(row[field])


def layer(kind: str, rows: Sequence[Values], **channels: Any) -> Layer:
    """Marks of a kind, one per row. A channel is a constant, `col("field")` or `scaled(scale, "field")`.

    The names of colours become colours.
    """
    constants = {name: value for name, value in channels.items() if not callable(value)}
    for name in {"fill", "stroke"} & constants.keys():
        constants[name] = LIGHT[constants[name]]
    channels |= {name: lambda _row, value=value: value for name, value in constants.items()}
    return Layer(kind=kind, rows=rows, channels=channels)


def text(rows: Sequence[Values], content: Any, **channels: Any) -> Layer:
    """Text. By default it has the colour `ink` and stands in the middle of its line."""
    return layer("text", rows, text=content, **{"fill": "ink", "fontSize": NORMAL} | channels)


def text_with_halo(rows: Sequence[Values], content: Any, **channels: Any) -> list[Layer]:
    """Text that stays readable over other marks."""
    halo = {"stroke": "page", "strokeWidth": 3, "strokeOpacity": 0.85, "strokeJoin": "round"}
    return [text(rows, content, **channels | halo), text(rows, content, **channels)]


def interval_lines(rows: Sequence[Values], x: Scale, stroke: Any, width: float) -> Layer:
    """A line from `low` to `high` at the `y` of each row."""
    ends = {"x": scaled(x, "low"), "x2": scaled(x, "high")}
    return layer("rule", rows, y=col("y"), stroke=stroke, strokeWidth=width, strokeCap="round", **ends)


def _draw_rect(mark: Values) -> str:
    x, y = mark["x"], mark["y"]
    width, height = mark.get("width", mark.get("x2", x) - x), mark.get("height", mark.get("y2", y) - y)
    return f"<rect{_place(x=x, y=y, width=width, height=height)}{_style(mark)}/>"


def _draw_rule(mark: Values) -> str:
    x, y = mark["x"], mark["y"]
    return f"<line{_place(x1=x, y1=y, x2=mark.get('x2', x), y2=mark.get('y2', y))}{_style(mark)}/>"


def _draw_symbol(mark: Values) -> str:
    x, y, shape, half = mark["x"], mark["y"], mark.get("shape", "circle"), math.sqrt(mark["size"]) / 2
    if shape == "circle":
        return f"<circle{_place(cx=x, cy=y, r=half)}{_style(mark)}/>"
    corners = " ".join(f"{_number(x + half * right)},{_number(y + half * down)}" for right, down in _CORNERS[shape])
    return f'<polygon points="{corners}"{_style(mark)}/>'


def _draw_text(mark: Values) -> str:
    x, y = mark["x"] + mark.get("dx", 0), mark["y"]
    down = MIDDLE * mark["fontSize"]
    place = _place(x=x, y=y + down)
    if mark.get("angle"):
        place = f' transform="translate({_number(x)},{_number(y)}) rotate({_number(mark["angle"])})"{_place(y=down)}'
    anchor = _ANCHORS[mark.get("align", "left")]
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f"<text{place}{anchored}{_style(mark)}>{escape(mark['text'])}</text>"


def _place(**numbers: float) -> str:
    return "".join(f' {name}="{_number(number)}"' for name, number in numbers.items())


def _style(mark: Values) -> str:
    return "".join(f' {name}="{escape(mark[channel])}"' for channel, name in _ATTRIBUTES.items() if channel in mark)


def _number(value: float) -> str:
    """A number of pixels without digits that nobody sees."""
    return f"{value:.1f}".removesuffix(".0")


_CORNERS = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((-1.1, 0), (0, -1.1), (1.1, 0), (0, 1.1)),
    "triangle-up": ((0, -1), (1, 0.8), (-1, 0.8)),
}
"""Where corners are, from the middle, in halves of the width."""
_KINDS: Mapping[str, Callable[[Values], str]] = {
    "rect": _draw_rect,
    "rule": _draw_rule,
    "symbol": _draw_symbol,
    "text": _draw_text,
}
