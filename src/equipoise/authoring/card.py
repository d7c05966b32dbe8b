"""A probe's card: what it measures and for whom, as values read from `card.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, ClassVar


@dataclass(frozen=True, kw_only=True)
class Card:
    """A title, a summary, the fields that every probe answers, and sections of prose."""

    title: str
    summary: str
    harms: str
    use_case: str
    genders: str
    gender_definition: str
    gender_placement: str
    language: str
    output_type: str
    modality: str
    domain: str
    realism: str
    data_source: str
    size: str
    intersectionality: str
    sections: Mapping[str, str] = field(repr=False)
    text: str = field(repr=False)
    folder: Traversable | None = field(default=None, compare=False)
    """The folder of the probe, where its examples and golden values are; None if the card was read from a text."""

    SECTIONS: ClassVar = ("Method", "Data", "Evaluation", "Metrics", "Sources", "Parameters", "Limitations")

    @classmethod
    def beside(cls, package: str) -> Card:
        """Read the card in a probe's folder: `Card.beside(__package__)`."""
        folder = files(package)
        return replace(cls.parse((folder / "card.md").read_text(encoding="utf-8")), folder=folder)

    @classmethod
    def parse(cls, text: str) -> Card:
        """Read `# Title`, a summary, `- **Field:** value` lines and `## Section`s; ValueError if one is missing."""
        head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
        sections = {title.strip(): body.strip() for title, _, body in (part.partition("\n") for part in parts)}
        values: dict[str, Any] = {
            name.strip().lower().replace(" ", "_"): " ".join(value.split())
            for name, value in re.findall(r"^- \*\*(.+?):\*\*(.*(?:\n  .*)*)", head, flags=re.MULTILINE)
        }
        title = re.match(r"# (.+)\n\n((?:.+\n)+)", head)
        wanted = {entry.name for entry in fields(cls)} - {"title", "summary", "sections", "text", "folder"}
        missing = sorted(wanted - values.keys()) + [name for name in cls.SECTIONS if name not in sections]
        unknown = sorted(values.keys() - wanted)
        if title is None or missing or unknown:
            raise ValueError(f"The card has no title, or fields are wrong: missing {missing}, unknown {unknown}.")
        summary = " ".join(title[2].split())
        return cls(title=title[1].strip(), summary=summary, sections=sections, text=text, **values)
