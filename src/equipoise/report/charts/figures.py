"""The figures of probes, drawn: intervals by category, points with a line, and words that tell two groups apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean

from equipoise.authoring import Estimate, Intervals, MetricKey, Probe, Scatter, Spot, TypicalWord
from equipoise.report.charts.drawing import (
    LABELS,
    SMALL,
    WIDTH,
    Drawing,
    Scale,
    draw_bottom_axis,
    draw_left_axis,
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
WORDS_PER_SIDE = 12
WORD_STEP = 23
FARTHEST = math.log(64)
"""Longer intervals of words are cut off here."""
Estimates = Mapping[MetricKey, Estimate]


@dataclass(frozen=True, kw_only=True)
class WordFigure:
    """Words that differ between two groups of answers, each on the side that uses it more; the clearest come first."""

    name: str
    title: str
    caption: str
    sides: tuple[str, str]
    """What is on the left, and on the right."""
    spots: Sequence[TypicalWord] = field(repr=False)
    summary: str = ""
    """What was compared and how much was found, in this model's answers."""
    end: float | None = None
    """How far the scale goes to both sides; None: as far as it must."""


AnyFigure = Intervals | Scatter | WordFigure


def default_figures(probe: Probe, estimates: Estimates) -> list[Intervals]:
    """The figures of a probe that brings none: one of all metrics, and one per slice with the marked metrics."""
    make = partial(Intervals, axis="value", caption="With 95% intervals.")
    rows = {metric.name: {"": MetricKey(metric.name)} for metric in probe.metrics}
    figures = [make(name="metrics", title="All metrics", rows=rows)]
    for column in probe.slices:
        groups: dict[str, dict[str, MetricKey]] = {}
        for key in estimates:
            if key.slice == column and key.group is not None and key.metric in probe.marked_metrics():
                groups.setdefault(key.group, {})[key.metric] = key
        if groups:
            figures.append(make(name=column, title=f"By {column}", rows=groups))
    return figures


def draw_figure(figure: AnyFigure, estimates: Estimates) -> Drawing | None:
    """Draw a figure; None where there is nothing to draw."""
    match figure:
        case Intervals():
            return draw_intervals(figure, estimates)
        case Scatter():
            return draw_scatter(figure)
        case WordFigure():
            return draw_words(figure)


def share_scale(figure: AnyFigure, same: Iterable[AnyFigure], models: Sequence[Estimates]) -> AnyFigure:
    """The figure with one scale for all the models that are drawn side by side."""
    if isinstance(figure, WordFigure):
        return replace(figure, end=_find_end(other for other in same if isinstance(other, WordFigure)))
    if not isinstance(figure, Intervals) or figure.domain:
        return figure
    ends = [
        end
        for estimates in models
        for row in figure.rows.values()
        for estimate in _drawable(row, estimates).values()
        for end in (estimate.low, estimate.value, estimate.high)
        if not math.isnan(end)
    ]
    if figure.centre is not None:
        ends.append(figure.centre)
    return replace(figure, domain=round_range(ends)) if ends else figure


def round_range(values: Sequence[float]) -> tuple[float, float]:
    """A range between round numbers that holds all the values."""
    low, high = min(values), max(values)
    step = 0.1 if high - low > 0.2 else 0.02
    first, last = math.floor(round(low / step, 6)), math.ceil(round(high / step, 6))
    return round(first * step, 2), round(max(last, first + 1) * step, 2)


def draw_intervals(figure: Intervals, estimates: Estimates) -> Drawing | None:
    """One row per category. The series of a row stand below one another, each with its colour and shape."""
    rows = {name: known for name, series in figure.rows.items() if (known := _drawable(series, estimates))}
    if not rows:
        return None
    figure = share_scale(figure, (), [estimates])  # type: ignore[assignment]
    assert figure.domain is not None
    names = list(dict.fromkeys(series for row in figure.rows.values() for series in row))
    most_series = max(map(len, rows.values()))
    step = 24 if most_series == 1 else 12 * most_series + 12
    right = 20
    plot_width = WIDTH - LABELS - right
    shapes, top = _draw_legend(names, plot_width)
    height = step * len(rows)
    x = Scale(domain=figure.domain, extent=(0, plot_width))
    shapes += draw_bottom_axis(x, label_ticks(figure.domain), height, title=figure.axis)
    if figure.centre is not None:
        shapes.append(line(x(figure.centre), 0, x(figure.centre), height, "soft", dashed=True))
    for place, (name, row) in enumerate(rows.items()):
        if place:
            shapes.append(line(-LABELS, step * place, WIDTH - LABELS, step * place, "line", 0.5))
        shapes.append(row_label(step * (place + 0.5), name))
        for turn, (series, estimate) in enumerate(row.items()):
            y = step * (place + 0.5) + 12 * (turn - (len(row) - 1) / 2)
            colour, shape = SERIES[names.index(series) % len(SERIES)]
            shapes.append(interval(y, (estimate.low, estimate.high), x, colour, 2.5))
            shapes.append(symbol(x(estimate.value), y, 62, colour, shape))
    values = "; ".join(
        f"{name}: " + ", ".join(f"{series} {typeset_number(found.value)}".strip() for series, found in row.items())
        for name, row in rows.items()
    )
    return Drawing(
        label=f"{figure.title}. {figure.axis}: {values}.",
        width=WIDTH,
        height=height + top + 46,
        margins=(LABELS, right, top, 46),
        shapes=shapes,
    )


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


