"""Two audits side by side: paired differences on the prompts both answered, and which is nearer to even-handed.

Only like is compared with like: the probe, its version, how answers are read, the corpus and every parameter must be
the same. Only `sample` may differ: the items of a smaller sample are the first of a larger one. `repeat` and `seed`
change what the values rest on, so they count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from itertools import combinations
from statistics import NormalDist
from typing import Any

import polars as pl

from equipoise.errors import InputError
from equipoise.measuring import notebook
from equipoise.measuring.audit import Audit
from equipoise.measuring.differences import Difference, paired_differences
from equipoise.measuring.result import Result
from equipoise.measuring.summarise import item_rows
from equipoise.schema import ID, PROBABILITIES, Estimate, without_nan

SIGNIFICANCE = 0.05
"""A difference is clear when its p-value, corrected for all metrics that are compared, is below this."""
NAMES = ("A", "B")
"""What the two audits are called in reasons and notes."""
POWER = 0.8
"""A difference counts as detectable if as many comparisons as this would find it clear."""
NORMAL = NormalDist()
_LONGEST_VALUE = 70


class Verdict(StrEnum):
    """How the second audit does beside the first, by a marked metric."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    """The values differ clearly, and their distances from even-handed do not: it leans the other way, say."""
    UNCLEAR = "no clear difference"
    NOT_COMPUTABLE = "not computable"


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """A metric of two audits on the prompts both answered. The difference is second minus first."""

    metric: str
    first: float
    second: float
    difference: Estimate
    p: float
    distance: Estimate | None = None
    """How much farther from even-handed the second is, for a marked metric."""
    p_holm: float | None = None
    """The p-value, corrected over the marked metrics of all probes, and of all pairs that are compared together."""
    verdict: Verdict | None = None
    """None where the metric is not marked."""
    detectable: float | None = None
    """The smallest difference that 4 of 5 comparisons like this one would find clear, after the correction."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: what is not computable is None."""
        plain: dict[str, Any] = without_nan(asdict(self))
        return plain


