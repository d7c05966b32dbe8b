"""Words that differ between two groups of answers, drawn: one group to the left, the other to the right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from equipoise.authoring.figures import Words, WordSpot
from equipoise.report.charts.axes import draw_bottom_axis
from equipoise.report.charts.canvas import WIDE, Drawing
from equipoise.report.charts.shapes import NORMAL, SMALL, Layer, Scale, col, interval_lines, layer, scaled, text
from equipoise.report.charts.widths import fit_text
from equipoise.report.text import reveal_invisible

WORDS_PER_SIDE = 12
STEP = 23
SMALLEST, LARGEST = 30.0, 330.0
"""Areas of the dots of a word that hardly any answer holds, and of one that all of them hold."""
FARTHEST = math.log(64)
"""Longer intervals are cut off here."""


def draw_words(figure: Words, width: int) -> Drawing | None:
    """Draw the clearest words of each side: how many times the odds are, and by the size of a dot how common it is."""
    left = [spot for spot in figure.spots if spot.value < 0][:WORDS_PER_SIDE]
    right = [spot for spot in figure.spots if spot.value > 0][:WORDS_PER_SIDE]
    if not left and not right:
        return None
    narrow = width < WIDE
    margin = 98 if narrow else 172
    margins = (margin, margin, 28, 46)
    plot_width, height = width - 2 * margin, STEP * max(len(left), len(right))
    end = figure.end or find_end([figure])
    x = Scale(domain=(-end, end), extent=(0, plot_width))
    powers = [power for power in range(-6, 7) if abs(power) * math.log(2) <= end]
    ticks = {power * math.log(2): f"{2 ** abs(power)} ×" for power in powers}
    return Drawing(
        label=describe_words(figure, left, right),
        width=width,
        height=height + margins[2] + margins[3],
        margins=margins,
        layers=[
            *draw_bottom_axis(x, ticks, height, title="times the odds that an answer holds the word"),
            layer("rule", [{}], x=x(0), y=0, y2=height, stroke="soft"),
            *_draw_side(left, "first", margin, x, narrow=narrow),
            *_draw_side(right, "second", margin, x, narrow=narrow),
            *_draw_heads(figure, margin, plot_width, narrow=narrow),
        ],
    )


def find_end(figures: Iterable[Words]) -> float:
    """How far a scale must go for all the figures that are drawn side by side."""
    shown = [
        spot
        for figure in figures
        for side in (-1, 1)
        for spot in [spot for spot in figure.spots if side * spot.value > 0][:WORDS_PER_SIDE]
    ]
    farthest = max([math.log(2), *(abs(end) for spot in shown for end in (spot.low, spot.high))])
    return min(1.06 * farthest, FARTHEST)


def describe_words(figure: Words, left: Sequence[WordSpot], right: Sequence[WordSpot]) -> str:
    """What the chart shows, for readers who cannot see it."""
    sentences = [f"{figure.title}."]
    for side, spots in zip(figure.sides, (left, right), strict=True):
        words = ", ".join(f"{spot.word} {_format_shares(spot)}" for spot in spots)
        sentences.append(f"More for {side}: {words or 'none'}.")
    sentences.append(f"The shares of the answers for {' and for '.join(figure.sides)} that hold the word.")
    return " ".join(sentences)


def _format_shares(spot: WordSpot) -> str:
    return " · ".join(f"{share:.0%}" for share in spot.shares)


def _draw_side(spots: Sequence[WordSpot], colour: str, margin: int, x: Scale, *, narrow: bool) -> list[Layer]:
    """One row per word: a stem from the middle, the interval, a dot, the word in the margin, its shares beyond it."""
    end, plot_width = x.domain[1], x.extent[1]
    rows: list[dict[str, Any]] = [
        {
            "y": STEP * (place + 0.5),
            "word": fit_text(reveal_invisible(spot.word), margin - (10 if narrow else 82), NORMAL),
            **{name: max(min(getattr(spot, name), end), -end) for name in ("value", "low", "high")},
            "size": SMALLEST + (LARGEST - SMALLEST) * sum(spot.shares) / 2,
            "shares": _format_shares(spot),
        }
        for place, spot in enumerate(spots)
    ]
    is_left = colour == "first"
    inner, outer = (-8, -margin) if is_left else (plot_width + 8, plot_width + margin)
    size = SMALL if narrow else NORMAL
    layers = [
        layer("rule", rows, x=x(0), x2=scaled(x, "value"), y=col("y"), stroke="line", strokeWidth=1.5),
        interval_lines(rows, x, colour, 2.5),
        layer(
            "symbol",
            rows,
            x=scaled(x, "value"),
            y=col("y"),
            size=col("size"),
            fill=colour,
            stroke="page",
            strokeWidth=1,
        ),
        text(rows, col("word"), x=inner, y=col("y"), align="right" if is_left else "left", fontSize=size),
    ]
    if not narrow:
        align = "left" if is_left else "right"
        layers.append(text(rows, col("shares"), x=outer, y=col("y"), align=align, fontSize=SMALL, fill="soft"))
    return layers


def _draw_heads(figure: Words, margin: int, plot_width: int, *, narrow: bool) -> list[Layer]:
    left, right = (fit_text(reveal_invisible(side), plot_width / 2) for side in figure.sides)
    middle, more = plot_width / 2, "" if narrow else "more for "
    heads = [
        {"x": middle - 10, "name": f"← {more}{left}", "align": "right"},
        {"x": middle + 10, "name": f"{more}{right} →", "align": "left"},
    ]
    layers = [
        text([head], col("name"), x=col("x"), y=-13, align=col("align"), fill=colour, fontWeight="bold")
        for head, colour in zip(heads, ("first", "second"), strict=True)
    ]
    if not narrow:
        shares = [{"x": -margin, "align": "left"}, {"x": plot_width + margin, "align": "right"}]
        name = f"{left} · {right}"
        layers.append(text(shares, name, x=col("x"), y=-13, align=col("align"), fontSize=SMALL, fill="soft"))
    return layers
