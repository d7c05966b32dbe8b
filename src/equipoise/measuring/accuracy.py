"""How often a detector is wrong: its labels beside those that a reader gave to the answers in `labelled.csv`.

Half of the answers (`split` = held) were set aside before the rules were written; only their error says something about
answers that nobody has seen.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from equipoise.authoring import Detector, Probe
from equipoise.measuring.evaluate import evaluate
from equipoise.schema import ANSWER, LABEL, READINGS, STATUS, Status, text_column

FILE = "labelled.csv"
COUNTED = "letter"
"""The label of an answer in which a detector that counts words should count any."""
SECOND = "second"
SPLITS, KINDS = ("held", "tuned"), ("ordinary", "nasty")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
"""A number as it stands in examples.csv and labelled.csv."""
Row = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """How the labels of a detector compare with those of people, on some answers."""

    n: int
    wrong: int
    """Another label than people gave, or none, or one where people saw none."""
    flips: int
    """One decided label for another: a man read as a woman, a yes as a no, a number as another number."""
    decided: int
    """Answers to which people gave a decided label,"""
    missed: int
    """and how many of them got none."""
    undecided: int
    """Answers in which people saw nothing decided,"""
    invented: int
    """and how many of them got a decided label."""


def read_labelled(probe: Probe) -> list[Row]:
    """The rows of labelled.csv in the folder of a probe: answer, label, style, kind, split. Without a file: none.

    A column `second` holds the labels of a second reader, who saw the answers alone.
    """
    source = probe.card.folder / FILE if probe.card.folder else None
    if source is None or not source.is_file():
        return []
    return list(csv.DictReader(io.StringIO(source.read_text(encoding="utf-8"), newline="")))


def find_labels(detector: Detector, answers: Sequence[str], prompts: pl.DataFrame | None = None) -> list[str]:
    """What the detector says of each answer: a label, or nothing. `prompts` has the columns that it uses, if any."""
    attempts = pl.DataFrame([text_column(ANSWER, answers)]).with_columns(pl.lit(Status.OK.value).alias(STATUS))
    evaluated = evaluate(detector, attempts if prompts is None else attempts.hstack(prompts))
    return name_outcomes(detector, evaluated)


def name_outcomes(detector: Detector, evaluated: pl.DataFrame) -> list[str]:
    """What evaluated answers say, as it stands in labelled.csv: a label, a number ("95000"), or nothing."""
    if detector.number:
        pairs = evaluated.select(LABEL, detector.number.name).iter_rows()
        return [label or "" if number is None else f"{number:.10g}" for label, number in pairs]
    if detector.counts:
        evaluated = evaluated.select(pl.when(detector.detected()).then(pl.lit(COUNTED)).alias(LABEL))
    return evaluated[LABEL].fill_null("").to_list()


def find_kind(detector: Detector, label: str) -> str:
    """The label itself, but for a number only that it is one; nothing for a label that the detector does not know."""
    if detector.number and NUMBER.fullmatch(label):
        return detector.labels[0]
    decided = () if detector.number else detector.labels or (COUNTED,)
    return label if label in (*decided, *detector.other_labels) else ""


def label_rows(detector: Detector, rows: Sequence[Row]) -> list[str]:
    """What the detector says of labelled answers; columns of the prompt that it uses stand beside them in the file."""
    used = [text_column(name, [row.get(name) for row in rows]) for name in detector.uses]
    return find_labels(detector, [row["answer"] for row in rows], pl.DataFrame(used) if used else None)


def compare_labels(detector: Detector, truth: Sequence[str], found: Sequence[str]) -> Accuracy:
    """Count what is wrong. A label of people that the detector does not know counts as nothing decided."""
    decides = {*(detector.labels or (COUNTED,))}
    pairs = [(label if find_kind(detector, label) else "", said) for label, said in zip(truth, found, strict=True)]
    sides = [(find_kind(detector, label) in decides, find_kind(detector, said) in decides) for label, said in pairs]
    return Accuracy(
        n=len(pairs),
        wrong=sum(label != said for label, said in pairs),
        flips=sum(pair[0] != pair[1] and side == (True, True) for pair, side in zip(pairs, sides, strict=True)),
        decided=sum(truly for truly, _ in sides),
        missed=sides.count((True, False)),
        undecided=sum(not truly for truly, _ in sides),
        invented=sides.count((False, True)),
    )


def measure_accuracy(probe: Probe, split: str, kind: str | None = None, label: str | None = None) -> Accuracy:
    """The accuracy of a probe's detector on one half of its labelled answers, of one kind or label if given."""
    rows = [
        row
        for row in read_labelled(probe)
        if row["split"] == split
        and kind in (None, row["kind"])
        and (label is None or label == _group(probe.detector, row["label"]))
    ]
    found = label_rows(probe.detector, rows)
    return compare_labels(probe.detector, [row["label"] for row in rows], found)


