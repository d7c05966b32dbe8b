"""Column names, table schemas, the states of an attempt, and the small types that cross rooms."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import polars as pl

ID = "id"
ITEM = "item"
ITEM_NUMBER = "item_number"
"""The place of the item in the plan, from 0, in Parquet files: a hint where to look for a prompt, never believed."""
PROMPT = "prompt"
SYSTEM = "system"
"""The system part of a prompt, for probes that have one."""
GENDER = "gender"
REPETITION = "repetition"
STATUS = "status"
ANSWER = "answer"
FIRST_TOKEN = "first_token"  # noqa: S105 - no password
"""The most probable first tokens of an answer with their probabilities, as JSON, where they were asked for."""
LABEL = "label"
EVALUATION_FAILED = "evaluation_failed"
"""True where a detector raised an exception on this answer."""
VERDICT, FOR_JUDGE, JUDGED = "verdict", "for_judge", "judged"
"""What a judge said of an answer; whether the reading left the answer to a judge; whether its label is the judge's."""
READ_DIFFERENTLY = "read_differently"
"""Whether the other reading of the probe decided otherwise."""

ATTEMPT = (ID, REPETITION)
"""The key of an attempt within a probe."""

ATTEMPT_COLUMNS = frozenset(
    {ID, REPETITION, STATUS, ANSWER, FIRST_TOKEN, LABEL, EVALUATION_FAILED, VERDICT, FOR_JUDGE, JUDGED}
)
"""No covariate may have one of these names: it would hide what belongs to the attempts."""

READING = "reading"
CAREFUL, SPECIFIED = READINGS = ("careful", "specified")
"""How answers can be read: by the rules with the smallest measured error, or by those of the founding pages."""
PROBABILITIES = "probabilities"
"""How an answer is read that was asked for with the probabilities of its first token."""
NEITHER, PROBABILITY_COLUMN = "neither", "p_{}"
"""What is not on a label, and the name of the column with the probability of a label."""

METRICS_TABLE = {
    "model": pl.String,
    "probe": pl.String,
    "metric": pl.String,
    "name": pl.String,
    "about": pl.String,
    "slice": pl.String,
    "group": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "mark": pl.String,
    "best": pl.String,
    "worst": pl.String,
    "reading": pl.String,
    "detector": pl.String,
    "judge": pl.String,
    "level": pl.Float64,
    "bound_low": pl.Float64,
    "bound_high": pl.Float64,
    "whole_items": pl.Float64,
}
"""A table of metrics: one row per metric, and one more for each group of each slice.

`name` is the name of the metric, for a group of a slice with `race_white_` before it. `about` says what a metric is
about whose name holds a number or an abbreviation. The bounds are what the missing answers allow; `whole_items` is the
value on the items of which no arm is missing; `level` is what the interval was computed at, more than 0.95 in a run
that stops when its marks are certain.
"""


class Status(StrEnum):
    """The state of an attempt."""

    PENDING = "pending"
    OK = "ok"
    TRUNCATED = "truncated"
    FILTERED = "filtered"
    EMPTY = "empty"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    HTTP_ERROR = "http_error"
    TIMEOUT = "timeout"
    CONTEXT_LENGTH = "context_length"
    KEY_IN_ANSWER = "key_in_answer"


LENGTH_REASONS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
"""Finish reasons by which endpoints say that an answer reached its token limit."""
FILTER_REASONS = frozenset(
    {"content_filter", "content_filtered", "guardrail_intervened", "refusal"}
    | {"safety", "prohibited_content", "blocklist", "spii", "recitation"}
)
"""Finish reasons by which endpoints say that an answer was withheld."""
ABORT_REASONS = frozenset({"error", "abort", "insufficient_system_resource"})
"""Finish reasons by which endpoints say that they failed in the middle of an answer."""

MEASURED = (Status.OK, Status.TRUNCATED)
"""Only these answers are measured: a token limit is part of the protocol, a failure is not an answer."""

