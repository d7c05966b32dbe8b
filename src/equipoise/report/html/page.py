"""The report as one HTML page that loads nothing and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from equipoise.assets import REGISTRY
from equipoise.authoring import Card
from equipoise.errors import InputError
from equipoise.measuring.compare import SIGNIFICANCE, compare_audits
from equipoise.measuring.result import SIMULATED, Result
from equipoise.probes.labelled import describe_accuracy
from equipoise.report import text
from equipoise.report.charts.drawing import colour_styles
from equipoise.report.html import notes
from equipoise.report.html.pieces import split_text
from equipoise.report.html.sections import RankedFinding, Section, build_sections, name_models
from equipoise.report.words import compare_words
from equipoise.runs.run import Run
from equipoise.stats.intervals import LEVEL

FEW = 4
"""With more models, what each of them has is folded."""
FINDINGS, FINDINGS_EACH = 6, 3
"""How many of the worst findings are shown: of a single run, and of each of several."""
_GENERATED = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
"""What marks generated parts of a card."""


def render(runs: Sequence[Run], *, full: bool = False, origin: str = "") -> str:
    """The report on one run, or on several side by side: a few pages, or with `full` all that there is to show.

    `origin` says what it was made of, and how. The place of its digest is empty.
    """
    if not runs:
        raise InputError("A report needs at least one run.")
    names, audits = name_models(runs), [run.results() for run in runs]
    sections = build_sections(runs, full=full)
    is_simulated = audits[0].origin == SIMULATED
    comparisons = {
        place: compare_audits([audits[0], audit], (names[0], names[place]))[0]
        for place, audit in enumerate(audits)
        # Beside a model, simulated ones only show the scale.
        if place > 0 and (audit.origin == SIMULATED) is is_simulated
    }
    style = colour_styles() + read_own("style.css")
    script = read_own("sort.js") if len(runs) > 1 else None
    return (
        make_environment()
        .get_template("page.html.j2")
        .render(
            runs=list(runs),
            audits=audits,
            names=names,
            sections=sections,
            use_cases=[
                (use_case, list(group))
                for use_case, group in groupby(sections, key=lambda section: section.probe.card.use_case)
            ],
            findings=[worst_findings(sections, place, len(runs)) for place in range(len(runs))],
            notes=notes.gather_notes(runs, names),
            comparisons={place: each for place, each in comparisons.items() if each.probes or each.refused},
            full=full,
            many=len(runs) > FEW,
            style=style,
            script=script,
            policy=content_policy(style, script),
            origin=origin,
        )
    )


def worst_findings(sections: Sequence[Section], place: int, runs: int) -> list[RankedFinding]:
    """The findings of one of so many runs that are shown, the worst first."""
    found = [finding for section in sections for finding in section.findings.get(place, ())]
    most = FINDINGS if runs == 1 else FINDINGS_EACH
    return sorted(found, key=lambda finding: finding.badness, reverse=True)[:most]


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
        "render_card": render_card,
        "describe_source": describe_source,
        "to_json": partial(json.dumps, ensure_ascii=False, default=str),
        "text": text,
        "split_text": split_text,
        "describe_accuracy": describe_accuracy,
        "compare_words": compare_words,
        "level": LEVEL,
        "significance": SIGNIFICANCE,
    }
    return environment


def render_card(card: Card) -> dict[str, Markup]:
    """The sections of a card as HTML. HTML inside a card is shown as text, and links lead only to the web."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    # On a narrow screen a wide table scrolls, and must be reached by the keyboard.
    markdown.add_render_rule("table_open", lambda *_: '<table tabindex="0">')
    markdown.add_render_rule("th_open", lambda *_: '<th scope="col">')
    markdown.add_render_rule("td_open", lambda *_: "<td>")
    bodies = {title: _GENERATED.sub("", body) for title, body in card.sections.items()}
    return {title: Markup(markdown.render(body)) for title, body in bodies.items()}  # noqa: S704 - see above


def describe_source(result: Result) -> str:
    """Where the texts of the corpus come from that was asked about; empty for a probe that has no corpus."""
    corpus = next((corpus for corpus in result.setup.probe.corpora if corpus.name == result.setup.corpus), None)
    if corpus is None:
        return ""
    asset = REGISTRY.get(corpus.asset or "")
    return f"{asset.licence}, {asset.citation} {asset.homepage}" if asset else "packaged with the probe"


def read_own(name: str) -> Markup:
    """A style sheet or a script of ours."""
    return Markup((files(__package__) / name).read_text(encoding="utf-8"))  # noqa: S704 - ours


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
