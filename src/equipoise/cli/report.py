"""`equipoise report`: one file for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli.output import check_target, note, writing

if TYPE_CHECKING:
    from equipoise.run import Run


def command(
    files: Annotated[list[Path], typer.Argument(help="Run files; several are shown side by side.", metavar="RUN…")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
    charts: Annotated[
        Path | None, typer.Option(help="Also write every chart as PNG and SVG into this folder.", metavar="DIR")
    ] = None,
) -> None:
    """Write a report: one HTML file that works offline, with marks, charts, transcripts and the method.

    Examples: equipoise report run.equipoise · equipoise report a.equipoise b.equipoise -o both.html --charts figures
    """
    from equipoise.run import Run

    check_target(out)
    write_report([Run.open(file) for file in files], out, charts)


def write_report(runs: list[Run], out: Path, charts: Path | None = None) -> None:
    """Write the report of these runs, and the charts if a folder is given."""
    from equipoise.report.html import render, save_charts
    from equipoise.report.opened import reported

    shown = [reported(run) for run in runs]
    with writing(out) as file:
        file.write(render(shown).encode())
    note(f"report: {out}")
    if charts is not None:
        written = save_charts(shown, charts)
        note(f"{len(written):,} charts: {charts}")
