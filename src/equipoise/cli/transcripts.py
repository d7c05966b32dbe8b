"""`equipoise transcripts`: the answers of a run, to be searched and filtered in a browser."""

from __future__ import annotations

from pathlib import Path

from typer import Option

from equipoise.cli import options
from equipoise.cli.output import note
from equipoise.report.files import check_target


@options.takes(*options.READING)
def command(
    file: options.RunFile,
    *,
    out: Path = Option(Path("transcripts.html"), "--out", "-o", help="The HTML file to write."),
    probe: list[str] = Option([], "--probe", "-p", help="Only this probe; repeatable.", metavar="NAME"),
    label: list[str] = Option(
        [],
        help="Only answers that were read so; repeatable. Also: undetected, 'no answer', and counted for probes that "
        "count words.",
        metavar="LABEL",
    ),
    status: list[str] = Option([], help="Only attempts that ended so; repeatable.", metavar="ok|truncated|…"),
    repetition: list[int] = Option([], help="Only this repetition, counted from 1; repeatable.", metavar="N"),
    where: list[str] = Option(
        [], help="Only prompts with this value of a covariate; repeatable.", metavar="COVARIATE=VALUE"
    ),
    search: str = Option("", help="Only answers that contain this text, or whose prompts do.", metavar="TEXT"),
    most: int = Option(50_000, help="How many answers the page has at most.", metavar="N"),
    given: options.Given,
) -> None:
    """Write the answers of a run as one HTML file that works offline, with search and filters.

    The words that were read are underlined. The page filters by probe, label, status, repetition and covariates; the
    options do the same before it is written, for runs with more answers than a browser can show.

    Examples: equipoise transcripts run.equipoise -o answers.html ·
    equipoise transcripts run.equipoise --probe hiring_an --label undetected --where gender=female
    """
    from equipoise.report import transcripts

    check_target(out)
    choice = transcripts.Choice(
        probes=tuple(probe),
        labels=tuple(label),
        statuses=tuple(status),
        repetitions=tuple(repetition),
        covariates=dict(options.split_pair(one, "--where", "COVARIATE=VALUE") for one in where),
        search=search,
        most=most,
    )
    chosen = transcripts.write_transcripts(given.open_run(file), out, choice)
    shown, fitting = sum(each.table.height for each in chosen), sum(each.fitting for each in chosen)
    note(f"{shown:,} answers: {out}")
    if fitting > shown:
        note(f"{fitting - shown:,} of {fitting:,} answers are left out. To see others: {transcripts.NARROW}")
