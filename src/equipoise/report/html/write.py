"""Writing the report and its charts to files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from equipoise.measuring.audit import Audit
from equipoise.report.charts.drawing import can_draw_png
from equipoise.report.charts.heatmap import tabulate_marks
from equipoise.report.exports import for_spreadsheets
from equipoise.report.files import check_target, make_folder, writing
from equipoise.report.html.page import name_charts, render
from equipoise.report.html.runs import ReportedRun, describe_run, name_models
from equipoise.runs.finished import RunSource, open_run
from equipoise.runs.run import Run


def write_report(
    runs: RunSource | Iterable[RunSource], out: str | Path, charts: str | Path | None = None
) -> list[Path]:
    """Write the report on one run, or on several side by side: one HTML file that works offline.

    A run is a path, a `Run`, or an `Audit` whose answers are in a run file. With `charts`, every chart is also written
    into this folder as SVG, and as PNG if the extra `png` is installed; their paths are returned.
    """
    path = Path(out)
    check_target(path)
    if charts is not None:
        make_folder(Path(charts))
    sources = [runs] if isinstance(runs, str | Path | Run | Audit) else runs
    reported = [describe_run(open_run(source)) for source in sources]
    page = render(reported)
    with writing(path) as file:
        file.write(page.encode())
    return [] if charts is None else save_charts(reported, Path(charts))


def save_charts(runs: Sequence[ReportedRun], folder: Path) -> list[Path]:
    """Write every chart as SVG, and as PNG if the extra is installed, into a folder that is there; return the paths.

    Of several runs, all marks are also written as a heat map and its table.
    """
    paths = []
    for name, chart in name_charts(runs):
        paths += [
            chart.save(folder / f"{name}.{ending}") for ending in (("svg", "png") if can_draw_png() else ("svg",))
        ]
    if len(runs) > 1:
        path = folder / "heatmap.csv"
        table = tabulate_marks([run.results for run in runs], name_models(runs))
        with writing(path) as file:
            file.write(for_spreadsheets(table).write_csv().encode())
        paths.append(path)
    return paths
