"""The chart of a marked metric: the bands A to D, the models' values and intervals, reference points."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from equipoise.authoring import Bands, Metric
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
    interval,
    line,
    row_label,
    symbol,
    text,
)
from equipoise.report.text import describe_mark, typeset_number
from equipoise.schema import Estimate

LETTERS, MODEL, HEADING, PUBLISHED, FOOT = 24, 30, 26, 16, 56
"""Heights: the letters of the bands, one model, the heading of the published values, one of them, the axis."""
Ranges = Mapping[str, tuple[float, float]]


def draw_scale(metric: Metric, results: Mapping[str, Result], published: Ranges) -> Drawing:
    """Draw a marked metric of these models, and intervals that were published for others.

    Distances from the even-handed value are drawn on a logarithmic scale: each band is about three times as wide as
    the one before, and on a plain scale A could hardly be seen.
    """
    bands, name = metric.bands, metric.name
    assert bands is not None
    models = {model: (result.metrics[name], result.marks.get(name)) for model, result in results.items()}
    values = [value for ends in published.values() for value in ends]
    values += [value for found, _ in models.values() for value in (found.value, found.low, found.high)]
    low, high = _find_domain(metric, bands, [value for value in values if not math.isnan(value)])
    below_models = LETTERS + MODEL * len(models)
    height = below_models + (HEADING + PUBLISHED * len(published) if published else 6)
    x = Scale(domain=(low - bands.centre, high - bands.centre), extent=(0, WIDTH - LABELS - 58), bend=bands.limits[0])
    limits = [bands.centre + side * limit for side in (-1, 1) for limit in bands.limits]
    edges = sorted({low, high, *(limit for limit in limits if low <= limit <= high)})
    ticks = sorted({bands.centre, *edges[1:-1]})
    labels = {tick - bands.centre: f"{round(tick, 2) + 0.0:g}".replace("-", "−") for tick in ticks}
    shapes = draw_bottom_axis(x, labels, height, grid=False)
    shapes += _draw_bands(bands, edges, x, height)
    shapes += _draw_references(metric, bands, x, height)
    if published:
        heading = below_models + HEADING / 2 + 2
        shapes.append(row_label(heading, "published:", size=SMALL, colour="soft", font_style="italic"))
    for place, (model, ends) in enumerate(published.items()):
        y = below_models + HEADING + PUBLISHED * (place + 0.5)
        shapes.append(interval(y, ends[0] - bands.centre, ends[1] - bands.centre, x, "context", 3))
        shapes.append(row_label(y, model, size=SMALL, colour="soft"))
    sentences = [f"{name} on the scale A to D."]
    for place, (model, (found, mark)) in enumerate(models.items()):
        shapes += _draw_model(model, found, mark, LETTERS + MODEL * (place + 0.5), bands.centre, x)
        numbers = [typeset_number(number) for number in (found.value, found.low, found.high)]
        measured = "{}, interval {} to {}, mark ".format(*numbers) if mark else ""
        sentences.append(f"{model}: {measured}{describe_mark(mark)}.")
    if published:
        lowest, highest = (typeset_number(end(itertools.chain(*published.values()))) for end in (min, max))
        sentences.append(f"Published intervals of {len(published)} other models lie between {lowest} and {highest}.")
    label = " ".join(sentences)
    return Drawing(label=label, width=WIDTH, height=height + 2 + FOOT, left=LABELS, top=2, shapes=shapes)


def _find_domain(metric: Metric, bands: Bands, values: Sequence[float]) -> tuple[float, float]:
    """From where to where the scale goes: over the references and all values."""
    ends = list(metric.references.values()) or [bands.centre + side * 1.6 * bands.limits[-1] for side in (-1, 1)]
    return min(*ends, *values, bands.centre - bands.limits[0] / 2), max(*ends, *values, bands.centre + bands.limits[-1])


def _draw_bands(bands: Bands, edges: Sequence[float], x: Scale, height: int) -> list[str]:
    shapes = []
    for start, end in itertools.pairwise(edges):
        letter = bands.mark((start + end) / 2)
        left, right = x(start - bands.centre), x(end - bands.centre)
        colour, ink = f"band-{letter.lower()}", f"text-{letter.lower()}"
        shapes.append(element("rect", x=left, y=0, width=right - left, height=height, fill=colour))
        if start != edges[0]:
            shapes.append(line(left, 0, left, height, "page", 1.5))
        middle = (left + right) / 2
        shapes.append(text(middle, LETTERS / 2, letter, colour=ink, text_anchor="middle", font_weight="bold"))
    return shapes


def _draw_references(metric: Metric, bands: Bands, x: Scale, height: int) -> list[str]:
    """The values of reference models as lines, with their names below the axis."""
    names: dict[float, list[str]] = {}
    for name, value in metric.references.items():
        names.setdefault(value, []).append(name)
    low, high = (end + bands.centre for end in x.domain)
    shapes = []
    for number, (value, same_value) in enumerate(sorted(names.items())):
        name = "unbiased" if "unbiased" in same_value else ", ".join(same_value)
        place = x(value - bands.centre)
        shapes.append(line(place, LETTERS, place, height, "soft", dashed=True))
        anchor = "start" if value <= low else "end" if value >= high else "middle"
        # Neighbours take turns between two lines, or their names would overlap.
        y = height + (46 if number % 2 else 32)
        shapes.append(text(place, y, name, size=SMALL, colour="soft", text_anchor=anchor, font_style="italic"))
    return shapes


def _draw_model(model: str, found: Estimate, mark: Mark | None, y: float, centre: float, x: Scale) -> list[str]:
    """A model's name, interval and value; at the end the value, and below it the mark."""
    end = x.extent[1] + 8
    label = row_label(y, model, size=SMALL, font_weight="bold")
    if mark is None:
        return [label, text(end, y - 7, "none", size=SMALL)]
    return [
        interval(y, found.low - centre, found.high - centre, x, "accent", 4),
        symbol(x(found.value - centre), y, 90, "accent", edge_width=1.5),
        label,
        text(end, y - 7, typeset_number(found.value), size=SMALL),
        text(end, y + 7, str(mark), size=SMALL, font_weight="bold"),
    ]
