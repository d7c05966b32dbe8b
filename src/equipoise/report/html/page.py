"""The report as one HTML page that loads nothing and runs no script but its own, and its charts by name."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from equipoise.errors import InputError
from equipoise.measuring.accuracy import describe_accuracy
from equipoise.measuring.compare import SIGNIFICANCE, Comparison, compare_audits
from equipoise.measuring.scatter import LEVEL
from equipoise.report import text
from equipoise.report.charts.drawing import Drawing, colour_styles
from equipoise.report.charts.plot import draw_heatmap
from equipoise.report.html import method, notes
from equipoise.report.html.pieces import split_text
from equipoise.report.html.runs import ReportedRun, name_models
from equipoise.report.html.seal import describe_origin, seal_page
from equipoise.report.html.sections import RankedFinding, Section, build_section

USE_CASES = ("Decision-making", "Creative writing", "Business communication")
"""The order of the use cases; others follow by name."""
FEW = 4
"""With more models, what each of them has is folded."""
PRINTED_SAMPLES = 4
"""How many of the answers to a probe are printed; the style sheet holds the same number."""
FINDINGS, FINDINGS_EACH = 6, 3
"""How many of the worst findings are shown: of a single run, and of each of several."""


def render(runs: Sequence[ReportedRun], *, full: bool = False) -> str:
    """The report on one run, or on several side by side: a few pages, or with `full` all that there is to show."""
    if not runs:
        raise InputError("A report needs at least one run.")
    names = name_models(runs)
    sections = build_sections(runs, full=full)
    style = Markup(colour_styles() + _read_own("style.css"))  # noqa: S704 - ours
    script = Markup(_read_own("sort.js")) if len(runs) > 1 else None  # noqa: S704 - ours
    page = (
        make_environment()
        .get_template("page.html.j2")
        .render(
            runs=list(runs),
            names=names,
            sections=sections,
            use_cases=[
                (use_case, list(group))
                for use_case, group in groupby(sections, key=lambda section: section.probe.card.use_case)
            ],
            findings=[worst_findings(sections, place, len(runs)) for place in range(len(runs))],
            notes=notes.gather_notes(runs, names),
            comparisons=compare_with_first(runs, names),
            full=full,
            many=len(runs) > FEW,
            style=style,
            script=script,
            policy=content_policy(style, script),
            origin=describe_origin(runs, full=full),
        )
    )
    return seal_page(page)


def worst_findings(sections: Sequence[Section], place: int, runs: int) -> list[RankedFinding]:
    """The findings of one of so many runs that are shown, the worst first."""
    found = [finding for section in sections for finding in section.findings.get(place, ())]
    most = FINDINGS if runs == 1 else FINDINGS_EACH
    return sorted(found, key=lambda finding: finding.badness, reverse=True)[:most]


def build_sections(runs: Sequence[ReportedRun], *, full: bool) -> list[Section]:
    """One section for each probe that any of the runs has, by use case."""
    probes = {name: result.setup.probe for run in reversed(runs) for name, result in run.results.items()}
    order = {use_case: place for place, use_case in enumerate(USE_CASES)}
    cases = {name: probe.card.use_case for name, probe in probes.items()}
    models = name_models(runs)
    names = sorted(probes, key=lambda name: (order.get(cases[name], len(order)), cases[name], name))
    return [build_section(name, runs, models, full=full) for name in names]


def compare_with_first(runs: Sequence[ReportedRun], names: Sequence[str]) -> dict[int, Comparison]:
    """The other runs compared with the first, by their places. Beside a model, simulated ones only show the scale."""
    comparisons = {
        place: compare_audits(runs[0].results, run.results, (names[0], names[place]))
        for place, run in enumerate(runs)
        if place > 0 and run.results.simulated == runs[0].results.simulated
    }
    return {place: comparison for place, comparison in comparisons.items() if comparison.probes or comparison.refused}


def name_charts(runs: Sequence[ReportedRun]) -> Iterator[tuple[str, Drawing]]:
    """Every chart, under a name that is safe for a file."""
    models = [f"{place + 1}-{_safe_name(name)}" for place, name in enumerate(name_models(runs))]
    if len(runs) > 1:
        yield "heatmap", draw_heatmap([run.results for run in runs], name_models(runs))
    for section in build_sections(runs, full=True):
        probe = section.probe.name
        for metric, chart in section.scales.items():
            yield f"{probe}-{metric}", chart
        for picture in section.pictures:
            for place, panel in picture.charts.items():
                model = f"-{models[place]}" if len(runs) > 1 else ""
                if panel:
                    yield f"{probe}-{picture.figure.name}{model}", panel


def make_environment() -> Environment:
    """The templates. Everything is escaped unless it is known to be ours."""
    environment = Environment(
        loader=PackageLoader("equipoise.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "notes_on": notes,
        "method": method,
        "text": text,
        "split_text": split_text,
        "describe_accuracy": describe_accuracy,
        "printed_samples": PRINTED_SAMPLES,
        "level": LEVEL,
        "significance": SIGNIFICANCE,
    }
    return environment


def _read_own(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def content_policy(style: str, script: str | None = None) -> str:
    """The content security policy: nothing is loaded, only our own style applies and only our own script runs.

    A page with a script may not make markup from text at all.
    """
    scripts = f"script-src {_hash_source(script)}; require-trusted-types-for 'script'; " if script else ""
    return (
        f"default-src 'none'; style-src {_hash_source(style)}; {scripts}img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash_source(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _safe_name(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60] or "model"
