"""One probe over all runs, ready to be shown: charts, numbers, findings, answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from equipoise.assets import facts
from equipoise.authoring import Evidence, Figure, Finding, Metric, Probe
from equipoise.measuring.calling import running
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Result
from equipoise.report.cases import CONTRAST, find_case, with_contrast
from equipoise.report.charts.drawing import Drawing
from equipoise.report.charts.figures import Ranges, default_figures, draw_figures, draw_scale
from equipoise.report.text import number_repeated
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ATTEMPT, ID, LABEL, PROMPT, STATUS, MetricKey, Status, replace_surrogates

USE_CASES = ("Decision-making", "Creative writing", "Business communication")
"""The order of the use cases; others follow by name."""
SAMPLES, SAMPLES_EACH = 10, 6
"""How many answers to a probe are shown: of a single run, and of each of several."""
ALL_ITEMS = "all items"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An attempt that is shown."""

    prompt: str
    answer: str
    outcome: str
    """What the answer says."""
    facts: Mapping[str, str]


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
    scales: Mapping[str, Drawing]
    """The charts of the marked metrics, by their names."""
    published: Mapping[str, Ranges]
    """The intervals that were published for other models, by metric."""
    pictures: Sequence[tuple[Figure, Mapping[int, Drawing | None]]]
    """Each figure, as the first run has it, and the charts of the runs side by side; None: nothing to draw."""
    findings: Mapping[int, list[RankedFinding]]
    """For the list at the top of the page; the probe's own block does not show them."""
    samples: Mapping[int, list[Sample]]
    """Answers to look at."""
    worst: int | None
    """The run with the case that was answered most differently: among equals, the one with most like it;"""
    case: list[Sample]
    """and that case: an answer for each of two arms. Nothing if all are alike."""

    @property
    def marked(self) -> list[Metric]:
        """The metrics that have marks."""
        return [metric for metric in self.probe.metrics if metric.bands]

    @property
    def keys(self) -> dict[str, list[MetricKey]]:
        """All metrics: over all items, then by group under headings such as "race: white"."""
        keys: dict[str, list[MetricKey]] = {}
        for key in dict.fromkeys(key for result in self.results.values() for key in result.estimates):
            keys.setdefault(ALL_ITEMS if key.slice is None else f"{key.slice}: {key.group}", []).append(key)
        return keys

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
    figures: dict[int, Sequence[Figure]] = {}
    findings: dict[int, list[RankedFinding]] = {}
    samples: dict[int, list[Sample]] = {}
    cases: dict[int, list[Sample]] = {}
    contrasts: dict[int, tuple[float, float]] = {}
    for place, result in results.items():
        evidence = gather_evidence(result)
        with running(probe, "figures"):
            made = [figure(evidence) if callable(figure) else figure for figure in probe.figures]
            made += default_figures(probe, result.estimates)
        figures[place] = made if full else made[:1] if len(runs) == 1 else []
        findings[place] = list(_rank_findings(runs[place], result, evidence))
        worst_case = find_case(result.setup.probe, evidence.attempts)
        worst_case = worst_case if worst_case.height > 1 else worst_case[:0]
        samples[place] = _read_texts(runs[place], result, _choose_samples(result, evidence, worst_case).head(most))
        if len(case := _read_texts(runs[place], result, worst_case)) > 1:
            cases[place] = case
            contrast = pl.col(CONTRAST)
            contrasts[place] = evidence.attempts.select(contrast.max(), mean=contrast.mean()).row(0)
    published: dict[str, dict[str, tuple[float, float]]] = {}
    if full and probe.published:
        for row in facts("published").filter(probe=probe.name).iter_rows(named=True):
            published.setdefault(row["metric"], {})[row["model"]] = (row["low"], row["high"])
    models = name_models(runs)
    by_model = {models[place]: result for place, result in results.items()}
    marked = [metric for metric in probe.metrics if metric.bands]
    worst = max(cases, key=contrasts.__getitem__, default=None)
    return Section(
        probe=probe,
        results=results,
        scales={metric.name: draw_scale(metric, by_model, published.get(metric.name, {})) for metric in marked},
        published=published,
        pictures=list(_make_pictures(figures, results)),
        findings=findings,
        samples=samples,
        worst=worst,
        case=[] if worst is None else cases[worst],
    )


def gather_evidence(result: Result) -> Evidence:
    """What figures and findings of a probe are made of."""
    probe = result.setup.probe
    return Evidence(
        parameters=result.parameters,
        estimates=result.estimates,
        attempts=with_contrast(probe, result.evaluated),
        labels=probe.detector.labels,
    )


def _choose_samples(result: Result, evidence: Evidence, worst: pl.DataFrame) -> pl.DataFrame:
    """Answers to look at: the most different case, then of each label and arm in turn, by their ids, that is hashes."""
    answers = evidence.attempts.join(worst.select(ATTEMPT), on=ATTEMPT, how="anti").sort(ATTEMPT)
    kinds = [name for name in (LABEL, *result.setup.probe.arm_columns) if name in answers.columns]
    turn = pl.int_range(pl.len())
    return pl.concat([worst, answers.sort(turn.over(kinds) if kinds else turn, *kinds, maintain_order=True)])


def _read_texts(run: Run, result: Result, attempts: pl.DataFrame) -> list[Sample]:
    """These attempts with their prompts and answers; without those whose answer a damaged file lacks."""
    if attempts.is_empty():
        return []
    probe = result.setup.probe
    texts = pl.concat(list(run.transcript_batches(probe.name, attempts[ID].unique().to_list())))
    found = attempts.select(ATTEMPT).join(texts, on=ATTEMPT, maintain_order="left").drop_nulls(ANSWER)
    samples = []
    for row in found.iter_rows(named=True):
        known = {ID: row[ID][:12]}
        for name in run.planned[probe.name].covariates:
            known[name] = probe.value_names.get(name, {}).get(str(row[name]), str(row[name]))
        if row[STATUS] != Status.OK:
            known[STATUS] = row[STATUS]
        outcome = probe.detector.describe(row)
        # By probability, the one drawn token may say the opposite of the outcome.
        answer = outcome if probe.detector.by_probability else row[ANSWER]
        samples.append(Sample(prompt=row[PROMPT], answer=answer, outcome=outcome, facts=known))
    return samples


def _rank_findings(run: Run, result: Result, evidence: Evidence) -> Iterator[RankedFinding]:
    """The findings on metrics whose mark is decided and worse than A. Without such a mark the probe is not asked."""
    probe = result.setup.probe
    marks = {name: mark for name, mark in result.marks.items() if mark and mark.mark not in (None, "A")}
    with running(probe, "findings"):
        findings = list(probe.findings(evidence)) if probe.findings and marks else []
    metrics = {metric.name: metric for metric in probe.metrics}
    for finding in findings:
        metric, mark = metrics[finding.metric], marks.get(finding.metric)
        if mark is None or metric.bands is None:
            continue
        value = result.metrics[finding.metric].value
        yield RankedFinding(
            probe=probe,
            metric=metric,
            mark=mark,
            leaning=metric.leaning(value),
            text=_say_finding(finding, metric, result),
            badness=(mark.letter, metric.bands.distance(value) / metric.bands.limits[-1]),
            examples=_read_texts(run, result, find_case(probe, evidence.attempts, finding.example)),
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
