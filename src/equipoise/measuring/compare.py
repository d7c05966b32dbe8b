"""Two audits side by side: paired differences on the prompts both answered, and which is nearer to even-handed.

Only like is compared with like: the probe, its version, how answers are read, the corpus and every parameter must be
the same. Only `sample` may differ: the items of a smaller sample are the first of a larger one. `repeat` and `seed`
must be equal, too, because they change which answers were collected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import msgspec
import polars as pl

from equipoise.errors import InputError
from equipoise.measuring.differences import MetricComparison, Verdict, paired_differences
from equipoise.measuring.plan import Setup, list_differences
from equipoise.measuring.result import ASKED, Audit, Result, format_interval, show_in_notebook
from equipoise.measuring.summarise import answered_rows
from equipoise.schema import ID, without_nan
from equipoise.stats.multiple_testing import holm
from equipoise.stats.power import detectable_difference

SIGNIFICANCE = 0.05
"""Two values differ clearly when the p-value, corrected for all metrics that are compared, is below this."""
NAMES = ("A", "B")
"""What the two audits are called in reasons and notes."""


@dataclass(frozen=True, kw_only=True)
class ProbeComparison:
    """A probe that both audits have asked in the same way."""

    setup: Setup
    """Of the first."""
    prompts: int
    """Prompts that both answered."""
    items: int
    metrics: Mapping[str, MetricComparison]
    """Every metric of the probe, without slices."""


@dataclass(frozen=True, kw_only=True, repr=False)
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
        for name, probe in self.probes.items():
            for metric in probe.metrics.values():
                if metric.distance is not None:
                    yield name, metric

    def to_frame(self) -> pl.DataFrame:
        """One row per metric: both values, the difference with its interval, p-values and verdict."""
        rows = [
            {"probe": name, **asdict(metric), **asdict(metric.difference), "items": probe.items}
            for name, probe in self.probes.items()
            for metric in probe.metrics.values()
        ]
        columns = ("probe", "metric", "first", "second", "value", "low", "high", "items", "p", "p_holm", "verdict")
        table = pl.DataFrame([{name: row[name] for name in columns} for row in rows], infer_schema_length=None)
        return table.rename({"value": "difference"}, strict=False).with_columns(pl.col(pl.Float64).fill_nan(None))

    def __repr__(self) -> str:
        """The marked metrics, one line each."""
        lines = ["On the prompts that both answered:"]
        for probe, metric in self.marked():
            values = f"{metric.first:.3f} -> {metric.second:.3f}, {format_interval(metric.difference)}"
            lines.append(f"  {probe} {metric.metric}: {metric.verdict}, {values}, p (Holm) {format_p(metric.p_holm)}")
        return "\n".join([*lines, *(f"  {name} is not compared: {reason}" for name, reason in self.refused.items())])

    def _repr_html_(self) -> str:
        return show_in_notebook(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        probes = {
            name: {
                "version": probe.setup.probe.version,
                "corpus": probe.setup.corpus,
                **{key: getattr(probe, key) for key in ("prompts", "items", "metrics")},
            }
            for name, probe in self.probes.items()
        }
        described = {"names": self.names, "probes": probes, "refused": self.refused, "notes": self.notes}
        plain: dict[str, Any] = without_nan(msgspec.to_builtins(described))
        return plain


def compare_audits(
    audits: Sequence[Audit], names: Sequence[str] = NAMES, *, all_pairs: bool = False
) -> list[Comparison]:
    """Compare each audit with the first, or every pair; the p-values of all pairs are corrected together.

    What cannot be compared is in `refused`.
    """
    pairs = combinations(zip(audits, names, strict=True), 2)
    chosen = [pair for pair in pairs if all_pairs or pair[0][0] is audits[0]]
    return _add_verdicts([_compare_pair(a, b, (first, second)) for (a, first), (b, second) in chosen])


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
    notes = []
    for name, side in zip(names, (first, second), strict=True):
        if side.origin != ASKED:
            notes.append(f"The answers of {name} are {side.origin}.")
        if side.counts.ended < side.counts.planned:
            notes.append(f"{name} is incomplete: {side.counts.ended:,} of {side.counts.planned:,} attempts")
    # Settings of the model that differ may be what is compared, or what spoils the comparison.
    changes = list_differences(first.sampling, second.sampling, names)
    notes += [f"the models were asked differently: {change}" for change in changes]
    return Comparison(probes=compared, refused=refused, notes=tuple(notes), names=names)


def refuse_nothing_compared(comparisons: Sequence[Comparison], what: str) -> None:
    """Raise InputError, with the reasons, if no probe of any pair could be compared."""
    if not any(comparison.probes for comparison in comparisons):
        refused = {name: reason for comparison in comparisons for name, reason in comparison.refused.items()}
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in refused.items())
        raise InputError(f"Nothing in {what} can be compared:{reasons or ' both are empty.'}")


def format_p(p: float | None) -> str:
    """A p-value to three places. One that is very small is not zero."""
    if p is None or math.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _refusal(first: Result, second: Result, names: tuple[str, str]) -> str | None:
    """Why two results cannot be compared; None if they can."""
    a, b = ({**side.setup.describe(), "equipoise": None} for side in (first, second))
    # The items of a smaller sample are the first of a larger one, and those both have count.
    b["parameters"] = {**b["parameters"], "sample": a["parameters"]["sample"]}
    if changes := list_differences(a, b, names):
        return "; ".join(changes)
    if first.setup.probe != second.setup.probe:
        return "the two runs used different definitions of this probe"
    return None


def _compare_probe(first: Result, second: Result) -> ProbeComparison:
    """Compare two results on the prompts that both answered."""
    probe = first.setup.probe
    first_answers = first.evaluated
    second_answers = second.evaluated
    both = (
        first_answers.join(second_answers.select(ID), on=ID, how="semi"),
        second_answers.join(first_answers.select(ID), on=ID, how="semi"),
    )
    rows = (answered_rows(probe, both[0]), answered_rows(probe, both[1]))
    prompts = both[0][ID].n_unique()
    metrics: Mapping[str, MetricComparison] = {}
    if prompts:
        planned = (first.item_rows, second.item_rows)
        metrics = paired_differences(first.setup, rows, planned)
    return ProbeComparison(setup=first.setup, prompts=prompts, items=rows[0].height, metrics=metrics)


def _add_verdicts(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Correct the p-values of all marked metrics of all pairs together, and say who is nearer to even-handed."""
    values = [metric.p for comparison in comparisons for _, metric in comparison.marked() if not math.isnan(metric.p)]
    answered = [
        metric.p_answered for comparison in comparisons for _, metric in comparison.marked() if not math.isnan(metric.p)
    ]
    corrected = iter(holm(values))
    corrected_answered = iter(holm(answered))

    def decide(metric: MetricComparison) -> MetricComparison:
        if metric.distance is None:
            return metric
        if math.isnan(metric.p):
            return replace(metric, verdict=Verdict.NOT_COMPUTABLE)
        p_holm = next(corrected)
        p_holm_answered = next(corrected_answered)
        verdict = Verdict.UNCLEAR
        if p_holm < SIGNIFICANCE:
            verdict = _find_direction(metric)
        half_width = (metric.difference.high - metric.difference.low) / 2
        detectable = None
        if not math.isnan(half_width):
            detectable = detectable_difference(half_width, tests=len(values), significance=SIGNIFICANCE)
        return replace(
            metric,
            p_holm=p_holm,
            verdict=verdict,
            missing_decides=p_holm_answered < SIGNIFICANCE <= p_holm,
            detectable=detectable,
        )

    def decide_all(probe: ProbeComparison) -> ProbeComparison:
        return replace(probe, metrics={name: decide(metric) for name, metric in probe.metrics.items()})

    return [
        replace(comparison, probes={name: decide_all(probe) for name, probe in comparison.probes.items()})
        for comparison in comparisons
    ]


def _find_direction(metric: MetricComparison) -> Verdict:
    """Whether the second run is clearly nearer to even-handed or farther from it, also with missing answers."""
    assert metric.distance is not None
    low = metric.distance.low
    high = metric.distance.high
    if metric.distance_bounds is not None:
        low = min(low, metric.distance_bounds.low)
        high = max(high, metric.distance_bounds.high)
    if math.isnan(metric.distance.low):
        return Verdict.UNCLEAR
    if high < 0:
        return Verdict.BETTER
    if low > 0:
        return Verdict.WORSE
    return Verdict.DIFFERENT
