"""What goes into a run file and what comes out of it: frozen values, rows of its tables, and polars frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import orjson
import polars as pl
import polars.selectors as cs
from msgspec import Meta, Struct

from equipoise.authoring import Probe
from equipoise.models.protocol import AS_SAMPLED, Asking, Reply
from equipoise.runs.file import sql
from equipoise.schema import (
    ANSWER,
    FIRST_TOKEN,
    ID,
    ITEM,
    PROBABILITIES,
    PROMPT,
    REPETITION,
    STATUS,
    SYSTEM,
    VERDICT,
    replace_surrogates,
)

Schema = Mapping[str, type[pl.DataType]]
_KINDS = {"text": pl.String, "integer": pl.Int64, "real": pl.Float64}
ATTEMPTS = {ID: pl.String} | {
    name: _KINDS[kind]
    for name, kind in sql.ATTEMPT_COLUMNS.items()
    if name not in ("probe", "prompt", "raw", "question")
}
ENDED = {"probe": pl.String, ID: pl.String, REPETITION: pl.Int64, STATUS: pl.String}
VERDICTS = {ID: pl.String, REPETITION: pl.Int64, STATUS: pl.String, VERDICT: pl.String}
ANSWERS = {name: ATTEMPTS[name] for name in (ID, REPETITION, STATUS, ANSWER, FIRST_TOKEN)}
_ENCODED = " covariates"
"""A name that no covariate has."""


def asking_of(probe: Probe, max_tokens: int | None) -> Asking:
    """How a probe is asked: with the user's limit on the length of answers, or else its own; or for one token only."""
    if probe.reading == PROBABILITIES:
        return Asking(max_tokens=1, opening=probe.opening)
    return Asking(max_tokens=max_tokens or probe.max_tokens)


class StoredPlan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A probe as it is planned in the run."""

    name: str
    version: int
    parameters: dict[str, Any]
    population: Annotated[int, Meta(ge=1, le=2**53)]
    """How many items there were to be drawn from."""
    corpus: str | None
    corpus_sha256: str | None
    covariates: dict[str, Literal["String", "Int64", "Float64", "Boolean"]]
    """The polars type of each column of the prompts beside id, item and text, by name."""
    prompts: Annotated[int, Meta(ge=1, le=sql.MAX_PLANNED)]
    """How many there are."""
    asking: Asking
    """How its prompts are asked, where that differs from probe to probe."""

    @property
    def repetitions(self) -> int:
        """Attempts per prompt."""
        return int(self.parameters["repeat"])


@dataclass(frozen=True, slots=True)
class Pending:
    """A prompt to send: its key, its texts and how it is asked."""

    probe: str
    prompt_id: str
    repetition: int
    text: str
    system: str | None = None
    """The system part of the prompt, if it has one."""
    place: float = 0.0
    """The attempt's place in the order of its probe, between 0 and 1."""
    asking: Asking = AS_SAMPLED


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt that has ended."""

    probe: str
    prompt_id: str
    repetition: int
    reply: Reply
    text: str = ""
    """What was asked."""
    tries: int = 1
    finished_at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the answers of a run come from, and what they took: what an auditor asks."""

    digest: str
    """SHA-256 of the content."""
    served: list[tuple[str | None, str | None, int]]
    """Each model that the endpoint said it served, its fingerprint, and how many attempts ended with them."""
    first: str | None
    """When the first attempt ended, ISO 8601; None if none has."""
    last: str | None
    failures: list[tuple[str, str | None, int]]
    """The most frequent failures: state, detail, how many."""
    earlier_failures: int
    """Failures that were asked again."""
    spent_on_reasoning: int
    """Attempts that are empty because the token limit was reached before any text came."""
    usage: tuple[int, int]
    """Tokens of all prompts and of all answers, as far as the endpoint counted them."""
    judge_usage: tuple[int, int]
    """The same for questions to judges and their verdicts."""


def encode_json(value: object) -> str:
    """The value as JSON."""
    return orjson.dumps(value).decode()


def _unify_types(prompts: pl.DataFrame) -> pl.DataFrame:
    """The prompts with the types in which covariates are stored: texts, integers, floats and booleans."""
    numbers = cs.integer().cast(pl.Int64), cs.float().cast(pl.Float64)
    return prompts.with_columns(*numbers, (~cs.integer() & ~cs.float() & ~cs.boolean()).cast(pl.String))


def name_types(prompts: pl.DataFrame) -> dict[str, Any]:
    """The name of the type of each column beside id, item and prompt."""
    return {column: str(kind) for column, kind in _unify_types(prompts.drop(ID, ITEM, PROMPT)).schema.items()}


def prompt_rows(prompts: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    """For each prompt its id, item, covariates as JSON, text, and system part (or None)."""
    covariates = cs.exclude(ID, ITEM, PROMPT, SYSTEM)
    unified = _unify_types(prompts)
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


def attempt_row(attempt: Attempt, question: str | None = None) -> tuple[object, ...]:
    """An attempt as a row of its table, whose columns are named like the fields of an attempt and of its reply."""
    values = {
        "probe": attempt.probe,
        "prompt": attempt.prompt_id,
        "repetition": attempt.repetition,
        "tries": attempt.tries,
        "finished_at": attempt.finished_at.isoformat(timespec="milliseconds"),
        "question": question,
    }
    reply = attempt.reply
    return tuple(_encode(values[name] if name in values else getattr(reply, name)) for name in sql.ATTEMPT_COLUMNS)


def _encode(value: Any) -> object:
    """The value as it is stored, or None for a number of tokens that an endpoint cannot have counted.

    Lone surrogates, which SQLite's text cannot hold, become U+FFFD.
    """
    if isinstance(value, str):
        return str(value) if value.isascii() else replace_surrogates(value)
    if isinstance(value, int):
        return value if 0 <= value <= sql.MAX_TOKENS else None
    return value if value is None or isinstance(value, bytes | float) else encode_json(value)
