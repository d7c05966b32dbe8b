"""Values as columns of the run file, and rows as polars frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import polars as pl
from polars.exceptions import PolarsError

from equipoise.errors import IntegrityError
from equipoise.runs.file.values import Attempt
from equipoise.schema import (
    ANSWER,
    FIRST_TOKEN,
    ID,
    ITEM,
    PROMPT,
    REPETITION,
    STATUS,
    SYSTEM,
    VERDICT,
    replace_surrogates,
)

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
_ENCODED = " covariates"
"""A name that no covariate has."""
STORED_TYPES = {
    "String": (pl.String(), str),
    "Int64": (pl.Int64(), int),
    "Float64": (pl.Float64(), float),
    "Boolean": (pl.Boolean(), bool),
}
"""The types of covariates, in polars and in Python."""


def encode_text(text: str | None) -> str | None:
    """The text. Lone surrogates, which SQLite's text cannot hold, become U+FFFD."""
    return text if text is None or text.isascii() else replace_surrogates(text)


def encode_json(value: object) -> str:
    """The value as JSON."""
    return orjson.dumps(value).decode()


def stored_types(prompts: pl.DataFrame) -> dict[str, str]:
    """The name of the type that each column beside id, item and prompt is stored as."""

    def name(kind: pl.DataType) -> str:
        if kind.is_integer():
            return "Int64"
        if kind.is_float():
            return "Float64"
        return "Boolean" if kind == pl.Boolean else "String"

    return {column: name(kind) for column, kind in prompts.drop(ID, ITEM, PROMPT).schema.items()}


def prompt_rows(prompts: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """For each prompt its id, item, covariates as JSON, text, and system part (or None)."""
    types = stored_types(prompts)
    covariates = [pl.col(column).cast(STORED_TYPES[kind][0]) for column, kind in types.items() if column != SYSTEM]
    encoded = pl.struct(covariates).struct.json_encode() if covariates else pl.lit("{}")
    system = pl.col(SYSTEM).cast(pl.String) if SYSTEM in types else pl.lit(None, pl.String).alias(SYSTEM)
    return prompts.select(ID, ITEM, encoded.alias("covariates"), PROMPT, system).iter_rows()


def read_prompts(rows: list[Any], types: Mapping[str, str], attempts: Schema) -> pl.DataFrame:
    """Rows of position, item, id, text, system part and covariates of a prompt, and of columns of an attempt at it."""
    columns = dict.fromkeys((ITEM, ID, PROMPT, SYSTEM, _ENCODED), pl.String)
    frame = typed_frame(rows, {"": pl.Int64, **columns, **attempts})
    covariates = {column: STORED_TYPES[kind][0] for column, kind in types.items() if column != SYSTEM}
    try:
        if covariates:
            frame = frame.with_columns(pl.col(_ENCODED).str.json_decode(pl.Struct(covariates))).unnest(_ENCODED)
    except PolarsError as error:
        raise IntegrityError(f"The covariates of the prompts cannot be read: {error}.") from None
    return frame.select(ID, ITEM, PROMPT, *types, *attempts)


def typed_frame(rows: list[Any], schema: Schema) -> pl.DataFrame:
    """Rows as a frame with these columns."""
    try:
        return pl.DataFrame(rows, schema=schema, orient="row")
    except (PolarsError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise IntegrityError(f"The attempts hold what no run writes: {reason}.") from None


def count_bytes(row: Any) -> int:
    """The bytes of text in a row, about."""
    return sum([len(value) for value in row if type(value) is str])  # a list: this runs a million times


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
        valid_count(reply.prompt_tokens),
        valid_count(reply.completion_tokens),
        encode_text(reply.served_model),
        encode_text(reply.finish_reason),
        encode_text(reply.fingerprint),
        encode_text(reply.detail),
        encode_text(reply.answer),
        encode_text(reply.reasoning),
        reply.raw,
        None if reply.first_token is None else encode_json(reply.first_token),
    )


def valid_count(value: int | None) -> int | None:
    """The number of tokens that an endpoint reports, or None if it cannot be one."""
    return value if value is not None and 0 <= value <= _MOST_TOKENS_OF_ATTEMPT else None
