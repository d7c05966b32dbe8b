"""How it was measured: cards, corpora with their hashes, and the command lines that ask the same again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from equipoise.assets import REGISTRY
from equipoise.probe import Card, Probe
from equipoise.report.words import plain
from equipoise.results import Result

STANDARD = ("sample_k", "num_repetitions", "random_seed")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where the texts of a probe come from."""

    name: str
    sha256: str
    source: str
    licence: str


def card_html(card: Card) -> dict[str, Markup]:
    """The sections of a card as HTML. HTML inside a card is shown as text, and links lead only to the web."""
    markdown = MarkdownIt("commonmark", {"html": False})
    return {title: Markup(markdown.render(body)) for title, body in card.sections.items()}  # noqa: S704 - see above


def origin(probe: Probe, result: Result) -> Origin | None:
    """The corpus that was used; None for probes that need no more than the package."""
    corpus = next((corpus for corpus in probe.corpora if corpus.name == result.corpus), None)
    if corpus is None:
        return None
    digest = result.corpus_sha256 or "unknown"
    asset = REGISTRY.get(corpus.asset or "")
    if asset is None:
        return Origin(name=corpus.name, sha256=digest, source="packaged with equipoise", licence="MIT")
    return Origin(name=corpus.name, sha256=digest, source=f"{asset.citation} {asset.homepage}", licence=asset.licence)


def command(probe: Probe, result: Result) -> str:
    """The command line that writes the same prompts again."""
    given, defaults = result.parameters, {parameter.name: parameter.default for parameter in probe.all_parameters()}
    words = ["equipoise", "prompts", probe.name]
    if given["sample_k"] != defaults["sample_k"]:
        words += ["--sample", "all" if given["sample_k"] is None else str(given["sample_k"])]
    if given["num_repetitions"] != defaults["num_repetitions"]:
        words += ["--repeat", str(given["num_repetitions"])]
    words += ["--seed", str(given["random_seed"])]
    for name in changed(probe, given):
        value = given[name]
        words += ["--set", f"{name}={value if isinstance(value, str) else as_json(value)}"]
    return plain(shlex.join(words))


def changed(probe: Probe, given: Mapping[str, Any]) -> list[str]:
    """The probe's own parameters that are not at their defaults; the corpus is always named."""
    return [
        parameter.name
        for parameter in probe.all_parameters()
        if parameter.name not in STANDARD and (parameter.name == "corpus" or given[parameter.name] != parameter.default)
    ]


def as_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON text; whatever is no JSON is shown as Python writes it."""
    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)
