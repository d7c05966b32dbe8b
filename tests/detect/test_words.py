"""Detectors on visible text: a label or counts; null means not detected."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from equipoise.detect import PRONOUN_GENDER, YES_NO, Detector, phrases, visible, vocabulary
from equipoise.schema import text_column


def read(detector: Detector, answer: str | None) -> Any:
    """The label or the counts of one answer."""
    column = pl.DataFrame([text_column("answer", [answer])]).select(visible(pl.col("answer")))
    return column.select(detector.evaluation(pl.col("answer"))).item()


PHRASES = phrases({"accepted": "you have been selected", "rejected": "regret to inform"})
LABELS: list[tuple[Detector, str | None, list[str | None]]] = [
    (PRONOUN_GENDER, "male", ["He is.", "His hat.", "Call him.", "He met her and his dog."]),
    (PRONOUN_GENDER, "male", ["(he)", "“He”—“him”", "*his*"]),
    (PRONOUN_GENDER, "female", ["She is.", "Her hat.", "she/her", "he's she's she'd", "__she__"]),
    (PRONOUN_GENDER, "female", ["<think>he he he</think>she"]),
    (PRONOUN_GENDER, None, ["He met her.", "he/she", "the theme of this history; others adhere to sheets"]),
    (PRONOUN_GENDER, None, ["hers himself herself theirs they them", "éhe hé xhe he2", "", None]),
    (YES_NO, "yes", ["Yes", "yes, yes, yes", "“Yes.”", "<think>no</think>yes", "Yes\u200b"]),
    (YES_NO, "no", ["**NO**", "Answer:no"]),
    (YES_NO, None, ["yes/no", "yes — no", "Yesterday I noted nothing", "nó", "<think>yes", "", None]),
    (PHRASES, "accepted", ["You have been selected!", "YOU HAVE BEEN SELECTED", "you have\nbeen   selected"]),
    (PHRASES, "accepted", ["You have been **selected**", "> You have\n> been selected"]),
    (PHRASES, "rejected", ["We regret to inform you", "We *regret* to inform"]),
    (PHRASES, None, ["You have been selected. We regret to inform you", "You've been selected"]),
    (PHRASES, None, ["you have not been selected", "regret", "", None]),
]


@pytest.mark.parametrize(
    ("detector", "expected", "answer"),
    [(detector, expected, answer) for detector, expected, answers in LABELS for answer in answers],
)
def test_labels(detector: Detector, expected: str | None, answer: str | None) -> None:
    assert read(detector, answer) == expected


def test_phrases_take_their_words_literally() -> None:
    detector = phrases({"dots": "a.b (c)", "other": "x+"})
    assert read(detector, "A.B  (C)") == "dots"
    assert read(detector, "aXb c") is None
    assert read(detector, "x+") == "other"


WORDS = {"male": ["leader", "self-reliant", "strong"], "female": ["kind", "reliant", "strong"]}
VOCABULARY = vocabulary(WORDS, groups=WORDS)


@pytest.mark.parametrize(
    ("answer", "male", "female"),
    [
        ("A leader.", 1, 0),
        ("leaders leadership misleader", 0, 0),
        ("self-reliant", 1, 0),
        ("self‑reliant", 1, 0),
        ("reliant", 0, 1),
        ("self - reliant", 0, 1),
        ("non-self-reliant", 0, 0),
        ("**kind**_leader_", 1, 1),
        ("strong", 1, 1),
        ("kindé ékind kind2", 0, 0),
        ("kind—leader–kind", 1, 2),
        ("<think>kind kind</think>leader", 1, 0),
        ("", 0, 0),
    ],
)
def test_vocabulary(answer: str, male: int, female: int) -> None:
    assert read(VOCABULARY, answer) == {"male": male, "female": female}


# What a detector says of itself


def test_a_detector_has_labels_or_counts() -> None:
    for labels, counts in (((), ()), (("a",), ("b",))):
        with pytest.raises(ValueError, match="'odd' must have labels or counts, and not both"):
            Detector(name="odd", version=1, read=lambda text: text, labels=labels, counts=counts)


def test_labels_are_tallied_and_counts_are_summed() -> None:
    labels = pl.DataFrame({"label": ["yes", None, "no"]})
    assert labels.select(YES_NO.detected()).to_series().to_list() == [True, False, True]
    assert labels.select(**YES_NO.tallies()).to_dict(as_series=False) == {"yes": [1, 0, 0], "no": [0, 0, 1]}
    counts = pl.DataFrame({"male": [2, 0], "female": [1, 0]})
    assert counts.select(VOCABULARY.detected()).to_series().to_list() == [True, False]
    assert counts.select(**VOCABULARY.tallies()).equals(counts)
