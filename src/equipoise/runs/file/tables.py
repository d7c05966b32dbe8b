"""Values as columns of the run file, and rows as polars frames."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from polars.exceptions import PolarsError

from equipoise.errors import IntegrityError
from equipoise.measuring.exam import ExamQuestion
from equipoise.runs.file.values import Attempt, utc_now
from equipoise.schema import ANSWER, FIRST_TOKEN, ID, ITEM, PROMPT, REPETITION, STATUS, SYSTEM, VERDICT, text_column

BATCH = 20_000
"""Rows in one frame, at most."""
BATCH_BYTES = 16_000_000
"""Bytes of text in one frame, about."""
Schema = Mapping[str, type[pl.DataType]]
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
    FIRST_TOKEN: pl.String,
    ANSWER: pl.String,
    "reasoning": pl.String,
}
VERDICTS = {ID: pl.String, REPETITION: pl.Int64, STATUS: pl.String, VERDICT: pl.String}
ANSWERS = {name: ATTEMPTS[name] for name in (ID, REPETITION, STATUS, ANSWER, FIRST_TOKEN)}
_MOST_TOKENS_OF_ATTEMPT = 10**9
STORED_TYPES = {"String": pl.String(), "Int64": pl.Int64(), "Float64": pl.Float64(), "Boolean": pl.Boolean()}


def encode_text(text: str | None) -> str | bytes | None:
    """Text as text; text with lone surrogates or NULs as its exact UTF-8 bytes.

    Many tools end SQLite's text at a NUL, and it is UTF-8, which has no lone surrogates.
    """
    if text is None or (text.isascii() and "\0" not in text):
        return text
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return encoded if "\0" in text else text


def decode_text(value: str | bytes | None) -> str | None:
    """The text that was given to `encode_text`."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def encode_json(value: object) -> str:
    """The value as JSON."""
    return orjson.dumps(value).decode()


def decode_json(value: str, path: Path) -> Any:
    """The value that was given to `encode_json`; IntegrityError if the file holds no valid JSON there."""
    try:
        decoded = orjson.loads(value)
        orjson.dumps(decoded)  # fails for deeper nesting than `encode_json` can have written
    except (ValueError, TypeError) as error:
        raise IntegrityError(f"{path} is damaged: {error}.") from None
    return decoded


def stored_types(prompts: pl.DataFrame) -> dict[str, str]:
    """The name of the type that each column beside id, item and prompt is stored as."""

    def name(kind: pl.DataType) -> str:
        if kind.is_integer():
            return "Int64"
        if kind.is_float():
            return "Float64"
        return "Boolean" if kind == pl.Boolean else "String"

    return {column: name(kind) for column, kind in prompts.drop(ID, ITEM, PROMPT).schema.items()}


def prompt_columns(prompts: pl.DataFrame) -> tuple[list[Any], ...]:
    """The columns id, item, covariates as JSON, prompt, and the system part of the prompt (or None)."""
    types = stored_types(prompts)
    covariates = [pl.col(column).cast(STORED_TYPES[kind]) for column, kind in types.items() if column != SYSTEM]
    encoded = pl.struct(covariates).struct.json_encode() if covariates else pl.lit("{}")
    system = pl.col(SYSTEM).cast(pl.String) if SYSTEM in types else pl.lit(None, pl.String).alias(SYSTEM)
    columns = prompts.select(ID, ITEM, encoded.alias("covariates"), PROMPT, system)
    return tuple(column.to_list() for column in columns)


