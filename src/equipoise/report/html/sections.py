"""One probe over all runs, ready to be shown: charts, numbers, coverage, answers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from equipoise.assets import facts
from equipoise.authoring import Evidence, Metric, Probe, Scatter
from equipoise.measuring.accuracy import describe_accuracy
from equipoise.measuring.calling import running
from equipoise.measuring.marks import Mark
from equipoise.measuring.readings import OtherReading
from equipoise.measuring.result import Result
from equipoise.report.charts.drawing import Drawing
from equipoise.report.charts.figures import AnyFigure, WordFigure, default_figures, draw_figure, share_scale
from equipoise.report.charts.scales import MarkedEstimate, Ranges, draw_scale
from equipoise.report.html.answers import Sample, find_example, make_word_figure, read_run
from equipoise.report.html.findings import RankedFinding, rank_findings
from equipoise.report.html.method import changed_parameters
from equipoise.report.html.notes import say_by_probability, warn_uneven
from equipoise.report.html.runs import ReportedRun
from equipoise.report.text import describe_judge, describe_read, describe_reservations, format_odds
from equipoise.schema import Estimate, MetricKey

SAMPLES, SAMPLES_EACH = 10, 6
"""How many answers to a probe are shown: of a single run, and of each of several."""
MAX_WORDS = 200
"""How many words that differ are listed."""
ALL_ITEMS = "all items"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What a run measured of a metric, over all items or over one group; no estimate if it did not measure it."""

    run: int
    key: MetricKey
    estimate: Estimate | None = None
    mark: Mark | None = None


Row = tuple[str | float, ...]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A marked metric: its chart, and the published values beside it."""

    metric: Metric
    chart: Drawing
    published: Ranges
    note: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A figure of one run; no chart where there is nothing to draw."""

    run: int
    chart: Drawing | None
    note: str = ""
    """What stands below the chart."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure of all runs side by side, and a table of those of its numbers that are no metrics."""

    figure: AnyFigure
    panels: tuple[Panel, ...]
    head: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Section:
    """All that a report shows of a probe. Runs are named by their places in the report, from 0."""

    probe: Probe
    results: Mapping[int, Result]
    """The results of the runs that have the probe."""
    marked: tuple[tuple[Metric, tuple[Cell, ...]], ...]
    """The marked metrics, each with one cell per run, also for runs that do not have the probe."""
    scales: tuple[Scale, ...]
    pictures: tuple[Picture, ...]
    numbers: Mapping[str, Mapping[MetricKey, tuple[Cell, ...]]]
    """All metrics: over all items, then by group under headings such as "race: white"."""
    warnings: Mapping[int, list[str]]
    notes: Mapping[int, list[str]]
    """What a reader must know beside the numbers: the missing answers, other prompts like these, looks."""
    samples: Mapping[int, list[Sample]]
    findings: Mapping[int, list[RankedFinding]]
    other_readings: Mapping[int, OtherReading | None]
    """The marked metrics by the other reading; none in a short report."""

    @property
    def detector_error(self) -> str:
        """How well the answers are read, as measured on labelled answers."""
        return describe_accuracy(self.probe)

    @property
    def about(self) -> dict[str, str]:
        """What metrics are about whose names hold a number or an abbreviation."""
        return {metric.name: metric.about for metric in self.probe.all_metrics() if metric.about}


def build_section(name: str, runs: Sequence[ReportedRun], models: Sequence[str], *, full: bool) -> Section:
    """Bring together what all runs measured with the probe of this name. `models` are the names of the runs.

    The short report has the first figure of a single run, and no answers beside those of the findings.
    """
    results = {place: run.results[name] for place, run in enumerate(runs) if name in run.results}
    probe = next(iter(results.values())).setup.probe
    most = (SAMPLES if len(runs) == 1 else SAMPLES_EACH) if full else 0
    figures: dict[int, Sequence[AnyFigure]] = {}
    samples: dict[int, list[Sample]] = {}
    findings: dict[int, list[RankedFinding]] = {}
    other_readings: dict[int, OtherReading | None] = {}
    for place, result in results.items():
        read = read_run(runs[place], name, most)
        figures[place] = [*_make_figures(result, read.evidence), *map(make_word_figure, filter(None, [read.words]))]
        if not full:
            figures[place] = figures[place][:1] if len(runs) == 1 else []
        other_readings[place] = read.other
        samples[place] = read.samples
        findings[place] = _find_findings(runs[place], result, read.evidence)
    marked = [metric for metric in probe.metrics if metric.bands]
    return Section(
        probe=probe,
        results=results,
        marked=tuple(
            (metric, tuple(_make_cell(results, place, MetricKey(metric.name)) for place in range(len(runs))))
            for metric in marked
        ),
        scales=tuple(_make_scale(metric, probe, results, models, full=full) for metric in marked),
        pictures=tuple(_make_pictures(figures, results, models)),
        numbers=_tabulate_numbers(results),
        warnings={place: [*say_by_probability(result), *warn_uneven(result)] for place, result in results.items()},
        notes={place: _make_notes(result, runs[place], full=full) for place, result in results.items()},
        samples=samples,
        findings=findings,
        other_readings=other_readings,
    )


def _make_notes(result: Result, run: ReportedRun, *, full: bool) -> list[str]:
    """What a reader must know beside the numbers, with true minus signs."""
    sentences = (
        *describe_read([result]),
        *describe_judge(result, run.exams),
        *describe_reservations(result, full=full),
    )
    return [re.sub(r"(?<=[ (])-(?=\d)", "−", sentence) for sentence in sentences]


