"""The axes of charts as layers of lines and labels in quiet colours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from equipoise.report.charts.shapes import NORMAL, SMALL, Layer, Scale, Values, col, layer, text
from equipoise.report.charts.widths import text_width

SEPARATION = 4
"""Labels that would come nearer to one another than this are left out."""
STEPS = (1, 2, 5, 10)
TICKS = 5


def draw_bottom_axis(
    x: Scale, labels: Mapping[float, str], height: int, *, title: str = "", grid: bool = True
) -> list[Layer]:
    """Labels below the plot. They stand at lines through the plot, or else at ticks below it."""
    rows = [{"x": x(value), "line": round(x(value)) + 0.5, "label": label} for value, label in labels.items()]
    start, end = (0, height) if grid else (height, height + 4)
    middle, down = sum(x.extent) / 2, height + (10 if grid else 15)
    return [
        layer("rule", rows, x=col("line"), y=start, y2=end, stroke="line"),
        text(_without_overlap(rows), col("label"), x=col("x"), y=down, align="center", fontSize=SMALL, fill="soft"),
        text([{}], title, x=middle, y=height + 30, align="center", fontSize=NORMAL, fill="soft"),
    ]


def draw_left_axis(y: Scale, labels: Mapping[float, str], width: int, title: str) -> list[Layer]:
    """Labels to the left of the plot, with lines through it."""
    rows = [{"y": y(value), "line": round(y(value)) + 0.5, "label": label} for value, label in labels.items()]
    return [
        layer("rule", rows, x=0, x2=width, y=col("line"), stroke="line"),
        text(rows, col("label"), x=-6, y=col("y"), align="right", fontSize=SMALL, fill="soft"),
        text([{}], title, x=-47, y=sum(y.extent) / 2, align="center", angle=-90, fill="soft"),
    ]


def label_ticks(domain: tuple[float, float]) -> dict[float, str]:
    """About TICKS round numbers within a domain, written with the decimals that tell them apart."""
    low, high = domain
    power = math.floor(math.log10((high - low) / TICKS))
    # The candidate nearest to the wished number of steps, by ratio.
    step = min((factor * 10.0**power for factor in STEPS), key=lambda step: abs(math.log((high - low) / step / TICKS)))
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return {place * step: f"{place * step:.{decimals}f}".replace("-", "−") for place in places}


def _without_overlap(rows: Sequence[Values]) -> list[Values]:
    """The rows from left to right whose labels have room beside the one before."""
    shown: list[Values] = []
    end = -math.inf
    for row in rows:
        half = text_width(row["label"], SMALL) / 2
        if row["x"] - half >= end + SEPARATION:
            shown.append(row)
            end = row["x"] + half
    return shown
