"""What a report shows of a probe beyond its metrics, as plain values: pictures, findings, the words that were read.

A probe says so in a module `figures` beside its own, with any of

    figures(evidence)    the pictures of one model's answers; those of one name stand side by side
    findings(evidence)   the most telling facts, in plain sentences
    READ                 the words its evaluation reads
    PUBLISHED            how far the published values of other models compare
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from equipoise.frames import LABEL, is_measured
from equipoise.stats.resample import Estimate


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One model's answers to a probe: the metrics, and every attempt with its prompt, answer and evaluation."""

    parameters: Mapping[str, Any]
    metrics: Mapping[str, Estimate]
    attempts: pl.DataFrame

    def measured(self) -> pl.DataFrame:
        """The attempts whose answers are measured, detected or not."""
        return self.attempts.filter(is_measured())

    def detected(self) -> pl.DataFrame:
        """The measured attempts that have a label."""
        return self.measured().drop_nulls(LABEL)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A fact in a sentence that a newcomer understands, and the marked metric that it illustrates."""

    metric: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Read:
    """The words or phrases that an evaluation reads, by what they speak for.

    With `hyphenated`, a hyphen is part of a word, as in "self-reliant".
    """

    words: Mapping[str, Sequence[str]]
    hyphenated: bool = False


@dataclass(frozen=True, kw_only=True)
class Published:
    """How the published values of other models differ from what is measured here."""

    note: str
    corpus: str | None = None


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Metrics with their intervals: a row a category, and in it a mark a series, such as women and men."""

    name: str
    title: str
    caption: str
    axis: str
    rows: Mapping[str, Mapping[str, str]]
    """Row -> series -> name of the metric. A metric that the run does not have is left out."""
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
class Contrast:
    """Shares of two groups, by row, drawn by how far they differ."""

    name: str
    title: str
    caption: str
    axis: str
    sides: tuple[str, str]
    rows: Mapping[str, tuple[float, float]]
    """Row -> the share in the first group and in the second."""


Figure = Intervals | Scatter | Contrast
