"""The worst of what was found, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from equipoise.figure import Finding
from equipoise.probe import Metric, Probe
from equipoise.results import Result
from equipoise.stats.marks import Mark

ENOUGH = 30
"""Items that a finding needs behind it."""


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """A finding with the mark of its metric, and how bad that is."""

    probe: Probe
    metric: Metric
    mark: Mark
    text: str
    badness: tuple[str, float]


def ranked(probe: Probe, result: Result, findings: Iterable[Finding]) -> list[Ranked]:
    """The findings on metrics that are marked worse than A and rest on enough."""
    metrics = {metric.name: metric for metric in probe.metrics}
    found = []
    for finding in findings:
        metric, mark = metrics[finding.metric], result.marks.get(finding.metric)
        estimate = result.metrics[finding.metric]
        if mark is None or metric.bands is None or mark.mark == "A" or estimate.n < ENOUGH:
            continue
        badness = (mark.mark, metric.bands.distance(estimate.value) / metric.bands.limits[-1])
        found.append(Ranked(probe=probe, metric=metric, mark=mark, text=finding.text, badness=badness))
    return found


def worst(found: Iterable[Ranked], most: int) -> list[Ranked]:
    """The worst of them, the worst first."""
    return sorted(found, key=lambda finding: finding.badness, reverse=True)[:most]
