"""A run as a table for other programs: CSV for spreadsheets, JSONL and Parquet exact."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import orjson
import polars as pl
from polars.exceptions import PolarsError

from equipoise.errors import IntegrityError, UnknownName
from equipoise.report.files import check_target, writing
from equipoise.report.opening import RunSource, open_run
from equipoise.runs.run import Run
from equipoise.schema import escape_formulas

TABLES = ("metrics", "attempts", "prompts")
FORMATS = ("csv", "jsonl", "parquet")


def export(run: RunSource, out: str | Path, what: str = "metrics", form: str = "csv", probe: str | None = None) -> int:
    """Write a table of a run to a file; return the number of rows.

    what   "metrics": one row per metric, slices too; "attempts": each that has ended, with its prompt, answer and what
           the answer says; "prompts": all that are planned
    form   "csv", where text that a spreadsheet would run as a formula gets a leading apostrophe; "jsonl" or "parquet"
    probe  only this probe; otherwise all in one table, where what a probe does not have is empty
    """
    path = Path(out)
    check_target(path)
    opened = open_run(run)
    with writing(path) as file:
        return write(opened, file, what, form, probe)


def write(run: Run, file: IO[bytes], what: str, form: str, probe: str | None = None) -> int:
    """Write a table of a run, of all its probes or of one, to an open file; return the number of rows."""
    if form not in FORMATS:
        raise UnknownName("format", form, FORMATS)
    rows = 0
    kept = []
    for number, batch in enumerate(read_tables(run, what, probe)):
        if form == "csv":
            file.write(for_spreadsheets(batch).write_csv(include_header=number == 0).encode())
        elif form == "jsonl":
            file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in batch.iter_rows(named=True))
        else:
            kept.append(batch)
        rows += batch.height
    if form == "parquet":
        pl.concat(kept).write_parquet(file)
    return rows


def read_tables(run: Run, what: str, probe: str | None = None) -> Iterator[pl.DataFrame]:
    """The table in batches of bounded size, all with the same columns: what a probe does not have is null."""
    if what not in TABLES:
        raise UnknownName("table of a run", what, TABLES)
    if probe is not None and probe not in run.planned:
        raise UnknownName("probe of this run", probe, run.planned)
    if not run.planned:
        raise IntegrityError(f"{run.path} holds no probe.")
    names = list(run.planned) if probe is None else [probe]
    if what == "metrics":
        yield pl.concat([run.result(name).to_frame() for name in names])
        return
    try:
        columns = pl.concat([_first_batch(run, what, name)[:0] for name in names], how="diagonal_relaxed")
        for name in names:
            for batch in _read_batches(run, what, name):
                yield pl.concat([columns, batch], how="diagonal_relaxed")
    except PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise IntegrityError(f"{run.path} does not hold what its probes ask for: {reason}.") from None


def for_spreadsheets(table: pl.DataFrame) -> pl.DataFrame:
    """The table without anything that a spreadsheet would run, also in the names of its columns."""
    safe_names = escape_formulas(pl.DataFrame({"name": table.columns}))["name"]
    return escape_formulas(table).rename(dict(zip(table.columns, safe_names, strict=True)))


def _first_batch(run: Run, what: str, probe: str) -> pl.DataFrame:
    with closing(_read_batches(run, what, probe)) as batches:
        return next(batches)


def _read_batches(run: Run, what: str, probe: str) -> Generator[pl.DataFrame]:
    """The prompts or attempts of one probe, at least one batch."""
    for batch in [run.prompts(probe)] if what == "prompts" else run.transcript_batches(probe):
        yield batch.select(pl.lit(probe).alias("probe"), pl.all())
