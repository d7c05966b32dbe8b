"""The chart of a marked metric: the bands A to D, the models' values and intervals, reference points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.probe import Bands, Metric
from equipoise.report.canvas import NORMAL, SMALL, Drawing, Layer, axis, beside, col, layer, on, spans, text
from equipoise.report.palette import LIGHT
from equipoise.report.words import number, plain, told
from equipoise.stats.marks import Mark
from equipoise.stats.resample import Estimate

WIDE, NARROW = 720, 350
HEAD, ROW, GAP, THIN, FOOT = 24, 30, 26, 16, 56
"""Heights: the letters of the bands, a model, the heading of the published values, one of them, axis and references."""
Ranges = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A model's estimate of a metric and its mark."""

    model: str
    estimate: Estimate
    mark: Mark | None


def scale_chart(metric: Metric, readings: Sequence[Reading], published: Ranges, width: int) -> Drawing:
    """Draw a marked metric.

    Distances from the even-handed value are drawn on a logarithmic scale: each band is about three times as wide as
    the one before, and on a plain scale A could hardly be seen.
    """
    bands = metric.bands
    assert bands is not None
    low, high = domain(metric, readings, published)
    narrow = width < WIDE
    margins = (112, 58, 2, FOOT) if narrow else (184, 112, 2, FOOT)
    across = width - margins[0] - margins[1]
    below = HEAD + ROW * len(readings)
    height = below + (GAP + THIN * len(published) if published else 6)
    parts = _parts(bands, low, high)
    ticks = {bands.centre, *(part["from"] for part in parts[1:])}
    return Drawing(
        label=in_words(metric, readings, published),
        width=width,
        height=height + margins[2] + margins[3],
        margins=margins,
        scales=[
            {
                "name": "x",
                "type": "symlog",
                "constant": bands.limits[0],
                "domain": [low - bands.centre, high - bands.centre],
                "range": [0, across],
            }
        ],
        axes=[
            axis(
                "x",
                values=sorted(tick - bands.centre for tick in ticks),
                encode={"labels": {"update": {"text": {"signal": f"format(datum.value + {bands.centre}, '.2~f')"}}}},
                tickSize=4,
            )
        ],
        layers=[
            *_bands(parts, bands.centre, height),
            *_references(metric, (low, high), height, narrow=narrow),
            *(_context(published, bands.centre, below, margins[0]) if published else ()),
            *_readings(readings, bands.centre, across, margins[0], narrow=narrow),
        ],
    )


def domain(metric: Metric, readings: Sequence[Reading], published: Ranges) -> tuple[float, float]:
    """From where to where the scale goes: over the references and all values."""
    bands = metric.bands
    assert bands is not None
    estimates = [reading.estimate for reading in readings if not math.isnan(reading.estimate.value)]
    seen = [value for estimate in estimates for value in (estimate.value, estimate.low, estimate.high)]
    seen += [value for pair in published.values() for value in pair]
    ends = list(metric.references.values()) or [bands.centre + side * 1.6 * bands.limits[-1] for side in (-1, 1)]
    if bands.one_sided:
        # Below the centre all is one band, which needs little room.
        ends = [*(end for end in ends if end >= bands.centre), bands.centre - bands.limits[0]]
    return min(*ends, *seen, bands.centre - bands.limits[0] / 2), max(*ends, *seen, bands.centre + bands.limits[-1])


def in_words(metric: Metric, readings: Sequence[Reading], published: Ranges) -> str:
    """What the chart shows, for those who cannot see it."""
    said = [f"{metric.name} on the scale A to D."]
    for reading in readings:
        estimate = reading.estimate
        if reading.mark is None:
            said.append(f"{reading.model}: not computable.")
        else:
            said.append(
                f"{reading.model}: {number(estimate.value)}, interval {number(estimate.low)} to "
                f"{number(estimate.high)}, mark {told(reading.mark)}."
            )
    if published:
        ends = [value for pair in published.values() for value in pair]
        said.append(
            f"Published intervals of {len(published)} other models lie between {number(min(ends))} and "
            f"{number(max(ends))}."
        )
    return " ".join(said)


