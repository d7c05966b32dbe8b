"""Values as columns of the run file, and rows as polars frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import polars as pl
import polars.selectors as cs

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
ENDED = {"place": pl.UInt32, REPETITION: pl.Int64, STATUS: pl.String}
VERDICTS = {ID: pl.String, REPETITION: pl.Int64, STATUS: pl.String, VERDICT: pl.String}
ANSWERS = {name: ATTEMPTS[name] for name in (ID, REPETITION, STATUS, ANSWER, FIRST_TOKEN)}
_MOST_TOKENS_OF_ATTEMPT = 10**9
_ENCODED = " covariates"
"""A name that no covariate has."""


def encode_text(text: str | None) -> str | None:
    """The text. Lone surrogates, which SQLite's text cannot hold, become U+FFFD."""
    return text if text is None or text.isascii() else replace_surrogates(text)


def encode_json(value: object) -> str:
    """The value as JSON."""
    return orjson.dumps(value).decode()


def unify_types(prompts: pl.DataFrame) -> pl.DataFrame:
    """The prompts with the types in which covariates are stored: texts, integers, floats and booleans."""
    numbers = cs.integer().cast(pl.Int64), cs.float().cast(pl.Float64)
    return prompts.with_columns(*numbers, (~cs.integer() & ~cs.float() & ~cs.boolean()).cast(pl.String))


def name_types(prompts: pl.DataFrame) -> dict[str, Any]:
    """The name of the type of each column beside id, item and prompt."""
    return {column: str(kind) for column, kind in unify_types(prompts.drop(ID, ITEM, PROMPT)).schema.items()}


def prompt_rows(prompts: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """For each prompt its id, item, covariates as JSON, text, and system part (or None)."""
    covariates = cs.exclude(ID, ITEM, PROMPT, SYSTEM)
    unified = unify_types(prompts)
    encoded = pl.struct(covariates).struct.json_encode() if unified.select(covariates).columns else pl.lit("{}")
    system = pl.col(SYSTEM) if SYSTEM in unified.columns else pl.lit(None, pl.String).alias(SYSTEM)
    return unified.select(ID, ITEM, encoded.alias("covariates"), PROMPT, system).iter_rows()


def read_prompts(rows: list[Any], types: Mapping[str, str], attempts: Schema) -> pl.DataFrame:
    """Rows of position, item, id, text, system part and covariates of a prompt, and of columns of an attempt at it."""
    columns = dict.fromkeys((ITEM, ID, PROMPT, SYSTEM, _ENCODED), pl.String)
    frame = pl.DataFrame(rows, schema={"": pl.Int64, **columns, **attempts}, orient="row")
    covariates = {column: getattr(pl, kind) for column, kind in types.items() if column != SYSTEM}
    if covariates:
        frame = frame.with_columns(pl.col(_ENCODED).str.json_decode(pl.Struct(covariates))).unnest(_ENCODED)
    return frame.select(ID, ITEM, PROMPT, *types, *attempts)


def count_bytes(row: Any) -> int:
    """The bytes of text in a row, about."""
    return sum([len(value) for value in row if type(value) is str])  # a list: this runs a million times


def attempt_row(attempt: Attempt) -> tuple[object, ...]:
    """An attempt as a row of its table, but for the question to a judge."""
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
