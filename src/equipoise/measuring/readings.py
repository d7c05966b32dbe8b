"""The same answers by a probe's other reading: a number that depends on the reading should be seen to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from equipoise.authoring import Probe
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.marks import Mark, mark
from equipoise.measuring.resample import estimate_metrics
from equipoise.measuring.result import Result
from equipoise.measuring.summarise import cells, item_rows, merge_cells
from equipoise.schema import ATTEMPT, EVALUATION_FAILED, LABEL, Estimate, MetricKey, is_measured, without_nan

REPLICATES = 1_000
"""Enough for an interval that is shown beside another; the first reading has ten times as many."""


@dataclass(frozen=True, kw_only=True)
class OtherReading:
    """The marked metrics by a probe's other reading, and how many answers the two readings read differently."""

    reading: str
    detector: str
    metrics: Mapping[str, Estimate]
    marks: Mapping[str, Mark | None]
    answers: int
    differing: int
    """Answers to which they give different decided labels, or a decided one and none; for words, different counts."""

    @property
    def differing_share(self) -> float:
        """The share of the answers that the two read differently; 0 without answers."""
        return self.differing / self.answers if self.answers else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        plain: dict[str, Any] = without_nan(
            {
                "reading": self.reading,
                "detector": self.detector,
                "answers": self.answers,
                "differing": self.differing,
                "metrics": {name: asdict(estimate) for name, estimate in self.metrics.items()},
                "marks": {name: None if mark is None else mark.to_dict() for name, mark in self.marks.items()},
            }
        )
        return plain


def measure_other_reading(result: Result, parts: Iterable[pl.DataFrame]) -> OtherReading | None:
    """Read the answers of a result again, by the other detector of its probe; None where there is only one.

    Each part holds attempts of whole items with their prompts and answers. Only the marked metrics are measured, over
    all items: that costs little more than reading.
    """
    probe = result.setup.probe
    if probe.other_reading is None:
        return None
    other = replace(probe.read_by(probe.other_reading), slices=())
    # What a judge said belongs to neither reading.
    known = None if result.setup.judge else result.evaluated.select(*ATTEMPT, *_outcomes(probe))
    tables, answers, differing = [], 0, 0
    for part in parts:
        attempts = part.drop(*probe.detector.columns, EVALUATION_FAILED, strict=False)
        evaluated = evaluate(other.detector, attempts)
        tables.append(cells(other, item_rows(other, evaluated)))
        after = evaluated.filter(is_measured()).select(*ATTEMPT, *_outcomes(other))
        before = evaluate(probe.detector, attempts).select(*ATTEMPT, *_outcomes(probe)) if known is None else known
        both = before.join(after, on=ATTEMPT, suffix="_other")
        shared = [name for name in before.columns if f"{name}_other" in both.columns]
        same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_other")) for name in shared)
        answers += both.height
        differing += both.filter(~same).height
    table = merge_cells(tables)
    estimates = estimate_metrics(other, table, result.parameters, REPLICATES)
    bounds = bound_metrics(other, table, result.parameters)
    marked = {name: estimates[MetricKey(name)] for name in other.marked_metrics()}
    return OtherReading(
        reading=other.reading,
        detector=other.detector.title,
        metrics=marked,
        marks={name: mark(bands, marked[name], bounds.get(name)) for name, bands in other.marked_metrics().items()},
        answers=answers,
        differing=differing,
    )


def _outcomes(probe: Probe) -> list[pl.Expr]:
    """What the metrics rest on: the label if it decides something, or the number, or the counts."""
    if probe.detector.number:
        return [pl.col(probe.detector.number.name)]
    if probe.detector.counts:
        return [pl.col(name) for name in probe.detector.counts]
    return [pl.when(probe.detector.detected()).then(pl.col(LABEL).cast(pl.String)).alias(LABEL)]
