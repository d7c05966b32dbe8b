"""Numbers, marks, dates and foreign text as they are shown."""

from __future__ import annotations

import math

import pytest

from equipoise.measuring.marks import Mark
from equipoise.report.text import (
    describe_mark,
    format_date,
    format_number,
    join_words,
    reveal_invisible,
    typeset_number,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "aU+0000b"),
        ("\u202e\u2066\u200b\ufeff", "U+202EU+2066U+200BU+FEFF"),
        ("tab\tand\nline and\u00a0space", "tab\tand\nline and\u00a0space"),
        ("\ud800", "\ufffd"),
        ("é 漢字 😀", "é 漢字 😀"),
    ],
)
def test_invisible_characters_are_shown_by_their_numbers(text: str, shown: str) -> None:
    assert reveal_invisible(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.12345, "0.123"), (-0.5, "−0.500"), (-0.0001, "0.000"), (0.0, "0.000"), (math.nan, "–"), (None, "–")],
)
def test_numbers_have_three_places_and_a_true_minus(value: float | None, shown: str) -> None:
    assert typeset_number(value) == shown
    assert format_number(value) == shown.replace("−", "-")


@pytest.mark.parametrize(("value", "shown"), [(0.5, "+0.500"), (-0.5, "-0.500"), (-0.0001, "+0.000")])
def test_differences_have_a_sign(value: float, shown: str) -> None:
    assert format_number(value, "+") == shown


def test_a_mark_is_shown_with_its_certainty() -> None:
    assert describe_mark(Mark(mark="B", best="B", worst="B")) == "B"
    assert describe_mark(Mark(mark="B", best="A", worst="C")) == "B, could be A–C"
    assert describe_mark(None) == "not computable"


def test_dates_are_written_for_people() -> None:
    assert format_date("2025-11-04T09:30:00+00:00") == "4 November 2025, 09:30 UTC"
    assert format_date("yesterday") == "yesterday"


@pytest.mark.parametrize(
    ("words", "sentence"), [([], "nothing"), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_words_are_listed_as_in_a_sentence(words: list[str], sentence: str) -> None:
    assert join_words(words) == sentence
