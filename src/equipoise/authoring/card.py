"""A probe's card: what it measures and for whom, as values read from `card.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Card:
    """A title, a summary, those of its fields that others show, and sections of prose."""

    title: str
    summary: str
    use_case: str
    size: str
    sections: Mapping[str, str] = field(repr=False)
    text: str = field(repr=False)
    folder: Traversable | None = field(default=None, compare=False)
    """The folder of the probe, where its examples and golden values are; None if the card was read from a text."""

    FIELDS: ClassVar = (
        *("Harms", "Use case", "Genders", "Gender definition", "Gender placement", "Language", "Output type"),
        *("Modality", "Domain", "Realism", "Data source", "Size", "Intersectionality"),
    )
    SECTIONS: ClassVar = ("Method", "Data", "Evaluation", "Metrics", "Sources", "Parameters", "Limitations")

    @classmethod
    def beside(cls, package: str) -> Card:
        """Read the card in a probe's folder: `Card.beside(__package__)`."""
        folder = files(package)
        return replace(cls.parse((folder / "card.md").read_text(encoding="utf-8")), folder=folder)

    def read_beside(self, name: str) -> str:
        """The text of a file in the folder of the probe; empty if there is none."""
        source = self.folder / name if self.folder else None
        return source.read_text(encoding="utf-8") if source and source.is_file() else ""

    @classmethod
    def parse(cls, text: str) -> Card:
        """Read `# Title`, a summary, `- **Field:** value` lines and `## Section`s; ValueError if one is missing."""
        head, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
        sections = {title.strip(): body.strip() for title, _, body in (part.partition("\n") for part in parts)}
        values = dict(re.findall(r"^- \*\*(.+?):\*\* (\S.*)", head, flags=re.MULTILINE))
        title = re.match(r"# (.+)\n\n((?:.+\n)+)", head)
        missing = [name for name in (*cls.FIELDS, *cls.SECTIONS) if name not in (*values, *sections)]
        if title is None or missing:
            raise ValueError(f"The card has no title, or fields or sections are missing: {missing}.")
        shown = {"use_case": values["Use case"], "size": values["Size"]}
        return cls(title=title[1].strip(), summary=" ".join(title[2].split()), sections=sections, text=text, **shown)
