"""`equipoise report`: one file for people."""

from __future__ import annotations

from pathlib import Path

from typer import Argument, Option

from equipoise.cli import options
from equipoise.cli.output import note
from equipoise.report.files import check_target


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

    check_target(out)
    written = write_report([given.open_run(file) for file in files], out, charts, full=full)
    note(f"report: {out}")
    if charts is not None:
        note(f"{len(written):,} charts: {charts}")
