"""Answers as tables, checked: given in Python, or read from a file by `answers/files.py`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any

import msgspec
import polars as pl

from equipoise.detect.visible import has_visible_text
from equipoise.errors import BadFile, InputError
from equipoise.schema import ANSWER, ID, MEASURED, PROMPT, REPETITION, STATUS, Status, text_column

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
    return tabulate_rows(_find_rows(answers))


def _find_rows(answers: Any) -> Iterator[Row]:
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
        yield check_table(pl.DataFrame(columns), [where for where, _ in batch].__getitem__)
        if len(batch) < ROWS_PER_TABLE:
            return


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