def draw_scatter(figure: Scatter) -> Drawing | None:
    """Points in the unit square. Those on its edges are spread a little, so that they do not hide one another."""
    if not figure.spots:
        return None
    margins = (58, 14, 8, 46)
    plot_width, height = WIDTH - margins[0] - margins[1], 300
    x = Scale(domain=(0.0, 1.0), extent=(0, plot_width))
    y = Scale(domain=(-0.12, 1.12), extent=(height, 0))
    points = [replace(spot, y=spot.y + _spread(place, spot.y)) for place, spot in enumerate(figure.spots)]
    shapes = draw_bottom_axis(x, label_ticks(x.domain), height, title=figure.x)
    shapes += draw_left_axis(y, {quarter / 4: f"{quarter / 4:.0%}" for quarter in range(5)}, plot_width, figure.y)
    shapes += [symbol(x(point.x), y(point.y), 30, "accent") for point in points]
    described = ""
    if figure.line:
        start, end = figure.line[0], sum(figure.line)
        shapes.append(line(x(0), y(start), x(1), y(end), "ink", 2))
        described = f" The fitted line goes from {typeset_number(start)} to {typeset_number(end)}."
    for mean_x, mean_y in mean_fifths(figure.spots):
        shapes.append(symbol(x(mean_x), y(mean_y), 70, "page", "square", edge="ink", edge_width=2))
    for point, left in _choose_labels(points, plot_width):
        place, anchor = (x(point.x) + 6, "start") if left else (x(point.x) - 6, "end")
        shapes.append(text(place, y(point.y), fit_text(point.label, 110, SMALL), size=SMALL, anchor=anchor, halo=True))
    return Drawing(
        label=f"{figure.title}: {len(figure.spots)} points.{described}",
        width=WIDTH,
        height=height + margins[2] + margins[3],
        margins=margins,
        shapes=shapes,
    )


def mean_fifths(spots: Sequence[Spot]) -> list[tuple[float, float]]:
    """The mean point of each fifth of the points, from left to right; none when there are few."""
    ordered = sorted(spots, key=lambda spot: spot.x)
    if len(ordered) < 25:
        return []
    fifths = [ordered[len(ordered) * part // 5 : len(ordered) * (part + 1) // 5] for part in range(5)]
    return [(fmean(spot.x for spot in fifth), fmean(spot.y for spot in fifth)) for fifth in fifths]


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


def draw_words(figure: WordFigure) -> Drawing | None:
    """Draw the clearest words of each side: how many times the odds are, and by the size of a dot how common it is."""
    left, right = _clearest_words(figure)
    if not left and not right:
        return None
    margin = 110
    plot_width, height = WIDTH - 2 * margin, WORD_STEP * max(len(left), len(right))
    end = figure.end or _find_end([figure])
    x = Scale(domain=(-end, end), extent=(0, plot_width))
    powers = [power for power in range(-6, 7) if abs(power) * math.log(2) <= end]
    ticks = {power * math.log(2): f"{2 ** abs(power)} ×" for power in powers}
    shapes = draw_bottom_axis(x, ticks, height, title="times the odds that an answer holds the word")
    shapes.append(line(x(0), 0, x(0), height, "soft"))
    sentences = [f"{figure.title}."]
    names = [fit_text(side, plot_width / 2) for side in figure.sides]
    for side, spots in enumerate((left, right)):
        colour = SERIES[side][0]
        beside, anchor = (-8, "end") if side == 0 else (plot_width + 8, "start")
        head = f"← {names[0]}" if side == 0 else f"{names[1]} →"
        shapes.append(text(plot_width / 2 + (10 if side else -10), -13, head, colour=colour, anchor=anchor, bold=True))
        for place, spot in enumerate(spots):
            y = WORD_STEP * (place + 0.5)
            value, low, high = (max(min(number, end), -end) for number in (spot.value, spot.low, spot.high))
            shapes.append(line(x(0), y, x(value), y, "line", 1.5))
            shapes.append(interval(y, (low, high), x, colour, 2.5))
            shapes.append(symbol(x(value), y, 30 + 150 * sum(spot.shares), colour))
            shapes.append(text(beside, y, fit_text(spot.word, margin - 10, SMALL), size=SMALL, anchor=anchor))
        listed = ", ".join(f"{spot.word} {_format_shares(spot)}" for spot in spots)
        sentences.append(f"More for {figure.sides[side]}: {listed or 'none'}.")
    sentences.append(f"The shares of the answers for {' and for '.join(figure.sides)} that hold the word.")
    return Drawing(
        label=" ".join(sentences), width=WIDTH, height=height + 74, margins=(margin, margin, 28, 46), shapes=shapes
    )


def _clearest_words(figure: WordFigure) -> list[list[TypicalWord]]:
    """The words that are drawn on the left and on the right."""
    return [[spot for spot in figure.spots if side * spot.value > 0][:WORDS_PER_SIDE] for side in (-1, 1)]


def _find_end(figures: Iterable[WordFigure]) -> float:
    """How far a scale must go for all the figures that are drawn side by side."""
    shown = [spot for figure in figures for side in _clearest_words(figure) for spot in side]
    farthest = max([math.log(2), *(abs(end) for spot in shown for end in (spot.low, spot.high))])
    return min(1.06 * farthest, FARTHEST)


def _format_shares(spot: TypicalWord) -> str:
    return " · ".join(f"{share:.0%}" for share in spot.shares)
