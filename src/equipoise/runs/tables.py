"""Rows of the run file as polars frames, and frames as rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from equipoise.errors import IntegrityError
from equipoise.frames import ANSWER, ID, ITEM, PROMPT, REPETITION, STATUS, text
from equipoise.runs.exact import from_column, to_column
from equipoise.runs.values import Attempt

BATCH = 20_000
ATTEMPTS = {
    ID: pl.String,
    REPETITION: pl.Int64,
    STATUS: pl.String,
    "tries": pl.Int64,
    "finished_at": pl.String,
    "latency": pl.Float64,
    "prompt_tokens": pl.Int64,
    "completion_tokens": pl.Int64,
    "served_model": pl.String,
    "finish_reason": pl.String,
    "fingerprint": pl.String,
    "detail": pl.String,
    ANSWER: pl.String,
    "reasoning": pl.String,
}
ANSWERS = {name: ATTEMPTS[name] for name in (ID, REPETITION, STATUS, ANSWER)}
_LARGEST = 2**63 - 1
_TYPES = {"String": pl.String(), "Int64": pl.Int64(), "Float64": pl.Float64(), "Boolean": pl.Boolean()}


def types(schema: Mapping[str, pl.DataType]) -> dict[str, str]:
    """The name of the type that each column is stored as."""

    def name(kind: pl.DataType) -> str:
        if kind.is_integer():
            return "Int64"
        if kind.is_float():
            return "Float64"
        return "Boolean" if kind == pl.Boolean else "String"

    return {column: name(kind) for column, kind in schema.items()}


def prompt_columns(batch: pl.DataFrame) -> tuple[list[str], ...]:
    """The columns id, item, covariates as JSON, and prompt."""
    covariates = {column: _TYPES[kind] for column, kind in types(batch.drop(ID, ITEM, PROMPT).schema).items()}
    encoded = pl.struct(pl.col(column).cast(kind) for column, kind in covariates.items()).struct.json_encode()
    whole = batch.select(ID, ITEM, (encoded if covariates else pl.lit("{}")).alias("covariates"), PROMPT)
    return tuple(column.to_list() for column in whole)


def prompts(rows: sqlite3.Cursor, covariates: Mapping[str, str]) -> pl.DataFrame:
    """Rows of id, item, prompt and JSON as a frame with typed covariates."""
    frames = [prompt_batch(batch, covariates) for batch in _batches(rows)]
    return pl.concat(frames) if frames else prompt_batch([], covariates)


def prompt_batch(rows: list[Any], covariates: Mapping[str, str]) -> pl.DataFrame:
    """The same of some rows; what stands after these four columns is left out."""
    try:
        return _prompts(rows, {column: _TYPES[kind] for column, kind in covariates.items()})
    except (PolarsError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(f"The covariates of the prompts cannot be read: {error}.") from None


def _prompts(rows: list[Any], kinds: Mapping[str, pl.DataType]) -> pl.DataFrame:
    columns: list[Any] = list(zip(*rows, strict=True)) or [()] * 4
    frame = pl.DataFrame([text(ID, columns[0]), text(ITEM, columns[1]), _text(PROMPT, columns[2])])
    if not kinds:
        return frame
    return frame.hstack(
        pl.Series("covariates", columns[3], dtype=pl.String).str.json_decode(pl.Struct(kinds)).struct.unnest()
    )


def whole_items(rows: list[Any]) -> list[Any]:
    """The rows up to the last item, of which more may follow; none if they are of one item."""
    last = len(rows)
    while last and rows[last - 1][1] == rows[-1][1]:
        last -= 1
    return rows[:last]


def attempts(rows: sqlite3.Cursor) -> Iterator[pl.DataFrame]:
    """Rows of attempts as frames of bounded size, at least one."""
    empty = True
    for batch in _batches(rows):
        yield typed(batch, ATTEMPTS)
        empty = False
    if empty:
        yield typed([], ATTEMPTS)


def typed(rows: list[Any], schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Rows as a frame with these columns."""
    columns: Iterable[Any] = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pl.DataFrame(
        [
            _text(name, values) if kind == pl.String else pl.Series(name, values, dtype=kind)
            for (name, kind), values in zip(schema.items(), columns, strict=True)
        ]
    )


def attempt_row(attempt: Attempt) -> tuple[object, ...]:
    """An attempt as a row of its table."""
    reply = attempt.reply
    return (
        attempt.probe,
        attempt.prompt,
        attempt.repetition,
        reply.status.value,
        attempt.tries,
        attempt.finished_at.isoformat(timespec="milliseconds"),
        reply.latency,
        _count(reply.prompt_tokens),
        _count(reply.completion_tokens),
        to_column(reply.served_model),
        to_column(reply.finish_reason),
        to_column(reply.fingerprint),
        to_column(reply.detail),
        to_column(reply.answer),
        to_column(reply.reasoning),
        reply.raw,
    )


def _count(value: int | None) -> int | None:
    """A number of tokens as an endpoint gives it, if it can be one."""
    return value if value is not None and 0 <= value <= _LARGEST else None


def _text(name: str, values: Sequence[str | bytes | None]) -> pl.Series:
    return text(name, map(from_column, values) if bytes in set(map(type, values)) else values)  # type: ignore[arg-type]


def _batches(rows: sqlite3.Cursor) -> Iterator[list[Any]]:
    while batch := rows.fetchmany(BATCH):
        yield batch
