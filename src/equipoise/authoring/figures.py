"""What a report shows of a probe beyond its metrics, as plain values: pictures and findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from equipoise.schema import LABEL, Estimate, MetricKey, is_measured


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One model's answers to a probe: the estimates, and every attempt with its prompt, answer and evaluation."""

    parameters: Mapping[str, Any]
    estimates: Mapping[MetricKey, Estimate]
    attempts: pl.DataFrame
    labels: tuple[str, ...] = ()
    """The labels that decide something; none: all do."""
    words: Sequence[WordSpot] = field(default=(), repr=False)
    """The words that differ clearly, the clearest first, if the probe asks for them."""

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


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A fact in a sentence that a newcomer understands, and the marked metric that it illustrates."""

    metric: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Published:
    """How the published values of other models differ from what is measured here."""

    note: str
    corpus: str | None = None


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Metrics with their intervals: one row per category, and in it one mark per series, such as women and men."""

    name: str
    title: str
    caption: str
    axis: str
    rows: Mapping[str, Mapping[str, MetricKey]]
    """Row -> series -> which number. A number that the result does not have is left out."""
    domain: tuple[float, float] | None = None
    centre: float | None = None
    """The even-handed value, if there is one."""


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A labelled point and how many answers it rests on."""

    label: str
    x: float
    y: float
    n: int


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


@dataclass(frozen=True, kw_only=True)
class WordSpot:
    """A word, by how much its log-odds are higher on the right side than on the left, and how many answers hold it."""

    word: str
    value: float
    low: float
    high: float
    shares: tuple[float, float]
    """The share of the answers that hold it: on the left, on the right."""


@dataclass(frozen=True, kw_only=True)
class Words:
    """Words that differ between two groups of answers, each on the side that uses it more; the clearest come first."""

    name: str
    title: str
    caption: str
    sides: tuple[str, str]
    """What is on the left, and on the right."""
    spots: Sequence[WordSpot] = field(repr=False)
    summary: str = ""
    """What was compared and how much was found, in this model's answers."""
    end: float | None = None
    """How far the scale goes to both sides; None: as far as it must."""


Figure = Intervals | Scatter | Words


@dataclass(frozen=True, kw_only=True)
class Display:
    """What a report shows of a probe. Without figures of its own, a report draws its metrics and slices.

    figures    the pictures of one model's answers; figures of one name stand side by side for several models
    findings   the most telling facts, in plain sentences
    published  how far the published values of other models compare, if there are any
    names      for a covariate whose values are numbers or keys, the names of these: {"stereotype": {"1": "emotional"}}
    """

    figures: Callable[[Evidence], Sequence[Figure]] | None = None
    findings: Callable[[Evidence], Sequence[Finding]] | None = None
    published: Published | None = None
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def name_value(self, covariate: str, value: object) -> str:
        """The value of a covariate as readers know it."""
        return self.names.get(covariate, {}).get(str(value), str(value))
