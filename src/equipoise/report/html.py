"""The report as one HTML file: no script, no request, every colour and letter inside; and its charts as files."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from equipoise.comparing import SURE, Comparison, compare_results
from equipoise.probe import MARKS
from equipoise.probes import get
from equipoise.report import coverage, method, words
from equipoise.report.canvas import Drawing
from equipoise.report.findings import worst
from equipoise.report.palette import stylesheet
from equipoise.report.sections import Section, is_known, section
from equipoise.report.values import ReportedRun, labels
from equipoise.stats.resample import LEVEL, REPLICATES

USE_CASES = ("Decision-making", "Creative writing", "Business communication")
FINDINGS, FINDINGS_EACH = 6, 3
"""Worst findings that are told: of a single run, and of each of several."""


def render(runs: Sequence[ReportedRun]) -> str:
    """The report on one run, or on several side by side."""
    if not runs:
        raise ValueError("a report needs at least one run")
    names = labels(runs)
    parts = sections(runs)
    most = FINDINGS if len(runs) == 1 else FINDINGS_EACH
    style = Markup(stylesheet() + (files(__package__) / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - ours
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            runs=list(runs),
            names=names,
            sections=parts,
            use_cases=[(case, list(own)) for case, own in groupby(parts, key=lambda part: part.probe.card.use_case)],
            findings=[
                worst((finding for part in parts for finding in part.findings.get(place, ())), most)
                for place in range(len(runs))
            ],
            comparisons=comparisons(runs, names),
            sure=SURE,
            tally=[_tally(parts, place) for place in range(len(runs))],
            style=style,
            policy=policy(style),
        )
    )


def sections(runs: Sequence[ReportedRun]) -> list[Section]:
    """A section for each probe that any of the runs has, by use case."""
    probes = [get(name) for name in dict.fromkeys(name for run in runs for name in run.results)]
    order = {case: place for place, case in enumerate(USE_CASES)}
    probes.sort(key=lambda probe: (order.get(probe.card.use_case, len(order)), probe.card.use_case, probe.name))
    names = labels(runs)
    return [section(probe, runs, names) for probe in probes]


def comparisons(runs: Sequence[ReportedRun], names: Sequence[str]) -> dict[int, Comparison]:
    """The other runs beside the first, by their places."""
    found = {
        place: compare_results(runs[0].results, run.results, (names[0], names[place]))
        for place, run in enumerate(runs)
        if place
    }
    return {place: comparison for place, comparison in found.items() if comparison.probes or comparison.refused}


def save_charts(runs: Sequence[ReportedRun], folder: Path) -> list[Path]:
    """Write every chart as SVG and PNG; give the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in charts(runs):
        for ending, content in (("svg", chart.svg().encode()), ("png", chart.png())):
            path = folder / f"{name}.{ending}"
            path.write_bytes(content)
            written.append(path)
    return written


def charts(runs: Sequence[ReportedRun]) -> Iterator[tuple[str, Drawing]]:
    """Every chart in its wide form, under a name that is safe for a file."""
    names = [f"{place + 1}-{_safe(name)}" for place, name in enumerate(labels(runs))]
    for part in sections(runs):
        for scale in part.scales:
            yield f"{part.probe.name}-{scale.metric.name}", scale.charts[0]
        for picture in part.pictures:
            for panel in picture.panels:
                own = f"-{names[panel.run]}" if len(runs) > 1 else ""
                for chart in panel.charts[:1]:
                    yield f"{part.probe.name}-{picture.figure.name}{own}", chart


def environment() -> Environment:
    """The templates. Everything is escaped unless it is known to be ours."""
    made = Environment(
        loader=PackageLoader("equipoise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {
        "coverage": coverage,
        "method": method,
        "words": words,
        "is_known": is_known,
        "replicates": REPLICATES,
        "level": LEVEL,
    }
    return made


def policy(style: str) -> str:
    """The content security policy: nothing is loaded or run, and only our own style applies."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _tally(parts: Sequence[Section], place: int) -> list[tuple[str, int]]:
    """How often a run has each mark."""
    marks = [cell.mark for part in parts for _, cells in part.marked for cell in cells if cell.run == place]
    counts = Counter(mark.mark for mark in marks if mark)
    return [(mark, counts[mark]) for mark in MARKS if counts[mark]]


def _safe(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60] or "model"
