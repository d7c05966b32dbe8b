"""One probe over all runs, ready to be shown: charts, numbers, findings, answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from equipoise.assets import facts
from equipoise.authoring import Evidence, Figure, Finding, Metric, Probe, Scatter
from equipoise.measuring.calling import running
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Result
from equipoise.report.charts.drawing import Drawing
from equipoise.report.charts.figures import default_figures, draw_figures
from equipoise.report.charts.scales import Ranges, draw_scale
from equipoise.report.html.answers import ReadRun, Sample, find_examples, read_run
from equipoise.report.html.notes import say_by_probability, warn_uneven
from equipoise.report.html.runs import ReportedRun
from equipoise.report.text import describe_judge, describe_read, describe_reservations
from equipoise.schema import MetricKey

SAMPLES, SAMPLES_EACH = 10, 6
"""How many answers to a probe are shown: of a single run, and of each of several."""
ALL_ITEMS = "all items"
Row = tuple[str | float, ...]
_MINUS = re.compile(r"(?<=[ (])-(?=\d)")


@dataclass(frozen=True, kw_only=True)
class RankedFinding:
    """A finding on a metric whose mark is decided and worse than A, and answers that show it."""

    probe: Probe
    metric: Metric
    mark: Mark
    leaning: str
    """Which reference model the value leans to."""
    text: str
    badness: tuple[str, float]
    """The mark, and how far the value is from even-handed compared with where D begins."""
    examples: list[Sample]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure of the runs that have it, side by side, and a table of those of its numbers that are no metrics."""

    figure: Figure
    """That of the first run: the others have the same title and caption."""
    charts: Mapping[int, Drawing | None]
    """None where there is nothing to draw."""
    rows: Sequence[Row]
    """The first row is the head."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """All that a report shows of a probe. Runs are named by their places in the report, from 0."""

    probe: Probe
    results: Mapping[int, Result]
    """The results of the runs that have the probe."""
    read: Mapping[int, ReadRun]
    """What their answers show beside the metrics."""
    marked: Sequence[Metric]
    scales: Mapping[str, Drawing]
    """The charts of the marked metrics, by their names."""
    published: Mapping[str, Ranges]
    """The intervals that were published for other models, by metric."""
    published_note: str
    pictures: Sequence[Picture]
    keys: Mapping[str, Sequence[MetricKey]]
    """All metrics: over all items, then by group under headings such as "race: white"."""
    warnings: Mapping[int, list[str]]
    notes: Mapping[int, list[str]]
    """What a reader must know beside the numbers: the missing answers, other prompts like these, looks."""
    findings: Mapping[int, list[RankedFinding]]
    """For the list at the top of the page; the probe's own block does not show them."""

    @property
    def worst(self) -> int | None:
        """The run with the case that was answered most differently: among equals, the one with most like it."""
        places = [place for place, read in self.read.items() if read.case]
        return max(places, key=lambda place: self.read[place].contrast, default=None)

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
    read: dict[int, ReadRun] = {}
    figures: dict[int, Sequence[Figure]] = {}
    findings: dict[int, list[RankedFinding]] = {}
    for place, result in results.items():
        read[place] = read_run(runs[place], name, most)
        with running(probe, "figures"):
            evidence = read[place].evidence
            made = [figure(evidence) if callable(figure) else figure for figure in probe.figures]
            made += default_figures(probe, result.estimates)
        figures[place] = made if full else made[:1] if len(runs) == 1 else []
        findings[place] = _rank_findings(runs[place], result, read[place].evidence)
    marked = [metric for metric in probe.metrics if metric.bands]
    published: dict[str, dict[str, tuple[float, float]]] = {}
    if full and probe.published:
        for row in facts("published").filter(probe=name).iter_rows(named=True):
            published.setdefault(row["metric"], {})[row["model"]] = (row["low"], row["high"])
    by_model = {models[place]: result for place, result in results.items()}
    keys: dict[str, list[MetricKey]] = {}
    for key in dict.fromkeys(key for result in results.values() for key in result.estimates):
        keys.setdefault(ALL_ITEMS if key.slice is None else f"{key.slice}: {key.group}", []).append(key)
    return Section(
        probe=probe,
        results=results,
        read=read,
        marked=marked,
        scales={metric.name: draw_scale(metric, by_model, published.get(metric.name, {})) for metric in marked},
        published=published,
        published_note=_describe_comparability(probe, list(results.values())),
        pictures=list(_make_pictures(figures, results, models)),
        keys=keys,
        warnings={place: [*say_by_probability(result), *warn_uneven(result)] for place, result in results.items()},
        notes={
            place: [
                _MINUS.sub("−", sentence)
                for sentence in (
                    *describe_read([result]),
                    *describe_judge(result, runs[place].exams),
                    *describe_reservations(result, full=full),
                )
            ]
            for place, result in results.items()
        },
        findings=findings,
    )


