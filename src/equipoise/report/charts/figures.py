"""The figures of the probes, drawn: intervals by category, points with a line; words are drawn in `words.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from equipoise.authoring.figures import Figure, Intervals, Scatter, Spot, Words
from equipoise.report.charts.axes import draw_bottom_axis, draw_left_axis, label_ticks
from equipoise.report.charts.canvas import Drawing, label_margin, row_labels
from equipoise.report.charts.palette import LIGHT
from equipoise.report.charts.shapes import SMALL, Layer, Scale, col, interval_lines, layer, scaled, text, text_with_halo
from equipoise.report.charts.widths import fit_text
from equipoise.report.charts.words import draw_words
from equipoise.report.text import reveal_invisible, typeset_number
from equipoise.schema import Estimate, MetricKey

SERIES_COLOURS = ("first", "second", "third", "ink")
SERIES_SHAPES = ("circle", "diamond", "square", "triangle-up")
MAX_POINT_LABELS = 8
POINT_LABEL_WIDTH = 110
LEGEND_LINE = 16
LETTER_WIDTH = 6.2
"""About how wide a letter of the small size is."""
Estimates = Mapping[MetricKey, Estimate]


def draw_figure(figure: Figure, estimates: Estimates, width: int) -> Drawing | None:
    """Draw a figure; None where there is nothing to draw."""
    match figure:
        case Intervals():
            return draw_intervals(figure, estimates, width)
        case Scatter():
            return draw_scatter(figure, width)
        case Words():
            return draw_words(figure, width)


def draw_intervals(figure: Intervals, estimates: Estimates, width: int) -> Drawing | None:
    """One row per category. The series of a row stand below one another, each with its colour and shape."""
    rows = {name: known for name, series in figure.rows.items() if (known := _computable(series, estimates))}
    if not rows:
        return None
    names = list(dict.fromkeys(series for row in figure.rows.values() for series in row))
    most_series = max(map(len, rows.values()))
    step = 24 if most_series == 1 else 12 * most_series + 12
    left, right = label_margin(width), 20
    legend, top = _draw_legend(names, width - left - right)
    margins = (left, right, top, 46)
    height = step * len(rows)
    points: list[dict[str, Any]] = []
    for place, row in enumerate(rows.values()):
        for turn, (series, estimate) in enumerate(row.items()):
            y = step * (place + 0.5) + 12 * (turn - (len(row) - 1) / 2)
            ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
            points.append({"y": y, **ends, **_series_style(names.index(series))})
    domain = with_common_domain(figure, [estimates]).domain
    assert domain is not None
    x = Scale(domain=domain, extent=(0, width - left - right))
    lines = [{"y": step * place} for place in range(1, len(rows))]
    centre = [] if figure.centre is None else [{"x": figure.centre}]
    values = "; ".join(
        f"{name}: "
        + ", ".join(f"{series} {typeset_number(estimate.value)}".strip() for series, estimate in row.items())
        for name, row in rows.items()
    )
    labels = [{"name": name, "y": step * (place + 0.5)} for place, name in enumerate(rows)]
    return Drawing(
        label=f"{figure.title}. {figure.axis}: {values}.",
        width=width,
        height=height + margins[2] + margins[3],
        margins=margins,
        layers=[
            *draw_bottom_axis(x, label_ticks(domain), height, title=figure.axis),
            layer("rule", lines, x=-left, x2=width - left, y=col("y"), stroke="line", strokeWidth=0.5),
            layer("rule", centre, x=scaled(x, "x"), y=0, y2=height, stroke="soft", strokeDash="3,3"),
            interval_lines([point for point in points if not math.isnan(point["low"])], x, col("colour"), 2.5),
            layer(
                "symbol",
                points,
                x=scaled(x, "value"),
                y=col("y"),
                shape=col("shape"),
                fill=col("colour"),
                size=62,
                stroke="page",
                strokeWidth=1,
            ),
            row_labels(labels, left),
            *legend,
        ],
    )


def draw_scatter(figure: Scatter, width: int) -> Drawing | None:
    """Points in the unit square. Those on its edges are spread a little, so that they do not hide one another."""
    if not figure.spots:
        return None
    margins = (58, 14, 8, 46)
    plot_width, height = width - margins[0] - margins[1], 300
    points = [
        {"x": spot.x, "y": spot.y + _spread(place, spot.y), "label": fit_text(spot.label, POINT_LABEL_WIDTH, SMALL)}
        for place, spot in enumerate(figure.spots)
    ]
    x = Scale(domain=(0.0, 1.0), extent=(0, plot_width))
    y = Scale(domain=(-0.12, 1.12), extent=(height, 0))
    line, described = [], ""
    if figure.line:
        start, end = figure.line[0], figure.line[0] + figure.line[1]
        line = [{"x": 0.0, "y": start, "x2": 1.0, "y2": end}]
        described = f" The fitted line goes from {typeset_number(start)} to {typeset_number(end)}."
    return Drawing(
        label=f"{figure.title}: {len(figure.spots)} points.{described}",
        width=width,
        height=height + margins[2] + margins[3],
        margins=margins,
        layers=[
            *draw_bottom_axis(x, label_ticks(x.domain), height, title=figure.x),
            *draw_left_axis(y, {quarter / 4: f"{quarter / 4:.0%}" for quarter in range(5)}, plot_width, figure.y),
            layer("symbol", points, x=scaled(x, "x"), y=scaled(y, "y"), size=26, fill="accent", fillOpacity=0.4),
            layer(
                "rule",
                line,
                x=scaled(x, "x"),
                x2=scaled(x, "x2"),
                y=scaled(y, "y"),
                y2=scaled(y, "y2"),
                stroke="ink",
                strokeWidth=2,
            ),
            layer(
                "symbol",
                mean_fifths(figure.spots),
                x=scaled(x, "x"),
                y=scaled(y, "y"),
                shape="square",
                size=70,
                fill="page",
                stroke="ink",
                strokeWidth=2,
            ),
            *_label_points(points, x, y),
        ],
    )


def round_range(values: Sequence[float]) -> tuple[float, float]:
    """A range between round numbers that holds all the values."""
    low, high = min(values), max(values)
    step = 0.1 if high - low > 0.2 else 0.02
    first, last = math.floor(round(low / step, 6)), math.ceil(round(high / step, 6))
    return round(first * step, 2), round(max(last, first + 1) * step, 2)


def with_common_domain(figure: Intervals, models: Sequence[Estimates]) -> Intervals:
    """The figure with one scale for all the models that are drawn side by side."""
    known = [
        estimate
        for estimates in models
        for row in figure.rows.values()
        for estimate in _computable(row, estimates).values()
    ]
    ends = [end for estimate in known for end in (estimate.low, estimate.value, estimate.high) if not math.isnan(end)]
    if figure.centre is not None:
        ends.append(figure.centre)
    return figure if figure.domain or not ends else replace(figure, domain=round_range(ends))


def mean_fifths(spots: Sequence[Spot]) -> list[dict[str, float]]:
    """The mean point of each fifth of the points, from left to right; none when there are few."""
    ordered = sorted(spots, key=lambda spot: spot.x)
    if len(ordered) < 25:
        return []
    fifths = [ordered[len(ordered) * part // 5 : len(ordered) * (part + 1) // 5] for part in range(5)]
    return [{axis: sum(getattr(spot, axis) for spot in fifth) / len(fifth) for axis in ("x", "y")} for fifth in fifths]


def _computable(series: Mapping[str, MetricKey], estimates: Estimates) -> dict[str, Estimate]:
    """The estimates of a row that have a value, by series."""
    known = {name: estimates[key] for name, key in series.items() if key in estimates}
    return {name: estimate for name, estimate in known.items() if not math.isnan(estimate.value)}


def _series_style(place: int) -> dict[str, str]:
    kind = place % len(SERIES_COLOURS)
    return {"colour": LIGHT[SERIES_COLOURS[kind]], "shape": SERIES_SHAPES[kind]}


def _draw_legend(names: Sequence[str], plot_width: int) -> tuple[list[Layer], int]:
    """The series by name above the plot, in as many lines as they need, and the height that this takes."""
    if list(names) == [""]:
        return [], 6
    entries: list[dict[str, Any]] = []
    x, line = 0.0, 0
    for place, name in enumerate(names):
        width = 32 + LETTER_WIDTH * len(name)
        if x and x + width > plot_width + 12:
            x, line = 0.0, line + 1
        entries.append(
            {"x": x + 5, "label": x + 14, "line": line, "name": reveal_invisible(name), **_series_style(place)}
        )
        x += width
    rows = [{**entry, "y": -14 - LEGEND_LINE * (line - entry["line"])} for entry in entries]
    return [
        layer("symbol", rows, x=col("x"), y=col("y"), shape=col("shape"), fill=col("colour"), size=62),
        text(rows, col("name"), x=col("label"), y=col("y"), fontSize=SMALL + 0.5),
    ], 26 + LEGEND_LINE * line


def _spread(place: int, y: float) -> float:
    """How far a point on an edge is moved away from it: differently for neighbours, and the same every time."""
    step = 0.09 * ((place * 0.618034) % 1.0)
    if y == 1.0:
        return step
    return -step if y == 0.0 else 0.0


def _label_points(points: Sequence[Mapping[str, Any]], x: Scale, y: Scale) -> list[Layer]:
    """Labels for some points far from the middle, where there is room for them."""
    chosen: list[dict[str, Any]] = []
    for point in sorted(points, key=lambda point: (-abs(point["x"] - 0.5), point["label"])):
        width = LETTER_WIDTH * len(point["label"]) / x.extent[1]
        left = point["x"] < 0.5
        label = {**point, "start": point["x"] if left else point["x"] - width, "width": width, "left": left}
        overlaps = any(
            abs(label["y"] - other["y"]) < 0.07
            and label["start"] < other["start"] + other["width"] + 0.03
            and other["start"] < label["start"] + width + 0.03
            for other in chosen
        )
        if not overlaps and len(chosen) < MAX_POINT_LABELS:
            chosen.append(label)
    layers = []
    for left, position in ((True, {"dx": 6, "align": "left"}), (False, {"dx": -6, "align": "right"})):
        rows = [label for label in chosen if label["left"] is left]
        layers += text_with_halo(rows, col("label"), x=scaled(x, "x"), y=scaled(y, "y"), fontSize=SMALL, **position)
    return layers
