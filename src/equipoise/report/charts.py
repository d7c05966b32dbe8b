"""The figures of the probes, drawn: intervals by category, points with a line, shares of two groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from equipoise.figure import Contrast, Figure, Intervals, Scatter, Spot
from equipoise.report.canvas import SMALL, Drawing, Layer, axis, beside, col, fitted, haloed, layer, on, spans, text
from equipoise.report.palette import LIGHT
from equipoise.report.words import number, plain
from equipoise.stats.resample import Estimate

WIDE, NARROW = 720, 350
SERIES = ("first", "second", "third", "ink")
SHAPES = ("circle", "diamond", "square", "triangle-up")
LABELLED, LONGEST, LINE = 8, 110, 16
"""Points that are named in a chart and how wide a name may be; a line of the legend."""
Metrics = Mapping[str, Estimate]


def draw(figure: Figure, metrics: Metrics, width: int) -> Drawing | None:
    """Draw a figure; None where there is nothing to draw."""
    match figure:
        case Intervals():
            return intervals(figure, metrics, width)
        case Scatter():
            return scatter(figure, width)
        case Contrast():
            return contrast(figure, width)


def intervals(figure: Intervals, metrics: Metrics, width: int) -> Drawing | None:
    """A row a category; series stand below one another, each with its colour and shape."""
    rows = {name: known for name, series in figure.rows.items() if (known := _known(series, metrics))}
    if not rows:
        return None
    names = list(dict.fromkeys(series for row in figure.rows.values() for series in row))
    stacked = max(map(len, rows.values()))
    step = 24 if stacked == 1 else 12 * stacked + 12
    left, right = 112 if width < WIDE else 184, 20
    legend, top = _legend(names, width - left - right)
    margins = (left, right, top, 46)
    height = step * len(rows)
    points: list[dict[str, Any]] = []
    for place, row in enumerate(rows.values()):
        for turn, (series, estimate) in enumerate(row.items()):
            kind = names.index(series) % len(SERIES)
            y = step * (place + 0.5) + 12 * (turn - (len(row) - 1) / 2)
            points.append(
                {"y": y, "value": estimate.value, "low": estimate.low, "high": estimate.high, **_series(kind)}
            )
    domain = together(figure, [metrics]).domain
    assert domain is not None
    lines = [{"y": step * place} for place in range(1, len(rows))]
    centre = [] if figure.centre is None else [{"x": figure.centre}]
    words = "; ".join(
        f"{name}: " + ", ".join(f"{series} {number(estimate.value)}".strip() for series, estimate in row.items())
        for name, row in rows.items()
    )
    labels = [{"name": name, "y": step * (place + 0.5)} for place, name in enumerate(rows)]
    return Drawing(
        label=f"{figure.title}. {figure.axis}: {words}.",
        width=width,
        height=height + margins[2] + margins[3],
        margins=margins,
        scales=[_linear("x", domain, (0, width - margins[0] - margins[1]))],
        axes=[axis("x", title=figure.axis, grid=True, tickCount=5, ticks=False)],
        layers=[
            layer("rule", lines, x=-margins[0], x2={"signal": "width"}, y=col("y"), stroke="line", strokeWidth=0.5),
            layer("rule", centre, x=on("x", "x"), y=0, y2=height, stroke="soft", strokeDash=[3, 3]),
            spans([point for point in points if not math.isnan(point["low"])], col("colour"), 2.5),
            layer(
                "symbol",
                points,
                x=on("x", "value"),
                y=col("y"),
                shape=col("shape"),
                fill=col("colour"),
                size=62,
                stroke="page",
                strokeWidth=1,
            ),
            beside(labels, margins[0]),
            *legend,
        ],
    )


def scatter(figure: Scatter, width: int) -> Drawing | None:
    """Points in the unit square. Those on its edges are spread a little, so that they do not hide one another."""
    if not figure.spots:
        return None
    margins = (58, 14, 8, 46)
    across, height = width - margins[0] - margins[1], 300
    spots = [
        {"x": spot.x, "y": spot.y + _spread(place, spot.y), "label": fitted(spot.label, LONGEST, SMALL)}
        for place, spot in enumerate(figure.spots)
    ]
    line, start, end = [], 0.0, 1.0
    if figure.line:
        start, end = figure.line[0], figure.line[0] + figure.line[1]
        line = [{"x": 0.0, "y": start, "x2": 1.0, "y2": end}]
    fit = f" The fitted line goes from {number(start)} to {number(end)}." if figure.line else ""
    return Drawing(
        label=f"{figure.title}: {len(figure.spots)} points.{fit}",
        width=width,
        height=height + margins[2] + margins[3],
        margins=margins,
        scales=[_linear("x", (0.0, 1.0), (0, across)), _linear("y", (-0.12, 1.12), (height, 0))],
        axes=[
            axis("x", title=figure.x, tickCount=5, grid=True, ticks=False),
            axis("y", "left", title=figure.y, values=[0, 0.25, 0.5, 0.75, 1], format="~%", grid=True, ticks=False),
        ],
        layers=[
            layer("symbol", spots, x=on("x", "x"), y=on("y", "y"), size=26, fill="accent", fillOpacity=0.4),
            layer(
                "rule",
                line,
                x=on("x", "x"),
                x2=on("x", "x2"),
                y=on("y", "y"),
                y2=on("y", "y2"),
                stroke="ink",
                strokeWidth=2,
            ),
            layer(
                "symbol",
                fifths(figure.spots),
                x=on("x", "x"),
                y=on("y", "y"),
                shape="square",
                size=70,
                fill="page",
                stroke="ink",
                strokeWidth=2,
            ),
            *_names(spots, across),
        ],
    )


def contrast(figure: Contrast, width: int) -> Drawing | None:
    """A bar a row, to the left where the first group has more and to the right where the second has."""
    if not figure.rows:
        return None
    step, margins = 22, (112 if width < WIDE else 184, 66 if width < WIDE else 112, 26, 46)
    across, height = width - margins[0] - margins[1], step * len(figure.rows)
    rows: list[dict[str, Any]] = [
        {
            "name": plain(name),
            "y": step * (place + 0.5),
            "gap": second - first,
            "said": f"{first:.0%} · {second:.0%}",
            "colour": LIGHT[SERIES[0] if first > second else SERIES[1]],
        }
        for place, (name, (first, second)) in enumerate(figure.rows.items())
    ]
    most = max(abs(row["gap"]) for row in rows) * 1.05
    first, second = figure.sides
    narrow = width < WIDE
    more = "" if narrow else "more for "
    heads = [
        {"x": -most, "name": f"← {more}{first}", "align": "left", "colour": LIGHT[SERIES[0]]},
        {"x": most, "name": f"{more}{second} →", "align": "right", "colour": LIGHT[SERIES[1]]},
    ]
    words = "; ".join(f"{row['name']} {row['said']}" for row in rows)
    return Drawing(
        label=f"{figure.title}. {figure.axis}, {first} and {second}: {words}.",
        width=width,
        height=height + margins[2] + margins[3],
        margins=margins,
        scales=[_linear("x", (-most, most), (0, across))],
        axes=[
            axis("x", title=f"{figure.axis}: {second} less {first}", tickCount=5, format=".0%", grid=True, ticks=False)
        ],
        layers=[
            layer(
                "rect",
                rows,
                x={"scale": "x", "value": 0},
                x2=on("x", "gap"),
                yc=col("y"),
                height=13,
                fill=col("colour"),
            ),
            layer("rule", [{}], x={"scale": "x", "value": 0}, y=0, y2=height, stroke="soft"),
            beside(rows, margins[0]),
            text(rows, col("said"), x=across + 8, y=col("y"), fill="soft", fontSize=SMALL),
            text(heads, col("name"), x=on("x", "x"), y=-12, align=col("align"), fill=col("colour"), fontWeight="bold"),
            text([{}] * (not narrow), f"{first} · {second}", x=across + 8, y=-12, fill="soft", fontSize=SMALL),
        ],
    )


def reach(values: Sequence[float]) -> tuple[float, float]:
    """A range of round numbers that holds all the values."""
    low, high = min(values), max(values)
    step = 0.1 if high - low > 0.2 else 0.02
    first, last = math.floor(round(low / step, 6)), math.ceil(round(high / step, 6))
    return round(first * step, 2), round(max(last, first + 1) * step, 2)


def together(figure: Intervals, metrics: Sequence[Metrics]) -> Intervals:
    """The figure with one scale for all the models that are drawn side by side."""
    known = [estimate for one in metrics for row in figure.rows.values() for estimate in _known(row, one).values()]
    ends = [end for estimate in known for end in (estimate.low, estimate.value, estimate.high) if not math.isnan(end)]
    ends += [] if figure.centre is None else [figure.centre]
    return figure if figure.domain or not ends else replace(figure, domain=reach(ends))


def fifths(spots: Sequence[Spot]) -> list[dict[str, float]]:
    """The means of fifths of the points, from left to right; none when there are few."""
    ordered = sorted(spots, key=lambda spot: spot.x)
    if len(ordered) < 25:
        return []
    groups = [ordered[len(ordered) * part // 5 : len(ordered) * (part + 1) // 5] for part in range(5)]
    return [{axis: sum(getattr(spot, axis) for spot in group) / len(group) for axis in ("x", "y")} for group in groups]


def _known(series: Mapping[str, str], metrics: Metrics) -> dict[str, Estimate]:
    found = {name: metrics[metric] for name, metric in series.items() if metric in metrics}
    return {name: estimate for name, estimate in found.items() if not math.isnan(estimate.value)}


def _series(kind: int) -> dict[str, str]:
    return {"colour": LIGHT[SERIES[kind]], "shape": SHAPES[kind]}


def _legend(names: Sequence[str], across: int) -> tuple[list[Layer], int]:
    """The series by name above the plot, in as many lines as they need, and how much room that takes."""
    if list(names) == [""]:
        return [], 6
    entries: list[dict[str, Any]] = []
    x, line = 0.0, 0
    for kind, name in enumerate(names):
        width = 32 + 6.2 * len(name)
        if x and x + width > across + 12:
            x, line = 0.0, line + 1
        entries.append({"x": x + 5, "label": x + 14, "line": line, "name": plain(name), **_series(kind % len(SERIES))})
        x += width
    rows = [{**entry, "y": -14 - LINE * (line - entry["line"])} for entry in entries]
    return [
        layer("symbol", rows, x=col("x"), y=col("y"), shape=col("shape"), fill=col("colour"), size=62),
        text(rows, col("name"), x=col("label"), y=col("y"), fontSize=SMALL + 0.5),
    ], 26 + LINE * line


def _linear(name: str, domain: tuple[float, float], extent: tuple[float, float]) -> Mapping[str, Any]:
    return {"name": name, "type": "linear", "domain": list(domain), "range": list(extent), "zero": False}


def _spread(place: int, y: float) -> float:
    """A step away from the edge, different for neighbours and the same every time."""
    step = 0.09 * ((place * 0.618034) % 1.0)
    return step if y == 1.0 else -step if y == 0.0 else 0.0


def _names(spots: Sequence[Mapping[str, Any]], across: int) -> list[Layer]:
    """The names of some points far from the middle, where there is room for them."""
    chosen: list[dict[str, Any]] = []
    for spot in sorted(spots, key=lambda spot: (-abs(spot["x"] - 0.5), spot["label"])):
        width = 6.2 * len(spot["label"]) / across
        left = spot["x"] < 0.5
        place = {**spot, "from": spot["x"] if left else spot["x"] - width, "width": width, "left": left}
        clash = any(
            abs(place["y"] - other["y"]) < 0.07
            and place["from"] < other["from"] + other["width"] + 0.03
            and other["from"] < place["from"] + width + 0.03
            for other in chosen
        )
        if not clash and len(chosen) < LABELLED:
            chosen.append(place)
    layers = []
    for left in (True, False):
        rows = [spot for spot in chosen if spot["left"] is left]
        beside = {"dx": 6, "align": "left"} if left else {"dx": -6, "align": "right"}
        layers += haloed(rows, col("label"), x=on("x", "x"), y=on("y", "y"), fontSize=SMALL, **beside)
    return layers
