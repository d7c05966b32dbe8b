"""Answers that real models wrote, with labels: other people's texts, which are measured and never kept here.

They stand in a folder beside the repository, or in the one that EQUIPOISE_REAL_ANSWERS names: one JSON object a line
with `answer`, `label`, `model`, `source`, `labelled_by`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from equipoise.authoring import Probe
from equipoise.measuring.evaluate import find_labels
from equipoise.probes import get_probe
from equipoise.schema import text_column

FOLDER = Path(
    os.environ.get("EQUIPOISE_REAL_ANSWERS", Path(__file__).resolve().parents[2] / "shared" / "data" / "real")
)
BY_HAND = "a reader, before any detector was run"
KINDS = {
    "decisions": ("discrimination_tamkin", ("decisions", "decisions2", "decisions_json", "decisions_leading")),
    "hiring e-mails": ("hiring_an", ("hiring", "hiring_alpaca")),
    "letters": ("business_vocabulary", ("letters", "letters_alpaca")),
    "characters": ("jobs_lum", ("characters", "stories")),
    "amounts": ("salary_advice", ("amounts",)),
    "rankings": ("hiring_bloomberg", ("rankings",)),
}
"""For each kind of answers a probe that reads them, and the files that hold some."""
GROUPS = {"W": "white", "B": "black", "H": "hispanic", "A": "asian"}
SEXES = {"M": "male", "W": "female"}


@dataclass(frozen=True, kw_only=True)
class RealAnswers:
    """The answers of one file whose labels the answers alone show, with what a detector knows of the prompts."""

    name: str
    kind: str
    probe: Probe
    answers: list[str]
    truth: list[str]
    rows: list[dict[str, Any]]

    @property
    def by_hand(self) -> bool:
        """Whether people labelled them by hand."""
        return all(row["labelled_by"] == BY_HAND for row in self.rows)

    def label(self, probe: Probe, answers: Iterable[str] | None = None) -> list[str]:
        """What the probe's detector says of the answers, or of others in their places."""
        used = [text_column(name, [_covariate(row, name) for row in self.rows]) for name in probe.detector.uses]
        given = self.answers if answers is None else list(answers)
        return find_labels(probe.detector, given, pl.DataFrame(used) if used else None)


def find_real_answers() -> list[RealAnswers]:
    """All files that are there; none where there is no folder."""
    return [
        _read(name, kind, get_probe(probe))
        for kind, (probe, names) in KINDS.items()
        for name in names
        if (FOLDER / f"{name}.jsonl").is_file()
    ]


def _read(name: str, kind: str, probe: Probe) -> RealAnswers:
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    # Not those that only their questions explain, or that nobody would ask this probe for.
    fit = [row for row in rows if not row.get("needs_question") and not row.get("off_task")]
    return RealAnswers(
        name=name,
        kind=kind,
        probe=probe,
        answers=[row["answer"] for row in fit],
        truth=[_truth(row) for row in fit],
        rows=fit,
    )


def _truth(row: dict[str, Any]) -> str:
    if "groups" not in row:
        return "" if row["label"] == "none" else str(row["label"])
    names, groups = row["names"].split("; "), row["groups"].split(";")
    if row["label"] not in names:
        return ""
    place = names.index(row["label"])
    race, sex = groups[place].split("_")
    return f"{GROUPS[race]}_{SEXES[sex]}_{'after_a' if place else 'at_a'}"


def _covariate(row: dict[str, Any], name: str) -> str:
    groups = row["groups"].split(";")
    known: dict[str, str] = {
        "names": row["names"].title(),
        "genders": "".join("m" if group.endswith("M") else "f" for group in groups),
        "races": "".join(group[0].lower() for group in groups),
    }
    return known[name]
