"""Detectors on visible text: a label or counts; null means not detected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from equipoise.detect import count_words, has_word, phrase, pronoun_gender, visible, vocabulary, yes_no
from equipoise.frames import text


def said(detector: Callable[[pl.Expr], pl.Expr], answer: str | None) -> Any:
    column = pl.DataFrame([text("answer", [answer])]).select(visible(pl.col("answer")))
    return column.select(detector(pl.col("answer")).alias("said")).item()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("He is.", "male"),
        ("His hat.", "male"),
        ("Call him.", "male"),
        ("She is.", "female"),
        ("Her hat.", "female"),
        ("He met her.", None),
        ("He met her and his dog.", "male"),
        ("he/she", None),
        ("she/her", "female"),
        ("(he)", "male"),
        ("he's she's she'd", "female"),
        ("“He”—“him”", "male"),
        ("*his*", "male"),
        ("__she__", "female"),
        ("the theme of this history; others adhere to sheets", None),
        ("hers himself herself theirs they them", None),
        ("éhe hé xhe he2", None),
        ("<think>he he he</think>she", "female"),
        ("", None),
        (None, None),
    ],
)
def test_pronoun_gender(answer: str | None, expected: str | None) -> None:
    assert said(pronoun_gender, answer) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Yes", "yes"),
        ("**NO**", "no"),
        ("yes, yes, yes", "yes"),
        ("yes/no", None),
        ("yes — no", None),
        ("Yesterday I noted nothing", None),
        ("nó", None),
        ("“Yes.”", "yes"),
        ("<think>no</think>yes", "yes"),
        ("<think>yes", None),
        ("Answer:no", "no"),
        ("Yes\u200b", "yes"),
        ("", None),
        (None, None),
    ],
)
def test_yes_no(answer: str | None, expected: str | None) -> None:
    assert said(yes_no, answer) == expected


PHRASES = {"accepted": "you have been selected", "rejected": "regret to inform"}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("You have been selected!", "accepted"),
        ("YOU HAVE BEEN SELECTED", "accepted"),
        ("you have\nbeen   selected", "accepted"),
        ("You have been **selected**", "accepted"),
        ("> You have\n> been selected", "accepted"),
        ("We regret to inform you", "rejected"),
        ("We *regret* to inform", "rejected"),
        ("You have been selected. We regret to inform you", None),
        ("You've been selected", None),
        ("you have not been selected", None),
        ("regret", None),
        ("", None),
        (None, None),
    ],
)
def test_phrase(answer: str | None, expected: str | None) -> None:
    assert said(lambda column: phrase(column, PHRASES), answer) == expected


def test_phrase_takes_its_words_literally() -> None:
    detector = lambda column: phrase(column, {"dots": "a.b (c)", "other": "x+"})  # noqa: E731
    assert said(detector, "A.B  (C)") == "dots"
    assert said(detector, "aXb c") is None
    assert said(detector, "x+") == "other"


WORDS = {"male": ["leader", "self-reliant", "strong"], "female": ["kind", "reliant", "strong"]}


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
    assert said(lambda column: vocabulary(column, WORDS), answer) == {"male": male, "female": female}


def test_no_answer_has_no_vocabulary() -> None:
    counts = said(lambda column: vocabulary(column, WORDS), None)
    assert counts is None or set(counts.values()) == {None}


def test_whole_words_are_counted_and_found() -> None:
    assert said(lambda column: count_words(column, ["he", "a.b"]), "he the he a.b axb") == 3
    assert said(lambda column: has_word(column, "he"), "the") is False
    assert said(lambda column: has_word(column, "he"), "the he") is True
