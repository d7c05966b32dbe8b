"""A run as a table for other programs: CSV for spreadsheets, JSONL and Parquet exact."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import IO

import orjson
import polars as pl
from polars.exceptions import PolarsError

from equipoise.errors import IntegrityError, UnknownName
from equipoise.frames import ANSWER, ID, ITEM, PROMPT, REPETITION, STATUS, without_formulas
from equipoise.run import Run, installed
from equipoise.runs import RunFile
from equipoise.scoring import evaluated_batch

TABLES = ("metrics", "attempts", "prompts")
FORMATS = ("csv", "jsonl", "parquet")


def write(run: Run, file: IO[bytes], what: str, form: str, probe: str | None = None) -> int:
    """Write a table of a run, of all its probes or of one; give the number of rows."""
    if form not in FORMATS:
        raise UnknownName("format", form, FORMATS)
    rows = 0
    kept = []
    for place, batch in enumerate(tables(run, what, probe)):
        if form == "csv":
            file.write(for_spreadsheets(batch).write_csv(include_header=place == 0).encode())
        elif form == "jsonl":
            file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in batch.iter_rows(named=True))
        else:
            kept.append(batch)
        rows += batch.height
    if form == "parquet":
        pl.concat(kept).write_parquet(file)
    return rows


def tables(run: Run, what: str, probe: str | None = None) -> Iterator[pl.DataFrame]:
    """The table in batches of bounded size, all with the same columns: what a probe does not have is null."""
    if what not in TABLES:
        raise UnknownName("table of a run", what, TABLES)
    if probe is not None and probe not in run.planned:
        raise UnknownName("probe of this run", probe, run.planned)
    if not run.planned:
        raise IntegrityError(f"{run.path} holds no probe.")
    names = list(run.planned) if probe is None else [probe]
    try:
        columns = pl.concat([_first(run, what, name)[:0] for name in names], how="diagonal_relaxed")
        for name in names:
            for batch in _batches(run, what, name):
                yield pl.concat([columns, batch], how="diagonal_relaxed")
    except PolarsError as error:
        why = str(error).partition("\n")[0]
        raise IntegrityError(f"{run.path} does not hold what its probes ask for: {why}.") from None


def for_spreadsheets(table: pl.DataFrame) -> pl.DataFrame:
    """The table without anything a spreadsheet would run, also in the names of its columns."""
    safe = without_formulas(pl.DataFrame({"name": table.columns}))["name"]
    return without_formulas(table).rename(dict(zip(table.columns, safe, strict=True)))


def _first(run: Run, what: str, probe: str) -> pl.DataFrame:
    with closing(_batches(run, what, probe)) as batches:
        return next(batches)


def _batches(run: Run, what: str, probe: str) -> Generator[pl.DataFrame]:
    """The table of one probe, at least one batch."""
    if what == "metrics":
        yield run.results()[probe].to_frame()
        return
    prompts = run.prompts(probe)
    if what == "prompts":
        yield prompts.select(pl.lit(probe).alias("probe"), pl.all())
        return
    with RunFile.read(run.path) as file:
        for attempts in file.attempts(probe):
            yield _attempts(run, probe, prompts, attempts)


def _attempts(run: Run, probe: str, prompts: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """Attempts with what was asked, what came back, what it says, and how it came about."""
    read = attempts.select(ID, REPETITION, STATUS, ANSWER)
    said = evaluated_batch(installed(run.planned[probe], run.path), read).drop(ID, REPETITION, STATUS)
    asked = attempts.select(ID).join(prompts, on=ID, how="left", maintain_order="left")
    first = [ID, REPETITION, ITEM, PROMPT, *asked.columns[3:], STATUS, ANSWER, *said.columns]
    whole = asked.hstack(attempts.drop(ID)).hstack(said)
    return whole.select(pl.lit(probe).alias("probe"), *first, pl.exclude(first))
