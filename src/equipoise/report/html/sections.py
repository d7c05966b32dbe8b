"""One probe over all runs, ready to be shown: charts, numbers, findings, answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from equipoise.assets import facts
from equipoise.authoring import Evidence, Figure, Finding, Metric, Probe
from equipoise.measuring.calling import running
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Result
from equipoise.report.charts.drawing import Drawing
from equipoise.report.charts.figures import Ranges, default_figures, draw_figures, draw_scale
from equipoise.report.html.answers import ReadRun, Sample, find_examples, read_run
from equipoise.report.html.notes import say_by_probability, warn_uneven
from equipoise.report.text import describe_judge, describe_read, describe_reservations, number_repeated
from equipoise.runs.run import Run
from equipoise.schema import MetricKey, replace_surrogates

USE_CASES = ("Decision-making", "Creative writing", "Business communication")
"""The order of the use cases; others follow by name."""
SAMPLES, SAMPLES_EACH = 10, 6
"""How many answers to a probe are shown: of a single run, and of each of several."""
ALL_ITEMS = "all items"
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
    pictures: Sequence[tuple[Figure, Mapping[int, Drawing | None]]]
    """Each figure, as the first run has it, and the charts of the runs side by side; None: nothing to draw."""
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


def name_models(runs: Sequence[Run]) -> list[str]:
    """A different name for each run: its model, with a number where several runs are of one model."""
    return number_repeated([replace_surrogates(run.model) for run in runs])


def build_sections(runs: Sequence[Run], *, full: bool) -> list[Section]:
    """One section for each probe that any of the runs has, by use case."""
    probes = {name: run.result(name).setup.probe for run in reversed(runs) for name in run}
    order = {use_case: place for place, use_case in enumerate(USE_CASES)}
    cases = {name: probe.card.use_case for name, probe in probes.items()}
    names = sorted(probes, key=lambda name: (order.get(cases[name], len(order)), cases[name], name))
    return [_build_section(probes[name], runs, full=full) for name in names]


def _build_section(probe: Probe, runs: Sequence[Run], *, full: bool) -> Section:
    """Bring together what all runs measured with a probe.

    The short report has the first figure of a single run, and no answers beside those of the findings.
    """
    results = {place: run.result(probe.name) for place, run in enumerate(runs) if probe.name in run}
    most = (SAMPLES if len(runs) == 1 else SAMPLES_EACH) if full else 0
    read: dict[int, ReadRun] = {}
    figures: dict[int, Sequence[Figure]] = {}
    findings: dict[int, list[RankedFinding]] = {}
    for place, result in results.items():
        read[place] = read_run(runs[place], result.setup.probe, most)
        evidence = read[place].evidence
        with running(probe, "figures"):
            made = [figure(evidence) if callable(figure) else figure for figure in probe.figures]
            made += default_figures(probe, result.estimates)
        figures[place] = made if full else made[:1] if len(runs) == 1 else []
        findings[place] = list(_rank_findings(runs[place], result, evidence))
    marked = [metric for metric in probe.metrics if metric.bands]
    published: dict[str, dict[str, tuple[float, float]]] = {}
    if full and probe.published:
        for row in facts("published").filter(probe=probe.name).iter_rows(named=True):
            published.setdefault(row["metric"], {})[row["model"]] = (row["low"], row["high"])
    models = name_models(runs)
    by_model = {models[place]: result for place, result in results.items()}
    keys: dict[str, list[MetricKey]] = {}
    for key in dict.fromkeys(key for result in results.values() for key in result.estimates):
        keys.setdefault(ALL_ITEMS if key.slice is None else f"{key.slice}: {key.group}", []).append(key)
    notes = {
        place: [
            *describe_read([result]),
            *describe_judge(result, runs[place].exams),
            *describe_reservations(result),
        ]
        for place, result in results.items()
    }
    return Section(
        probe=probe,
        results=results,
        read=read,
        marked=marked,
        scales={metric.name: draw_scale(metric, by_model, published.get(metric.name, {})) for metric in marked},
        published=published,
        pictures=list(_make_pictures(figures, results)),
        keys=keys,
        warnings={place: [*say_by_probability(result), *warn_uneven(result)] for place, result in results.items()},
        notes={place: [_MINUS.sub("−", note) for note in said] for place, said in notes.items()},
        findings=findings,
    )


def _rank_findings(run: Run, result: Result, evidence: Evidence) -> Iterator[RankedFinding]:
    """The findings on metrics whose mark is decided and worse than A."""
    probe = result.setup.probe
    with running(probe, "findings"):
        findings = list(probe.findings(evidence)) if probe.findings else []
    metrics = {metric.name: metric for metric in probe.metrics}
    for finding in findings:
        metric, mark = metrics[finding.metric], result.marks.get(finding.metric)
        if mark is None or mark.mark in (None, "A") or metric.bands is None:
            continue
        value = result.metrics[finding.metric].value
        yield RankedFinding(
            probe=probe,
            metric=metric,
            mark=mark,
            leaning=metric.leaning(value),
            text=_say_finding(finding, metric, result),
            badness=(mark.letter, metric.bands.distance(value) / metric.bands.limits[-1]),
            examples=find_examples(run, probe, evidence, finding.example),
        )


def _say_finding(finding: Finding, metric: Metric, result: Result) -> str:
    """A finding in words. By probabilities it is the value: texts of the probes count the most probable labels."""
    if not result.setup.probe.detector.by_probability:
        return finding.text
    found = result.metrics[metric.name]
    return (
        f"{metric.summary.rstrip('.')}: {found.value:.3f}, by the probabilities of one word "
        f"(95% interval {found.low:.3f} to {found.high:.3f})."
    )


def _make_pictures(
    figures: Mapping[int, Sequence[Figure]], results: Mapping[int, Result]
) -> Iterator[tuple[Figure, dict[int, Drawing | None]]]:
    """Put the figures of one name side by side."""
    for name in dict.fromkeys(figure.name for of_run in figures.values() for figure in of_run):
        same = {place: figure for place, of_run in figures.items() for figure in of_run if figure.name == name}
        charts = draw_figures(list(same.values()), [results[place].estimates for place in same])
        yield next(iter(same.values())), dict(zip(same, charts, strict=True))
