"""A chart: layers of marks as plain values in, SVG and PNG out. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vl_convert
from markupsafe import Markup, escape

from equipoise.errors import InputError
from equipoise.report.charts.shapes import FONT, NORMAL, Layer, Values, col, text
from equipoise.report.charts.widths import fit_text
from equipoise.report.files import writing
from equipoise.report.text import reveal_invisible

WIDE, NARROW = 720, 350
"""The widths of charts: for screens and paper, and for telephones and charts side by side."""
PNG_SCALE = 3


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A chart that can be drawn, and what it shows in words. `margins`: left, right, top, bottom."""

    label: str
    width: int
    height: int
    margins: tuple[int, int, int, int]
    layers: Sequence[Layer]

    def svg(self) -> str:
        """The chart as an SVG file."""
        return f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{FONT}" {self._draw()}</svg>'

    def png(self) -> bytes:
        """The chart as a PNG file on white."""
        on_white = f'<rect width="{self.width}" height="{self.height}" fill="white"/>'
        svg = self.svg().replace(">", f">{on_white}", 1)
        return vl_convert.svg_to_png(svg, scale=PNG_SCALE)

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
        left, _, top, _ = self.margins
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        drawn = "".join(layer.svg() for layer in self.layers)
        return f'{size}><g transform="translate({left},{top})">{drawn}</g>'


def label_margin(width: int) -> int:
    """How wide the labels on the left may be."""
    return 112 if width < WIDE else 184


def row_labels(rows: Sequence[Values], width: float, size: float = NORMAL, **channels: Any) -> Layer:
    """The `name` of each row to the left of the plot, at its `y`, no wider than the margin."""
    bold = 1.08 if channels.get("fontWeight") == "bold" else 1.0
    rows = [{"y": row["y"], "name": fit_text(row["name"], width - 12, size * bold)} for row in rows]
    return text(rows, col("name"), x=-10, y=col("y"), align="right", fontSize=size, **channels)
