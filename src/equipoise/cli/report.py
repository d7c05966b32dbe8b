"""`equipoise report`: one file for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli import options
from equipoise.cli.output import note
from equipoise.report.files import check_target


@options.takes(*options.READING)
def command(
    files: Annotated[list[Path], typer.Argument(help="Run files; several are shown side by side.", metavar="RUN…")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
    charts: Annotated[
        Path | None,
        typer.Option(
            help="Also write every chart into this folder: as SVG, and as PNG if equipoise[png] is installed. Of "
            "several runs also a map of all marks.",
            metavar="DIR",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show everything: every figure and metric, answers to look at, cards.")
    ] = False,
    given: options.Given,
) -> None:
    """Write a report: one HTML file that works offline, about six pages for one model.

    Examples: equipoise report run.equipoise · equipoise report run.equipoise --full ·
    equipoise report a.equipoise b.equipoise -o both.html --charts figures
    """
    from equipoise.report.html import write as html
    from equipoise.runs import run as runs

    check_target(out)
    opened = [runs.Run.open(file, **given.reading()) for file in files]
    written = html.write_report(opened, out, charts, full=full)
    note(f"report: {out}")
    if charts is not None:
        note(f"{len(written):,} charts: {charts}")
