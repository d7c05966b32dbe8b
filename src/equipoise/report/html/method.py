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
from equipoise.report.text import reveal_invisible

OPTIONS = {"sample": "--sample", "repeat": "--repeat", "seed": "--seed"}
"""The parameters that have options of their own."""
COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
"""What marks generated parts of a card."""


@dataclass(frozen=True, kw_only=True)
class Origin:
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


def find_origin(result: Result) -> Origin | None:
    """The corpus that was asked about; None for a probe that has no corpus."""
    corpus = next((corpus for corpus in result.setup.probe.corpora if corpus.name == result.corpus), None)
    if corpus is None:
        return None
    asset = REGISTRY.get(corpus.asset or "")
    source = f"{asset.licence}, {asset.citation} {asset.homepage}" if asset else "packaged with the probe"
    return Origin(name=corpus.name, sha256=result.corpus_sha256 or "unknown", source=source)


def prompts_command(result: Result) -> str:
    """The command line that prints the same prompts again."""
    defaults = {parameter.name: parameter.default for parameter in result.setup.probe.all_parameters()}
    words = ["equipoise", "prompts", result.probe]
    for name, option in OPTIONS.items():
        value = result.parameters[name]
        if value != defaults[name] or name == "seed":
            words += [option, "all" if value is None else str(value)]
    for name in changed_parameters(result):
        value = result.parameters[name]
        words += ["--set", f"{name}={value if isinstance(value, str) else to_json(value)}"]
    return reveal_invisible(shlex.join(words))


def changed_parameters(result: Result) -> list[str]:
    """The probe's own parameters that differ from their defaults, and always the corpus."""
    return [
        parameter.name
        for parameter in result.setup.probe.all_parameters()
        if parameter.name not in OPTIONS
        and (parameter.name == "corpus" or result.parameters[parameter.name] != parameter.default)
    ]


def to_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON text. What JSON does not know is shown as text."""
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
