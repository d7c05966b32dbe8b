"""The chart of a marked metric: the bands A to D, the models' values and intervals, reference points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.authoring import Bands, Metric
from equipoise.measuring.marks import Mark
from equipoise.report.charts.axes import draw_bottom_axis
from equipoise.report.charts.canvas import WIDE, Drawing, label_margin, row_labels
from equipoise.report.charts.palette import LIGHT
from equipoise.report.charts.shapes import NORMAL, SMALL, Layer, Scale, col, interval_lines, layer, scaled, text
from equipoise.report.text import describe_mark, reveal_invisible, typeset_number
from equipoise.schema import Estimate

LETTERS, MODEL, HEADING, PUBLISHED, FOOT = 24, 30, 26, 16, 56
"""Heights: the letters of the bands, one model, the heading of the published values, one of them, the axis."""
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class MarkedEstimate:
    """A model's estimate of a metric and its mark."""

    model: str
    estimate: Estimate
    mark: Mark | None


def draw_scale(metric: Metric, models: Sequence[MarkedEstimate], published: Ranges, width: int) -> Drawing:
    """Draw a marked metric.

    Distances from the even-handed value are drawn on a logarithmic scale: each band is about three times as wide as
    the one before, and on a plain scale A could hardly be seen.
    """
    bands = metric.bands
    assert bands is not None
    low, high = scale_domain(metric, models, published)
    narrow = width < WIDE
    margins = (label_margin(width), 58 if narrow else 112, 2, FOOT)
    plot_width = width - margins[0] - margins[1]
    below_models = LETTERS + MODEL * len(models)
    height = below_models + (HEADING + PUBLISHED * len(published) if published else 6)
    stretches = _split_into_bands(bands, low, high)
    ticks = sorted({bands.centre, *(stretch["from"] for stretch in stretches[1:])})
    domain = (low - bands.centre, high - bands.centre)
    x = Scale(domain=domain, extent=(0, plot_width), bend=bands.limits[0])
    return Drawing(
        label=describe_scale(metric, models, published),
        width=width,
        height=height + margins[2] + margins[3],
        margins=margins,
        layers=[
            *draw_bottom_axis(x, {tick - bands.centre: _format_tick(tick) for tick in ticks}, height, grid=False),
            *_draw_bands(stretches, bands.centre, x, height),
            *_draw_references(metric, (low, high), x, height, narrow=narrow),
            *(_draw_published(published, bands.centre, below_models, x, margins[0]) if published else ()),
            *_draw_models(models, bands.centre, x, margins[0], narrow=narrow),
        ],
    )


def _format_tick(value: float) -> str:
    """A limit of a band without zeros that say nothing."""
    return f"{value + 0.0:.2f}".rstrip("0").rstrip(".").replace("-", "−")


def scale_domain(metric: Metric, models: Sequence[MarkedEstimate], published: Ranges) -> tuple[float, float]:
    """From where to where the scale goes: over the references and all values."""
    bands = metric.bands
    assert bands is not None
    values = [value for ends in published.values() for value in ends]
    for estimate in (model.estimate for model in models):
        values += [value for value in (estimate.value, estimate.low, estimate.high) if not math.isnan(value)]
    ends = list(metric.references.values()) or [bands.centre + side * 1.6 * bands.limits[-1] for side in (-1, 1)]
    if bands.one_sided:
        # Below the centre all is one band, which needs little room.
        ends = [*(end for end in ends if end >= bands.centre), bands.centre - bands.limits[0]]
    return min(*ends, *values, bands.centre - bands.limits[0] / 2), max(*ends, *values, bands.centre + bands.limits[-1])


def describe_scale(metric: Metric, models: Sequence[MarkedEstimate], published: Ranges) -> str:
    """What the chart shows, for readers who cannot see it."""
    sentences = [f"{metric.name} on the scale A to D."]
    for model in models:
        if model.mark is None:
            sentences.append(f"{model.model}: not computable.")
        else:
            value, low, high = (
                typeset_number(number) for number in (model.estimate.value, model.estimate.low, model.estimate.high)
            )
            sentences.append(f"{model.model}: {value}, interval {low} to {high}, mark {describe_mark(model.mark)}.")
    if published:
        values = [value for ends in published.values() for value in ends]
        sentences.append(
            f"Published intervals of {len(published)} other models lie between {typeset_number(min(values))} and "
            f"{typeset_number(max(values))}."
        )
    return " ".join(sentences)


def _split_into_bands(bands: Bands, low: float, high: float) -> list[dict[str, Any]]:
    """The bands as stretches of the scale, each with its letter."""
    sides = (1,) if bands.one_sided else (-1, 1)
    edges = {low, high, *(bands.centre + side * limit for side in sides for limit in bands.limits)}
    return [
        {"from": start, "to": end, "mark": bands.mark((start + end) / 2)}
        for start, end in itertools.pairwise(sorted(edge for edge in edges if low <= edge <= high))
    ]


