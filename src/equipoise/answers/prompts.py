"""Prompts written to files, to be answered anywhere: JSONL, CSV, Parquet, or the input of a batch job."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import orjson
import polars as pl

from equipoise.errors import InputError
from equipoise.measuring.plan import Plan, number_items
from equipoise.schema import ID, ITEM_NUMBER, REPETITION, escape_formulas

Row = dict[str, Any]
TABLES = ("jsonl", "csv", "parquet")
"""How prompts are written, unless they are the input of a batch job."""
ROWS_AT_A_TIME = 50_000
"""About how many rows are made before they are written. It bounds the memory where prompts are repeated often."""


def write_prompts(
    planned: Plan,
    file: IO[bytes],
    form: str,
    make_line: Callable[[Row], Row] | None = None,
    items: range | None = None,
) -> int:
    """Write the prompts of a plan, or of some of its items, once for each repetition; return how many there are.

    For a batch job, `make_line` makes a request of a row. Parquet also says the number of each item in the plan.
    """
    tables = _tabulate(planned, items, numbered=form == "parquet")
    return write_tables(tables, file, form, make_line) // planned.repetitions


def write_tables(
    tables: Iterable[pl.DataFrame],
    file: IO[bytes],
    form: str,
    make_line: Callable[[Row], Row] | None = None,
    rows_per_group: int | None = None,
) -> int:
    """Write tables to one file as they come, as "parquet", "csv" or lines of JSON; return the number of rows."""
    if form == "parquet":
        return _write_parquet(tables, file, rows_per_group)
    written = 0
    for table in tables:
        if form == "csv":
            # As text: polars would write to the file descriptor itself, past what a reader that has gone makes silent.
            file.write(escape_formulas(table).write_csv(include_header=written == 0).encode())
        else:
            rows = map(make_line, table.iter_rows(named=True)) if make_line else table.iter_rows(named=True)
            file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
        written += table.height
    return written


def _write_parquet(tables: Iterable[pl.DataFrame], file: IO[bytes], rows_per_group: int | None) -> int:
    """Each table is written to a file of its own first, and these are joined: so only one is in memory."""
    rows = 0
    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        parts = []
        for number, table in enumerate(tables):
            rows += table.height
            parts.append(Path(folder) / f"{number}.parquet")
            table.write_parquet(parts[-1], row_group_size=rows_per_group)
        joined = Path(folder) / "joined"
        pl.scan_parquet(parts, glob=False).sink_parquet(joined, row_group_size=rows_per_group)
        with joined.open("rb") as whole:
            shutil.copyfileobj(whole, file)
    return rows


def split_plan(planned: Plan, shards: int) -> list[range]:
    """The numbers of the items of each shard: whole items, and about as many in each."""
    if not 1 <= shards <= planned.items:
        raise InputError(
            f"--shards must be between 1 and {planned.items:,}, the number of items. Got {shards} instead."
        )
    bounds = [planned.items * number // shards for number in range(shards + 1)]
    return list(itertools.starmap(range, itertools.pairwise(bounds)))


def _tabulate(planned: Plan, items: range | None, *, numbered: bool) -> Iterator[pl.DataFrame]:
    """The prompts once for each repetition, in tables of limited size; without repetitions as they are planned."""
    repetitions = pl.int_ranges(1, planned.repetitions + 1).alias(REPETITION)
    first = items.start if items else 0
    for batch in planned.batches(max(ROWS_AT_A_TIME // planned.repetitions, 1), items):
        number = number_items(batch, first)
        first = int(number[-1]) + 1
        hides = ITEM_NUMBER in batch.columns
        prompts = batch.select(ID, number, pl.exclude(ID)) if numbered and not hides else batch
        if planned.repetitions == 1:
            yield prompts
        else:
            yield prompts.select(ID, repetitions, pl.exclude(ID)).explode(REPETITION)
