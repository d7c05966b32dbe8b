"""The same answers by a probe's other reading: a number that depends on the reading should be seen to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from equipoise.authoring import Probe
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.interval import estimate_groups
from equipoise.measuring.marks import Mark, mark_metrics
from equipoise.measuring.result import Result
from equipoise.measuring.summarise import cells, item_rows, merge_cells
from equipoise.schema import ATTEMPT, EVALUATION_FAILED, LABEL, Estimate, MetricKey, is_measured, without_nan


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

    Each part holds attempts of whole items with their prompts, answers and what the result's own reading found in them.
    """
    rereading = Rereading(result)
    for part in parts:
        rereading.add(part)
    return rereading.measure()


class Rereading:
    """Answers that are read again by the other detector of a probe, part by part.

    Only the marked metrics are measured, over all items: that costs little more than reading.
    """

    def __init__(self, result: Result) -> None:
        self._result = result
        probe = result.setup.probe
        self._other = (
            replace(probe.read_by(probe.other_reading), slices=(), clusters=()) if probe.other_reading else None
        )
        self._table: pl.DataFrame | None = None
        self._answers = self._differing = 0

    def add(self, part: pl.DataFrame) -> None:
        """Read attempts of whole items, which have their prompts, answers and what the result found in them."""
        probe, other = self._result.setup.probe, self._other
        if other is None:
            return
        attempts = part.drop(*probe.detector.columns, EVALUATION_FAILED, strict=False)
        evaluated = evaluate(other.detector, attempts)
        new = cells(item_rows(other, evaluated))
        self._table = merge_cells([new] if self._table is None else [self._table, new])
        # What a judge said belongs to neither reading.
        known = evaluate(probe.detector, attempts) if self._result.setup.judge else part
        before = known.select(*ATTEMPT, *_outcomes(probe))
        after = evaluated.filter(is_measured()).select(*ATTEMPT, *_outcomes(other))
        both = before.join(after, on=ATTEMPT, suffix="_other")
        shared = [name for name in before.columns if f"{name}_other" in both.columns]
        same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_other")) for name in shared)
        self._answers += both.height
        self._differing += both.filter(~same).height

    def measure(self) -> OtherReading | None:
        """The marked metrics by the other reading; None for a probe that has only one."""
        other, table, parameters = self._other, self._table, self._result.parameters
        if other is None or table is None:
            return None
        estimates, _ = estimate_groups(other, table, parameters)
        bounds = bound_metrics(other, table, parameters)
        return OtherReading(
            reading=other.reading,
            detector=other.detector.title,
            metrics={name: estimates[MetricKey(name)] for name in other.marked_metrics()},
            marks=mark_metrics(other, estimates, bounds),
            answers=self._answers,
            differing=self._differing,
        )


def _outcomes(probe: Probe) -> list[pl.Expr]:
    """What the metrics rest on: the label if it decides something, or the number, or the counts."""
    if probe.detector.number:
        return [pl.col(probe.detector.number.name)]
    if probe.detector.counts:
        return [pl.col(name) for name in probe.detector.counts]
    return [pl.when(probe.detector.detected()).then(pl.col(LABEL).cast(pl.String)).alias(LABEL)]