@dataclass(frozen=True, kw_only=True)
class ProbeComparison:
    """A probe that both audits have asked in the same way."""

    probe: str
    version: int
    corpus: str | None
    prompts: int
    """Prompts that both answered."""
    items: int
    metrics: Mapping[str, MetricComparison]
    """Every metric of the probe, without slices."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """The metrics' names with what they are about, for readers."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What differs between two audits, and what could not be compared."""

    probes: Mapping[str, ProbeComparison]
    refused: Mapping[str, str]
    """Probes that are not compared, and why."""
    notes: Sequence[str] = ()
    """What a reader must know beside the numbers."""
    names: tuple[str, str] = NAMES
    """What the two audits are called."""

    def __getitem__(self, probe: str) -> ProbeComparison:
        return self.probes[probe]

    def marked(self) -> Iterator[tuple[str, MetricComparison]]:
        """The marked metrics with the names of their probes: the family of the correction."""
        for probe in self.probes.values():
            for metric in probe.metrics.values():
                if metric.verdict is not None:
                    yield probe.probe, metric

    def to_frame(self) -> pl.DataFrame:
        """One row per metric: both values, the difference with its interval, p-values and verdict."""
        rows = [
            {
                "probe": probe.probe,
                "metric": metric.metric,
                "first": metric.first,
                "second": metric.second,
                "difference": metric.difference.value,
                "low": metric.difference.low,
                "high": metric.difference.high,
                "items": probe.items,
                "p": metric.p,
                "p_holm": metric.p_holm,
                "verdict": metric.verdict,
            }
            for probe in self.probes.values()
            for metric in probe.metrics.values()
        ]
        return pl.DataFrame(rows).with_columns(pl.col(pl.Float64).fill_nan(None))

    def _repr_html_(self) -> str:
        return notebook.comparison_html(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        return {
            "names": list(self.names),
            "probes": {
                name: {
                    "version": probe.version,
                    "corpus": probe.corpus,
                    "prompts": probe.prompts,
                    "items": probe.items,
                    "metrics": {metric: comparison.to_dict() for metric, comparison in probe.metrics.items()},
                }
                for name, probe in self.probes.items()
            },
            "refused": dict(self.refused),
            "notes": list(self.notes),
        }


def compare_audits(first: Audit, second: Audit, names: tuple[str, str] = NAMES) -> Comparison:
    """Compare two audits probe by probe. What cannot be compared is in `refused`."""
    (comparison,) = add_verdicts([_compare_pair(first, second, names)])
    return comparison


def compare_family(audits: Sequence[Audit], names: Sequence[str], *, all_pairs: bool = False) -> list[Comparison]:
    """Compare each audit with the first, or every two; the p-values of all pairs are corrected together."""
    pairs = combinations(range(len(audits)), 2)
    chosen = [(a, b) for a, b in pairs if all_pairs or a == 0]
    return add_verdicts([_compare_pair(audits[a], audits[b], (names[a], names[b])) for a, b in chosen])


def _compare_pair(first: Audit, second: Audit, names: tuple[str, str]) -> Comparison:
    """Two audits probe by probe, before anything is corrected."""
    compared: dict[str, ProbeComparison] = {}
    refused: dict[str, str] = {}
    for name in dict.fromkeys((*first, *second)):
        if name not in first or name not in second:
            refused[name] = f"only {names[0] if name in first else names[1]} has it"
        elif reason := _refusal(first[name], second[name], names):
            refused[name] = reason
        elif (comparison := _compare_probe(first[name], second[name])).prompts:
            compared[name] = comparison
        else:
            refused[name] = "no prompt has an answer in both"
    notes = (
        *(
            f"The answers of {name} {'are simulated' if side.simulated else 'were imported'}."
            for name, side in zip(names, (first, second), strict=True)
            if side.origin
        ),
        *_note_incomplete(first, second, names),
        *_note_sampling(first, second, names),
    )
    return Comparison(probes=compared, refused=refused, notes=notes, names=names)


def refuse_nothing_compared(comparisons: Sequence[Comparison], what: str) -> None:
    """Raise InputError, with the reasons, if no probe of any pair could be compared."""
    if not any(comparison.probes for comparison in comparisons):
        refused = {name: reason for comparison in comparisons for name, reason in comparison.refused.items()}
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in refused.items())
        raise InputError(f"Nothing in {what} can be compared:{reasons or ' both are empty.'}")


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected by Holm's method: the smallest of n counts n times, the next n - 1 times, and so on."""
    corrected = [0.0] * len(values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = largest
    return corrected


def _refusal(first: Result, second: Result, names: tuple[str, str]) -> str | None:
    """Why two results cannot be compared; None if they can."""
    if (first.reading == PROBABILITIES) != (second.reading == PROBABILITIES):
        by_probability, drawn = names if first.reading == PROBABILITIES else reversed(names)
        return (
            f"{by_probability} was read from the probabilities of first tokens and {drawn} from answers: these are two "
            "different measurements"
        )
    origins = ("probe", "version", "reading", "detector", "judge", "corpus", "corpus_sha256")
    a, b = ({**side.parameters, **{name: getattr(side, name) for name in origins}} for side in (first, second))
    b["sample"] = a["sample"]  # the items of a smaller sample are the first of a larger one, and those both have count
    if changes := list(_list_changes(a, b, names)):
        return "; ".join(changes)
    if first.setup.probe != second.setup.probe:
        return "the two runs used different definitions of this probe"
    return None


def _compare_probe(first: Result, second: Result) -> ProbeComparison:
    probe = first.setup.probe
    a, b = first.evaluated, second.evaluated
    answered = a.join(b.select(ID), on=ID, how="semi"), b.join(a.select(ID), on=ID, how="semi")
    rows = [item_rows(probe, attempts) for attempts in answered]
    differences = paired_differences(first.setup, rows[0], rows[1])
    return ProbeComparison(
        probe=probe.name,
        version=probe.version,
        corpus=first.corpus,
        prompts=answered[0][ID].n_unique(),
        items=rows[0].height,
        metrics={name: make_comparison(name, difference) for name, difference in differences.items()},
        titles={metric.name: metric.title for metric in probe.all_metrics()},
    )


def make_comparison(name: str, difference: Difference) -> MetricComparison:
    """A metric of two audits, before anything is corrected for other metrics."""
    return MetricComparison(
        metric=name,
        first=difference.first,
        second=difference.second,
        difference=difference.difference,
        p=difference.p,
        distance=difference.distance,
    )


def add_verdicts(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Correct the p-values of all marked metrics of all pairs together, and say who is nearer to even-handed."""
    family = [
        (number, name, metric.metric)
        for number, comparison in enumerate(comparisons)
        for name, probe in comparison.probes.items()
        for metric in probe.metrics.values()
        if metric.distance is not None and not math.isnan(metric.p)
    ]
    values = [comparisons[number].probes[name].metrics[metric].p for number, name, metric in family]
    corrected = dict(zip(family, holm(values), strict=True))

    def decide(number: int, probe: ProbeComparison) -> ProbeComparison:
        metrics = {
            name: _with_verdict(metric, corrected.get((number, probe.probe, name)), len(family))
            for name, metric in probe.metrics.items()
        }
        return replace(probe, metrics=metrics)

    return [
        replace(comparison, probes={name: decide(number, probe) for name, probe in comparison.probes.items()})
        for number, comparison in enumerate(comparisons)
    ]


def _with_verdict(metric: MetricComparison, p_holm: float | None, tests: int) -> MetricComparison:
    if metric.distance is None:
        return metric
    return replace(
        metric,
        p_holm=p_holm,
        verdict=_verdict(metric.distance, p_holm),
        detectable=_find_detectable(metric.difference, tests) if p_holm is not None else None,
    )


def _find_detectable(difference: Estimate, tests: int) -> float | None:
    """The smallest difference that so wide an interval, one of so many tests, shows with a probability of POWER."""
    error = (difference.high - difference.low) / 2 / NORMAL.inv_cdf(0.975)
    if math.isnan(error):
        return None
    return error * (NORMAL.inv_cdf(1 - SIGNIFICANCE / 2 / tests) + NORMAL.inv_cdf(POWER))


def _verdict(distance: Estimate, p_holm: float | None) -> Verdict:
    if p_holm is None:
        return Verdict.NOT_COMPUTABLE
    if p_holm >= SIGNIFICANCE:
        return Verdict.UNCLEAR
    if distance.high < 0:
        return Verdict.BETTER
    return Verdict.WORSE if distance.low > 0 else Verdict.DIFFERENT


def _note_incomplete(first: Audit, second: Audit, names: tuple[str, str]) -> Iterator[str]:
    for name, audit in zip(names, (first, second), strict=True):
        if not audit.complete:
            yield f"{name} is incomplete: {audit.ended:,} of {audit.planned:,} attempts"


def _note_sampling(first: Audit, second: Audit, names: tuple[str, str]) -> Iterator[str]:
    """Settings of the model that differ: they may be what is compared, or what spoils the comparison."""
    for change in _list_changes(first.sampling, second.sampling, names):
        yield f"the models were asked differently: {change}"


def _list_changes(first: Mapping[str, Any], second: Mapping[str, Any], names: tuple[str, str]) -> Iterator[str]:
    for key in sorted(first.keys() | second.keys()):
        a, b = first.get(key), second.get(key)
        if a != b:
            yield f"{key} is {_shorten(a)} in {names[0]} and {_shorten(b)} in {names[1]}"


def _shorten(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[:_LONGEST_VALUE]}…"
