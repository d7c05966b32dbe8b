"""A run for other programs: tables as CSV, JSONL and Parquet, or a record in the format of Every Eval Ever."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import orjson
import polars as pl
from polars.exceptions import PolarsError

from equipoise.answers.prompts import write_tables
from equipoise.errors import InputError, IntegrityError, UnknownName
from equipoise.measuring.result import Audit
from equipoise.measuring.selection import tabulate_selection
from equipoise.report import every_eval_ever
from equipoise.report.files import check_target, writing
from equipoise.runs.file.values import ATTEMPTS
from equipoise.runs.finished import RunSource, open_run
from equipoise.runs.run import Run
from equipoise.schema import escape_formulas, replace_surrogates

TABLES = ("metrics", "selection", "words", "attempts", "prompts")
ORIGIN = "answers_origin"
"""The column that says whether the answers were asked for, imported or simulated."""
OF_ASKING = ("tries", "finished_at")
"""What nobody knows of imported answers. The run file says of each when it was stored there."""
FORMATS = ("csv", "jsonl", "parquet", every_eval_ever.FORM)
GROUP_BYTES = 32_000_000
"""About how many bytes of answers a row group of a Parquet file has, which is what must be in memory to write it."""
MOST_ROWS_PER_GROUP = 100_000


def export(run: RunSource, out: str | Path, what: str = "metrics", form: str = "csv", probe: str | None = None) -> int:
    """Write a table of a run to a file; return the number of rows.

    what   "metrics": one row per metric, slices too; "selection": rates and impact ratios by category; "words":
           how words differ between the arms, for probes that compare them; "attempts": each that has ended, with its
           prompt, answer and what the answer says; "prompts": all
    form   "csv", where text that a spreadsheet would run as a formula gets a leading apostrophe; "jsonl" or "parquet";
           "every-eval-ever": the marked metrics as one JSON record of schema 0.3.0 of the EvalEval coalition
    probe  only this probe; otherwise all in one table, where what a probe does not have is empty

    Every table says in `answers_origin` whether the answers were "asked" for, "imported" or "simulated".
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
    if form == every_eval_ever.FORM:
        if what != "metrics":
            raise InputError(
                f"The format {form} holds metrics only. Leave out --what {what}, or choose another format."
            )
        record = every_eval_ever.describe_record(run, _list_probes(run, probe))
        file.write(orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        return len(record["evaluation_results"])
    batches = read_tables(run, what, probe)
    if form == "parquet":
        rows_per_group = GROUP_BYTES * max(run.ended, 1) // run.path.stat().st_size
        return write_tables(batches, file, max(1, min(MOST_ROWS_PER_GROUP, rows_per_group)))
    rows = 0
    for number, batch in enumerate(batches):
        if form == "csv":
            # As text: polars would write to the file descriptor itself, past what a reader that has gone makes silent.
            file.write(for_spreadsheets(batch).write_csv(include_header=number == 0).encode())
        else:
            file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in batch.iter_rows(named=True))
        rows += batch.height
    return rows


def read_tables(run: Run, what: str, probe: str | None = None) -> Iterator[pl.DataFrame]:
    """The table in batches of bounded size, all with the same columns: what a probe does not have is null."""
    if what not in TABLES:
        raise UnknownName("table of a run", what, TABLES)
    names = _list_probes(run, probe)
    columns_of_run = (
        pl.lit(replace_surrogates(run.model)).alias("model"),
        pl.exclude("model", ORIGIN),
        pl.lit(run.settings.origin).alias(ORIGIN),
    )
    if what in MEASURED_TABLES:
        yield MEASURED_TABLES[what](run, names).select(columns_of_run)
        return
    try:
        columns = pl.concat([_first_batch(run, what, name)[:0] for name in names], how="diagonal_relaxed")
        for name in names:
            for batch in _read_batches(run, what, name):
                yield pl.concat([columns, batch], how="diagonal_relaxed").select(columns_of_run)
    except PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise IntegrityError(f"{run.path} does not hold what its probes ask for: {reason}.") from None


def _list_probes(run: Run, probe: str | None) -> list[str]:
    """The probes of a run, or the one that is asked for."""
    if probe is not None and probe not in run.planned:
        raise UnknownName("probe of this run", probe, run.planned)
    if not run.planned:
        raise IntegrityError(f"{run.path} holds no probe.")
    return list(run.planned) if probe is None else [probe]


def _read_metrics(run: Run, names: list[str]) -> pl.DataFrame:
    return Audit({name: run.result(name) for name in names}, model=run.model).to_frame()


def _read_selection(run: Run, names: list[str]) -> pl.DataFrame:
    return pl.concat([tabulate_selection(name, run.result(name).selection) for name in names])


def _read_words(run: Run, names: list[str]) -> pl.DataFrame:
    """One row per word that was tested; `first` and `second` name the sides that its shares belong to."""
    found = {name: comparison for name in names if (comparison := run.words(name))}
    if not found:
        raise InputError(f"No words are compared by {', '.join(names)}.")
    tables = []
    for name, comparison in found.items():
        first, second = (pl.lit(side) for side in comparison.sides)
        columns = (pl.lit(name).alias("probe"), "word", first.alias("first"), second.alias("second"))
        tables.append(comparison.table.select(*columns, pl.exclude("word")))
    return pl.concat(tables)


MEASURED_TABLES: dict[str, Callable[[Run, list[str]], pl.DataFrame]] = {
    "metrics": _read_metrics,
    "selection": _read_selection,
    "words": _read_words,
}


def for_spreadsheets(table: pl.DataFrame) -> pl.DataFrame:
    """The table without anything that a spreadsheet would run, also in the names of its columns."""
    safe_names = escape_formulas(pl.DataFrame({"name": table.columns}))["name"]
    return escape_formulas(table).rename(dict(zip(table.columns, safe_names, strict=True)))


def _first_batch(run: Run, what: str, probe: str) -> pl.DataFrame:
    with closing(_read_batches(run, what, probe)) as batches:
        return next(batches)


def _read_batches(run: Run, what: str, probe: str) -> Generator[pl.DataFrame]:
    """The prompts or attempts of one probe, at least one batch."""
    for batch in run.prompt_batches(probe) if what == "prompts" else run.transcript_batches(probe):
        if run.settings.imported and what == "attempts":
            batch = batch.with_columns(pl.lit(None, dtype=ATTEMPTS[name]).alias(name) for name in OF_ASKING)  # noqa: PLW2901
        yield batch.select(pl.lit(probe).alias("probe"), pl.all())