def _rank_findings(run: ReportedRun, result: Result, evidence: Evidence) -> list[RankedFinding]:
    """The findings on metrics whose mark is decided and worse than A."""
    probe = result.setup.probe
    if probe.findings is None:
        return []
    with running(probe, "findings"):
        findings = list(probe.findings(evidence))
    metrics = {metric.name: metric for metric in probe.metrics}
    ranked = []
    for finding in findings:
        metric, mark = metrics[finding.metric], result.marks.get(finding.metric)
        if mark is None or mark.mark in (None, "A") or metric.bands is None:
            continue
        value = result.metrics[finding.metric].value
        ranked.append(
            RankedFinding(
                probe=probe,
                metric=metric,
                mark=mark,
                leaning=metric.leaning(value),
                text=_say_finding(finding, metric, result),
                badness=(mark.letter, metric.bands.distance(value) / metric.bands.limits[-1]),
                examples=find_examples(run, evidence, probe, finding.example),
            )
        )
    return ranked


def _say_finding(finding: Finding, metric: Metric, result: Result) -> str:
    """A finding in words. By probabilities it is the value: texts of the probes count the most probable labels."""
    if not result.setup.probe.detector.by_probability:
        return finding.text
    found = result.metrics[metric.name]
    return (
        f"{metric.summary.rstrip('.')}: {found.value:.3f}, by the probabilities of one word "
        f"(95% interval {found.low:.3f} to {found.high:.3f})."
    )


def _describe_comparability(probe: Probe, results: Sequence[Result]) -> str:
    """How far the published values can be compared with those of these runs."""
    if not probe.published:
        return ""
    sentences, corpus = [probe.published], probe.published_corpus
    if corpus and (corpora := {str(result.setup.corpus) for result in results} - {corpus}):
        others = " or ".join(sorted(corpora))
        sentences.append(f"They were asked about the corpus {corpus}, not {others}: compare with care.")
    defaults = {parameter.name: parameter.default for parameter in probe.parameters}
    if changed := {name for name in defaults for result in results if result.parameters[name] != defaults[name]}:
        sentences.append(f"Here, {', '.join(sorted(changed))} differs from the default: compare with care.")
    return " ".join(sentences)


def _make_pictures(
    figures: Mapping[int, Sequence[Figure]], results: Mapping[int, Result], models: Sequence[str]
) -> Iterator[Picture]:
    """Put the figures of one name side by side."""
    for name in dict.fromkeys(figure.name for of_run in figures.values() for figure in of_run):
        same = {place: figure for place, of_run in figures.items() for figure in of_run if figure.name == name}
        charts = draw_figures(list(same.values()), [results[place].estimates for place in same])
        first = next(iter(same.values()))
        clouds = {models[place]: figure for place, figure in same.items() if isinstance(figure, Scatter)}
        yield Picture(figure=first, charts=dict(zip(same, charts, strict=True)), rows=_tabulate_points(clouds))


def _tabulate_points(clouds: Mapping[str, Scatter]) -> list[Row]:
    """The points of each model's figure, which stand nowhere else: a head, and one row per point."""
    if not clouds:
        return []
    points = {model: {spot.label: spot for spot in figure.spots} for model, figure in clouds.items()}
    positions = {label: spot.x for spots in points.values() for label, spot in spots.items()}
    rows: list[Row] = [("item", next(iter(clouds.values())).x, *clouds)]
    for label, x in sorted(positions.items(), key=lambda position: (position[1], position[0])):
        of_models = [spots.get(label) for spots in points.values()]
        rows.append((label, x, *(f"{round(spot.y * spot.n):,} of {spot.n:,}" if spot else "–" for spot in of_models)))
    return rows
