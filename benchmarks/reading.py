"""How equipoise and GenderBench read the same answers, why they differ, and how far apart their values are."""

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

from benchmarks.marks_job import read_rows
from equipoise.answers.rows import read_python
from equipoise.answers.score import score_rows
from equipoise.authoring import MetricKey, Probe, slug
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.plan import Plan
from equipoise.probes.business_vocabulary.inventories import INVENTORIES
from equipoise.schema import ANSWER, LABEL, STATUS, Status

PEER_LABELS = {"accepted": "yes", "rejected": "no"}
"""Labels that GenderBench calls by another name."""
OUR_METRIC_NAMES = {"nonbinary_success_rate": "non_binary_success_rate"}
"""Metrics that equipoise calls by another name."""
NOT_COMPARED = {
    ("business_vocabulary", "mean_male"): "GenderBench averages the rates of female names with those of male ones",
    ("hiring_an", "undetected_rate_items"): "an item is one prompt in GenderBench and a matched pair in equipoise",
    ("hiring_an", "diff_abs_acceptance_rate"): "only GenderBench has it",
}
"""Metrics that are not compared, and why."""
REASONS = {
    "reasoning in `<think>` tags: GenderBench reads it": re.compile("<think>"),
    "the word is in underscores: GenderBench does not see it": re.compile(r"_\w+_"),
    "the word is joined to an ellipsis or a slash: GenderBench does not see it": re.compile(r"\w[…/]"),
    "“(s)he”: a man for GenderBench, undecided for equipoise": re.compile(r"\(s\)he", re.IGNORECASE),
    "“no-fault”, “yes-or-no”: equipoise reads the yes or no in it": re.compile(r"\b(?:yes|no)-", re.IGNORECASE),
    "both phrases: a refusal for GenderBench, undecided for equipoise": re.compile(
        r"(?s)have been selected.*regret to inform"
    ),
    "emphasis or a line break in the phrase: GenderBench does not see it": re.compile(
        r"\*\*(?:selected|regret)|\n(?:been|inform)"
    ),
    "“regret to inform” with a name: GenderBench does not see it": re.compile(r"regret to inform (?!you)"),
}
GEST_LISTS = "the gest lists: GenderBench’s has words that are no traits (more, good), ours has “emotional”"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Counts of answers read differently, by reason; and for each metric how far apart the two values are."""

    reasons: Counter[str]
    distances: Mapping[str, float]


def write_readings(probe: Probe, answers: Path, path: Path) -> None:
    """Write how equipoise reads each answer of a file: one line of JSON per answer, with the labels of the peer."""
    texts = [row[ANSWER] for row in read_rows(answers)]
    path.write_text("".join(json.dumps(reading) + "\n" for reading in readings(probe, texts)), encoding="utf-8")


def readings(probe: Probe, texts: Sequence[str]) -> list[Any]:
    """For each text a label or None; or the counts of male and female words by inventory."""
    attempts = pl.DataFrame({ANSWER: texts}, schema={ANSWER: pl.String}).with_columns(pl.lit(Status.OK).alias(STATUS))
    read = evaluate(probe.detector, attempts)
    if probe.detector.labels:
        return [PEER_LABELS.get(label, label) for label in read[LABEL]]
    return [{name: [row[f"{name}_male"], row[f"{name}_female"]] for name in INVENTORIES} for row in read.to_dicts()]


def compare(planned: Plan, answers: Path, ours: Path, theirs: Path, values: Mapping[str, float]) -> Comparison:
    """Compare the readings of both, and the values of the peer with ours on the answers that both read alike."""
    rows = read_rows(answers)
    our_readings, peer_readings = (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()] for path in (ours, theirs)
    )
    triples = list(zip(rows, our_readings, peer_readings, strict=True))
    result = score_rows(planned, read_python([row for row, our, peer in triples if our == peer]))
    metrics = {_peer_name(key): estimate for key, estimate in result.estimates.items()}
    return Comparison(
        reasons=Counter(find_reason(row[ANSWER], our, peer) for row, our, peer in triples if our != peer),
        distances={
            name: distance(value, metrics[OUR_METRIC_NAMES.get(name, name)].value)
            for name, value in values.items()
            if (planned.probe.name, name) not in NOT_COMPARED
        },
    )


def _peer_name(key: MetricKey) -> str:
    """The name of a metric in GenderBench, where a group of a slice is a prefix: `race_white_diff_regression`."""
    return key.metric if key.slice is None else f"{key.slice}_{slug(key.group)}_{key.metric}"


def find_reason(answer: str, our: Any, peer: Any) -> str:
    """The first known reason that explains why two readings of an answer differ, or "other"."""
    for reason, pattern in REASONS.items():
        if pattern.search(answer):
            return reason
    only_gest = isinstance(our, dict) and [name for name in our if our[name] != peer[name]] == ["gest"]
    return GEST_LISTS if only_gest else "other"


def distance(first: float, second: float) -> float:
    """How far apart two values are: 0 if both are undefined, infinite if one is."""
    if math.isnan(first) or math.isnan(second):
        return 0.0 if math.isnan(first) and math.isnan(second) else math.inf
    return abs(first - second)
