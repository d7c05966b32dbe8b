"""Answers from files: JSON lines of several shapes, CSV, Parquet, and logs of Inspect."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import polars as pl

from equipoise.answers.formats import outcome, read_line, without_answer
from equipoise.answers.rows import LONGEST_ANSWER, ROWS_PER_TABLE, SCHEMA, Fields, Row, check_table, tabulate_rows
from equipoise.errors import BadFile, InputError, IntegrityError, NoAnswers, StorageError, UnknownName
from equipoise.models.bodies import make_reply
from equipoise.schema import ANSWER, ID, PROMPT, REPETITION, Status

STDIN = "-"
PARQUET = ".parquet"
Names = Mapping[str, str]
"""What columns are called in a file, and what they are called here."""
NO_NAMES: Names = MappingProxyType({})
SEPARATORS = ",;\t"


def read_tables(path: Path, names: Names = NO_NAMES) -> Iterator[pl.DataFrame]:
    """The answers of a file as tables, at least one answer; the first wrong line is named. `-` is stdin.

    The ending says what it is: `.csv` or `.tsv`, `.parquet`, a log of Inspect (`.eval`); anything else is
    JSON, an object a line, in one of the shapes of `answers/formats.py`. `names` says which columns are called
    otherwise than here: `{"response": "answer"}`.
    """
    source = "stdin" if str(path) == STDIN else str(path)
    answers = 0
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == STDIN else path.open("rb") as file:
            is_parquet = path.suffix.lower() == PARQUET
            tables = _read_parquet(path, names) if is_parquet else tabulate_rows(_find_rows(path, source, file, names))
            for table in tables:
                answers += table.height
                yield table
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
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


def _find_rows(path: Path, source: str, file: IO[bytes], names: Names) -> Iterator[Row]:
    suffix = path.suffix.lower()
    if suffix == ".eval":
        return _read_log(path)
    lines = _read_lines(source, file)
    return _read_shapes(_read_csv(source, lines) if suffix in (".csv", ".tsv") else _read_json(lines), names)


def _read_shapes(rows: Iterable[Row], names: Names) -> Iterator[Row]:
    """Rows by the names that they have here, out of whatever shape they have."""
    first_filter = None
    for where, given in rows:
        if names and not names.keys() & given.keys():
            raise UnknownName(f"column of {where}", next(iter(names)), given)
        fields = {names.get(name, name): value for name, value in given.items() if name not in names.values()}
        if "resps" in fields:  # lm-eval writes each answer once for every filter of a task
            first_filter = first_filter or fields.get("filter")
            if fields.get("filter") != first_filter:
                continue
        for answer in read_line(fields, where):
            yield where, answer


def _read_lines(source: str, file: IO[bytes]) -> Iterator[tuple[str, str]]:
    """The lines of a file, each with where it stands. One that is too long is refused before all of it is in memory."""
    start = 0
    for number in itertools.count(1):
        where = f"{source}, line {number}"
        line = file.readline(LONGEST_ANSWER + 1)
        if len(line) > LONGEST_ANSWER:
            raise BadFile(f"{where}: longer than {LONGEST_ANSWER:,} bytes, which no answer is.")
        if not line:
            return
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise BadFile(f"{where}: not UTF-8 at byte {start + error.start} of the file.") from None
        yield where, text.removeprefix("\ufeff") if start == 0 else text
        start += len(line)


def _read_json(lines: Iterable[tuple[str, str]]) -> Iterator[Row]:
    """The objects of JSON lines; empty lines are left out."""
    for where, line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadFile(f"{where}: not JSON: {error}.") from None
        if not isinstance(row, dict):
            raise BadFile(
                f"{where}: a JSON object is needed. Got {str(row)[:60]!r} instead. An array is written as one object "
                "per line, for example, by: jq -c '.[]' FILE > answers.jsonl"
            )
        yield where, row


def _read_csv(source: str, lines: Iterable[tuple[str, str]]) -> Iterator[Row]:
    """The records of CSV, without empty fields; only an answer may be an empty text."""
    texts = itertools.dropwhile(lambda line: not line.strip(), (text for _, text in lines))
    first = next(texts, "")
    limit_before = csv.field_size_limit(LONGEST_ANSWER)  # of the whole process: it is given back below
    reader = csv.DictReader(itertools.chain([first], texts), strict=True, delimiter=max(SEPARATORS, key=first.count))
    try:
        header = reader.fieldnames or ()
        if twice := {name for name in header if name in SCHEMA and header.count(name) > 1}:
            raise BadFile(f"{source}, line 1: the column {min(twice)} is there twice. Name the other one otherwise.")
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


def _read_parquet(path: Path, names: Names) -> Iterator[pl.DataFrame]:
    """Tables of answers, slice by slice and column by column: no row becomes Python values on the way."""
    try:
        scanned = pl.scan_parquet(path, glob=False)
        for name in names.keys() - scanned.collect_schema():
            raise UnknownName(f"column of {path}", name, scanned.collect_schema())
        stored = scanned.drop(names.values(), strict=False).rename(names)
        columns = stored.collect_schema()
        _check_columns(path, columns)
        fields = [pl.col(name) if name in columns else pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items()]
        texts = pl.Schema({name: kind for name, kind in SCHEMA.items() if kind == pl.String})
        rows = stored.select(pl.len()).collect().item()
        # Slices, because `collect_batches` reads far ahead: half a gigabyte where these take a few dozen megabytes.
        for start in range(0, rows, ROWS_PER_TABLE):
            table = stored.select(fields).cast(texts).slice(start, ROWS_PER_TABLE).collect()
            yield check_table(table, partial(_name_row, path, start))
    except pl.exceptions.PolarsError as error:
        raise BadFile(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}.") from None
    except (pl.exceptions.PanicException, MemoryError):
        raise IntegrityError(f"{path} is damaged, or holds an answer that is longer than the memory.") from None


def _check_columns(path: Path, columns: pl.Schema) -> None:
    if ANSWER not in columns:
        raise BadFile(f"{path}: a column {ANSWER} is needed. There are: {', '.join(columns)[:200]}.")
    for name, kind in SCHEMA.items():
        given = columns.get(name, pl.Null())
        fits = given.is_numeric() if kind == pl.Int64 else given in (pl.String, pl.Categorical, pl.Enum)
        if not (fits or given == pl.Null):
            raise BadFile(f"{path}: the column {name} must hold {kind}, not {given}.")


def _name_row(path: Path, start: int, place: int) -> str:
    return f"{path}, row {start + place + 1}"


# Logs of Inspect, read by its own library, which knows all versions of the format


def _read_log(path: Path) -> Iterator[Row]:
    """The samples of a log. Ids are prompt ids, epochs are repetitions."""
    try:
        from inspect_ai.log import read_eval_log  # noqa: PLC0415 - an extra, slow to import
    except ImportError:
        raise InputError(f"{path} is a log of Inspect. To read it: pip install 'equipoise[inspect]'") from None
    try:
        samples = read_eval_log(str(path)).samples or ()
    except OSError:
        raise
    except Exception as error:  # whatever the library raises, the file is at fault
        raise BadFile(f"{path} cannot be read as a log of Inspect: {error}.") from None
    for number, sample in enumerate(samples, 1):
        yield f"{path}, sample {number}", _read_sample(sample)


def _read_sample(sample: Any) -> Fields:
    asked = (
        [sample.input] if isinstance(sample.input, str) else [one.text for one in sample.input if one.role == "user"]
    )
    key = {ID: str(sample.id), PROMPT: asked[-1] if asked else None, REPETITION: sample.epoch}
    answered = bool(sample.output.choices) and not sample.output.error
    if answered and (sample.error is None or sample.output.completion):  # an error after the answer is a scorer's
        return key | outcome(make_reply(text=sample.output.completion, reason=sample.output.stop_reason))
    failed = sample.error is not None or sample.output.error
    return key | without_answer(Status.HTTP_ERROR if failed else Status.PENDING)
