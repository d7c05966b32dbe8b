"""Answers in Parquet files, checked column by column: no row becomes Python values on the way."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO

import polars as pl

from equipoise.answers.rows import ROWS_PER_TABLE, SCHEMA, check_table, refuse_missing_columns
from equipoise.errors import BadFile, IntegrityError
from equipoise.schema import ANSWER, ID, ITEM_NUMBER, PROMPT

SUFFIX = ".parquet"
_TEXTS = pl.Schema({name: kind for name, kind in SCHEMA.items() if kind == pl.String})


def read_parquet(path: Path, names: Mapping[str, str], *, needs_prompt: bool) -> Iterator[pl.DataFrame]:
    """Tables of answers, read slice by slice; BadFile if the file or a column is not what it should be."""
    try:
        scanned = pl.scan_parquet(path, glob=False)
        refuse_missing_columns(path, names, scanned.collect_schema())
        stored = scanned.drop(names.values(), strict=False).rename(names)
        columns = stored.collect_schema()
        _check_columns(path, columns, needs_prompt=needs_prompt)
        fields = [pl.col(name) if name in columns else pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items()]
        rows = stored.select(pl.len()).collect().item()
        # Slices, because `collect_batches` reads far ahead: half a gigabyte where these take a few dozen megabytes.
        for start in range(0, rows, ROWS_PER_TABLE):
            table = stored.select(fields).cast(_TEXTS).slice(start, ROWS_PER_TABLE).collect()
            yield check_table(table, partial(_name_row, path, start), needs_prompt=needs_prompt)
    except pl.exceptions.PolarsError as error:
        raise BadFile(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}.") from None
    except (pl.exceptions.PanicException, MemoryError):
        raise IntegrityError(f"{path} is damaged, or holds an answer that is longer than the memory.") from None


def _name_row(path: Path, start: int, place: int) -> str:
    return f"{path}, row {start + place + 1}"


def write_tables(tables: Iterable[pl.DataFrame], file: IO[bytes], rows_per_group: int | None = None) -> int:
    """Write tables to one file as they come; return the number of rows.

    Each is written to a file of its own first, and these are joined: so only one is in memory, whoever makes them.
    """
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


def read_item_range(path: Path) -> range | None:
    """The range of the items that a file says its answers belong to; None if it does not say it of all of them."""
    try:
        stored = pl.scan_parquet(path, glob=False)
        if not stored.collect_schema().get(ITEM_NUMBER, pl.Null()).is_integer():
            return None
        number = pl.col(ITEM_NUMBER).cast(pl.Int64, strict=False)
        first, last, gaps = (
            stored.select(number.min(), number.max().alias("last"), number.null_count().alias("gaps")).collect().row(0)
        )
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None  # whoever reads the answers says what is wrong with the file
    return range(first, last + 1) if first is not None and first >= 0 and not gaps else None


def _check_columns(path: Path, columns: pl.Schema, *, needs_prompt: bool) -> None:
    if ANSWER not in columns or (needs_prompt and not {ID, PROMPT} & columns.keys()):
        raise BadFile(
            f"{path}: columns {ANSWER}, and {ID} or {PROMPT}, are needed. There are: {', '.join(columns)[:200]}."
        )
    for name, kind in SCHEMA.items():
        given = columns.get(name, pl.Null())
        fits = given.is_numeric() if kind == pl.Int64 else given in (pl.String, pl.Categorical, pl.Enum)
        if not (fits or given == pl.Null):
            needed = "whole numbers" if kind == pl.Int64 else "text"
            raise BadFile(f"{path}: the column {name} must hold {needed}, not {given}.")