def is_known(estimate: Estimate | None) -> bool:
    """Whether there is a number to show."""
    return estimate is not None and not math.isnan(estimate.value)


def _make_figures(result: Result, evidence: Evidence) -> Sequence[AnyFigure]:
    probe = result.setup.probe
    with running(probe, "figures"):
        return probe.display.make_figures(evidence) or default_figures(probe, result.estimates)


def _find_findings(run: ReportedRun, result: Result, evidence: Evidence) -> list[RankedFinding]:
    probe = result.setup.probe
    if probe.display.findings is None:
        return []
    with running(probe, "findings"):
        found = probe.display.findings(evidence)
        return rank_findings(result, found, lambda finding: find_example(run, evidence, probe, finding.example))


def _make_cell(results: Mapping[int, Result], run: int, key: MetricKey) -> Cell:
    result = results.get(run)
    if result is None or key not in result.estimates:
        return Cell(run=run, key=key)
    mark = result.marks.get(key.metric) if key.slice is None else None
    return Cell(run=run, key=key, estimate=result.estimates[key], mark=mark)


def _tabulate_numbers(results: Mapping[int, Result]) -> dict[str, dict[MetricKey, tuple[Cell, ...]]]:
    numbers: dict[str, dict[MetricKey, tuple[Cell, ...]]] = {}
    for key in dict.fromkeys(key for result in results.values() for key in result.estimates):
        heading = ALL_ITEMS if key.slice is None else f"{key.slice}: {key.group}"
        numbers.setdefault(heading, {})[key] = tuple(_make_cell(results, place, key) for place in results)
    return numbers


def _make_scale(
    metric: Metric, probe: Probe, results: Mapping[int, Result], models: Sequence[str], *, full: bool
) -> Scale:
    estimates = [
        MarkedEstimate(model=models[place], estimate=result.metrics[metric.name], mark=result.marks.get(metric.name))
        for place, result in results.items()
        if metric.name in result.metrics
    ]
    rows = facts("published").filter(probe=probe.name, metric=metric.name).select("model", "low", "high").iter_rows()
    published = {model: (low, high) for model, low, high in rows} if full and probe.display.published else {}
    note = _describe_comparability(probe, list(results.values()))
    return Scale(metric=metric, chart=draw_scale(metric, estimates, published), published=published, note=note)


def _describe_comparability(probe: Probe, results: Sequence[Result]) -> str:
    """How far the published values can be compared with those of these runs."""
    published = probe.display.published
    if published is None:
        return ""
    sentences = [published.note]
    corpora = {str(result.corpus) for result in results} - {published.corpus}
    if published.corpus and corpora:
        others = " or ".join(sorted(corpora))
        sentences.append(f"They were asked about the corpus {published.corpus}, not {others}: compare with care.")
    if changed := {name for result in results for name in changed_parameters(result)} - {"corpus"}:
        sentences.append(f"Here, {', '.join(sorted(changed))} differs from the default: compare with care.")
    return " ".join(sentences)


def _make_pictures(
    figures: Mapping[int, Sequence[AnyFigure]], results: Mapping[int, Result], models: Sequence[str]
) -> Iterator[Picture]:
    """Put the figures of one name side by side."""
    for name in dict.fromkeys(figure.name for of_run in figures.values() for figure in of_run):
        same = {place: figure for place, of_run in figures.items() for figure in of_run if figure.name == name}
        estimates = {place: results[place].estimates for place in same}
        panels = []
        for place, figure in same.items():
            common = share_scale(figure, same.values(), list(estimates.values()))
            note = figure.summary if isinstance(figure, WordFigure) else ""
            panels.append(Panel(run=place, chart=draw_figure(common, estimates[place]), note=note))
        head, rows = _tabulate_figure(same, models)
        yield Picture(figure=next(iter(same.values())), panels=tuple(panels), head=head, rows=tuple(rows))


def _tabulate_figure(same: Mapping[int, AnyFigure], models: Sequence[str]) -> tuple[tuple[str, ...], list[Row]]:
    """The numbers of a figure that stand nowhere else: a head, and rows that begin with what they are about."""
    first = next(iter(same.values()))
    if isinstance(first, Scatter):
        clouds = [
            {spot.label: spot for spot in figure.spots} for figure in same.values() if isinstance(figure, Scatter)
        ]
        positions = {label: spot.x for cloud in clouds for label, spot in cloud.items()}
        rows: list[Row] = []
        for label, x in sorted(positions.items(), key=lambda position: (position[1], position[0])):
            spots = [cloud.get(label) for cloud in clouds]
            rows.append((label, x, *(f"{round(spot.y * spot.n):,} of {spot.n:,}" if spot else "–" for spot in spots)))
        return ("item", first.x, *(models[place] for place in same)), rows
    if isinstance(first, WordFigure):
        return ("word", "model", "odds", "95% interval", *first.sides), [
            (
                spot.word,
                models[place],
                format_odds(spot.value),
                f"{format_odds(spot.low)} to {format_odds(spot.high)}",
                *(f"{share:.1%}" for share in spot.shares),
            )
            for place, figure in same.items()
            if isinstance(figure, WordFigure)
            for spot in figure.spots[:MAX_WORDS]
        ]
    return (), []
