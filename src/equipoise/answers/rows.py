"""Answers as rows: given in Python, or read from a file by `answers/files.py`; checked row by row."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from equipoise.detect.visible import has_visible_text
from equipoise.errors import BadFile, InputError, UnknownName
from equipoise.schema import ANSWER, ID, MEASURED, PROMPT, REPETITION, STATUS, Status, text_column

ROWS_PER_TABLE = 20_000
LONGEST_ANSWER = 2**26
"""Bytes of an answer in a file, or of the line that it stands on."""
CheckedRow = tuple[str | None, str | None, int | None, str, str | None]
"""id, prompt, repetition, status, answer"""
SCHEMA = {ID: pl.String, PROMPT: pl.String, REPETITION: pl.Int64, STATUS: pl.String, ANSWER: pl.String}

_OK = Status.OK


def tabulate_rows(rows: Iterable[CheckedRow]) -> Iterator[pl.DataFrame]:
    """Rows of answers as tables, in batches, so that a large file needs little memory; at least one."""
    rows = iter(rows)
    yield _table(list(itertools.islice(rows, ROWS_PER_TABLE)))
    while batch := list(itertools.islice(rows, ROWS_PER_TABLE)):
        yield _table(batch)


def _table(rows: list[CheckedRow]) -> pl.DataFrame:
    columns: Iterable[Any] = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    return pl.DataFrame(
        [
            text_column(name, values) if kind == pl.String else pl.Series(name, values, dtype=kind)
            for (name, kind), values in zip(SCHEMA.items(), columns, strict=True)
        ]
    )


def refuse_missing_columns(source: object, named: Iterable[str], columns: Iterable[str]) -> None:
    """Raise UnknownName if a column that the user named is not there."""
    known = list(columns)
    for name in named:
        if name not in known:
            raise UnknownName(f"column of {source}", name, known)


def read_python(answers: Any) -> Iterator[CheckedRow]:
    """Rows from a table (polars, pandas), an iterable of mappings, or a mapping of id or prompt to answer(s)."""
    if isinstance(answers, Mapping):
        for key, value in answers.items():
            for answer in value if isinstance(value, list | tuple) else [value]:
                yield check_row({ID: key, PROMPT: key, ANSWER: answer}, "the answers, at", repr(key))
        return
    if hasattr(answers, "iter_rows"):
        answers = answers.iter_rows(named=True)
    elif hasattr(answers, "to_dict") and hasattr(answers, "columns"):
        answers = answers.astype(object).where(answers.notna(), None).to_dict("records")
    if not isinstance(answers, Iterable) or isinstance(answers, str | bytes):
        raise _refuse_rows(answers)
    for number, row in enumerate(answers, 1):
        if type(row) is not dict and not isinstance(row, Mapping):  # the first is ten times as fast
            raise _refuse_rows(row)
        yield check_row(row, "the answers, row", number)


def _refuse_rows(got: object) -> InputError:
    return InputError(
        "Answers must be rows with 'id' or 'prompt' and 'answer', or a mapping of them. "
        f"Got {str(got)[:60]!r} instead: an answer without its prompt cannot be placed."
    )


def check_row(row: Mapping[str, Any], place: str, number: object) -> CheckedRow:
    """A row with the fields it needs, of the types they need."""
    key, prompt, answer, repetition = row.get(ID), row.get(PROMPT), row.get(ANSWER), row.get(REPETITION)
    plain = type(key) is type(answer) is str and prompt is None and STATUS not in row  # most rows are, and soon checked
    status = _OK if plain else _check_fields(row, place, number)
    if (plain or status in MEASURED) and not has_visible_text(answer or ""):
        status = Status.EMPTY
    if repetition is not None and not (type(repetition) is int and abs(repetition) < 2**63):
        repetition = _repetition(repetition, place, number)
    return key, prompt, repetition, status, answer


def _check_fields(row: Mapping[str, Any], place: str, number: object) -> Status:
    """The status of a row; refuse one that lacks a field, or has one of another type."""
    key, prompt, answer, status = row.get(ID), row.get(PROMPT), row.get(ANSWER), row.get(STATUS)
    if (answer is None and ANSWER not in row) or (key is None and prompt is None):
        missing = ANSWER if ANSWER not in row else f"{ID} or {PROMPT}"
        raise BadFile(f"{place} {number}: no field {missing}. There are: {', '.join(map(str, row)) or 'none'}.")
    for value in (key, prompt, answer):
        if value is not None and not isinstance(value, str):
            name = next(name for name in (ID, PROMPT, ANSWER) if row.get(name) is value)
            raise BadFile(f"{place} {number}: {name} must be text. Got {str(value)[:60]!r} instead.")
    if status is not None and status not in list(Status):
        raise BadFile(f"{place} {number}: status must be one of {', '.join(Status)}. Got {status!r} instead.")
    return Status.OK if status is None else Status(status)


def _repetition(given: Any, place: str, number: object) -> int:
    """A whole number, also as text or as the float that a table with gaps makes of it."""
    try:
        whole = int(given)
    except (TypeError, ValueError, OverflowError):
        whole = None
    exact = isinstance(given, str) or (whole == given and not isinstance(given, bool))
    if whole is None or not exact or abs(whole) >= 2**63:
        raise BadFile(f"{place} {number}: repetition must be a whole number. Got {str(given)[:60]!r} instead.")
    return whole
