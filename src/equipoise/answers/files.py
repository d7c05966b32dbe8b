"""Answers from files: JSONL, OpenAI batch output and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from equipoise.answers.rows import Row, check_row
from equipoise.errors import BadFile, StorageError
from equipoise.schema import ANSWER, FILTER_REASONS, ID, LENGTH_REASONS, PROMPT, REPETITION, STATUS, Status

CUSTOM_ID = re.compile(r"(.*?)(?:#(\d+))?", re.DOTALL)


def read_file(path: Path) -> Iterator[Row]:
    """Rows from JSONL, OpenAI batch output or CSV (by its ending), at least one; the first wrong line is named."""
    empty = True
    try:
        with path.open("rb") as file:
            for row in _csv_rows(path, file) if path.suffix.lower() == ".csv" else _json_rows(path, file):
                empty = False
                yield row
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    if empty:
        raise BadFile(f"{path} holds no answers.")


def _json_rows(path: Path, file: Iterable[bytes]) -> Iterator[Row]:
    place = f"{path}, line"
    for number, row in read_objects(str(path), file):
        yield check_row(_batch_row(row, f"{place} {number}") if "custom_id" in row else row, place, number)


def read_objects(source: str, lines: Iterable[bytes]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of JSONL with the numbers of their lines; empty lines are left out."""
    place, start = f"{source}, line", 0
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _parse_object(line, place, number, start)
        start += len(line)


def _parse_object(line: bytes, place: str, number: int, start: int) -> Mapping[str, Any]:
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
    for number, row in read_records(str(path), b"".join(file), [{ANSWER}, {ID, PROMPT}]):
        given = {name: value for name, value in row.items() if value != "" or name == ANSWER}
        yield check_row(given, f"{path}, line", number)


def read_records(
    source: str, content: bytes, needed: Sequence[Collection[str]]
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The records of CSV with the numbers of their lines. Of each of the `needed` columns the header must have one."""
    place = f"{source}, line"
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadFile(f"{place} {line}: not UTF-8 at byte {error.start} of the file.") from None
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        header = reader.fieldnames or ()
        if text.strip() and not all({*header} & {*names} for names in needed):
            wanted = ", and ".join(" or ".join(sorted(names)) for names in needed)
            found = ", ".join(header)[:200]
            raise BadFile(f"{place} 1: a header with {wanted} is needed. Got {found!r} instead.")
        for row in reader:
            if None in row or None in row.values():
                raise BadFile(f"{place} {reader.line_num}: as many fields as the header are needed.")
            yield reader.line_num, row
    except csv.Error as error:
        # The inner reader has counted the line it stumbled over.
        raise BadFile(f"{place} {reader.reader.line_num}: not CSV: {error}.") from None


def _batch_row(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A line of OpenAI batch output: `custom_id` is an id of ours, with `#repetition` where there are several."""
    if not isinstance(row["custom_id"], str):
        raise BadFile(f"{where}: custom_id must be text. Got {str(row['custom_id'])[:60]!r} instead.")
    match = CUSTOM_ID.fullmatch(row["custom_id"])
    assert match is not None
    key: dict[str, Any] = {ID: match[1], REPETITION: match[2]}
    try:
        response = row.get("response") or {}
        if row.get("error") or response.get("status_code") != 200:
            filtered = "content_filter" in str(row.get("error")) + str(response.get("body"))
            return key | {STATUS: Status.FILTERED if filtered else Status.HTTP_ERROR, ANSWER: None}
        choice = response["body"]["choices"][0]
        content, finish = choice["message"].get("content"), choice.get("finish_reason")
    except (AttributeError, KeyError, IndexError, TypeError):
        raise BadFile(f"{where}: batch output without an answer (response.body.choices).") from None
    reason = str(finish).lower()
    if reason in FILTER_REASONS:
        return key | {STATUS: Status.FILTERED, ANSWER: content}
    return key | {STATUS: Status.TRUNCATED if reason in LENGTH_REASONS else Status.OK, ANSWER: content}
