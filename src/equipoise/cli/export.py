"""`equipoise export`: a run as a table for other programs."""

from __future__ import annotations

from typer import Option

from equipoise.cli import options
from equipoise.cli.output import note, open_output
from equipoise.report.files import check_target


def command(
    file: options.RunFile,
    *,
    what: str = Option(
        "metrics",
        help="metrics: values, intervals and marks, slices too; selection: rates and impact ratios by category; "
        "readings: the marked metrics by both readings; words: how words differ between women and men, tested; "
        "attempts: each that has ended, with its prompt, covariates, answer and what that says; "
        "prompts: all that are planned.",
        metavar="metrics|selection|readings|words|attempts|prompts",
    ),
    form: str = Option(
        "csv",
        "--format",
        help="In CSV, text that a spreadsheet would run as a formula gets a leading apostrophe; JSONL and Parquet "
        "are exact; every-eval-ever is the JSON of the EvalEval coalition, schema 0.3.0: of each marked metric the "
        "distance from even-handed and the mark.",
        metavar="csv|jsonl|parquet|every-eval-ever",
    ),
    probe: str | None = Option(
        None,
        "--probe",
        "-p",
        help="Only this probe. Without it, all in one table; what a probe does not have is empty.",
        metavar="NAME",
    ),
    out: options.Out = None,
) -> None:
    """Write a table of a run: metrics, selection rates, readings, words, attempts or prompts. The run is only read.

    Examples: equipoise export run.equipoise -o metrics.csv ·
    equipoise export run.equipoise --what attempts --format parquet -o attempts.parquet ·
    equipoise export run.equipoise --what attempts --probe jobs_lum --format jsonl | jq .label ·
    equipoise export run.equipoise --format every-eval-ever -o record.json
    """
    from equipoise.report import exports
    from equipoise.runs import run as runs

    check_target(out)
    run = runs.Run.open(file)
    with open_output(out) as opened:
        rows = exports.write(run, opened, what, form, probe)
    note(f"{rows:,} rows of {what}")
