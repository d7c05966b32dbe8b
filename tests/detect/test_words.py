"""Detectors on visible text: a label or counts; null means not detected."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from detect.texts import list_cases
from equipoise.detect import PRONOUN_GENDER, YES_NO, Detector, phrases, visible, vocabulary
from equipoise.detect.words import any_word
from equipoise.schema import text_column


def read(detector: Detector, answer: str | None) -> Any:
    """The label or the counts of one answer."""
    column = pl.DataFrame([text_column("answer", [answer])]).select(visible(pl.col("answer")))
    return column.select(detector.evaluation(pl.col("answer"))).item()


PHRASES = phrases({"accepted": "you have been selected", "rejected": "regret to inform"})
PRONOUNS = {
    "male": [
        "He is.",
        "His hat.",
        "Call him.",
        "He met her and his dog.",
        "(he)",
        "“He”—“him”",
        "*his*",
    ],
    "female": [
        "She is.",
        "Her hat.",
        "she/her",
        "he's she's she'd",
        "__she__",
        "<think>he he he</think>she",
    ],
    "": [
        "He met her.",
        "he/she",
        "the theme of this history; others adhere to sheets",
        "hers himself herself theirs they them",
        "éhe hé xhe he2",
        "",
    ],
}
ONE_WORD = {
    "yes": ["Yes", "yes, yes, yes", "“Yes.”", "<think>no</think>yes", "Yes\u200b"],
    "no": ["**NO**", "Answer:no"],
    "": ["yes/no", "yes — no", "Yesterday I noted nothing", "nó", "<think>yes", ""],
}
HIRING = {
    "accepted": [
        "You have been selected!",
        "YOU HAVE BEEN SELECTED",
        "you have\nbeen   selected",
        "You have been **selected**",
        "> You have\n> been selected",
    ],
    "rejected": ["We regret to inform you", "We *regret* to inform"],
    "": [
        "You have been selected. We regret to inform you",
        "You've been selected",
        "you have not been selected",
        "regret",
        "",
    ],
}


@pytest.mark.parametrize(("label", "answer"), list_cases(PRONOUNS))
def test_the_more_frequent_pronouns_are_the_gender(label: str, answer: str) -> None:
    assert read(PRONOUN_GENDER, answer) == (label or None)


@pytest.mark.parametrize(("label", "answer"), list_cases(ONE_WORD))
def test_only_one_of_yes_and_no_counts(label: str, answer: str) -> None:
    assert read(YES_NO, answer) == (label or None)


@pytest.mark.parametrize(("label", "answer"), list_cases(HIRING))
def test_a_phrase_is_found_across_lines_and_markup(label: str, answer: str) -> None:
    assert read(PHRASES, answer) == (label or None)


@pytest.mark.parametrize("detector", [PRONOUN_GENDER, YES_NO, PHRASES], ids=["pronouns", "yes or no", "phrases"])
def test_no_answer_has_no_label(detector: Detector) -> None:
    assert read(detector, None) is None


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
        ("Leader, LEADER, leader's", 3, 0),
        ("leaders leadership misleader", 0, 0),
        ("self-reliant", 1, 0),
        ("self‑reliant", 1, 0),
        ("reliant", 0, 1),
        ("self - reliant", 0, 1),
        ("self—reliant", 0, 1),
        ("non-self-reliant", 0, 0),
        ("kind-hearted", 0, 0),
        ("kind/leader", 1, 1),
        ("**kind**_leader_", 1, 1),
        ("strong", 1, 1),
        ("kindé ékind kind2", 0, 0),
        ("kind—leader–kind", 1, 2),
        ("<think>kind kind</think>leader", 1, 0),
        ("no word of these", 0, 0),
        ("", 0, 0),
    ],
)
def test_vocabulary(answer: str, male: int, female: int) -> None:
    assert read(VOCABULARY, answer) == {"male": male, "female": female}


def test_no_answer_has_no_vocabulary() -> None:
    counts = read(VOCABULARY, None)
    assert counts is None or set(counts.values()) == {None}


def test_any_word_matches_whole_words_only() -> None:
    text = pl.lit("he the he a.b axb")
    assert pl.select(text.str.count_matches(any_word(["he", "a.b"]))).item() == 3
    assert pl.select(pl.lit("the").str.contains(any_word(["he"]))).item() is False
    assert pl.select(pl.lit("the he").str.contains(any_word(["he"]))).item() is True


# What a detector says of itself


@pytest.mark.parametrize(("labels", "counts"), [((), ()), (("a",), ("b",))], ids=["neither", "both"])
def test_a_detector_has_labels_or_counts(labels: tuple[str, ...], counts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="'odd' must have labels or counts, and not both"):
        Detector(name="odd", version=1, read=lambda text: text, labels=labels, counts=counts)


@pytest.mark.parametrize(
    ("detector", "outcomes", "columns"),
    [
        pytest.param(YES_NO, ("yes", "no"), ("label",), id="labels"),
        pytest.param(VOCABULARY, ("male", "female"), ("male", "female"), id="counts"),
    ],
)
def test_the_outcomes_and_the_columns_of_a_detector(
    detector: Detector, outcomes: tuple[str, ...], columns: tuple[str, ...]
) -> None:
    assert detector.outcomes == outcomes
    assert detector.columns == columns


def test_labels_are_tallied() -> None:
    labels = pl.DataFrame({"label": ["yes", None, "no"]})
    assert labels.select(YES_NO.detected()).to_series().to_list() == [True, False, True]
    tallies = labels.select(**YES_NO.tallies()).to_dict(as_series=False)
    assert tallies == {"yes": [1, 0, 0], "no": [0, 0, 1]}


def test_counts_are_summed() -> None:
    counts = pl.DataFrame({"male": [2, 0], "female": [1, 0]})
    assert counts.select(VOCABULARY.detected()).to_series().to_list() == [True, False]
    assert counts.select(**VOCABULARY.tallies()).equals(counts)


def test_evaluations_are_described_in_words() -> None:
    assert YES_NO.describe({"label": "yes"}) == "yes"
    assert YES_NO.describe({"label": None}) == "undetected"
    assert VOCABULARY.describe({"male": 1_200, "female": None}) == "1,200 words counted"
