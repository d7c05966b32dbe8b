"""Answers from anywhere: read from a file or given in Python, checked row by row."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from equipoise.detect.visible import has_visible
from equipoise.errors import BadFile, InputError, StorageError
from equipoise.frames import ANSWER, ID, MEASURED, PROMPT, REPETITION, STATUS, Status, text

BATCH = 20_000
Row = tuple[str | None, str | None, int | None, str, str | None]
"""An answer, with the columns of the schema."""
SCHEMA = {ID: pl.String, PROMPT: pl.String, REPETITION: pl.Int64, STATUS: pl.String, ANSWER: pl.String}
FINISH = {"length": Status.TRUNCATED, "content_filter": Status.FILTERED}
CUSTOM_ID = re.compile(r"(.*?)(?:#(\d+))?", re.DOTALL)


def frames(rows: Iterable[Row]) -> Iterator[pl.DataFrame]:
    """Rows of answers as tables, in batches, so that a large file needs little memory; at least one."""
    rows = iter(rows)
    yield _frame(list(itertools.islice(rows, BATCH)))
    while batch := list(itertools.islice(rows, BATCH)):
        yield _frame(batch)


def _frame(rows: list[Row]) -> pl.DataFrame:
    columns: Iterable[Any] = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    return pl.DataFrame(
        [
            text(name, values) if kind == pl.String else pl.Series(name, values, dtype=kind)
            for (name, kind), values in zip(SCHEMA.items(), columns, strict=True)
        ]
    )


def from_python(answers: Any) -> Iterator[Row]:
    """Rows from a table (polars, pandas), an iterable of mappings, or a mapping of id or prompt to answer(s)."""
    if isinstance(answers, Mapping):
        for key, value in answers.items():
            for answer in value if isinstance(value, list | tuple) else [value]:
                yield checked({ID: key, PROMPT: key, ANSWER: answer}, "the answers, at", repr(key))
        return
    if hasattr(answers, "iter_rows"):
        answers = answers.iter_rows(named=True)
    elif hasattr(answers, "to_dict") and hasattr(answers, "columns"):
        answers = answers.astype(object).where(answers.notna(), None).to_dict("records")
    if not isinstance(answers, Iterable) or isinstance(answers, str | bytes):
        raise _no_rows(answers)
    for number, row in enumerate(answers, 1):
        if not isinstance(row, Mapping):
            raise _no_rows(row)
        yield checked(row, "the answers, row", number)


def _no_rows(got: object) -> InputError:
    return InputError(
        "Answers must be rows with 'id' or 'prompt' and 'answer', or a mapping of them. "
        f"Got {str(got)[:60]!r} instead: an answer without its prompt cannot be placed."
    )


def from_file(path: Path) -> Iterator[Row]:
    """Rows from JSONL, OpenAI batch output or CSV (by its ending); the first wrong line is named."""
    try:
        with path.open("rb") as file:
            yield from _csv_rows(path, file) if path.suffix.lower() == ".csv" else _json_rows(path, file)
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None


def _json_rows(path: Path, file: Iterable[bytes]) -> Iterator[Row]:
    place, start = f"{path}, line", 0
    for number, line in enumerate(file, 1):
        if line.strip():
            row = _object(line, place, number, start)
            yield checked(_batch_row(row, f"{place} {number}") if "custom_id" in row else row, place, number)
        start += len(line)


def _object(line: bytes, place: str, number: int, start: int) -> Mapping[str, Any]:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            # orjson refuses lone surrogates, which JSON allows and models write.
            row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError as error:
            raise BadFile(f"{place} {number}: not UTF-8 at byte {start + error.start} of the file.") from None
        except (ValueError, RecursionError) as error:
            raise BadFile(f"{place} {number}: not JSON: {error}.") from None
    if not isinstance(row, dict):
        raise BadFile(f"{place} {number}: a JSON object is needed. Got {str(row)[:60]!r} instead.")
    return row


def _csv_rows(path: Path, file: Iterable[bytes]) -> Iterator[Row]:
    raw, place = b"".join(file), f"{path}, line"
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadFile(f"{path}, line {line}: not UTF-8 at byte {error.start} of the file.") from None
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise BadFile(f"{place} {reader.line_num}: as many fields as the header are needed.")
            given = {name: value for name, value in row.items() if value != "" or name == ANSWER}
            yield checked(given, place, reader.line_num)
    except csv.Error as error:
        # The inner reader has counted the line it stumbled over.
        raise BadFile(f"{path}, line {reader.reader.line_num}: not CSV: {error}.") from None


def _batch_row(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A line of OpenAI batch output: `custom_id` is an id of ours, with `#repetition` where there are several."""
    if not isinstance(row["custom_id"], str):
        raise BadFile(f"{where}: custom_id must be text. Got {str(row['custom_id'])[:60]!r} instead.")
    match = CUSTOM_ID.fullmatch(row["custom_id"])
    assert match is not None
    found: dict[str, Any] = {ID: match[1], REPETITION: match[2]}
    try:
        response = row.get("response") or {}
        if row.get("error") or response.get("status_code") != 200:
            filtered = "content_filter" in str(row.get("error")) + str(response.get("body"))
            return found | {STATUS: Status.FILTERED if filtered else Status.HTTP_ERROR, ANSWER: None}
        choice = response["body"]["choices"][0]
        content, finish = choice["message"].get("content"), choice.get("finish_reason")
    except (AttributeError, KeyError, IndexError, TypeError):
        raise BadFile(f"{where}: batch output without an answer (response.body.choices).") from None
    return found | {STATUS: FINISH.get(str(finish), Status.OK), ANSWER: content}


def checked(row: Mapping[str, Any], place: str, number: object) -> Row:
    """A row with the fields it needs, of the types they need."""
    key, prompt, answer, status = row.get(ID), row.get(PROMPT), row.get(ANSWER), row.get(STATUS)
    if (answer is None and ANSWER not in row) or (key is None and prompt is None):
        missing = ANSWER if ANSWER not in row else f"{ID} or {PROMPT}"
        raise BadFile(f"{place} {number}: no field {missing}. There are: {', '.join(map(str, row)) or 'none'}.")
    for value in (key, prompt, answer):
        if value is not None and not isinstance(value, str):
            name = next(name for name in (ID, PROMPT, ANSWER) if row.get(name) is value)
            raise BadFile(f"{place} {number}: {name} must be text. Got {str(value)[:60]!r} instead.")
    if status is None:
        status = Status.OK
    elif status not in list(Status):
        raise BadFile(f"{place} {number}: status must be one of {', '.join(Status)}. Got {status!r} instead.")
    if status in MEASURED and not has_visible(answer or ""):
        status = Status.EMPTY
    return key, prompt, _repetition(row.get(REPETITION), place, number), status, answer


def _repetition(given: Any, place: str, number: object) -> int | None:
    """A whole number, also as text or as the float that a table with gaps makes of it."""
    if given is None or (type(given) is int and abs(given) < 2**63):
        return given
    try:
        whole = int(given)
    except (TypeError, ValueError, OverflowError):
        whole = None
    exact = isinstance(given, str) or (whole == given and not isinstance(given, bool))
    if whole is None or not exact or abs(whole) >= 2**63:
        raise BadFile(f"{place} {number}: repetition must be a whole number. Got {str(given)[:60]!r} instead.")
    return whole
