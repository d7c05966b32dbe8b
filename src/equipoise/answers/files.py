"""Answers as tables, checked: given in Python, or read from lines of JSON, CSV, Parquet and logs of Inspect."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Annotated, Any

import msgspec
import polars as pl

from equipoise.answers.formats import DETAILS, outcome, read_line, without_answer
from equipoise.detect.visible import has_visible_text
from equipoise.errors import BadFile, InputError, IntegrityError, NoAnswers, StorageError, UnknownName
from equipoise.models.bodies import make_reply
from equipoise.schema import ANSWER, ID, MEASURED, PROMPT, REPETITION, STATUS, Status, text_column

STDIN = "-"
PARQUET = ".parquet"
Names = Mapping[str, str]
"""What columns are called in a file, and what they are called here."""
NO_NAMES: Names = MappingProxyType({})
SEPARATORS = ",;\t"
ROWS_PER_TABLE = 20_000
LONGEST_ANSWER = 2**26
"""Bytes of an answer in a file, or of the line that it stands on."""
Fields = Mapping[str, Any]
Row = tuple[str, Fields]
"""Where an answer stands, for messages, and its fields."""
SCHEMA = {ID: pl.String, PROMPT: pl.String, REPETITION: pl.Int64, STATUS: pl.String, ANSWER: pl.String}
_BLANK = r"^[\s\x1c-\x1f]*$"


class _Checked(msgspec.Struct):
    """The fields of a row. A repetition may also be a text, or the float that a table with gaps makes of it."""

    answer: str | None
    id: str | None = None
    prompt: str | None = None
    repetition: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    status: str | None = None


def read_python(answers: Any) -> Iterator[pl.DataFrame]:
    """Tables from a table (polars, pandas), an iterable of mappings, or a mapping of id or prompt to answer(s)."""
    return tabulate_rows(_find_given_rows(answers))


def _find_given_rows(answers: Any) -> Iterator[Row]:
    if isinstance(answers, Mapping):
        for key, value in answers.items():
            for answer in value if isinstance(value, list | tuple) else [value]:
                yield f"the answers, at {key!r}", {ID: key, PROMPT: key, ANSWER: answer}
        return
    if hasattr(answers, "iter_rows"):
        answers = answers.iter_rows(named=True)
    elif hasattr(answers, "to_dict") and hasattr(answers, "columns"):
        answers = answers.astype(object).where(answers.notna(), None).to_dict("records")
    for number, row in enumerate(answers if isinstance(answers, Iterable) else [answers], 1):
        if not isinstance(row, Mapping):
            raise InputError(
                "Answers must be rows with 'id' or 'prompt' and 'answer', or a mapping of them. "
                f"Got {str(row)[:60]!r} instead: an answer without its prompt cannot be placed."
            )
        yield f"the answers, row {number}", row


def tabulate_rows(rows: Iterable[Row]) -> Iterator[pl.DataFrame]:
    """Rows of answers as tables, in batches, so that a large file needs little memory; at least one."""
    rows = iter(rows)
    while True:
        batch = list(itertools.islice(rows, ROWS_PER_TABLE))
        checked = [_check_row(where, fields) for where, fields in batch]
        columns = []
        for name, kind in SCHEMA.items():
            values = [getattr(row, name) for row in checked]
            columns.append(text_column(name, values) if kind == pl.String else pl.Series(name, values, kind))
        columns += _read_details([fields for _, fields in batch])
        yield check_table(pl.DataFrame(columns), [where for where, _ in batch].__getitem__)
        if len(batch) < ROWS_PER_TABLE:
            return


def _read_details(rows: Sequence[Fields]) -> list[pl.Series]:
    """What rows say beside their answers, such as the served model. A value of another kind is left out."""
    columns = []
    for name in DETAILS:
        if not any(name in fields for fields in rows):
            continue
        values = [fields.get(name) for fields in rows]
        if name.endswith("_tokens"):
            counts = [value if type(value) is int and 0 <= value < 2**53 else None for value in values]
            columns.append(pl.Series(name, counts, pl.Int64))
        else:
            columns.append(text_column(name, [value if isinstance(value, str) else None for value in values]))
    return columns


def _check_row(where: str, fields: Fields) -> _Checked:
    try:
        return msgspec.convert({name: fields[name] for name in SCHEMA if name in fields}, _Checked, strict=False)
    except msgspec.ValidationError as error:
        raise BadFile(f"{where}: {error}. There are: {str(dict(fields))[:120]}.") from None


def check_table(table: pl.DataFrame, where: Callable[[int], str]) -> pl.DataFrame:
    """The table with a known state for each answer: `empty` where it has nothing to read.

    Refuses the first row that has another state, or too long an answer; `where` says where it stands.
    """
    states, answers = table[STATUS].fill_null(Status.OK), table[ANSWER].fill_null("")
    refused = {
        f"{STATUS} must be one of {', '.join(Status)}": ~states.is_in(list(Status)),
        f"{REPETITION} must be a whole number": table[REPETITION] % 1 != 0,
        f"{REPETITION} must be 0 or more": table[REPETITION] < 0,
        f"no answer has more than {LONGEST_ANSWER:,} bytes": answers.str.len_bytes() > LONGEST_ANSWER,
    }
    for reason, wrong in refused.items():
        for place in wrong.arg_true():
            raise BadFile(f"{where(place)}: {reason}. The row has: {str(table.row(place, named=True))[:120]}.")
    # Looked at more closely: answers with a tag, which may be reasoning, and those with nothing at all. Two searches,
    # because either of them alone is fast.
    may_be_empty = answers.str.contains("<", literal=True) | answers.str.contains(_BLANK)
    unclear = (may_be_empty & states.is_in(list(MEASURED))).arg_true()
    empty = [place for place in unclear if not has_visible_text(answers[place])]
    return table.with_columns(table[REPETITION].cast(pl.Int64), states.scatter(empty, Status.EMPTY.value))


# Files


def read_tables(path: Path, names: Names = NO_NAMES) -> Iterator[pl.DataFrame]:
    """The answers of a file as tables, at least one answer; the first wrong line is named. `-` is stdin.

    The ending says what it is: `.csv` or `.tsv`, `.parquet`, a log of Inspect (`.eval`, `.json`); anything else is
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
    if suffix == ".eval" or (suffix == ".json" and _may_be_log(path)):
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


def _may_be_log(path: Path) -> bool:
    """Whether a JSON file can be a log, by how it begins: `eval` comes right after its version and status."""
    with path.open("rb") as file:
        return b'"eval"' in file.read(1000)


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