def _draw_bands(stretches: Sequence[Mapping[str, Any]], centre: float, x: Scale, height: int) -> list[Layer]:
    rows = [
        {
            "from": stretch["from"] - centre,
            "to": stretch["to"] - centre,
            "middle": (x(stretch["from"] - centre) + x(stretch["to"] - centre)) / 2,
            "mark": stretch["mark"],
            "fill": LIGHT[f"band-{stretch['mark'].lower()}"],
            "text": LIGHT[f"text-{stretch['mark'].lower()}"],
        }
        for stretch in stretches
    ]
    return [
        layer("rect", rows, x=scaled(x, "from"), x2=scaled(x, "to"), y=0, y2=height, fill=col("fill")),
        layer("rule", rows[1:], x=scaled(x, "from"), y=0, y2=height, stroke="page", strokeWidth=1.5),
        text(rows, col("mark"), x=col("middle"), y=LETTERS / 2, align="center", fontWeight="bold", fill=col("text")),
    ]


def _draw_references(
    metric: Metric, domain: tuple[float, float], x: Scale, height: int, *, narrow: bool
) -> list[Layer]:
    """The values of reference models as lines, with their names below the axis.

    The name of a value outside the scale stands at the end of the scale, with an arrow.
    """
    assert metric.bands is not None
    names: dict[float, list[str]] = {}
    for name, value in metric.references.items():
        names.setdefault(value, []).append(name)
    low, high = domain
    rows: list[dict[str, Any]] = []
    second_line = True
    for value, same_value in sorted(names.items()):
        name = "unbiased" if "unbiased" in same_value else ", ".join(same_value)
        inside = low <= value <= high
        if not inside:
            name = f"← {name}" if value < low else f"{name} →"
        # On a narrow chart, neighbours take turns between two lines, or their names would overlap.
        second_line = not inside or (narrow and not second_line)
        rows.append(
            {
                "x": min(max(value, low), high) - metric.bands.centre,
                "y": height + (46 if second_line else 32),
                "name": name,
                "align": "left" if value <= low else "right" if value >= high else "center",
                "inside": inside,
            }
        )
    lines = [row for row in rows if row["inside"]]
    return [
        layer("rule", lines, x=scaled(x, "x"), y=LETTERS, y2=height, stroke="soft", strokeWidth=1, strokeDash="3,3"),
        text(
            rows,
            col("name"),
            x=scaled(x, "x"),
            y=col("y"),
            align=col("align"),
            fontSize=SMALL,
            fontStyle="italic",
            fill="soft",
        ),
    ]


def _draw_models(models: Sequence[MarkedEstimate], centre: float, x: Scale, left: int, *, narrow: bool) -> list[Layer]:
    """One row per model: its name, interval and value; at the end value and mark, one below the other where narrow."""
    rows: list[dict[str, Any]] = []
    for place, model in enumerate(models):
        row = {
            "y": LETTERS + MODEL * (place + 0.5),
            "name": reveal_invisible(model.model),
            "number": "none",
            "mark": "",
        }
        if model.mark:
            ends = {name: getattr(model.estimate, name) - centre for name in ("value", "low", "high")}
            row |= {"number": typeset_number(model.estimate.value), "mark": str(model.mark), **ends}
        rows.append(row)
    known = [row for row in rows if row["mark"]]
    size, end = SMALL if narrow else NORMAL, x.extent[1] + 8
    up, down = (col("y", step) for step in ((-7, 7) if narrow else (0, 0)))
    return [
        interval_lines(known, x, "accent", 4),
        layer(
            "symbol", known, x=scaled(x, "value"), y=col("y"), size=90, fill="accent", stroke="page", strokeWidth=1.5
        ),
        row_labels(rows, left, size, fontWeight="bold"),
        text(rows, col("number"), x=end, y=up, fontSize=size),
        text(rows, col("mark"), x=end if narrow else end + 46, y=down, fontSize=size, fontWeight="bold"),
    ]


def _draw_published(published: Ranges, centre: float, top: int, x: Scale, left: int) -> list[Layer]:
    rows = [
        {"y": top + HEADING + PUBLISHED * (place + 0.5), "name": model, "low": low - centre, "high": high - centre}
        for place, (model, (low, high)) in enumerate(published.items())
    ]
    return [
        row_labels([{"y": top + HEADING / 2 + 2, "name": "published:"}], left, SMALL, fontStyle="italic", fill="soft"),
        interval_lines(rows, x, "context", 3),
        row_labels(rows, left, SMALL, fill="soft"),
    ]
