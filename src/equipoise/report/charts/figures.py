"""The charts of a report: a marked metric on its scale, intervals by category, and points with a line."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from equipoise.authoring import Bands, Figure, Intervals, Metric, MetricKey, Probe, Scatter, Spot
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Result
from equipoise.report.charts.drawing import (
    LABELS,
    SMALL,
    WIDTH,
    Drawing,
    Scale,
    draw_bottom_axis,
    element,
    fit_text,
    interval,
    label_ticks,
    line,
    row_label,
    symbol,
    text,
    text_width,
)
from equipoise.report.text import describe_mark, reveal_invisible, typeset_number
from equipoise.schema import Estimate

SERIES = (("first", "circle"), ("second", "diamond"), ("third", "square"), ("ink", "circle"))
"""The colours and shapes of series."""
FEWEST_ITEMS = 4
"""A group of a slice that rests on fewer items is not drawn."""
MAX_POINT_LABELS = 8
LETTERS, MODEL, HEADING, PUBLISHED, FOOT = 24, 30, 26, 16, 56
"""Heights on a scale: the letters of the bands, one model, the heading of published values, one of them, the axis."""
Estimates = Mapping[MetricKey, Estimate]
Ranges = Mapping[str, tuple[float, float]]


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
    points = [spot._replace(y=spot.y + _spread(place, spot.y)) for place, spot in enumerate(figure.spots)]
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


def draw_scale(metric: Metric, results: Mapping[str, Result], published: Ranges) -> Drawing:
    """Draw a marked metric of these models, and intervals that were published for others.

    Distances from the even-handed value are drawn on a logarithmic scale: each band is about three times as wide as
    the one before, and on a plain scale A could hardly be seen.
    """
    bands, name = metric.bands, metric.name
    assert bands is not None
    models = {model: (result.metrics[name], result.marks.get(name)) for model, result in results.items()}
    limits = [bands.centre + side * limit for side in (-1, 1) for limit in bands.limits]
    ends = [bands.centre - bands.limits[0] / 2, bands.centre + bands.limits[-1], *itertools.chain(*published.values())]
    ends += metric.references.values() or [bands.centre + side * 1.6 * bands.limits[-1] for side in (-1, 1)]
    ends += [value for found, _ in models.values() for value in (found.value, found.low, found.high)]
    known = [end for end in ends if not math.isnan(end)]
    low, high = min(known), max(known)
    below_models = LETTERS + MODEL * len(models)
    height = below_models + (HEADING + PUBLISHED * len(published) if published else 6)
    x = Scale(domain=(low, high), extent=(0, WIDTH - LABELS - 58), centre=bands.centre, bend=bands.limits[0])
    edges = sorted({low, high, *(limit for limit in limits if low <= limit <= high)})
    ticks = sorted({bands.centre, *edges[1:-1]})
    labels = {tick: f"{round(tick, 2) + 0.0:g}".replace("-", "−") for tick in ticks}
    shapes = [*draw_bottom_axis(x, labels, height, grid=False), *_draw_bands(bands, edges, x, height)]
    shapes += _draw_references(metric, x, height)
    if published:
        heading = below_models + HEADING / 2 + 2
        shapes.append(row_label(heading, "published:", size=SMALL, colour="soft", font_style="italic"))
    for place, (model, (start, end)) in enumerate(published.items()):
        y = below_models + HEADING + PUBLISHED * (place + 0.5)
        shapes += [interval(y, start, end, x, "context", 3), row_label(y, model, size=SMALL, colour="soft")]
    sentences = [f"{name} on the scale A to D."]
    for place, (model, (found, mark)) in enumerate(models.items()):
        shapes += _draw_model(model, found, mark, LETTERS + MODEL * (place + 0.5), x)
        numbers = [typeset_number(number) for number in (found.value, found.low, found.high)]
        measured = "{}, interval {} to {}, mark ".format(*numbers) if mark else ""
        sentences.append(f"{model}: {measured}{describe_mark(mark)}.")
    if published:
        lowest, highest = (typeset_number(end(itertools.chain(*published.values()))) for end in (min, max))
        sentences.append(f"Published intervals of {len(published)} other models lie between {lowest} and {highest}.")
    label = " ".join(sentences)
    return Drawing(label=label, width=WIDTH, height=height + 2 + FOOT, left=LABELS, top=2, shapes=shapes)


def _draw_bands(bands: Bands, edges: Sequence[float], x: Scale, height: int) -> Iterator[str]:
    for start, end in itertools.pairwise(edges):
        letter = bands.mark((start + end) / 2)
        left, right = x(start), x(end)
        yield element("rect", x=left, y=0, width=right - left, height=height, fill=f"band-{letter.lower()}")
        if start != edges[0]:
            yield line(left, 0, left, height, "page", 1.5)
        middle, ink = (left + right) / 2, f"text-{letter.lower()}"
        yield text(middle, LETTERS / 2, letter, colour=ink, text_anchor="middle", font_weight="bold")


def _draw_references(metric: Metric, x: Scale, height: int) -> Iterator[str]:
    """The values of reference models as lines, with their names below the axis."""
    names: dict[float, list[str]] = {}
    for name, value in metric.references.items():
        names.setdefault(value, []).append(name)
    low, high = x.domain
    for number, (value, same_value) in enumerate(sorted(names.items())):
        name = "unbiased" if "unbiased" in same_value else ", ".join(same_value)
        yield line(x(value), LETTERS, x(value), height, "soft", dashed=True)
        anchor = "start" if value <= low else "end" if value >= high else "middle"
        # Neighbours take turns between two lines, or their names would overlap.
        y = height + (46 if number % 2 else 32)
        yield text(x(value), y, name, size=SMALL, colour="soft", text_anchor=anchor, font_style="italic")


def _draw_model(model: str, found: Estimate, mark: Mark | None, y: float, x: Scale) -> Iterator[str]:
    """A model's name, interval and value; at the end the value, and below it the mark."""
    end = x.extent[1] + 8
    yield row_label(y, model, size=SMALL, font_weight="bold")
    yield text(end, y - 7, "none" if mark is None else typeset_number(found.value), size=SMALL)
    if mark is not None:
        yield interval(y, found.low, found.high, x, "accent", 4)
        yield symbol(x(found.value), y, 90, "accent", edge_width=1.5)
        yield text(end, y + 7, str(mark), size=SMALL, font_weight="bold")
