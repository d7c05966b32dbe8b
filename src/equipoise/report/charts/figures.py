"""The figures of probes, drawn: intervals by category, and points with a line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from equipoise.authoring import Estimate, Figure, Intervals, MetricKey, Probe, Scatter, Spot
from equipoise.report.charts.drawing import (
    LABELS,
    SMALL,
    WIDTH,
    Drawing,
    Scale,
    draw_bottom_axis,
    fit_text,
    interval,
    label_ticks,
    line,
    row_label,
    symbol,
    text,
    text_width,
)
from equipoise.report.text import reveal_invisible, typeset_number

SERIES = (("first", "circle"), ("second", "diamond"), ("third", "square"), ("ink", "circle"))
"""The colours and shapes of series."""
FEWEST_ITEMS = 4
"""A group of a slice that rests on fewer items is not drawn."""
MAX_POINT_LABELS = 8
Estimates = Mapping[MetricKey, Estimate]


def default_figures(probe: Probe, estimates: Estimates) -> list[Intervals]:
    """The marked metrics, over all items if the probe has no figures of its own, and for each slice."""
    make = partial(Intervals, axis="value", caption="With 95% intervals.")
    figures = []
    if not probe.figures:
        rows = {name: {"": MetricKey(name)} for name in probe.marked_metrics()}
        figures.append(make(name="metrics", title="Marked metrics", rows=rows))
    for column in probe.slices:
        groups: dict[str, dict[str, MetricKey]] = {}
        for key in estimates:
            if key.slice == column and key.group is not None and key.metric in probe.marked_metrics():
                groups.setdefault(key.group, {})[key.metric] = key
        if groups:
            figures.append(make(name=column, title=f"By {column}", rows=groups))
    return figures


def draw_figures(figures: Sequence[Figure], estimates: Sequence[Estimates]) -> list[Drawing | None]:
    """Draw the same figure of several models, on one scale for all; None where there is nothing to draw."""
    domain = _find_domain([figure for figure in figures if isinstance(figure, Intervals)], estimates)
    return [
        _draw_intervals(figure, found, domain) if isinstance(figure, Intervals) else _draw_scatter(figure)
        for figure, found in zip(figures, estimates, strict=True)
    ]


def _find_domain(figures: Sequence[Intervals], models: Sequence[Estimates]) -> tuple[float, float]:
    """From where to where a scale must go for all the figures that are drawn side by side."""
    ends = [figure.centre for figure in figures if figure.centre is not None]
    for figure, estimates in zip(figures, models, strict=False):
        if figure.domain:
            return figure.domain
        for row in figure.rows.values():
            for estimate in _drawable(row, estimates).values():
                ends += [end for end in (estimate.low, estimate.value, estimate.high) if not math.isnan(end)]
    return round_range(ends or [0.0])


def round_range(values: Sequence[float]) -> tuple[float, float]:
    """A range between round numbers that holds all the values."""
    low, high = min(values), max(values)
    step = 0.1 if high - low > 0.2 else 0.02
    first, last = math.floor(round(low / step, 6)), math.ceil(round(high / step, 6))
    return round(first * step, 2), round(max(last, first + 1) * step, 2)


def _draw_intervals(figure: Intervals, estimates: Estimates, domain: tuple[float, float]) -> Drawing | None:
    """One row per category. The series of a row stand below one another, each with its colour and shape."""
    rows = {name: known for name, series in figure.rows.items() if (known := _drawable(series, estimates))}
    if not rows:
        return None
    names = list(dict.fromkeys(series for row in figure.rows.values() for series in row))
    most_series = max(map(len, rows.values()))
    step = 24 if most_series == 1 else 12 * most_series + 12
    plot_width, height = WIDTH - LABELS - 20, step * len(rows)
    shapes, top = _draw_legend(names, plot_width)
    x = Scale(domain=domain, extent=(0, plot_width))
    shapes += draw_bottom_axis(x, label_ticks(domain), height, title=figure.axis)
    if figure.centre is not None:
        shapes.append(line(x(figure.centre), 0, x(figure.centre), height, "soft", dashed=True))
    described = []
    for place, (name, row) in enumerate(rows.items()):
        if place:
            shapes.append(line(-LABELS, step * place, WIDTH - LABELS, step * place, "line", 0.5))
        shapes.append(row_label(step * (place + 0.5), name))
        for turn, (series, estimate) in enumerate(row.items()):
            y = step * (place + 0.5) + 12 * (turn - (len(row) - 1) / 2)
            colour, shape = SERIES[names.index(series) % len(SERIES)]
            shapes.append(interval(y, estimate.low, estimate.high, x, colour, 2.5))
            shapes.append(symbol(x(estimate.value), y, 62, colour, shape))
        values = ", ".join(f"{series} {typeset_number(found.value)}".strip() for series, found in row.items())
        described.append(f"{name}: {values}")
    label = f"{figure.title}. {figure.axis}: {'; '.join(described)}."
    return Drawing(label=label, width=WIDTH, height=height + top + 46, left=LABELS, top=top, shapes=shapes)


def _drawable(series: Mapping[str, MetricKey], estimates: Estimates) -> dict[str, Estimate]:
    """The estimates of a row that have a value and, for a group, rest on more than a few items, by series."""
    known = {name: (key, estimates[key]) for name, key in series.items() if key in estimates}
    return {
        name: estimate
        for name, (key, estimate) in known.items()
        if not math.isnan(estimate.value) and (key.slice is None or estimate.n >= FEWEST_ITEMS)
    }


def _draw_legend(names: Sequence[str], plot_width: int) -> tuple[list[str], int]:
    """The series by name above the plot, in as many lines as they need, and the height that this takes."""
    if list(names) == [""]:
        return [], 6
    places: list[tuple[float, int]] = []
    x, lines = 0.0, 0
    for name in names:
        width = 32 + text_width(name, SMALL)
        if x and x + width > plot_width + 12:
            x, lines = 0.0, lines + 1
        places.append((x, lines))
        x += width
    shapes = []
    for number, (name, (x, row)) in enumerate(zip(names, places, strict=True)):
        y = -14 - 16 * (lines - row)
        shapes.append(symbol(x + 5, y, 62, *SERIES[number % len(SERIES)]))
        shapes.append(text(x + 14, y, reveal_invisible(name), size=SMALL + 0.5))
    return shapes, 26 + 16 * lines


def _draw_scatter(figure: Scatter) -> Drawing | None:
    """Points in the unit square. Those on its edges are spread a little, so that they do not hide one another."""
    if not figure.spots:
        return None
    left, top = 58, 8
    plot_width, height = WIDTH - left - 14, 300
    x = Scale(domain=(0.0, 1.0), extent=(0, plot_width))
    y = Scale(domain=(-0.12, 1.12), extent=(height, 0))
    points = [replace(spot, y=spot.y + _spread(place, spot.y)) for place, spot in enumerate(figure.spots)]
    shapes = draw_bottom_axis(x, label_ticks(x.domain), height, title=figure.x)
    shapes.append(text(-47, height / 2, figure.y, colour="soft", angle=-90, text_anchor="middle"))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        place = round(y(share)) + 0.5
        shapes.append(line(0, place, plot_width, place, "line"))
        shapes.append(text(-6, y(share), f"{share:.0%}", size=SMALL, colour="soft", text_anchor="end"))
    shapes += [symbol(x(point.x), y(point.y), 30, "accent") for point in points]
    described = ""
    if figure.line:
        start, end = figure.line[0], sum(figure.line)
        shapes.append(line(x(0), y(start), x(1), y(end), "ink", 2))
        described = f" The fitted line goes from {typeset_number(start)} to {typeset_number(end)}."
    for point, on_left in _choose_labels(points, plot_width):
        shift, anchor = (6, "start") if on_left else (-6, "end")
        label = fit_text(point.label, 110, SMALL)
        shapes.append(
            text(
                x(point.x) + shift,
                y(point.y),
                label,
                size=SMALL,
                text_anchor=anchor,
                stroke="page",
                stroke_width="3",
                stroke_linejoin="round",
                paint_order="stroke",  # readable over the points
            )
        )
    label = f"{figure.title}: {len(figure.spots)} points.{described}"
    return Drawing(label=label, width=WIDTH, height=height + top + 46, left=left, top=top, shapes=shapes)


def _spread(place: int, y: float) -> float:
    """How far a point on an edge is moved away from it: differently for neighbours, and the same every time."""
    step = 0.09 * ((place * 0.618034) % 1.0)
    return step if y == 1.0 else -step if y == 0.0 else 0.0


def _choose_labels(points: Sequence[Spot], plot_width: int) -> list[tuple[Spot, bool]]:
    """Some points far from the middle whose labels have room, and whether the point is on the left."""
    chosen: list[tuple[Spot, bool]] = []
    taken: list[tuple[float, float, float]] = []
    for point in sorted(points, key=lambda point: (-abs(point.x - 0.5), point.label)):
        width = text_width(fit_text(point.label, 110, SMALL), SMALL) / plot_width
        left = point.x < 0.5
        start = point.x if left else point.x - width
        free = all(
            abs(point.y - y) >= 0.07 or start >= end + 0.03 or begin >= start + width + 0.03 for y, begin, end in taken
        )
        if free and len(chosen) < MAX_POINT_LABELS:
            chosen.append((point, left))
            taken.append((point.y, start, start + width))
    return chosen
