"""Answers from files: JSON lines of several shapes, CSV, Parquet, and logs of Inspect."""

from __future__ import annotations

import csv
import io
import itertools
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import orjson
import polars as pl

from equipoise.answers import inspect_logs, parquet
from equipoise.answers.formats import read_line
from equipoise.answers.rows import LONGEST_ANSWER, SCHEMA, Row, refuse_missing_columns, tabulate_rows
from equipoise.errors import BadFile, NoAnswers, StorageError
from equipoise.schema import ANSWER, ID, PROMPT

STDIN = "-"
Names = Mapping[str, str]
"""What columns are called in a file, and what they are called here."""
NO_NAMES: Names = MappingProxyType({})
SEPARATORS = ",;\t"
GZIP = b"\x1f\x8b"
"""How a compressed file begins."""
NO_ARRAY = (
    "a JSON object is needed, and this is an array. Write one object per line, for example with: "
    "jq -c '.[]' FILE > answers.jsonl"
)


def read_tables(path: Path, names: Names = NO_NAMES, *, needs_prompt: bool = True) -> Iterator[pl.DataFrame]:
    """The answers of a file as tables, at least one answer; the first wrong line is named. `-` is stdin.

    The ending says what it is: `.csv` or `.tsv`, `.parquet`, a log of Inspect (`.eval`, `.json`); anything else is
    JSON, an object a line, in one of the shapes of `answers/formats.py`. `names` says which columns are called
    otherwise than here: `{"response": "answer"}`.
    """
    source = "stdin" if str(path) == STDIN else str(path)
    answers = 0
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == STDIN else path.open("rb") as file:
            for table in _find_tables(path, source, file, names, needs_prompt):
                answers += table.height
                yield table
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise BadFile(f"{path} is a folder, and a file is needed.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    if not answers:
        raise NoAnswers(source)


def read_all(paths: Sequence[Path], names: Names = NO_NAMES) -> Iterator[pl.DataFrame]:
    """The tables of several files as if they were one. Some of them may be empty, but not all."""
    empty = 0
    for path in paths:
        try:
            yield from read_tables(path, names)
        except NoAnswers:
            empty += 1
            if empty == len(paths):
                raise


def _find_tables(path: Path, source: str, file: IO[bytes], names: Names, needs_prompt: bool) -> Iterator[pl.DataFrame]:
    suffix = path.suffix.lower()
    # Seen without reading on: a pipe can be read once only.
    start: bytes = file.peek(1) if isinstance(file, io.BufferedReader) else b""
    if start.startswith(GZIP):
        raise BadFile(f"{path} is compressed, and read only unpacked. Unpack it first: gunzip {path}")
    if suffix == parquet.SUFFIX:
        return parquet.read_parquet(path, names, needs_prompt=needs_prompt)
    if suffix == ".eval" or (suffix == ".json" and inspect_logs.may_be_log(start)):
        rows: Iterator[Row] = inspect_logs.read_log(path)
    elif suffix in (".csv", ".tsv"):
        rows = _csv_rows(source, file, names, [{ANSWER}, {ID, PROMPT}] if needs_prompt else [{ANSWER}])
    else:
        rows = _json_rows(source, file, names)
    return tabulate_rows(rows, needs_prompt=needs_prompt)


def _json_rows(source: str, file: IO[bytes], names: Names) -> Iterator[Row]:
    first_filter = None
    for where, found in _read_objects(source, file):
        given = found
        if names:
            if ANSWER in names.values() and not names.keys() & found.keys():
                refuse_missing_columns(source, names, found)
            given = {names.get(name, name): value for name, value in found.items() if name not in names.values()}
        if "resps" in given:  # lm-eval writes each answer once for every filter of a task
            first_filter = first_filter or given.get("filter")
            if given.get("filter") != first_filter:
                continue
        for fields in read_line(given, where):
            yield where, fields


def _read_lines(source: str, file: IO[bytes]) -> Iterator[tuple[str, int, bytes]]:
    """The lines of a file, each with where it stands and at which byte it starts.

    One that is too long is refused before all of it is in memory.
    """
    start = 0
    for number in itertools.count(1):
        where = f"{source}, line {number}"
        line = file.readline(LONGEST_ANSWER + 1)
        if len(line) > LONGEST_ANSWER:
            raise BadFile(f"{where}: longer than {LONGEST_ANSWER:,} bytes, which no answer is.")
        if not line:
            return
        yield where, start, line
        start += len(line)


def _decode(line: bytes, where: str, start: int) -> str:
    try:
        return line.decode().removeprefix("\ufeff" if start == 0 else "")
    except UnicodeDecodeError as error:
        raise BadFile(f"{where}: not UTF-8 at byte {start + error.start} of the file.") from None


def _read_objects(source: str, file: IO[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of JSONL with where they stand; empty lines are left out."""
    for where, start, line in _read_lines(source, file):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            row = _parse_slowly(_decode(line, where, start), where)
        if isinstance(row, list):
            raise BadFile(f"{where}: {NO_ARRAY}")
        if not isinstance(row, dict):
            raise BadFile(f"{where}: a JSON object is needed. Got {str(row)[:60]!r} instead.")
        yield where, row


def _parse_slowly(text: str, where: str) -> Any:
    """Parse JSON with lone surrogates, which JSON allows, models write and orjson refuses."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        what = NO_ARRAY if text.lstrip().startswith("[") else f"not JSON: {error}."
        raise BadFile(f"{where}: {what}") from None


def _csv_rows(source: str, file: IO[bytes], names: Names, needed: Sequence[Collection[str]]) -> Iterator[Row]:
    """The records of CSV. Of each of the `needed` columns the header must have one."""
    texts = _decode_lines(source, file)
    first = next(texts, "")
    limit_before = csv.field_size_limit(LONGEST_ANSWER)  # of the whole process: it is given back below
    reader = csv.DictReader(itertools.chain([first], texts), strict=True, delimiter=max(SEPARATORS, key=first.count))
    try:
        given_header = reader.fieldnames or ()
        header = reader.fieldnames = [
            names.get(name, f"(unused) {name}" if name in names.values() else name) for name in given_header
        ]
        if twice := {name for name in header if name in SCHEMA and header.count(name) > 1}:
            raise BadFile(f"{source}, line 1: the column {min(twice)} is there twice. Name the other one otherwise.")
        if first.strip():
            refuse_missing_columns(source, names, given_header)
        if not all({*header} & {*some} for some in needed) and (first.strip() or any(map(str.strip, texts))):
            wanted = ", and ".join(" or ".join(sorted(some)) for some in needed)
            found = ", ".join(given_header)[:200]
            raise BadFile(f"{source}, line 1: a header with {wanted} is needed. Got {found!r} instead.")
        for row in reader:
            where = f"{source}, line {reader.line_num}"
            if None in row or None in row.values():
                raise BadFile(f"{where}: as many fields as the header are needed.")
            yield where, {name: value for name, value in row.items() if value != "" or name == ANSWER}
    except csv.Error as error:
        # The inner reader has counted the line it stumbled over.
        raise BadFile(f"{source}, line {reader.reader.line_num}: not CSV: {error}.") from None
    finally:
        csv.field_size_limit(limit_before)


def _decode_lines(source: str, file: IO[bytes]) -> Iterator[str]:
    """Lines of UTF-8 as text, one at a time, with their ends: LF, CR LF or CR."""
    for where, start, line in _read_lines(source, file):
        yield from io.StringIO(_decode(line, where, start), newline="")
