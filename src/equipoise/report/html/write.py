"""Writing the report and its charts to files, and checking a report against the runs that it was made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import zip_longest
from math import isclose
from pathlib import Path

from equipoise.errors import IntegrityError
from equipoise.measuring.result import Audit
from equipoise.report.charts.drawing import can_draw_png
from equipoise.report.charts.plot import draw_heatmap
from equipoise.report.files import check_target, make_folder, writing
from equipoise.report.html.page import build_sections, render
from equipoise.report.html.runs import ReportedRun, name_models, report_run
from equipoise.report.html.seal import read_seal
from equipoise.runs.finished import RunSource, open_run
from equipoise.runs.run import Run

_DIGEST = re.compile(r'(?<=sha256" content=")[0-9a-f]{64}')
_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)")


def write_report(
    runs: RunSource | Iterable[RunSource], out: str | Path, charts: str | Path | None = None, *, full: bool = False
) -> list[Path]:
    """Write the report on one run, or on several side by side: one HTML file that works offline.

    A run is a path, a `Run`, or an `Audit` whose answers are in a run file. With `full`, the report has all that there
    is to show: every figure and metric, answers to look at, the cards. With `charts`, every chart is also written into
    this folder as SVG, and as PNG if the extra `png` is installed; their paths are returned.
    """
    path = Path(out)
    check_target(path)
    if charts is not None:
        make_folder(Path(charts))
    sources = [runs] if isinstance(runs, str | Path | Run | Audit) else runs
    reported = [report_run(open_run(source)) for source in sources]
    page = render(reported, full=full)
    with writing(path) as file:
        file.write(page.encode())
    return [] if charts is None else save_charts(reported, Path(charts))


def save_charts(runs: Sequence[ReportedRun], folder: Path) -> list[Path]:
    """Write every chart as SVG, and as PNG if the extra is installed, into a folder that is there; return the paths."""
    names, charts = name_models(runs), {}
    if len(runs) > 1:
        charts["heatmap"] = draw_heatmap([run.results for run in runs], names)
    for section in build_sections(runs, full=True):
        probe = section.probe.name
        charts |= {f"{probe}-{metric}": chart for metric, chart in section.scales.items()}
        for picture in section.pictures:
            for place, panel in picture.charts.items():
                # Only letters that every file system takes.
                safe = re.sub(r"[^a-z0-9.]+", "-", names[place].lower()).strip("-.")[:60] or "model"
                model = f"-{place + 1}-{safe}" if len(runs) > 1 else ""
                if panel:
                    charts[f"{probe}-{picture.figure.name}{model}"] = panel
    endings = ("svg", "png") if can_draw_png() else ("svg",)
    return [chart.save(folder / f"{name}.{ending}") for name, chart in charts.items() for ending in endings]


@dataclass(frozen=True, kw_only=True)
class CheckedReport:
    """What was found out about a report that is unchanged: its digest, what is proved, and what is not."""

    digest: str
    proved: str
    not_proved: str = ""
    runs_given: int = 0
    """How many of its runs were given."""


def check_report(path: Path, runs: Mapping[str, Path]) -> CheckedReport:
    """Check that a report is unchanged, and that these runs, by their digests, give every number of it once more.

    The page is written again from the runs and compared. IntegrityError if it was changed, or shows something else.
    """
    digest, origin = read_seal(path)
    unchanged = "unchanged since it was written"
    missing = [run.file or "a run that was not kept" for run in origin.runs if run.digest not in runs]
    given = len(origin.runs) - len(missing)
    if missing:
        reason = f"that it shows {', '.join(missing)} as it is: the run was not given, or was changed since"
        return CheckedReport(digest=digest, proved=unchanged, not_proved=reason, runs_given=given)
    if origin.equipoise != version("equipoise"):
        reason = f"its numbers: it was written by equipoise {origin.equipoise}, and this is {version('equipoise')}"
        made = f"{unchanged}, and made of these runs"
        return CheckedReport(digest=digest, proved=made, not_proved=reason, runs_given=given)
    reported = []
    for run in origin.runs:
        opened = Run.open(runs[run.digest], reading=run.reading, judged=run.judged)
        reported.append(replace(report_run(opened), name=run.file))
    difference = find_difference(path.read_text(encoding="utf-8"), render(reported, full=origin.full))
    if difference:
        raise IntegrityError(f"{path} does not show what its runs give: {difference}.")
    files = ", ".join(str(runs[run.digest]) for run in origin.runs)
    proved = f"{unchanged}, and every number in it follows from {files}"
    return CheckedReport(digest=digest, proved=proved, runs_given=given)


def find_difference(page: str, expected: str) -> str:
    """Where two pages differ, in words; empty if they say the same. Numbers may differ by rounding errors."""
    first, second = (_NUMBER.split(_DIGEST.sub("", text)) for text in (page, expected))
    for place, (given, wanted) in enumerate(zip_longest(first, second, fillvalue="")):
        same = given == wanted
        if not same and place % 2 and given and wanted:  # every second part is a number
            same = isclose(float(given), float(wanted), rel_tol=1e-9, abs_tol=1e-12)
        if not same:
            before = " ".join(re.sub(r"<[^>]*>?", " ", "".join(first[max(0, place - 4) : place])).split())
            return f"after “…{before[-60:]}” it says “{given[:60]}”, and the runs give “{wanted[:60]}”"
    return ""