def _parts(bands: Bands, low: float, high: float) -> list[dict[str, Any]]:
    """The bands as stretches of the scale, each with its letter."""
    sides = (1,) if bands.one_sided else (-1, 1)
    edges = {low, high, *(bands.centre + side * limit for side in sides for limit in bands.limits)}
    return [
        {"from": start, "to": end, "mark": bands.mark((start + end) / 2)}
        for start, end in itertools.pairwise(sorted(edge for edge in edges if low <= edge <= high))
    ]


def _bands(parts: Sequence[Mapping[str, Any]], centre: float, height: int) -> list[Layer]:
    rows = [
        {
            "from": part["from"] - centre,
            "to": part["to"] - centre,
            "mark": part["mark"],
            "fill": LIGHT[f"band-{part['mark'].lower()}"],
            "text": LIGHT[f"text-{part['mark'].lower()}"],
        }
        for part in parts
    ]
    middle = {"signal": "(scale('x', datum.from) + scale('x', datum.to)) / 2"}
    return [
        layer("rect", rows, x=on("x", "from"), x2=on("x", "to"), y=0, y2=height, fill=col("fill")),
        layer("rule", rows[1:], x=on("x", "from"), y=0, y2=height, stroke="page", strokeWidth=1.5),
        text(rows, col("mark"), x=middle, y=HEAD / 2, align="center", fontWeight="bold", fill=col("text")),
    ]


def _references(metric: Metric, ends: tuple[float, float], height: int, *, narrow: bool) -> list[Layer]:
    """The values of known models as lines with their names below the axis; what is off the scale stands at its end."""
    assert metric.bands is not None
    names: dict[float, list[str]] = {}
    for name, value in metric.references.items():
        names.setdefault(value, []).append(name)
    low, high = ends
    rows = []
    for place, (value, who) in enumerate(sorted(names.items())):
        outside = not low <= value <= high
        name = "unbiased" if "unbiased" in who else ", ".join(who)
        arrow = f"← {name}" if value < low else f"{name} →"
        rows.append(
            {
                "x": min(max(value, low), high) - metric.bands.centre,
                "y": height + (46 if outside or (narrow and place % 2) else 32),
                "name": arrow if outside else name,
                "align": "left" if value <= low else "right" if value >= high else "center",
                "shown": not outside,
            }
        )
    lines = [row for row in rows if row["shown"]]
    return [
        layer("rule", lines, x=on("x", "x"), y=HEAD, y2=height, stroke="soft", strokeWidth=1, strokeDash=[3, 3]),
        text(
            rows,
            col("name"),
            x=on("x", "x"),
            y=col("y"),
            align=col("align"),
            fontSize=SMALL,
            fontStyle="italic",
            fill="soft",
        ),
    ]


def _readings(readings: Sequence[Reading], centre: float, across: int, left: int, *, narrow: bool) -> list[Layer]:
    """A model a row: its name, interval and value, and at the end both in figures, on two lines where it is narrow."""
    rows: list[dict[str, Any]] = []
    for place, reading in enumerate(readings):
        row = {"y": HEAD + ROW * (place + 0.5), "name": plain(reading.model), "said": "none", "mark": ""}
        if reading.mark:
            ends = {name: getattr(reading.estimate, name) - centre for name in ("value", "low", "high")}
            row |= {"said": number(reading.estimate.value), "mark": str(reading.mark), **ends}
        rows.append(row)
    known = [row for row in rows if row["mark"]]
    size, end = SMALL if narrow else NORMAL, across + 8
    up, down = ({"signal": f"datum.y + {step}"} for step in ((-7, 7) if narrow else (0, 0)))
    return [
        spans(known, "accent", 4),
        layer("symbol", known, x=on("x", "value"), y=col("y"), size=90, fill="accent", stroke="page", strokeWidth=1.5),
        beside(rows, left, size, fontWeight="bold"),
        text(rows, col("said"), x=end, y=up, fontSize=size),
        text(rows, col("mark"), x=end if narrow else end + 46, y=down, fontSize=size, fontWeight="bold"),
    ]


def _context(published: Ranges, centre: float, top: int, left: int) -> list[Layer]:
    rows = [
        {"y": top + GAP + THIN * (place + 0.5), "name": model, "low": low - centre, "high": high - centre}
        for place, (model, (low, high)) in enumerate(published.items())
    ]
    return [
        beside([{"y": top + GAP / 2 + 2, "name": "published:"}], left, SMALL, fontStyle="italic", fill="soft"),
        spans(rows, "context", 3),
        beside(rows, left, SMALL, fill="soft"),
    ]
