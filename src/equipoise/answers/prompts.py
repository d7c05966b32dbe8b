"""Prompts written to files, to be answered anywhere: JSONL, CSV, Parquet, or the input of a batch job."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import IO, Any

import orjson
import polars as pl
from polars.io.plugins import register_io_source

from equipoise.measuring.plan import Plan
from equipoise.schema import ID, REPETITION, escape_formulas

Row = dict[str, Any]
ROWS_AT_A_TIME = 100_000
"""How many rows are made before they are written. It bounds the memory where prompts are repeated often."""


class PromptFormat(StrEnum):
    """How prompts are written."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    OPENAI_BATCH = "openai-batch"
    ANTHROPIC_BATCH = "anthropic-batch"
    GEMINI_BATCH = "gemini-batch"


def write_prompts(
    planned: Plan, file: IO[bytes], form: PromptFormat, make_line: Callable[[Row], Row] | None = None
) -> int:
    """Write the prompts of a plan, once for each repetition; return how many prompts there are.

    For a batch job, `make_line` makes a request of a row.
    """
    written = 0

    def count(tables: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        nonlocal written
        for table in tables:
            yield table
            written += table.height

    tables = count(_tabulate(planned))
    if form is PromptFormat.PARQUET:
        _write_parquet(tables, file)
    for table in tables:
        if form is PromptFormat.CSV:
            file.write(escape_formulas(table).write_csv(include_header=written == 0).encode())
        else:
            rows = map(make_line, table.iter_rows(named=True)) if make_line else table.iter_rows(named=True)
            file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    return written // planned.repetitions


def _tabulate(planned: Plan) -> Iterator[pl.DataFrame]:
    """The prompts once for each repetition, in tables of limited size; without repetitions as they are planned."""
    size = max(ROWS_AT_A_TIME // planned.repetitions, 1)
    repetitions = pl.int_ranges(1, planned.repetitions + 1).alias(REPETITION)
    for batch in planned.batches():
        for prompts in batch.iter_slices(size):
            if planned.repetitions == 1:
                yield prompts
            else:
                yield prompts.select(ID, repetitions, pl.exclude(ID)).explode(REPETITION)


def _write_parquet(tables: Iterator[pl.DataFrame], file: IO[bytes]) -> None:
    """Write tables one after the other; only one of them is in memory."""
    first = next(tables)

    def give_tables(
        columns: list[str] | None, _predicate: pl.Expr | None, _rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        for table in itertools.chain([first], tables):
            yield table.select(columns) if columns else table

    register_io_source(give_tables, schema=first.schema).sink_parquet(file)
