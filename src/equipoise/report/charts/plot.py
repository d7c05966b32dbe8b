"""A chart of one metric of one run or several, or of all their marks, for notebooks and papers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from equipoise.authoring import Intervals, Metric
from equipoise.errors import InputError, UnknownName
from equipoise.measuring.audit import Audit
from equipoise.measuring.result import Result
from equipoise.report.charts.drawing import Drawing
from equipoise.report.charts.figures import draw_intervals
from equipoise.report.charts.heatmap import draw_heatmap
from equipoise.report.charts.scales import MarkedEstimate, draw_scale
from equipoise.report.text import number_repeated
from equipoise.runs.finished import ResultSource, open_audit
from equipoise.runs.run import Run
from equipoise.schema import Estimate, MetricKey


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
    if by is not None:
        return _draw_groups(found, results, by)
    if found.bands is None:
        rows = {model: {"": MetricKey(model)} for model in results}
        figure = Intervals(name=found.name, title=found.title, caption="", axis=found.name, rows=rows)
        estimates = {MetricKey(model): result.metrics[found.name] for model, result in results.items()}
        return _drawn(draw_intervals(figure, estimates), found)
    estimates_with_marks = [
        MarkedEstimate(model=model, estimate=result.metrics[found.name], mark=result.marks[found.name])
        for model, result in results.items()
    ]
    return draw_scale(found, estimates_with_marks, {})


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


def _draw_groups(metric: Metric, results: dict[str, Result], by: str) -> Drawing:
    """One row per group of a slice, and in it one interval per model."""
    slices = list(dict.fromkeys(name for result in results.values() for name in result.slices))
    if by not in slices:
        raise UnknownName(f"slice of {metric.name}", by, slices)
    groups = dict.fromkeys(group for result in results.values() for group in result.slices.get(by, ()))
    estimates: dict[MetricKey, Estimate] = {
        MetricKey(metric.name, model, group): estimate
        for model, result in results.items()
        for group in groups
        if (estimate := result.estimates.get(MetricKey(metric.name, by, group))) is not None
    }
    series = {model: model if len(results) > 1 else "" for model in results}
    figure = Intervals(
        name=metric.name,
        title=f"{metric.title} by {by}",
        caption="",
        axis=metric.name,
        rows={
            group: {shown: MetricKey(metric.name, model, group) for model, shown in series.items()} for group in groups
        },
        centre=metric.bands.centre if metric.bands else None,
    )
    return _drawn(draw_intervals(figure, estimates), metric)


def _drawn(drawing: Drawing | None, metric: Metric) -> Drawing:
    if drawing is None:
        raise InputError(f"There is nothing to draw: {metric.name} is not computable.")
    return drawing
