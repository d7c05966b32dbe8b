"""What a report shows of a probe beyond its metrics, as plain values: figures and findings, and builders for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from equipoise.schema import GENDER, ITEM, LABEL, Estimate, MetricKey, is_measured


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One model's answers to a probe: the estimates, and every attempt with its covariates and evaluation, no texts."""

    parameters: Mapping[str, Any]
    estimates: Mapping[MetricKey, Estimate]
    attempts: pl.DataFrame
    labels: tuple[str, ...] = ()
    """The labels that decide something; none: all do."""

    @property
    def metrics(self) -> dict[str, Estimate]:
        """The estimates over all items, by the name of the metric."""
        return {key.metric: estimate for key, estimate in self.estimates.items() if key.slice is None}

    def measured(self) -> pl.DataFrame:
        """The attempts whose answers are measured, detected or not."""
        return self.attempts.filter(is_measured())

    def detected(self) -> pl.DataFrame:
        """The measured attempts that have a label which decides something."""
        measured = self.measured().drop_nulls(LABEL)
        return measured.filter(pl.col(LABEL).is_in(self.labels)) if self.labels else measured

    def pairs(self, value: pl.Expr) -> pl.DataFrame:
        """One row per item that has a mean value for both genders: `female`, `male`."""
        means = [value.filter(pl.col(GENDER) == gender).mean().alias(gender) for gender in ("female", "male")]
        return self.detected().group_by(ITEM).agg(means).drop_nulls().sort(ITEM)


class Count(NamedTuple):
    """How many of how many; as text "1,200 of 3,000 (40.0%)"."""

    part: int
    whole: int

    @property
    def share(self) -> float:
        """The part as a share of the whole."""
        return self.part / self.whole if self.whole else math.nan

    def __str__(self) -> str:
        return f"{self.part:,} of {self.whole:,} ({self.share:.1%})"


def count(attempts: pl.DataFrame, condition: pl.Expr) -> Count:
    """Of how many of the attempts the condition holds."""
    return Count(attempts.filter(condition).height, attempts.height)


def count_by(attempts: pl.DataFrame, column: str, condition: pl.Expr) -> dict[Any, Count]:
    """The same for each value of a column."""
    groups = attempts.sort(column).group_by(column, maintain_order=True)
    return {value: count(rows, condition) for (value,), rows in groups}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A fact in a sentence that a newcomer understands, and the marked metric that it illustrates.

    `example` says which answers show it: columns of the attempts with their values, such as {"label": "male"}.
    """

    metric: str
    text: str
    example: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Metrics with their intervals: one row per category, and in it one mark per series, such as women and men."""

    name: str
    title: str
    caption: str
    axis: str
    rows: Mapping[str, Mapping[str, MetricKey]]
    """Row -> series -> which number. A number that the result does not have is left out."""
    centre: float | None = None
    """The even-handed value, if there is one."""


class Spot(NamedTuple):
    """A labelled point."""

    label: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Points in the unit square and a line through them."""

    name: str
    title: str
    caption: str
    x: str
    y: str
    spots: Sequence[Spot] = field(repr=False)
    line: tuple[float, float] | None = None
    """Intercept and slope."""


Figure = Intervals | Scatter
MakeFigure = Callable[[Evidence], Figure]
