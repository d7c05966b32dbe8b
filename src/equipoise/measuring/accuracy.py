"""How often a detector is wrong: its labels beside those of people, and the figures that were measured so.

`reading_errors.json` holds what `make detectors` found on answers that real models wrote; reports and cards state
nothing else. The answers in the `labelled.csv` of a probe are tests of its detector and the exam of a judge.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import polars as pl

from equipoise.authoring import Detector, Probe
from equipoise.measuring.evaluate import evaluate
from equipoise.schema import ANSWER, LABEL, STATUS, Status, text_column

FILE = "labelled.csv"
FIGURES = Path(str(files("equipoise.measuring"))) / "reading_errors.json"
COUNTED = "letter"
"""The label of an answer in which a detector that counts words should count any."""
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
"""A number as it stands in examples.csv and labelled.csv."""
Row = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """How the decided labels of a detector compare with those of people, on some answers."""

    n: int
    read: int
    """Answers that got a decided label,"""
    wrong_read: int
    """and how many of them people gave another one, or none."""
    wrong: int
    """These, and answers that people saw decided and the detector did not."""
    flips: int
    """One decided label for another: a man read as a woman, a yes as a no, a number as another number."""


def read_labelled(probe: Probe) -> list[Row]:
    """The rows of labelled.csv in the folder of a probe: answer, label, style. Without a file: none."""
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


def decided_label(detector: Detector, label: str) -> str:
    """The label if it decides something; nothing for "refused" and the like, and for one that is not known."""
    return label if find_kind(detector, label) in (detector.labels or (COUNTED,)) else ""


def compare_labels(detector: Detector, truth: Sequence[str], found: Sequence[str]) -> Accuracy:
    """Count what was read and what is wrong. Only decided labels count: how an answer fails to decide does not."""
    pairs = [
        (decided_label(detector, label), decided_label(detector, said))
        for label, said in zip(truth, found, strict=True)
    ]
    return Accuracy(
        n=len(pairs),
        read=sum(bool(said) for _, said in pairs),
        wrong_read=sum(bool(said) and label != said for label, said in pairs),
        wrong=sum(label != said for label, said in pairs),
        flips=sum(bool(label) and bool(said) and label != said for label, said in pairs),
    )


@functools.cache
def read_figures() -> Mapping[str, Mapping[str, int]]:
    """For each detector that was measured on real answers, by its title: answers, models, read, wrong, flips."""
    figures: Mapping[str, Mapping[str, int]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return figures


def describe_accuracy(probe: Probe) -> str:
    """How often a probe's detector was wrong on real answers that people labelled by hand, in one sentence."""
    title = f"the {probe.reading} reading ({probe.detector.title})"
    counts = read_figures().get(probe.detector.title)
    if counts is None:
        return f"How often {title} is wrong has not been measured on answers of real models."
    answers, read, wrong, flips = (counts[name] for name in ("answers", "read", "wrong", "flips"))
    opposite = f"{flips} of them as the opposite" if flips else "none as the opposite"
    return (
        f"Of {answers:,} answers of {counts['models']} real models, labelled by hand, {title} read {read:,} "
        f"({read / answers:.0%}), and {wrong} of these wrongly ({wrong / max(read, 1):.0%}; {opposite})."
    )
