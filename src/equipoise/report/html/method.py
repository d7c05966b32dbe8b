"""How it was measured: cards, corpora with their hashes, and the command lines that print the same prompts again."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from equipoise.assets import REGISTRY
from equipoise.authoring import Card
from equipoise.measuring.result import Result
from equipoise.report.text import reveal_invisible

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


def render_card(card: Card) -> dict[str, Markup]:
    """The sections of a card as HTML. HTML inside a card is shown as text, and links lead only to the web."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    # On a narrow screen a wide table scrolls, and must be reached by the keyboard.
    markdown.add_render_rule("table_open", lambda *_: '<table tabindex="0">')
    markdown.add_render_rule("th_open", lambda *_: '<th scope="col">')
    markdown.add_render_rule("td_open", lambda *_: "<td>")
    bodies = {title: COMMENT.sub("", body) for title, body in card.sections.items()}
    return {title: Markup(markdown.render(body)) for title, body in bodies.items()}  # noqa: S704 - see above


def describe_source(result: Result) -> str:
    """Where the texts of the corpus come from that was asked about; empty for a probe that has no corpus."""
    corpus = next((corpus for corpus in result.setup.probe.corpora if corpus.name == result.setup.corpus), None)
    if corpus is None:
        return ""
    asset = REGISTRY.get(corpus.asset or "")
    return f"{asset.licence}, {asset.citation} {asset.homepage}" if asset else "packaged with the probe"


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


def escape_latex(text: str) -> str:
    """Text for a bibliography, without anything that LaTeX would take for a command."""
    return "".join(_LATEX.get(character, character) for character in text)


def to_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON text. What JSON does not know is shown as text."""
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
