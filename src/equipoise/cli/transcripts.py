"""`equipoise transcripts`: the answers of a run, to be searched and filtered in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli import options
from equipoise.cli.output import note
from equipoise.report.files import check_target


@options.takes(*options.READING)
def command(
    file: Annotated[Path, typer.Argument(help="The run file.", metavar="RUN")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("transcripts.html"),
    probe: Annotated[
        list[str] | None, typer.Option("--probe", "-p", help="Only this probe; repeatable.", metavar="NAME")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="Only answers that were read so; repeatable. Also: undetected, 'no answer', and counted for probes "
            "that count words.",
            metavar="LABEL",
        ),
    ] = None,
    status: Annotated[
        list[str] | None, typer.Option(help="Only attempts that ended so; repeatable.", metavar="ok|truncated|…")
    ] = None,
    repetition: Annotated[
        list[int] | None, typer.Option(help="Only this repetition, counted from 1; repeatable.", metavar="N")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only prompts with this value of a covariate; repeatable.", metavar="COVARIATE=VALUE"),
    ] = None,
    search: Annotated[
        str, typer.Option(help="Only answers that contain this text, or whose prompts do.", metavar="TEXT")
    ] = "",
    most: Annotated[int, typer.Option(help="How many answers the page has at most.", metavar="N")] = 50_000,
    given: options.Given,
) -> None:
    """Write the answers of a run as one HTML file that works offline, with search and filters.

    The words that were read are underlined. The page filters by probe, label, status, repetition and covariates; the
    options do the same before it is written, for runs with more answers than a browser can show.

    Examples: equipoise transcripts run.equipoise -o answers.html ·
    equipoise transcripts run.equipoise --probe hiring_an --label undetected --where gender=female
    """
    from equipoise.report.transcripts import choose as choosing
    from equipoise.report.transcripts import write as transcripts
    from equipoise.runs import run as runs

    check_target(out)
    choice = choosing.Choice(
        probes=tuple(probe or ()),
        labels=tuple(label or ()),
        statuses=tuple(status or ()),
        repetitions=tuple(repetition or ()),
        covariates=dict(options.split_pair(one, "--where", "COVARIATE=VALUE") for one in where or ()),
        search=search,
        most=most,
    )
    chosen = transcripts.write_transcripts(runs.Run.open(file, **given.reading()), out, choice)
    shown, fitting = sum(each.table.height for each in chosen), sum(each.fitting for each in chosen)
    note(f"{shown:,} answers: {out}")
    if fitting > shown:
        note(f"{fitting - shown:,} of {fitting:,} answers are left out. To see others: {transcripts.NARROW}")
