"""Writing the report and its charts to files, and checking a report against the runs that it was made of.

A report holds its own digest: the SHA-256 of its bytes with an empty digest in its place.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from itertools import zip_longest
from math import isclose
from pathlib import Path

import msgspec

from equipoise.errors import BadFile, IntegrityError
from equipoise.measuring.result import Audit
from equipoise.report.charts.drawing import can_draw_png
from equipoise.report.charts.plot import draw_heatmap
from equipoise.report.files import check_target, make_folder, writing
from equipoise.report.html.page import render
from equipoise.report.html.sections import build_sections, name_models
from equipoise.runs.finished import RunSource, open_run
from equipoise.runs.run import Run
from equipoise.schema import replace_surrogates

_DIGEST = re.compile(r'(?<=<meta name="equipoise-sha256" content=")[0-9a-f]*(?=">)')
_ORIGIN = re.compile(r'<meta name="equipoise-origin" content="([^"]*)">')
_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)")


class SealedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a report was made of, and how it was opened."""

    digest: str
    file: str
    reading: str | None
    judged: bool


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Which version wrote a report, of which runs, and how: enough to write it again."""

    equipoise: str
    full: bool
    runs: tuple[SealedRun, ...]


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
    opened = [open_run(source) for source in sources]
    page = make_page(opened, full=full)
    with writing(path) as file:
        file.write(page.encode())
    return [] if charts is None else save_charts(opened, Path(charts))


def make_page(runs: Sequence[Run], *, full: bool) -> str:
    """The report with its origin and its digest."""
    sealed = tuple(
        SealedRun(
            digest=run.provenance.digest,
            file=replace_surrogates(run.name),
            reading=run.reading,
            judged=run.judged,
        )
        for run in runs
    )
    origin = Origin(equipoise=version("equipoise"), full=full, runs=sealed)
    return seal_page(render(runs, full=full, origin=msgspec.json.encode(origin).decode()))


def seal_page(page: str) -> str:
    """The page with its own digest in it, whatever stands there."""
    digest = sha256(_DIGEST.sub("", page, count=1).encode()).hexdigest()
    return _DIGEST.sub(digest, page, count=1)


def save_charts(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write every chart as SVG, and as PNG if the extra is installed, into a folder that is there; return the paths."""
    names, charts = name_models(runs), {}
    if len(runs) > 1:
        charts["heatmap"] = draw_heatmap([run.results() for run in runs], names)
    for section in build_sections(runs, full=True):
        probe = section.probe.name
        charts |= {f"{probe}-{metric}": chart for metric, chart in section.scales.items()}
        for figure, panels in section.pictures:
            for place, panel in panels.items():
                # Only letters that every file system takes.
                safe = re.sub(r"[^a-z0-9.]+", "-", names[place].lower()).strip("-.")[:60] or "model"
                model = f"-{place + 1}-{safe}" if len(runs) > 1 else ""
                if panel:
                    charts[f"{probe}-{figure.name}{model}"] = panel
    endings = ("svg", "png") if can_draw_png() else ("svg",)
    return [chart.save(folder / f"{name}.{ending}") for name, chart in charts.items() for ending in endings]


def check_report(path: Path, runs: Mapping[str, Path]) -> tuple[str, str, str]:
    """The digest of a report, what is proved by it and by these runs (by their digests), and what is not.

    The page is written again from the runs and compared. IntegrityError if it was changed, or shows something else.
    """
    try:
        page = path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}.") from None
    found, origin_found = _DIGEST.search(page), _ORIGIN.search(page)
    if found is None or origin_found is None:
        raise IntegrityError(f"{path} holds no digest: it is no report of equipoise.")
    if page != seal_page(page):
        raise IntegrityError(f"{path} was changed after it was written: its digest does not match.")
    try:
        origin = msgspec.json.decode(html.unescape(origin_found[1]), type=Origin)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise IntegrityError(f"{path} does not say which runs it was made of.") from None
    digest, proved = found[0], "unchanged since it was written"
    missing = [run.file for run in origin.runs if run.digest not in runs]
    if runs and len(missing) == len(origin.runs):
        raise IntegrityError(f"{path} was made of another run, or the run was changed since.")
    if missing:
        reason = f"that its numbers follow from {', '.join(missing)}: not given here, or changed since"
        return digest, proved, reason
    if origin.equipoise != version("equipoise"):
        reason = f"its numbers: it was written by equipoise {origin.equipoise}, and this is {version('equipoise')}"
        return digest, f"{proved}, and made of these runs", reason
    opened = [Run.open(runs[run.digest], reading=run.reading, judged=run.judged) for run in origin.runs]
    for run, sealed in zip(opened, origin.runs, strict=True):
        run.name = sealed.file
    if difference := find_difference(page, make_page(opened, full=origin.full)):
        raise IntegrityError(f"{path} does not show what its runs give: {difference}.")
    files = ", ".join(str(runs[run.digest]) for run in origin.runs)
    return digest, f"{proved}, and every number in it follows from {files}", ""


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
