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
SCHEMA = {ID: pl.String, PROMPT: pl.String, REPETITION: pl.Int64, STATUS: pl.String, ANSWER: pl.String}
FINISH = {"length": Status.TRUNCATED, "content_filter": Status.FILTERED}
CUSTOM_ID = re.compile(r"(.*?)(?:#(\d+))?", re.DOTALL)


def frames(rows: Iterable[Mapping[str, Any]]) -> Iterator[pl.DataFrame]:
    """Rows of answers as tables, in batches, so that a large file needs little memory."""
    rows = iter(rows)
    while batch := list(itertools.islice(rows, BATCH)):
        yield pl.DataFrame(
            [
                text(name, (row.get(name) for row in batch))
                if kind == pl.String
                else pl.Series(name, [row.get(name) for row in batch], dtype=kind)
                for name, kind in SCHEMA.items()
            ]
        )


def from_python(answers: Any) -> Iterator[Mapping[str, Any]]:
    """Rows from a table (polars, pandas), an iterable of mappings, or a mapping of id or prompt to answer(s)."""
    if isinstance(answers, Mapping):
        for key, value in answers.items():
            for answer in value if isinstance(value, list | tuple) else [value]:
                yield checked({ID: key, PROMPT: key, ANSWER: answer}, f"the answers, at {key!r}")
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
        yield checked(row, f"the answers, row {number}")


def _no_rows(got: object) -> InputError:
    return InputError(
        "Answers must be rows with 'id' or 'prompt' and 'answer', or a mapping of them. "
        f"Got {str(got)[:60]!r} instead: an answer without its prompt cannot be placed."
    )


def from_file(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows from JSONL, OpenAI batch output or CSV (by its ending); the first wrong line is named."""
    try:
        with path.open("rb") as file:
            yield from _csv_rows(path, file) if path.suffix.lower() == ".csv" else _json_rows(path, file)
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None


def _json_rows(path: Path, file: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    start = 0
    for number, line in enumerate(file, 1):
        if line.strip():
            yield _json_row(path, number, start, line)
        start += len(line)


def _json_row(path: Path, number: int, start: int, line: bytes) -> Mapping[str, Any]:
    where = f"{path}, line {number}"
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            # orjson refuses lone surrogates, which JSON allows and models write.
            row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError as error:
            raise BadFile(f"{where}: not UTF-8 at byte {start + error.start} of the file.") from None
        except (ValueError, RecursionError) as error:
            raise BadFile(f"{where}: not JSON: {error}.") from None
    if not isinstance(row, dict):
        raise BadFile(f"{where}: a JSON object is needed. Got {str(row)[:60]!r} instead.")
    return checked(_batch_row(row, where) if "custom_id" in row else row, where)


def _csv_rows(path: Path, file: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    raw = b"".join(file)
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadFile(f"{path}, line {line}: not UTF-8 at byte {error.start} of the file.") from None
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
    try:
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if None in row or None in row.values():
                raise BadFile(f"{where}: as many fields as the header are needed.")
            yield checked({name: value for name, value in row.items() if value != "" or name == ANSWER}, where)
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


def checked(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A row with the fields it needs, of the types they need."""
    if ANSWER not in row or (row.get(ID) is None and row.get(PROMPT) is None):
        missing = ANSWER if ANSWER not in row else f"{ID} or {PROMPT}"
        raise BadFile(f"{where}: no field {missing}. There are: {', '.join(map(str, row)) or 'none'}.")
    answer, status = row[ANSWER], row.get(STATUS)
    for name in (ID, PROMPT, ANSWER):
        if not isinstance(row.get(name), str | None):
            raise BadFile(f"{where}: {name} must be text. Got {str(row[name])[:60]!r} instead.")
    if status is not None and status not in list(Status):
        raise BadFile(f"{where}: status must be one of {', '.join(Status)}. Got {status!r} instead.")
    status = status or Status.OK
    if status in MEASURED and not has_visible(answer or ""):
        status = Status.EMPTY
    repetition = _repetition(row.get(REPETITION), where)
    return {ID: row.get(ID), PROMPT: row.get(PROMPT), REPETITION: repetition, STATUS: status, ANSWER: answer}


def _repetition(given: Any, where: str) -> int | None:
    """A whole number, also as text or as the float that a table with gaps makes of it."""
    if given is None:
        return None
    try:
        number = int(given)
    except (TypeError, ValueError, OverflowError):
        number = None
    exact = isinstance(given, str) or (number == given and not isinstance(given, bool))
    if number is None or not exact or abs(number) >= 2**63:
        raise BadFile(f"{where}: repetition must be a whole number. Got {str(given)[:60]!r} instead.")
    return number
