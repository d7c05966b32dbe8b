"""Answers as tables, checked: given in Python, or read from a file by `answers/files.py`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from equipoise.detect.visible import has_visible_text
from equipoise.errors import BadFile, InputError, UnknownName
from equipoise.schema import ANSWER, ID, MEASURED, PROMPT, REPETITION, STATUS, Status, text_column

ROWS_PER_TABLE = 20_000
LONGEST_ANSWER = 2**26
"""Bytes of an answer in a file, or of the line that it stands on."""
Fields = Mapping[str, Any]
Row = tuple[str, Fields]
"""Where an answer stands, for messages, and its fields."""
SCHEMA = {ID: pl.String, PROMPT: pl.String, REPETITION: pl.Int64, STATUS: pl.String, ANSWER: pl.String}
_BLANK = r"^[\s\x1c-\x1f]*$"


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
    if not isinstance(answers, Iterable) or isinstance(answers, str | bytes):
        raise _refuse_rows(answers)
    for number, row in enumerate(answers, 1):
        if not isinstance(row, Mapping):
            raise _refuse_rows(row)
        yield f"the answers, row {number}", row


def _refuse_rows(got: object) -> InputError:
    return InputError(
        "Answers must be rows with 'id' or 'prompt' and 'answer', or a mapping of them. "
        f"Got {str(got)[:60]!r} instead: an answer without its prompt cannot be placed."
    )


def tabulate_rows(rows: Iterable[Row], *, needs_prompt: bool = True) -> Iterator[pl.DataFrame]:
    """Rows of answers as tables, in batches, so that a large file needs little memory; at least one."""
    rows = iter(rows)
    batch = list(itertools.islice(rows, ROWS_PER_TABLE))
    while True:
        columns = [_make_column(name, kind, batch) for name, kind in SCHEMA.items()]
        yield check_table(pl.DataFrame(columns), [where for where, _ in batch].__getitem__, needs_prompt=needs_prompt)
        if not (batch := list(itertools.islice(rows, ROWS_PER_TABLE))):
            return


def _make_column(name: str, kind: type[pl.DataType], batch: list[Row]) -> pl.Series:
    """One field of all rows; the first row in which it has another type is refused."""
    if kind == pl.Int64:
        return pl.Series(name, [_whole_number(row.get(name), where) for where, row in batch], dtype=kind)
    values = [row.get(name) for _, row in batch]
    for place, value in enumerate(values):
        if not (value is None or isinstance(value, str)):
            raise BadFile(f"{batch[place][0]}: {name} must be text. Got {str(value)[:60]!r} instead.")
        if value is None and name == ANSWER and ANSWER not in batch[place][1]:
            raise BadFile(f"{batch[place][0]}: no field {ANSWER}. There are: {', '.join(map(str, batch[place][1]))}.")
    return text_column(name, values)


def _whole_number(given: Any, where: str) -> int | None:
    """A whole number, also as text or as the float that a table with gaps makes of it."""
    if given is None:
        return None
    try:
        whole = int(given)
    except (TypeError, ValueError, OverflowError):
        whole = None
    exact = isinstance(given, str) or (whole == given and not isinstance(given, bool))
    if whole is None or not exact or abs(whole) >= 2**63:
        raise BadFile(f"{where}: {REPETITION} must be a whole number. Got {str(given)[:60]!r} instead.")
    return whole


def check_table(table: pl.DataFrame, where: Callable[[int], str], *, needs_prompt: bool = True) -> pl.DataFrame:
    """The table with a known state for each answer: `empty` where it has nothing to read.

    Refuses the first row that has no prompt, another state, or too long an answer; `where` says where it stands.
    """
    states, answers = table[STATUS].fill_null(Status.OK), table[ANSWER].fill_null("")
    refused = {
        f"no field {ID} or {PROMPT}": table[ID].is_null() & table[PROMPT].is_null() & needs_prompt,
        f"status must be one of {', '.join(Status)}": ~states.is_in(list(Status)),
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


def refuse_missing_columns(source: object, named: Iterable[str], columns: Iterable[str]) -> None:
    """Raise UnknownName if a column that the user named is not there."""
    known = list(columns)
    for name in named:
        if name not in known:
            raise UnknownName(f"column of {source}", name, known)