def wilson(part: int, whole: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share."""
    if not whole:
        return 0.0, 1.0
    z = 1.959964
    share, square = part / whole, z * z / whole
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / whole + square / (4 * whole)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def count_agreement(probe: Probe) -> tuple[int, int] | None:
    """On how many of the held answers two readers agreed, and of how many; None if there was only one reader.

    The tuned answers have one reader: an empty cell there is no second label, while a held one says "nothing decided".
    """
    rows = [row for row in read_labelled(probe) if row.get(SECOND) is not None and row["split"] == "held"]
    return (sum(row[SECOND] == row["label"] for row in rows), len(rows)) if rows else None


def describe_agreement(probe: Probe) -> str:
    """One sentence on the agreement of the readers; empty if there was only one."""
    if (counts := count_agreement(probe)) is None:
        return ""
    return f"Two readers agreed on {counts[0]:,} of {counts[1]:,} held labels ({counts[0] / counts[1]:.0%})."


def describe_accuracy(probe: Probe) -> str:
    """The measured error of a probe's detector in words: on ordinary and on nasty answers that were set aside.

    If none were, the error on those that its rules were written on is given, and said to be that.
    """
    title = f"the {probe.reading} reading ({probe.detector.title})"
    rows = read_labelled(probe) if probe.reading in READINGS else []
    if not rows:
        return f"How often {title} is wrong has not been measured."
    split = SPLITS[0] if any(row["split"] == SPLITS[0] for row in rows) else SPLITS[1]
    by_kind = _compare_by_kind(probe.detector, [row for row in rows if row["split"] == split])
    parts = " and on ".join(_describe_errors(kind, found) for kind, found in by_kind.items() if found.n)
    known = "" if split == SPLITS[0] else " Its rules were written on these answers: on others it is wrong more often."
    errors = f"On answers that people had labelled, {title} was wrong on {parts}.{known}"
    return f"{errors} {describe_agreement(probe)}".strip()


def _compare_by_kind(detector: Detector, rows: Sequence[Row]) -> dict[str, Accuracy]:
    """The accuracy on ordinary and on nasty answers, which are read together: that takes half the time."""
    read = list(zip(rows, label_rows(detector, rows), strict=True))
    of_kind = {kind: [(row["label"], found) for row, found in read if row["kind"] == kind] for kind in KINDS}
    return {
        kind: compare_labels(detector, [label for label, _ in pairs], [found for _, found in pairs])
        for kind, pairs in of_kind.items()
    }


def _describe_errors(kind: str, found: Accuracy) -> str:
    low, high = wilson(found.wrong, found.n)
    flips = f"{found.flips} read as the opposite" if found.flips else "none read as the opposite"
    return (
        f"{found.wrong} of {found.n} {kind} ones ({found.wrong / found.n:.0%}, 95% interval {low:.0%} to {high:.0%}; "
        f"{flips})"
    )


def accuracy_table(probe: Probe) -> str:
    """The accuracy of both readings as a Markdown table: the held half by kind and by label, then the tuned half.

    Below it stands on how many labels two readers agreed, if there were two.
    """
    lines = [
        "| reading | half | answers | n | wrong | 95% | flips | missed | invented |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for reading in READINGS if probe.specified else READINGS[:1]:
        read = probe.read_by(reading)
        labels = sorted({_group(read.detector, row["label"]) for row in read_labelled(probe)})
        for split, kind, label in _groups(labels):
            found = measure_accuracy(read, split, kind, label)
            if found.n:
                lines.append(f"| {reading} | {split} | {_name(kind, label)} | {_format(found)} |")
    agreement = describe_agreement(probe)
    return "\n".join([*lines, "", agreement] if agreement else lines)


def _group(detector: Detector, label: str) -> str:
    """What labelled answers are counted together by: all numbers are one group."""
    return find_kind(detector, label) if detector.number else label


def _groups(labels: Sequence[str]) -> Iterator[tuple[str, str | None, str | None]]:
    for split in SPLITS:
        yield from ((split, kind, None) for kind in KINDS)
        if split == "held":
            yield from ((split, None, label) for label in labels)


def _name(kind: str | None, label: str | None) -> str:
    return kind or (f"“{label}”" if label else "nothing decided")


def _format(found: Accuracy) -> str:
    low, high = wilson(found.wrong, found.n)
    missed = f"{found.missed} of {found.decided}" if found.decided else ""
    invented = f"{found.invented} of {found.undecided}" if found.undecided else ""
    return (
        f"{found.n} | {found.wrong} ({found.wrong / found.n:.0%}) | {low:.0%} to {high:.0%} | {found.flips} | "
        f"{missed} | {invented}"
    )
