"""How it was measured: cards, corpora with their hashes, and the command lines that print the same prompts again."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from equipoise.assets import REGISTRY
from equipoise.authoring import Card
from equipoise.measuring.result import Result
from equipoise.report.html.runs import ReportedRun
from equipoise.report.text import format_date, join_list, reveal_invisible

OPTIONS = {"sample": "--sample", "repeat": "--repeat", "seed": "--seed"}
"""The parameters that have options of their own."""
COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
"""What marks generated parts of a card."""


_LATEX = {
    **{character: f"\\{character}" for character in "{}%&#$_"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True, kw_only=True)
class CorpusOrigin:
    """Where the texts of a corpus come from."""

    name: str
    sha256: str
    source: str


def render_card(card: Card) -> dict[str, Markup]:
    """The sections of a card as HTML. HTML inside a card is shown as text, and links lead only to the web."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    # On a narrow screen a wide table scrolls, and must be reached by the keyboard.
    markdown.add_render_rule("table_open", lambda *_: '<table tabindex="0">')
    markdown.add_render_rule("th_open", lambda *_: '<th scope="col">')
    markdown.add_render_rule("td_open", lambda *_: "<td>")
    bodies = {title: COMMENT.sub("", body) for title, body in card.sections.items()}
    return {title: Markup(markdown.render(body)) for title, body in bodies.items()}  # noqa: S704 - see above


def find_origin(result: Result) -> CorpusOrigin | None:
    """The corpus that was asked about; None for a probe that has no corpus."""
    corpus = next((corpus for corpus in result.setup.probe.corpora if corpus.name == result.corpus), None)
    if corpus is None:
        return None
    asset = REGISTRY.get(corpus.asset or "")
    source = f"{asset.licence}, {asset.citation} {asset.homepage}" if asset else "packaged with the probe"
    return CorpusOrigin(name=corpus.name, sha256=result.corpus_sha256 or "unknown", source=source)


def prompts_command(result: Result) -> str:
    """The command line that prints the same prompts again."""
    defaults = {parameter.name: parameter.default for parameter in result.setup.probe.all_parameters()}
    command = ["equipoise", "prompts", result.probe]
    for name, option in OPTIONS.items():
        value = result.parameters[name]
        if value != defaults[name] or name == "seed":
            command += [option, "all" if value is None else str(value)]
    for name in changed_parameters(result):
        value = result.parameters[name]
        command += ["--set", f"{name}={value if isinstance(value, str) else to_json(value)}"]
    return reveal_invisible(shlex.join(command))


def changed_parameters(result: Result) -> list[str]:
    """The probe's own parameters that differ from their defaults, and always the corpus."""
    return [
        parameter.name
        for parameter in result.setup.probe.all_parameters()
        if parameter.name not in OPTIONS
        and (parameter.name == "corpus" or result.parameters[parameter.name] != parameter.default)
    ]


def describe_methods(run: ReportedRun) -> str:
    """A paragraph for the methods section of a paper."""
    probes = ", ".join(
        f"{name} version {result.version}{f' on {result.corpus}' if result.corpus else ''}"
        for name, result in run.results.items()
    )
    readings = join_list(list(dict.fromkeys(result.reading for result in run.results.values())))
    asked = {"imported": "were imported", "simulated": "were simulated"}.get(run.results.origin_name, "were asked for")
    return (
        f"Gender bias of {run.results.model} was measured with equipoise {run.equipoise} ({probes}). "
        f"{run.results.answered:,} answers {asked} on {format_date(run.created)} and read by the {readings} reading. "
        "Values are given with 95% intervals over items; marks from A (close to even-handed) to D (very far from it) "
        "follow the limits in the cards of the probes. Answers that failed or decide nothing are counted, and bound "
        f"what the values could be.{f' SHA-256 of the run: {run.digest}.' if run.digest else ''}"
    )


def write_bibtex(run: ReportedRun) -> str:
    """The software and this measurement as entries of a bibliography."""
    year = run.created[:4] if run.created[:4].isdigit() else "n.d."
    model = re.sub(r"[\\{}%&#$_~^]", lambda match: _LATEX[match[0]], run.results.model)
    note = (
        f"SHA-256 of the run: {run.digest}" if run.digest else f"Probes: {', '.join(run.results)}".replace("_", r"\_")
    )
    return (
        f"@software{{equipoise,\n  author = {{{{The equipoise authors}}}},\n  title = {{equipoise}},\n"
        f"  version = {{{run.equipoise}}}\n}}\n\n"
        f"@misc{{equipoise-measurement,\n  title = {{Gender bias of {{{model}}}, measured with equipoise}},\n"
        f"  year = {{{year}}},\n  note = {{{note}}}\n}}"
    )


def to_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON text. What JSON does not know is shown as text."""
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
