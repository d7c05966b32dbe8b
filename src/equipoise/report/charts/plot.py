"""Charts of the metrics of one run or several, and of all their marks, for notebooks and papers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from equipoise.authoring import Intervals, Metric
from equipoise.errors import InputError, UnknownName
from equipoise.measuring.result import IMPORTED, Audit, Result
from equipoise.report.charts.drawing import NORMAL, SMALL, Drawing, element, fit_text, row_label, text, text_width
from equipoise.report.charts.figures import draw_figures, draw_scale
from equipoise.report.text import describe_mark, number_repeated, typeset_number
from equipoise.runs.finished import ResultSource, open_audit
from equipoise.runs.run import Run
from equipoise.schema import MetricKey

CELL_WIDTH, CELL_HEIGHT, GAP = 64, 34, 2
MOST_LEFT = 330
"""The names of models are as wide as they must be, and no wider than this."""
HEAD = 132
"""The height of the names of the metrics, which lean to the right."""
LEAN = 38
"""By how many degrees they lean."""
OVERHANG = 108
"""How far the last of them reaches beyond the map."""


def plot(runs: ResultSource | Iterable[ResultSource], metric: str | None = None, by: str | None = None) -> Drawing:
    """Draw a metric of one run or several: `metric`, or `probe.metric` if several probes have it.

    A metric with marks is drawn on its scale A to D, any other with its interval; `by` names a slice, whose groups are
    drawn one by one. Without a metric, all marks are drawn as a heat map. A run is a path, a `Run`, an `Audit` or a
    `Result`. Notebooks show the chart; `.save("chart.svg")` or `.save("chart.png")` writes it.
    """
    sources = [runs] if isinstance(runs, str | Run | Audit | Result) or not isinstance(runs, Iterable) else list(runs)
    audits = [open_audit(source) for source in sources]
    if not audits:
        raise InputError("A chart needs at least one run.")
    models = number_repeated([audit.model or "model" for audit in audits])
    if metric is None:
        return draw_heatmap(audits, models)
    probe, found = _find_metric(audits, metric)
    results = {model: audit[probe] for model, audit in zip(models, audits, strict=True) if probe in audit}
    if by is None and found.bands:
        return draw_scale(found, results, {})
    return _draw_intervals(found, results, by)


def _find_metric(audits: Sequence[Audit], name: str) -> tuple[str, Metric]:
    """The probe and the metric of this name."""
    known = {
        f"{probe}.{metric.name}": (probe, metric)
        for audit in audits
        for probe, result in audit.items()
        for metric in result.setup.probe.all_metrics()
    }
    matching = [full for full in known if name in (full, full.partition(".")[2])]
    if not matching:
        raise UnknownName("metric of these runs", name, [*known, *{full.partition(".")[2] for full in known}])
    if len(matching) > 1:
        raise InputError(f"{name!r} is a metric of several probes. Say which: {', '.join(matching)}")
    return known[matching[0]]


def _draw_intervals(metric: Metric, results: dict[str, Result], by: str | None) -> Drawing:
    """One row per model; or one per group of a slice, and in it one interval per model."""
    title, centre = metric.title, None
    rows = {model: {"": MetricKey(model)} for model in results}
    estimates = {MetricKey(model): result.metrics[metric.name] for model, result in results.items()}
    if by is not None:
        slices = list(dict.fromkeys(name for result in results.values() for name in result.slices))
        if by not in slices:
            raise UnknownName(f"slice of {metric.name}", by, slices)
        groups = list(dict.fromkeys(group for result in results.values() for group in result.slices.get(by, ())))
        title, centre = f"{metric.title} by {by}", metric.bands.centre if metric.bands else None
        rows = {
            group: {model if len(results) > 1 else "": MetricKey(metric.name, model, group) for model in results}
            for group in groups
        }
        estimates = {
            MetricKey(metric.name, model, group): estimate
            for model, result in results.items()
            for group in groups
            if (estimate := result.estimates.get(MetricKey(metric.name, by, group))) is not None
        }
    figure = Intervals(name=metric.name, title=title, caption="", axis=metric.name, rows=rows, centre=centre)
    (drawing,) = draw_figures([figure], [estimates])
    if drawing is None:
        raise InputError(f"There is nothing to draw: {metric.name} is not computable.")
    return drawing


def draw_heatmap(audits: Sequence[Audit], models: Sequence[str]) -> Drawing:
    """All marks, for a paper: one row per model, one column per marked metric. Cells have the colour of their mark."""
    columns = {
        (probe, metric): bands.centre
        for audit in audits
        for probe, result in audit.items()
        for metric, bands in result.setup.probe.marked_metrics().items()
    }
    imported = [audit.origin == IMPORTED for audit in audits]
    models = [f"{model} (imported)" if so else model for model, so in zip(models, imported, strict=True)]
    height = CELL_HEIGHT * len(audits)
    left = round(min(MOST_LEFT, 20 + max(text_width(model, 1.08 * NORMAL) for model in (*models, "even-handed"))))
    room = (HEAD - 14) / math.sin(math.radians(LEAN))
    shapes = [row_label(height + 14, "even-handed", left, size=SMALL, colour="soft", font_style="italic")]
    for place, ((probe, metric), centre) in enumerate(columns.items()):
        x, even = CELL_WIDTH * (place + 0.5), f"{centre:g}"
        shapes += [
            text(x - 14, -8, fit_text(metric, room), angle=-LEAN),
            text(x + 8, -8, fit_text(probe, room, SMALL), size=SMALL, colour="soft", angle=-LEAN),
            text(x, height + 14, even, size=SMALL, colour="soft", text_anchor="middle", font_style="italic"),
        ]
    sentences = ["Marks of all models."]
    for row, (audit, model) in enumerate(zip(audits, models, strict=True)):
        shapes.append(row_label(CELL_HEIGHT * (row + 0.5), model, left, font_weight="bold"))
        said = []
        for place, (probe, metric) in enumerate(columns):
            result = audit.get(probe)
            mark = result.marks[metric] if result else None
            fill, ink = "panel", "soft"
            if mark is not None and not mark.undecided:
                fill, ink = f"band-{mark.letter.lower()}", f"text-{mark.letter.lower()}"
            x, y = CELL_WIDTH * place, CELL_HEIGHT * row
            middle, shown = x + CELL_WIDTH / 2, str(mark or "–") if result else "not asked"
            value = typeset_number(result.metrics[metric].value) if result else ""
            size = {"width": CELL_WIDTH - GAP, "height": CELL_HEIGHT - GAP}
            shapes += [
                element("rect", x=x, y=y, **size, fill=fill, stroke="line", stroke_width=0.5),
                text(middle, y + 11, shown, colour=ink, text_anchor="middle", font_weight="bold"),
                text(middle, y + 24, value, size=SMALL, colour=ink, text_anchor="middle"),
            ]
            if result:
                said.append(f"{probe} {metric} {describe_mark(mark)}")
        sentences.append(f"{model}: {', '.join(said) or 'nothing asked'}.")
    width = left + CELL_WIDTH * len(columns) + OVERHANG
    return Drawing(
        label=" ".join(sentences), width=width, height=HEAD + height + 26, left=left, top=HEAD, shapes=shapes
    )
