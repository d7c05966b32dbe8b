"""Two runs side by side: paired differences on the prompts both answered, and which is nearer to even-handed.

Only like is compared with like: the probe's version, its corpus and every parameter must be the same. A parameter
that seems to change only how much is asked (`sample_k`, `num_repetitions`) or which items (`random_seed`) changes the
sample that the values rest on, so it counts, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from equipoise.errors import InputError
from equipoise.frames import ID
from equipoise.probe import Array, Bands, Metric, Parameters, Probe, Totals
from equipoise.probes import get
from equipoise.results import Result
from equipoise.run import Run
from equipoise.scoring import answered_by_both
from equipoise.stats.compare import Difference, differences
from equipoise.stats.resample import Estimate
from equipoise.stats.summarise import item_rows

SURE = 0.05
"""A difference is clear when its p-value, corrected for all that are looked at, is below this."""
NAMES = ("A", "B")
"""What the two runs are called in reasons and notes."""
_SHOWN = 70


class Verdict(StrEnum):
    """How the second run does beside the first, by a marked metric."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    """The values differ clearly, and their distances from even-handed do not: it leans the other way, say."""
    UNCLEAR = "no clear difference"
    NOT_COMPUTABLE = "not computable"


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """A metric of two runs on the prompts both answered. The difference is second minus first."""

    metric: str
    first: float
    second: float
    difference: Estimate
    p: float
    distance: Estimate | None = None
    """How much farther from even-handed the second is, for a marked metric."""
    p_holm: float | None = None
    """The p-value, corrected over the marked metrics of all probes."""
    verdict: Verdict | None = None
    """None where the metric is not marked."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: what is not computable is None."""
        plain: dict[str, Any] = _without_nan(asdict(self))
        return plain


@dataclass(frozen=True, kw_only=True)
class ProbeComparison:
    """A probe that both runs have asked in the same way."""

    probe: str
    version: int
    corpus: str | None
    prompts: int
    """Prompts that both answered."""
    items: int
    metrics: Mapping[str, MetricComparison]
    """Every metric of the probe, without slices."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What differs between two runs, and what could not be compared."""

    probes: Mapping[str, ProbeComparison]
    refused: Mapping[str, str]
    """Probes that are not compared, and why."""
    notes: Sequence[str] = ()
    """What a reader must know beside the numbers."""

    def marked(self) -> Iterator[tuple[str, MetricComparison]]:
        """The marked metrics with the names of their probes: the family of the correction."""
        for probe in self.probes.values():
            for metric in probe.metrics.values():
                if metric.verdict is not None:
                    yield probe.probe, metric

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return {
            "probes": {
                name: {
                    "version": probe.version,
                    "corpus": probe.corpus,
                    "prompts": probe.prompts,
                    "items": probe.items,
                    "metrics": {metric: found.to_dict() for metric, found in probe.metrics.items()},
                }
                for name, probe in self.probes.items()
            },
            "refused": dict(self.refused),
            "notes": list(self.notes),
        }


def compare_runs(first: Run, second: Run, names: tuple[str, str] = NAMES) -> Comparison:
    """Compare two runs probe by probe. InputError if nothing in them can be compared."""
    found = compare_results(first.results(), second.results(), names)
    if not found.probes:
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in found.refused.items())
        raise InputError(f"Nothing in {first.path} and {second.path} can be compared:{reasons or ' both are empty.'}")
    asked = _asked_differently(first.settings, second.settings, names)
    return replace(found, notes=(*_incomplete(first, second, names), *asked))


def compare_results(
    first: Mapping[str, Result], second: Mapping[str, Result], names: tuple[str, str] = NAMES
) -> Comparison:
    """Compare the results of two audits, by the names of their probes."""
    compared: dict[str, ProbeComparison] = {}
    refused: dict[str, str] = {}
    for name in dict.fromkeys((*first, *second)):
        if reason := refusal(first.get(name), second.get(name), names):
            refused[name] = reason
            continue
        found = _compared(first[name], second[name])
        if found.prompts:
            compared[name] = found
        else:
            refused[name] = "no prompt has an answer in both"
    return _judged(Comparison(probes=compared, refused=refused))


