"""Answers from files: JSON lines of several shapes, CSV, Parquet, and logs of Inspect."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import orjson
import polars as pl

from equipoise.answers import inspect_logs, parquet
from equipoise.answers.formats import FirstFilter, read_line
from equipoise.answers.rows import LONGEST_ANSWER, SCHEMA, CheckedRow, check_row, refuse_missing_columns, tabulate_rows
from equipoise.errors import BadFile, NoAnswers, StorageError
from equipoise.schema import ANSWER, ID, PROMPT

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


def read_file(path: Path, names: Names = NO_NAMES) -> Iterator[CheckedRow]:
    """Rows from a file, at least one; the first wrong line is named.

    The ending says what it is: `.csv` or `.tsv`, `.parquet`, a log of Inspect (`.eval`, `.json`); anything else is
    JSON, an object a line, in one of the shapes of `answers/formats.py`. `names` says which columns are called
    otherwise than here: `{"response": "answer"}`.
    """
    empty = True
    try:
        with path.open("rb") as file:
            for row in _find_reader(path, file)(path, file, names):
                empty = False
                yield row
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise BadFile(f"{path} is a folder, and a file is needed.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    if empty:
        raise NoAnswers(path)


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


def read_tables(path: Path, names: Names = NO_NAMES) -> Iterator[pl.DataFrame]:
    """The same as tables. Parquet stays in columns all the way."""
    if path.suffix.lower() == parquet.SUFFIX and path.is_file():
        yield from parquet.read_parquet(path, names)
    else:
        yield from tabulate_rows(read_file(path, names))


def _find_reader(path: Path, file: IO[bytes]) -> Callable[[Path, IO[bytes], Names], Iterator[CheckedRow]]:
    # Seen without reading on: a pipe can be read once only.
    start: bytes = file.peek(1) if isinstance(file, io.BufferedReader) else b""
    if start.startswith(GZIP):
        raise BadFile(f"{path} is compressed, and read only unpacked. Unpack it first: gunzip {path}")
    match path.suffix.lower():
        case ".csv" | ".tsv":
            return _csv_rows
        case parquet.SUFFIX:
            return _parquet_rows
        case ".json" if not inspect_logs.may_be_log(start):
            return _json_rows
        case suffix if suffix in inspect_logs.SUFFIXES:
            return _inspect_rows
        case _:
            return _json_rows


def _inspect_rows(path: Path, _file: IO[bytes], _names: Names) -> Iterator[CheckedRow]:
    for number, fields in enumerate(inspect_logs.read_log(path), 1):
        yield check_row(fields, f"{path}, sample", number)


def _parquet_rows(path: Path, _file: IO[bytes], names: Names) -> Iterator[CheckedRow]:
    for table in parquet.read_parquet(path, names):
        yield from table.iter_rows()


def _json_rows(path: Path, file: IO[bytes], names: Names) -> Iterator[CheckedRow]:
    place, first_filter = f"{path}, line", FirstFilter()
    for number, found in read_objects(str(path), file):
        given = found
        if names:
            if ANSWER in names.values() and not names.keys() & found.keys():
                refuse_missing_columns(path, names, found)
            given = {names.get(name, name): value for name, value in found.items() if name not in names.values()}
        if first_filter.leaves_out(given):
            continue
        for fields in read_line(given, f"{place} {number}"):
            yield check_row(fields, place, number)


def read_lines(place: str, file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers; one that is too long is refused before all of it is in memory."""
    for number in itertools.count(1):
        line = file.readline(LONGEST_ANSWER + 1)
        if len(line) > LONGEST_ANSWER:
            raise BadFile(f"{place} {number}: longer than {LONGEST_ANSWER:,} bytes, which no answer is.")
        if not line:
            return
        yield number, line


def read_objects(source: str, lines: IO[bytes]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of JSONL with the numbers of their lines; empty lines are left out."""
    place, start = f"{source}, line", 0
    for number, line in read_lines(place, lines):
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
            if line.lstrip().startswith(b"["):
                raise BadFile(f"{place} {number}: {NO_ARRAY}") from None
            raise BadFile(f"{place} {number}: not JSON: {error}.") from None
    if isinstance(row, list):
        raise BadFile(f"{place} {number}: {NO_ARRAY}")
    if not isinstance(row, dict):
        raise BadFile(f"{place} {number}: a JSON object is needed. Got {str(row)[:60]!r} instead.")
    return row


def _csv_rows(path: Path, file: IO[bytes], names: Names) -> Iterator[CheckedRow]:
    for number, row in read_records(str(path), file, [{ANSWER}, {ID, PROMPT}], names):
        given = {name: value for name, value in row.items() if value != "" or name == ANSWER}
        yield check_row(given, f"{path}, line", number)


def read_records(
    source: str, lines: IO[bytes], needed: Sequence[Collection[str]], names: Names = NO_NAMES
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The records of CSV with the numbers of their lines. Of each of the `needed` columns the header must have one."""
    place = f"{source}, line"
    texts = _decode_lines(place, lines)
    first = next(texts, "")
    limit_before = csv.field_size_limit(LONGEST_ANSWER)  # of the whole process: it is given back below
    reader = csv.DictReader(itertools.chain([first], texts), strict=True, delimiter=_find_separator(first))
    try:
        given_header = reader.fieldnames or ()
        header = reader.fieldnames = [
            names.get(name, f"(unused) {name}" if name in names.values() else name) for name in given_header
        ]
        if twice := {name for name in header if name in SCHEMA and header.count(name) > 1}:
            raise BadFile(f"{place} 1: the column {min(twice)} is there twice. Name the one that is meant otherwise.")
        if first.strip():
            refuse_missing_columns(source, names, given_header)
        if not all({*header} & {*some} for some in needed) and (first.strip() or any(map(str.strip, texts))):
            wanted = ", and ".join(" or ".join(sorted(some)) for some in needed)
            found = ", ".join(given_header)[:200]
            raise BadFile(f"{place} 1: a header with {wanted} is needed. Got {found!r} instead.")
        for row in reader:
            if None in row or None in row.values():
                raise BadFile(f"{place} {reader.line_num}: as many fields as the header are needed.")
            yield reader.line_num, row
    except csv.Error as error:
        # The inner reader has counted the line it stumbled over.
        raise BadFile(f"{place} {reader.reader.line_num}: not CSV: {error}.") from None
    finally:
        csv.field_size_limit(limit_before)


def _decode_lines(place: str, lines: IO[bytes]) -> Iterator[str]:
    """Lines of UTF-8 as text, one at a time, with their ends: LF, CR LF or CR."""
    start = 0
    for number, line in read_lines(place, lines):
        content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            byte = start + len(line) - len(content) + error.start
            raise BadFile(f"{place} {number}: not UTF-8 at byte {byte} of the file.") from None
        yield from io.StringIO(text, newline="")
        start += len(line)


def _find_separator(line: str) -> str:
    """What separates the columns: of comma, semicolon and tab the one that the first line has most of."""
    return max(SEPARATORS, key=line.count)
