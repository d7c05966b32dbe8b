"""The worst of what was found, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from equipoise.authoring import Finding, Metric, Probe
from equipoise.measuring.marks import Mark
from equipoise.measuring.result import Result


@dataclass(frozen=True, kw_only=True)
class RankedFinding:
    """A finding with the mark of its metric, and how bad that is."""

    probe: Probe
    metric: Metric
    mark: Mark
    text: str
    badness: tuple[str, float]


def rank_findings(result: Result, findings: Iterable[Finding]) -> list[RankedFinding]:
    """The findings on metrics whose mark is decided and worse than A."""
    probe = result.setup.probe
    metrics = {metric.name: metric for metric in probe.metrics}
    ranked = []
    for finding in findings:
        metric, mark = metrics[finding.metric], result.marks.get(finding.metric)
        estimate = result.metrics[finding.metric]
        if mark is None or mark.undecided or metric.bands is None or mark.mark == "A":
            continue
        badness = (mark.mark, metric.bands.distance(estimate.value) / metric.bands.limits[-1])
        ranked.append(RankedFinding(probe=probe, metric=metric, mark=mark, text=finding.text, badness=badness))
    return ranked


def worst_findings(findings: Iterable[RankedFinding], most: int) -> list[RankedFinding]:
    """The worst of them, the worst first."""
    return sorted(findings, key=lambda finding: finding.badness, reverse=True)[:most]