def refusal(first: Result | None, second: Result | None, names: tuple[str, str] = NAMES) -> str | None:
    """Why results cannot be compared; None if they can."""
    if first is None or second is None:
        return f"only {names[first is None]} has it"
    made_of = ("probe", "version", "corpus", "corpus_sha256")
    a, b = ({**side.parameters, **{name: getattr(side, name) for name in made_of}} for side in (first, second))
    return "; ".join(_changes(a, b, names)) or None


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected for being several, by Holm: the smallest of n counts n times, the next n - 1 times …"""
    corrected = [0.0] * len(values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = largest
    return corrected


def _compared(first: Result, second: Result) -> ProbeComparison:
    probe = get(first.probe)
    answered = answered_by_both(first, second)
    rows = [item_rows(probe, attempts) for attempts in answered]
    found = differences(_with_distances(probe), rows[0], rows[1], first.parameters)
    return ProbeComparison(
        probe=probe.name,
        version=first.version,
        corpus=first.corpus,
        prompts=answered[0][ID].n_unique(),
        items=rows[0].height,
        metrics={metric.name: _metric(metric, found) for metric in probe.all_metrics()},
    )


def _with_distances(probe: Probe) -> Probe:
    """The probe with one more metric for each that is marked: its distance from even-handed.

    That one value is nearer than another is not said by their difference when they lie on two sides. Resampled with
    the same weights, the distances have a difference of their own.
    """
    marked = [(metric, metric.bands) for metric in probe.metrics if metric.bands]

    def measure(total: Totals, parameters: Parameters) -> Mapping[str, Array]:
        values = probe.measure(total, parameters)
        return {**values, **{_distance(metric): _far(bands, values[metric.name]) for metric, bands in marked}}

    distances = (replace(metric, name=_distance(metric), bands=None) for metric, _ in marked)
    return replace(probe, metrics=(*probe.metrics, *distances), measure=measure)


def _distance(metric: Metric) -> str:
    return f"distance of {metric.name}"


def _far(bands: Bands, values: Array) -> Array:
    """`Bands.distance` of many values."""
    distance = np.round(values - bands.centre, 12)
    return np.maximum(distance, 0.0) if bands.one_sided else np.abs(distance)


def _metric(metric: Metric, found: Mapping[str, Difference]) -> MetricComparison:
    own = found[metric.name]
    return MetricComparison(
        metric=metric.name,
        first=own.first,
        second=own.second,
        difference=own.difference,
        p=own.p,
        distance=found[_distance(metric)].difference if metric.bands else None,
    )


def _judged(found: Comparison) -> Comparison:
    """Correct the p-values of all marked metrics together, and say which run is nearer to even-handed."""
    family = {
        (name, metric.metric): metric.p
        for name, probe in found.probes.items()
        for metric in probe.metrics.values()
        if metric.distance is not None and not math.isnan(metric.p)
    }
    corrected = dict(zip(family, holm(list(family.values())), strict=True))
    probes = {
        name: replace(
            probe,
            metrics={
                metric.metric: _with_verdict(metric, corrected.get((name, metric.metric)))
                for metric in probe.metrics.values()
            },
        )
        for name, probe in found.probes.items()
    }
    return replace(found, probes=probes)


def _with_verdict(metric: MetricComparison, p_holm: float | None) -> MetricComparison:
    if metric.distance is None:
        return metric
    return replace(metric, p_holm=p_holm, verdict=_verdict(metric.distance, p_holm))


def _verdict(distance: Estimate, p_holm: float | None) -> Verdict:
    if p_holm is None:
        return Verdict.NOT_COMPUTABLE
    if p_holm >= SURE:
        return Verdict.UNCLEAR
    if distance.high < 0:
        return Verdict.BETTER
    return Verdict.WORSE if distance.low > 0 else Verdict.DIFFERENT


def _incomplete(first: Run, second: Run, names: tuple[str, str]) -> Iterator[str]:
    for name, run in zip(names, (first, second), strict=True):
        if not run.complete:
            yield f"{name} is incomplete: {run.ended:,} of {run.size:,} attempts"


def _asked_differently(first: Mapping[str, Any], second: Mapping[str, Any], names: tuple[str, str]) -> Iterator[str]:
    """Settings of the model that differ: they may be what is compared, or what spoils the comparison."""
    sides = [settings.get("sampling") for settings in (first, second)]
    a, b = (side if isinstance(side, Mapping) else {} for side in sides)
    for change in _changes(a, b, names):
        yield f"the models were asked differently: {change}"


def _changes(first: Mapping[str, Any], second: Mapping[str, Any], names: tuple[str, str]) -> Iterator[str]:
    for key in sorted(first.keys() | second.keys()):
        a, b = first.get(key), second.get(key)
        if a != b:
            yield f"{key} is {_shown(a)} in {names[0]} and {_shown(b)} in {names[1]}"


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
