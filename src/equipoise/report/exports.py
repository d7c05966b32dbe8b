"""A run for other programs: tables as CSV, JSONL and Parquet, or a record in the format of Every Eval Ever."""

from __future__ import annotations

from collections.abc import Iterator
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
from equipoise.report.files import writing
from equipoise.report.words import compare_words
from equipoise.runs.file.values import ATTEMPTS
from equipoise.runs.finished import RunSource, open_run
from equipoise.runs.run import Run
from equipoise.schema import replace_surrogates

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
    opened = open_run(run)
    with writing(Path(out)) as file:
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
    rows_per_group = GROUP_BYTES * max(run.counts.ended, 1) // run.path.stat().st_size
    rows_per_group = max(1, min(MOST_ROWS_PER_GROUP, rows_per_group))
    return write_tables(read_tables(run, what, probe), file, form, rows_per_group=rows_per_group)


def read_tables(run: Run, what: str, probe: str | None = None) -> Iterator[pl.DataFrame]:
    """The table in batches of bounded size, all with the same columns: what a probe does not have is null."""
    if what not in TABLES:
        raise UnknownName("table of a run", what, TABLES)
    names = _list_probes(run, probe)
    columns_of_run = (
        pl.lit(replace_surrogates(run.model)).alias("model"),
        pl.exclude("model", ORIGIN),
        pl.lit(run.record.origin).alias(ORIGIN),
    )
    if what in ("metrics", "selection", "words"):
        yield _tabulate_results(run, what, names).select(columns_of_run)
        return
    try:
        columns = pl.concat([next(_read_batches(run, what, name))[:0] for name in names], how="diagonal_relaxed")
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


def _tabulate_results(run: Run, what: str, names: list[str]) -> pl.DataFrame:
    """Metrics, selection or words. Of a word, `first` and `second` name the sides that its shares belong to."""
    if what == "metrics":
        return Audit({name: run.result(name) for name in names}, model=run.model).to_frame()
    if what == "selection":
        return pl.concat([tabulate_selection(name, run.result(name).selection) for name in names])
    found = {name: comparison for name in names if (comparison := compare_words(run, name))}
    if not found:
        raise InputError(f"No words are compared by {', '.join(names)}.")
    tables = []
    for name, comparison in found.items():
        first, second = (pl.lit(side) for side in comparison.sides)
        columns = (pl.lit(name).alias("probe"), "word", first.alias("first"), second.alias("second"))
        tables.append(comparison.table.select(*columns, pl.exclude("word")))
    return pl.concat(tables)


def _read_batches(run: Run, what: str, probe: str) -> Iterator[pl.DataFrame]:
    """The prompts or attempts of one probe, at least one batch."""
    for batch in run.prompt_batches(probe) if what == "prompts" else run.transcript_batches(probe):
        if run.record.imported and what == "attempts":
            batch = batch.with_columns(pl.lit(None, dtype=ATTEMPTS[name]).alias(name) for name in OF_ASKING)  # noqa: PLW2901
        yield batch.select(pl.lit(probe).alias("probe"), pl.all())
