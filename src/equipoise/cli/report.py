"""`equipoise report`, `transcripts` and `export`: what is written of runs, for people and for other programs."""

from __future__ import annotations

from pathlib import Path

from typer import Argument, Option

from equipoise.cli import options
from equipoise.cli.output import choose_format, note, open_output


@options.takes(*options.READING)
def command(
    files: list[Path] = Argument(help="Run files; several are shown side by side.", metavar="RUN…"),
    *,
    out: Path = Option(Path("report.html"), "--out", "-o", help="The HTML file to write."),
    charts: Path | None = Option(
        None,
        help="Also write every chart into this folder: as SVG, and as PNG if equipoise[png] is installed. Of several "
        "runs also a map of all marks.",
        metavar="DIR",
    ),
    full: bool = Option(False, "--full", help="Show everything: every figure and metric, answers to look at, cards."),
    given: options.Given,
) -> None:
    """Write a report: one HTML file that works offline, about six pages for one model.

    Examples: equipoise report run.equipoise · equipoise report run.equipoise --full ·
    equipoise report a.equipoise b.equipoise -o both.html --charts figures
    """
    from equipoise.report.html.write import write_report

    written = write_report([given.open_run(file) for file in files], out, charts, full=full)
    note(f"report: {out}")
    if charts is not None:
        note(f"{len(written):,} charts: {charts}")


@options.takes(*options.READING)
def transcripts(
    file: options.RunFile,
    *,
    out: Path = Option(Path("transcripts.html"), "--out", "-o", help="The HTML file to write."),
    probe: list[str] = Option([], "--probe", "-p", help="Only this probe; repeatable.", metavar="NAME"),
    where: list[str] = Option(
        [],
        help="Only answers with this value: of label (also undetected, 'no answer', counted), status, repetition, or a "
        "covariate; repeatable.",
        metavar="NAME=VALUE",
    ),
    search: str = Option("", help="Only answers that contain this text, or whose prompts do.", metavar="TEXT"),
    most: int = Option(50_000, help="How many answers the page has at most.", metavar="N"),
    given: options.Given,
) -> None:
    """Write the answers of a run as one HTML file that works offline, with search and filters.

    The words that were read are underlined. The page filters by probe, label, status, repetition and covariates; the
    options do the same before it is written, for runs with more answers than a browser can show.

    Examples: equipoise transcripts run.equipoise -o answers.html ·
    equipoise transcripts run.equipoise --probe hiring_an --where label=undetected --where gender=female
    """
    from equipoise.report import transcripts as pages

    values = dict(options.split_pair(one, "--where", "NAME=VALUE") for one in where)
    run = given.open_run(file)
    shown, fitting = pages.write_transcripts(run, out, probes=probe, where=values, search=search, most=most)
    note(f"{shown:,} answers: {out}")
    if fitting > shown:
        note(f"{fitting - shown:,} of {fitting:,} answers are left out. To see others: {pages.NARROW}")


def export(
    file: options.RunFile,
    *,
    what: str = Option(
        "metrics",
        help="metrics: values, intervals and marks, slices too; selection: rates and impact ratios by category; "
        "words: how words differ between women and men, tested; "
        "attempts: each that has ended, with its prompt, covariates, answer and what that says; "
        "prompts: all that are planned.",
        metavar="metrics|selection|words|attempts|prompts",
    ),
    form: str | None = Option(
        None,
        "--format",
        help="Default: by the ending of the file, or CSV. In CSV, text that a spreadsheet would run as a formula gets "
        "a leading apostrophe; JSONL and Parquet are exact; every-eval-ever is the JSON of the EvalEval "
        "coalition, schema 0.3.0: of each marked metric the distance from even-handed and the mark.",
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
    """Write a table of a run: metrics, selection rates, words, attempts or prompts. The run is only read.

    Examples: equipoise export run.equipoise -o metrics.csv ·
    equipoise export run.equipoise --what attempts --format parquet -o attempts.parquet ·
    equipoise export run.equipoise --what attempts --probe jobs_lum --format jsonl | jq .label ·
    equipoise export run.equipoise --format every-eval-ever -o record.json
    """
    from equipoise.report import exports
    from equipoise.runs import run as runs

    run = runs.Run.open(file)
    chosen = choose_format(form, out, ("csv", "jsonl", "parquet"), default="csv")
    with open_output(out) as opened:
        rows = exports.write(run, opened, what, chosen, probe)
    note(f"{rows:,} rows of {what}")
