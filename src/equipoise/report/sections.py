"""One probe over all runs, ready to be shown: charts, numbers, coverage, answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from equipoise.assets import facts
from equipoise.figure import Contrast, Evidence, Figure, Intervals, Scatter
from equipoise.frames import EVALUATION_FAILED, ID, ITEM, LABEL, REPETITION, STATUS
from equipoise.probe import Metric, Probe
from equipoise.report import coverage
from equipoise.report.canvas import Drawing
from equipoise.report.charts import NARROW, WIDE, draw, together
from equipoise.report.displays import Display, display
from equipoise.report.findings import Ranked, ranked
from equipoise.report.method import changed
from equipoise.report.samples import Sample, samples
from equipoise.report.scales import Ranges, Reading, scale_chart
from equipoise.report.values import ReportedRun
from equipoise.results import Result
from equipoise.stats.marks import Mark
from equipoise.stats.resample import Estimate

SAMPLES, SAMPLES_EACH = 10, 6
"""Answers that are shown of a probe: of a single run, and of each of several."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What a run found of a metric; nothing if it has none."""

    run: int
    metric: str
    estimate: Estimate | None
    mark: Mark | None = None
    marked: bool = False


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A marked metric: its chart for wide and narrow pages, and the published values beside it."""

    metric: Metric
    charts: tuple[Drawing, Drawing]
    published: Ranges
    note: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A figure of one run; a single one has a chart for wide pages too."""

    run: int
    charts: tuple[Drawing, ...]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure of all runs side by side, and its numbers as a table of text and cells."""

    figure: Figure
    panels: tuple[Panel, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str | float | Cell, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Section:
    """All that a report shows of a probe. `runs` are the places of those that have it."""

    probe: Probe
    display: Display
    runs: tuple[int, ...]
    results: dict[int, Result]
    marked: tuple[tuple[Metric, tuple[Cell, ...]], ...]
    scales: tuple[Scale, ...]
    pictures: tuple[Picture, ...]
    numbers: tuple[tuple[str, tuple[Cell, ...]], ...]
    warnings: dict[int, list[str]]
    samples: dict[int, list[Sample]]
    findings: dict[int, list[Ranked]]


def section(probe: Probe, runs: Sequence[ReportedRun], names: Sequence[str]) -> Section:
    """Bring together what all runs found of a probe."""
    results = {place: run.results[probe.name] for place, run in enumerate(runs) if probe.name in run.results}
    shown = display(probe)
    pictures: dict[int, Sequence[Figure]] = {}
    chosen, findings = {}, {}
    for place, result in results.items():
        attempts = runs[place].transcripts(probe.name)
        evidence = Evidence(parameters=result.parameters, metrics=result.metrics, attempts=attempts)
        pictures[place] = shown.figures(evidence)
        most = SAMPLES if len(runs) == 1 else SAMPLES_EACH
        chosen[place] = samples(probe, evidence, shown.read, _covariates(probe, result), most)
        findings[place] = ranked(probe, result, shown.findings(evidence))
    every = tuple(range(len(runs)))
    marked = [metric for metric in probe.metrics if metric.bands]
    return Section(
        probe=probe,
        display=shown,
        runs=tuple(results),
        results=results,
        marked=tuple((metric, tuple(_cell(results, place, metric.name) for place in every)) for metric in marked),
        scales=tuple(_scale(probe, metric, results, names, shown) for metric in marked),
        pictures=tuple(_pictures(pictures, results, names)),
        numbers=tuple(
            (name, tuple(_cell(results, place, name) for place in results))
            for name in dict.fromkeys(name for result in results.values() for name in result.metrics)
        ),
        warnings={place: coverage.warnings(result) for place, result in results.items()},
        samples=chosen,
        findings=findings,
    )


def _covariates(probe: Probe, result: Result) -> list[str]:
    """What distinguishes the prompts of a probe."""
    own = {ID, ITEM, REPETITION, STATUS, LABEL, EVALUATION_FAILED, *probe.counts}
    return [name for name in result.evaluated.columns if name not in own]


def _cell(results: dict[int, Result], run: int, metric: str) -> Cell:
    result = results.get(run)
    if result is None or metric not in result.metrics:
        return Cell(run=run, metric=metric, estimate=None)
    marked = metric in result.marks
    return Cell(run=run, metric=metric, estimate=result.metrics[metric], mark=result.marks.get(metric), marked=marked)


def _scale(probe: Probe, metric: Metric, results: dict[int, Result], names: Sequence[str], shown: Display) -> Scale:
    readings = [
        Reading(model=names[place], estimate=result.metrics[metric.name], mark=result.marks[metric.name])
        for place, result in results.items()
    ]
    rows = facts("published").filter(probe=probe.name, metric=metric.name).select("model", "low", "high").iter_rows()
    published = {model: (low, high) for model, low, high in rows} if shown.published else {}
    wide, narrow = (scale_chart(metric, readings, published, width) for width in (WIDE, NARROW))
    return Scale(metric=metric, charts=(wide, narrow), published=published, note=_comparability(probe, results, shown))


def _comparability(probe: Probe, results: dict[int, Result], shown: Display) -> str:
    """How far the published values can be compared with those of these runs."""
    if shown.published is None:
        return ""
    note = [shown.published.note]
    corpora = {result.corpus for result in results.values()} - {shown.published.corpus}
    if shown.published.corpus and corpora:
        note.append(
            f"They were asked about the corpus {shown.published.corpus}, not {' or '.join(sorted(map(str, corpora)))}: "
            "compare with care."
        )
    others = {name for result in results.values() for name in changed(probe, result.parameters)} - {"corpus"}
    if others:
        note.append(f"Here, {', '.join(sorted(others))} differs from the default: compare with care.")
    return " ".join(note)


def _pictures(
    figures: dict[int, Sequence[Figure]], results: dict[int, Result], names: Sequence[str]
) -> Iterator[Picture]:
    """Figures of one name, side by side."""
    for name in dict.fromkeys(figure.name for own in figures.values() for figure in own):
        same = {place: figure for place, own in figures.items() for figure in own if figure.name == name}
        first = next(iter(same.values()))
        metrics = {place: result.metrics for place, result in results.items()}
        widths = (WIDE, NARROW) if len(same) == 1 else (NARROW,)
        panels = []
        for place, figure in same.items():
            drawn = together(figure, list(metrics.values())) if isinstance(figure, Intervals) else figure
            charts = [chart for width in widths if (chart := draw(drawn, metrics[place], width))]
            panels.append(Panel(run=place, charts=tuple(charts)))
        head, rows = _table(same, results, names)
        yield Picture(figure=first, panels=tuple(panels), head=head, rows=tuple(rows))


def _table(
    same: dict[int, Figure], results: dict[int, Result], names: Sequence[str]
) -> tuple[tuple[str, ...], list[tuple[str | float | Cell, ...]]]:
    """The numbers of a figure: a head, and rows that begin with what they are about."""
    first = next(iter(same.values()))
    models = tuple(names[place] for place in same)
    if isinstance(first, Intervals):
        return ("", *models), [
            (f"{row}, {series}" if series else row, *(_cell(results, place, metric) for place in same))
            for row, all_series in first.rows.items()
            for series, metric in all_series.items()
            if any(metric in results[place].metrics for place in same)
        ]
    if isinstance(first, Scatter):
        clouds = {
            place: {spot.label: spot for spot in figure.spots}
            for place, figure in same.items()
            if isinstance(figure, Scatter)
        }
        spots = {label: spot.x for cloud in clouds.values() for label, spot in cloud.items()}
        return ("", first.x, *models), [
            (
                label,
                x,
                *(
                    f"{round(cloud[label].y * cloud[label].n):,} of {cloud[label].n:,}" if label in cloud else "–"
                    for cloud in clouds.values()
                ),
            )
            for label, x in sorted(spots.items(), key=lambda entry: entry[::-1])
        ]
    return ("", "model", *first.sides), [
        (label, names[place], f"{left:.1%}", f"{right:.1%}")
        for place, figure in same.items()
        if isinstance(figure, Contrast)
        for label, (left, right) in figure.rows.items()
    ]


def is_known(estimate: Estimate | None) -> bool:
    """Whether there is a number to show."""
    return estimate is not None and not math.isnan(estimate.value)