MIN_ITEMS = 20
"""With fewer items that count for a metric it has no interval and no letter."""
MIN_WORDS = 20
"""Each total that a metric names as its `support` must be at least this large for an interval."""

ALLOW_MISSING = 0.05
"""The share of the planned attempts that may lack an answer in a run that counts as whole."""


class Counts(dict[Status, int]):
    """How many attempts are in each state. They add up to the plan."""

    def __init__(self, found: Mapping[Status, int] | None = None) -> None:
        super().__init__({**dict.fromkeys(Status, 0), **(found or {})})

    @property
    def planned(self) -> int:
        """All attempts."""
        return sum(self.values())

    @property
    def ended(self) -> int:
        """Attempts that are not pending any more."""
        return self.planned - self[Status.PENDING]

    @property
    def answered(self) -> int:
        """Attempts with an answer to measure."""
        return sum(self[status] for status in MEASURED)

    @property
    def failed(self) -> dict[Status, int]:
        """Attempts that ended without an answer, by state."""
        return {status: n for status, n in self.items() if n and status not in (*MEASURED, Status.PENDING)}

    @property
    def missing_share(self) -> float:
        """The share of the planned attempts that have no answer to measure: pending and failed ones.

        The bounds of a metric count otherwise: there an answer is missing that failed or decides nothing, and pending
        ones are left out.
        """
        return 1 - self.answered / self.planned if self.planned else 0.0


def is_measured() -> pl.Expr:
    """Whether an attempt has an answer to measure."""
    return pl.col(STATUS).is_in([status.value for status in MEASURED])


def slug(value: object) -> str:
    """A value as part of a name: lower case, words joined by underscores."""
    return str(value).lower().replace("-", "_").replace(" ", "_")


class MetricKey(NamedTuple):
    """Names one number of a result: a metric over all items, or over one group of a slice."""

    metric: str
    slice: str | None = None
    """A column of the prompts, such as `race`."""
    group: str | None = None
    """One of its values, as text."""

    def __str__(self) -> str:
        """The name of the number: `diff_regression`, and for a group of a slice `race_white_diff_regression`."""
        return self.metric if self.slice is None else f"{self.slice}_{slug(self.group)}_{self.metric}"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The value of a metric on all the data, its interval (95% unless a result says another level), and its items.

    Without a value it is not computable. With a value and no interval (NaN) there are too few items for one.
    """

    value: float
    low: float
    high: float
    n: int
    """The smallest number of items that any part of it rests on."""
    degrees: float = math.nan
    """The degrees of freedom of the interval: with them it can be computed at another level."""


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What the missing answers allow: the smallest and the largest value that a metric could have."""

    low: float
    """The lower end of the interval of `smallest`."""
    high: float
    """The upper end of the interval of `largest`."""
    smallest: float
    """The value if every missing answer had gone the way that makes it smaller."""
    largest: float
    """The value if every missing answer had gone the way that makes it larger."""


def without_nan(value: Any) -> Any:
    """The same plain value with None for NaN, also inside mappings: JSON knows no NaN."""
    if isinstance(value, Mapping):
        return {name: without_nan(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def text_column(name: str, values: Iterable[str | None]) -> pl.Series:
    """A text column. Lone surrogates, which no UTF-8 column can hold, become U+FFFD; nothing else changes."""
    values = list(values)
    try:
        return pl.Series(name, values, dtype=pl.String)
    except UnicodeEncodeError:
        repaired = [None if value is None else replace_surrogates(value) for value in values]
        return pl.Series(name, repaired, dtype=pl.String)


def replace_surrogates(value: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """The table for CSV: text that a spreadsheet would run as a formula gets a leading apostrophe, in names, too."""
    formula = r"\A([=+\-@\t\r＝＋－＠])"
    names = {name: re.sub(formula, r"'\1", name) for name in frame.columns}
    return frame.with_columns(pl.col(pl.String).str.replace(formula, "'$1")).rename(names)
