"""A small drawing kit: lines, rectangles, symbols, text and axes as SVG, and drawings that are saved as SVG or PNG.

A shape is a string of SVG. Colours are given by their names. Nothing is fetched, and no text is markup.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from unicodedata import east_asian_width

from markupsafe import Markup, escape

from equipoise.errors import InputError
from equipoise.report.files import writing
from equipoise.report.text import reveal_invisible

WIDTH, LABELS = 440, 132
"""The width of a chart, which can be read on a telephone and in a column of a paper, and that of labels on its left."""
FONT = "Arial, Helvetica, sans-serif"
"""Fonts of one width on all systems, so that labels fit where they are drawn."""
SMALL, NORMAL = 10.5, 12
PNG_SCALE = 3
TICKS = 5
SEPARATION = 4
"""Labels of an axis that would come nearer to one another than this are left out."""

COLOURS = {
    # name: (light, dark)
    "ink": ("#1c2430", "#e8eaee"),
    "soft": ("#556070", "#a9b2bf"),
    "line": ("#d5dae1", "#3a424e"),
    "page": ("#ffffff", "#14181e"),
    "panel": ("#f5f7f9", "#1d232b"),
    "accent": ("#1f5199", "#8fb8f2"),
    "context": ("#8b94a1", "#7d8794"),
    "band-a": ("#dff0e7", "#183327"),
    "band-b": ("#f6f0cd", "#37331a"),
    "band-c": ("#fbe3cb", "#412b18"),
    "band-d": ("#f7d6d2", "#452120"),
    "text-a": ("#0d5233", "#9be0bd"),
    "text-b": ("#5c4f00", "#e6d67c"),
    "text-c": ("#7d3c00", "#f5b982"),
    "text-d": ("#8c1812", "#f7a49d"),
    "first": ("#7a3a9c", "#cfa3e8"),
    "second": ("#0a7570", "#63c7bf"),
    "third": ("#9a6a00", "#e0b24e"),
}
"""Every colour of the report. Charts are drawn in light colours, which suit paper; on a page, the style sheet replaces
each of them by the colour of that name in the reader's scheme."""
LIGHT = {name: light for name, (light, _) in COLOURS.items()}


def colour_styles() -> Markup:
    """The colours as variables for both schemes, and the rules that replace the charts' own colours by them."""
    light, dark = ("".join(f"--{name}:{pair[scheme]};" for name, pair in COLOURS.items()) for scheme in (0, 1))
    replacements = "".join(
        f'svg [{part}="{colour}"]{{{part}:var(--{name})}}'
        for name, colour in LIGHT.items()
        for part in ("fill", "stroke")
    )
    return Markup(  # noqa: S704 - ours
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{replacements}"
    )


def can_draw_png() -> bool:
    """Whether the extra is installed that turns SVG into PNG. It brings its own fonts, so that no text is missing."""
    return find_spec("vl_convert") is not None


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart that can be drawn, and what it shows in words. The plot begins at `left` and `top`."""

    label: str
    width: int
    height: int
    left: int
    top: int
    shapes: Sequence[str]

    def svg(self) -> str:
        """The chart as an SVG file."""
        return f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{FONT}" {self._draw()}</svg>'

    def png(self) -> bytes:
        """The chart as a PNG file on white. This needs the extra `png`."""
        if not can_draw_png():
            raise InputError("A chart as PNG needs an extra: pip install 'equipoise[png]'. SVG needs none.")
        import vl_convert  # noqa: PLC0415 - an extra

        on_white = f'<rect width="{self.width}" height="{self.height}" fill="white"/>'
        return vl_convert.svg_to_png(self.svg().replace(">", f">{on_white}", 1), scale=PNG_SCALE)

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

    def inline(self) -> Markup:
        """The chart as an element of a page, with a label for readers who cannot see it."""
        label = escape(reveal_invisible(self.label))
        return Markup(f'<svg role="img" aria-label="{label}" {self._draw()}</svg>')  # noqa: S704 - all text is escaped

    def _draw(self) -> str:
        """The rest of the opening tag, and what is drawn."""
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        return f'{size}><g transform="translate({self.left},{self.top})">{"".join(self.shapes)}</g>'


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Where numbers stand between two pixels. With `bend`, distances from the centre beyond it are logarithmic."""

    domain: tuple[float, float]
    extent: tuple[float, float]
    centre: float = 0.0
    bend: float | None = None

    def __call__(self, value: float) -> float:
        """The pixel at which a number stands."""
        low, high, place = (self._stretch(number) for number in (*self.domain, value))
        start, end = self.extent
        return start + (end - start) * (place - low) / (high - low)

    def _stretch(self, value: float) -> float:
        distance = value - self.centre
        return distance if self.bend is None else math.copysign(math.log1p(abs(distance) / self.bend), distance)


