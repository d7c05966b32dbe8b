"""`equipoise export`: a run as a table for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.output import note, open_output
from equipoise.errors import InputError
from equipoise.report.files import check_target


def command(
    file: Annotated[Path, typer.Argument(help="The run file.", metavar="RUN")],
    *,
    what: Annotated[
        str,
        typer.Option(
            help="metrics: values, intervals and marks, slices too; selection: rates and impact ratios by category; "
            "readings: the marked metrics by both readings; words: how words differ between women and men, tested; "
            "attempts: each that has ended, with its prompt, covariates, answer and what that says; "
            "prompts: all that are planned.",
            metavar="metrics|selection|readings|words|attempts|prompts",
        ),
    ] = "metrics",
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="In CSV, text that a spreadsheet would run as a formula gets a leading apostrophe; JSONL and Parquet "
            "are exact; every-eval-ever is the JSON of the EvalEval coalition, schema 0.3.0: of each marked metric the "
            "distance from even-handed and the mark.",
            metavar="csv|jsonl|parquet|every-eval-ever",
        ),
    ] = "csv",
    probe: Annotated[
        str | None,
        typer.Option(
            "--probe",
            "-p",
            help="Only this probe. Without it, all in one table; what a probe does not have is empty.",
            metavar="NAME",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write; default: stdout.")] = None,
) -> None:
    """Write a table of a run: metrics, selection rates, readings, words, attempts or prompts. The run is only read.

    Examples: equipoise export run.equipoise -o metrics.csv ·
    equipoise export run.equipoise --what attempts --format parquet -o attempts.parquet ·
    equipoise export run.equipoise --what attempts --probe jobs_lum --format jsonl | jq .label ·
    equipoise export run.equipoise --format every-eval-ever -o record.json
    """
    from equipoise.report import exports
    from equipoise.runs import run as runs

    if form == "parquet" and out is None and sys.stdout.isatty():
        raise InputError("Parquet cannot be shown in a terminal. Write it to a file: -o run.parquet")
    check_target(out)
    run = runs.Run.open(file)
    with open_output(out) as opened:
        rows = exports.write(run, opened, what, form, probe)
    note(f"{rows:,} rows of {what}")
