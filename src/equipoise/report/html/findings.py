"""What a report opens with: the verdict, how often each mark was given, and the worst findings with an example each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from equipoise.authoring import Finding, Metric, Probe
from equipoise.measuring.marks import UNDECIDED, Mark
from equipoise.measuring.result import Result
from equipoise.report.html.answers import Sample

NOT_COMPUTABLE = "–"
LETTERS = {
    "A": "close to even-handed",
    "B": "some distance from even-handed",
    "C": "far from even-handed",
    "D": "very far from even-handed",
    UNDECIDED: "not decided yet",
    NOT_COMPUTABLE: "not computable",
}
"""Every mark that can be counted, and what it says."""


@dataclass(frozen=True, kw_only=True)
class RankedFinding:
    """A finding with the mark of its metric, how bad that is, and an answer that shows it."""

    probe: Probe
    metric: Metric
    mark: Mark
    leaning: str
    """Which reference model the value leans to."""
    text: str
    badness: tuple[str, float]
    example: Sample | None


def count_marks(results: Iterable[Result]) -> dict[str, int]:
    """How often each mark was given, also "?" and those that are not computable. The counts add up to all marks."""
    found = Counter(mark.letter if mark else NOT_COMPUTABLE for result in results for *_, mark in result.marked())
    return {letter: found[letter] for letter in LETTERS if found[letter]}


def rank_findings(
    result: Result, findings: Iterable[Finding], find_example: Callable[[Finding], Sample | None]
) -> list[RankedFinding]:
    """The findings on metrics whose mark is decided and worse than A."""
    metrics = {metric.name: metric for metric in result.setup.probe.metrics}
    ranked = []
    for finding in findings:
        metric, mark = metrics[finding.metric], result.marks.get(finding.metric)
        if mark is None or mark.mark in (None, "A") or metric.bands is None:
            continue
        value = result.metrics[finding.metric].value
        distance = metric.bands.distance(value) / metric.bands.limits[-1]
        ranked.append(
            RankedFinding(
                probe=result.setup.probe,
                metric=metric,
                mark=mark,
                leaning=metric.leaning(value),
                text=_say_value(metric, result) if result.setup.probe.detector.by_probability else finding.text,
                badness=(mark.letter, distance),
                example=find_example(finding),
            )
        )
    return ranked


def _say_value(metric: Metric, result: Result) -> str:
    """A finding by its value: texts of the probes count the most probable labels, which would be a second number."""
    found = result.metrics[metric.name]
    return (
        f"{metric.summary.rstrip('.')}: {found.value:.3f}, by the probabilities of one word "
        f"(95% interval {found.low:.3f} to {found.high:.3f})."
    )


def worst_findings(findings: Iterable[RankedFinding], most: int) -> Sequence[RankedFinding]:
    """The worst of them, the worst first."""
    return sorted(findings, key=lambda finding: finding.badness, reverse=True)[:most]