def element(tag: str, content: str | None = None, /, **attributes: float | str | None) -> str:
    """An element of SVG. `fill` and `stroke` are names of colours; what is None is left out."""
    written = ""
    for name, value in attributes.items():
        if value is not None:
            shown = value if isinstance(value, str) else _number(value)
            shown = LIGHT[shown] if name in ("fill", "stroke") else escape(shown)
            written += f' {name.replace("_", "-")}="{shown}"'
    return f"<{tag}{written}/>" if content is None else f"<{tag}{written}>{escape(content)}</{tag}>"


def line(x: float, y: float, x2: float, y2: float, colour: str, width: float = 1, *, dashed: bool = False) -> str:
    """A straight line."""
    dashes = "3,3" if dashed else None
    return element("line", x1=x, y1=y, x2=x2, y2=y2, stroke=colour, stroke_width=width, stroke_dasharray=dashes)


def interval(y: float, low: float, high: float, x: Scale, colour: str, width: float) -> str:
    """A thick line with round ends from the low to the high end of an interval; nothing where there is none."""
    if math.isnan(low):
        return ""
    ends = {"x1": x(low), "y1": y, "x2": x(high), "y2": y}
    return element("line", **ends, stroke=colour, stroke_width=width, stroke_linecap="round")


def symbol(x: float, y: float, area: float, colour: str, shape: str = "circle", *, edge_width: float = 1) -> str:
    """A circle, diamond or square of this area around a point."""
    half = math.sqrt(area) / 2
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=half, fill=colour, stroke="page", stroke_width=edge_width)
    corners = {"square": ((-1, -1), (1, -1), (1, 1), (-1, 1)), "diamond": ((-1.1, 0), (0, -1.1), (1.1, 0), (0, 1.1))}
    points = " ".join(f"{_number(x + half * right)},{_number(y + half * down)}" for right, down in corners[shape])
    return element("polygon", points=points, fill=colour, stroke="page", stroke_width=edge_width)


def text(
    x: float, y: float, content: str, *, size: float = NORMAL, colour: str = "ink", angle: float = 0, **style: str
) -> str:
    """Text whose line has its middle at `y`, perhaps turned. `style`: text_anchor, font_weight, font_style …"""
    place: dict[str, float | str] = {"x": x, "y": y + 0.3 * size}
    if angle:
        turned = f"translate({_number(x)},{_number(y)}) rotate({_number(angle)})"
        place = {"transform": turned, "y": 0.3 * size}
    return element("text", content, **place, fill=colour, font_size=size, **style)


def row_label(
    y: float, name: str, margin: float = LABELS, *, size: float = NORMAL, colour: str = "ink", **style: str
) -> str:
    """A name to the left of the plot, no wider than the margin."""
    fitted = fit_text(name, margin - 12, size * (1.08 if "font_weight" in style else 1.0))
    return text(-10, y, fitted, size=size, colour=colour, angle=0, text_anchor="end", **style)


def draw_bottom_axis(
    x: Scale, labels: Mapping[float, str], height: int, *, title: str = "", grid: bool = True
) -> list[str]:
    """Labels below the plot. They stand at lines through the plot, or else at ticks below it."""
    shapes = []
    start, end = (0, height) if grid else (height, height + 4)
    last = -math.inf
    for value, label in labels.items():
        place, half = x(value), text_width(label, SMALL) / 2
        shapes.append(line(round(place) + 0.5, start, round(place) + 0.5, end, "line"))
        if place - half >= last + SEPARATION:
            down = height + (10 if grid else 15)
            shapes.append(text(place, down, label, size=SMALL, colour="soft", text_anchor="middle"))
            last = place + half
    if title:
        shapes.append(text(sum(x.extent) / 2, height + 30, title, colour="soft", text_anchor="middle"))
    return shapes


def label_ticks(domain: tuple[float, float]) -> dict[float, str]:
    """About TICKS round numbers within a domain, written with the decimals that tell them apart."""
    low, high = domain
    power = math.floor(math.log10((high - low) / TICKS))
    steps = (factor * 10.0**power for factor in (1, 2, 5, 10))
    # The candidate nearest to the wished number of steps, by ratio.
    step = min(steps, key=lambda step: abs(math.log((high - low) / step / TICKS)))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return {place * step: f"{place * step:.{decimals}f}".replace("-", "−") for place in places}


def text_width(content: str, size: float) -> float:
    """About how many pixels wide a text is at most."""
    return size * sum(map(_width_in_ems, content))


def fit_text(content: str, width: float, size: float = NORMAL) -> str:
    """Foreign text on one line, cut where it would be wider."""
    content = " ".join(reveal_invisible(content).split())
    room = width / size
    for place, character in enumerate(content):
        room -= _width_in_ems(character)
        if room < 0:
            return f"{content[: max(place - 1, 0)]}…"
    return content


def _number(value: float) -> str:
    """A number of pixels without digits that nobody sees."""
    return f"{value:.1f}".removesuffix(".0")


def _width_in_ems(character: str) -> float:
    """About how wide a character is in the widest font that stands in for Arial."""
    if character in " -.,:;'|!()[]fijlrtI":
        return 0.35
    if east_asian_width(character) in "WF":
        return 1.0
    return 0.77 if character.isupper() or character in "mw" else 0.62
