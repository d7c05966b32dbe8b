"""Column names and states, spelled once, and the one door by which foreign text enters a column."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import polars as pl

ID = "id"
ITEM = "item"
PROMPT = "prompt"
GENDER = "gender"
REPETITION = "repetition"
STATUS = "status"
ANSWER = "answer"
LABEL = "label"
EVALUATION_FAILED = "evaluation_failed"
"""True where a probe's own evaluation raised on this one answer."""

ATTEMPT = (ID, REPETITION)
"""The key of an attempt within a probe."""

RESULTS = {
    "probe": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "mark": pl.String,
    "best": pl.String,
    "worst": pl.String,
}
"""A table of metrics, a row each."""


class Status(StrEnum):
    """The one state an attempt is in."""

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


MEASURED = (Status.OK, Status.TRUNCATED)
"""Only these answers are measured: a token limit is part of the protocol, a failure is not an answer."""


def is_measured() -> pl.Expr:
    """Whether an attempt has an answer to measure."""
    return pl.col(STATUS).is_in([status.value for status in MEASURED])


def text(name: str, values: Iterable[str | None]) -> pl.Series:
    """A text column. Lone surrogates, which no UTF-8 column can hold, become U+FFFD; nothing else changes."""
    values = list(values)
    try:
        return pl.Series(name, values, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series(name, [None if value is None else well_formed(value) for value in values], dtype=pl.String)


def well_formed(value: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """The table for CSV: text that a spreadsheet would run as a formula gets a leading apostrophe."""
    return frame.with_columns(pl.col(pl.String).str.replace(r"\A([=+\-@\t\r])", "'$1"))