def prompt_frame(rows: list[Any], types: Mapping[str, str]) -> pl.DataFrame:
    """Rows of id, item, prompt, system part and covariates, and whatever follows, with typed covariates."""
    try:
        return _prompt_frame(rows, {column: STORED_TYPES[kind] for column, kind in types.items()})
    except (PolarsError, KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(f"The covariates of the prompts cannot be read: {error}.") from None


def _prompt_frame(rows: list[Any], types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    columns: list[Any] = list(zip(*rows, strict=True)) or [()] * 5
    ids, items, prompts, systems, encoded = columns[:5]
    frame = pl.DataFrame([text_column(ID, ids), text_column(ITEM, items), _exact_text(PROMPT, prompts)])
    covariates = {column: kind for column, kind in types.items() if column != SYSTEM}
    if covariates:
        decoded = pl.Series("covariates", encoded, dtype=pl.String).str.json_decode(pl.Struct(covariates))
        frame = frame.hstack(decoded.struct.unnest())
    if SYSTEM in types:
        frame = frame.with_columns(_exact_text(SYSTEM, systems))
    return frame.select(ID, ITEM, PROMPT, *types)


def whole_items(rows: list[Any]) -> list[Any]:
    """The rows without those of the last item, of which more may follow. Empty if all rows are of one item."""
    end = len(rows)
    while end and rows[end - 1][1] == rows[-1][1]:
        end -= 1
    return rows[:end]


def split_items(prompts: list[Any], attempts: Iterable[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Rows of prompts and of the attempts at them, both in the order of the plan, cut into parts of bounded size.

    At least one. All prompts and attempts of an item are in one part.
    """
    places = {row[0]: place for place, row in enumerate(prompts)}
    start, item, size = 0, None, 0
    part: list[Any] = []
    for attempt in attempts:
        place = places[attempt[0]]
        if size > BATCH_BYTES and prompts[place][1] != item:
            while place > start and prompts[place - 1][1] == prompts[place][1]:
                place -= 1
            yield prompts[start:place], part
            start, part, size = place, [], 0
        item = prompts[place][1]
        part.append(attempt)
        size += _text_bytes(attempt)
    yield prompts[start:], part


def _text_bytes(row: Any) -> int:
    return sum([len(value) for value in row if type(value) in (str, bytes)])  # a list: this runs a million times


def typed_frame(rows: list[Any], schema: Schema) -> pl.DataFrame:
    """Rows as a frame with these columns."""
    columns: Iterable[Any] = list(zip(*rows, strict=True)) or [()] * len(schema)
    try:
        return pl.DataFrame(
            [
                _exact_text(name, values) if kind == pl.String else pl.Series(name, values, dtype=kind)
                for (name, kind), values in zip(schema.items(), columns, strict=True)
            ]
        )
    except (PolarsError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise IntegrityError(f"The attempts hold what no run writes: {reason}.") from None


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
        _valid_count(reply.prompt_tokens),
        _valid_count(reply.completion_tokens),
        encode_text(reply.served_model),
        encode_text(reply.finish_reason),
        encode_text(reply.fingerprint),
        encode_text(reply.detail),
        encode_text(reply.answer),
        encode_text(reply.reasoning),
        reply.raw,
        None if reply.first_token is None else encode_json(reply.first_token),
    )


def imported_rows(attempts: pl.DataFrame) -> Iterator[tuple[object, ...]]:
    """The same for attempts of which only probe, prompt, repetition, status and answer are known."""
    now = utc_now().isoformat(timespec="milliseconds")
    for *key, status, answer in attempts.iter_rows():
        yield (*key, status, 1, now, *[None] * 7, encode_text(answer), None, None, None)


def exam_row(question: ExamQuestion, attempt: Attempt) -> tuple[object, ...]:
    """An answer of a judge to a question of its exam as a row of its table."""
    reply = attempt.reply
    tokens = _valid_count(reply.prompt_tokens), _valid_count(reply.completion_tokens)
    known = (question.probe, question.number, question.label, question.gender, encode_text(question.text))
    return (*known, reply.status.value, *tokens, encode_text(reply.answer))


def _valid_count(value: int | None) -> int | None:
    """The number of tokens that an endpoint reports, or None if it cannot be one."""
    return value if value is not None and 0 <= value <= _MOST_TOKENS_OF_ATTEMPT else None


def _exact_text(name: str, values: Sequence[str | bytes | None]) -> pl.Series:
    return text_column(name, map(decode_text, values) if bytes in set(map(type, values)) else values)  # type: ignore[arg-type]


def batches(rows: sqlite3.Cursor) -> Iterator[list[Any]]:
    """The rows in batches of bounded size, at least one: an answer may have many megabytes."""
    batch: list[Any] = []
    size = 0
    for row in rows:
        if size > BATCH_BYTES or len(batch) == BATCH:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += _text_bytes(row)
    yield batch
