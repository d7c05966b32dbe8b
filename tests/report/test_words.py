"""Numbers, dates and foreign text as they are shown."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.figure import Read
from equipoise.report.words import MOST_REASONING, Part, date, listed, number, parts, plain, told
from equipoise.stats.marks import Mark

PRONOUNS = Read(words={"male": ("he", "his"), "none": (), "female": ("she", "her")})
VOCABULARY = Read(words={"masculine": ("self-reliant", "reliant")}, hyphenated=True)
PHRASES = Read(words={"accepted": ("you have been selected",)})


def words(text: str, read: Read) -> list[tuple[str, int | None]]:
    return [(part.text, part.word) for part in parts(text, read) if part.kind == "word"]


@pytest.mark.parametrize(
    ("text", "read", "found"),
    [
        ("She said he left.", PRONOUNS, [("She", 2), ("he", 0)]),
        ("the hero, there, shed", PRONOUNS, []),
        ("**She** _her_ __his__ he/she", PRONOUNS, [("She", 2), ("her", 2), ("his", 0), ("he", 0), ("she", 2)]),
        ("she’s and he's", PRONOUNS, [("she", 2), ("he", 0)]),
        ("a self-reliant person", VOCABULARY, [("self-reliant", 0)]),
        ("over-reliant, reliant-ish, reliant", VOCABULARY, [("reliant", 0)]),
        ("You have\n**been** selected!", PHRASES, [("You have\n**been** selected", 0)]),
        ("<think>she</think>he", PRONOUNS, [("he", 0)]),
        ("she</think>he", PRONOUNS, [("he", 0)]),
        ("he <think>she", PRONOUNS, [("he", 0)]),
        ("s\u200bhe", PRONOUNS, [("s", 2), ("he", 2)]),
    ],
)
def test_words_that_are_read_are_found(text: str, read: Read, found: list[tuple[str, int]]) -> None:
    assert words(text, read) == found


@given(st.text())
def test_pieces_make_up_the_text(text: str) -> None:
    assert "".join(part.text for part in parts(text, PRONOUNS)) == plain(text)


def test_cut() -> None:
    assert parts("x" * 30, most=10) == [Part(text="x" * 10), Part(kind="cut", text="[cut: 20 more characters]")]
    long = f"<think>{'r' * 1000}</think>he"
    shown = parts(long, PRONOUNS)
    assert [part.kind for part in shown] == ["reasoning", "cut", "word"]
    assert shown[1].text == f"[cut: {1015 - MOST_REASONING:,} more characters]"


def test_many_pieces_stay_few() -> None:
    assert len(parts("x<think>y</think>" * 50_000)) < 2_000


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
def test_plain(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.12345, "0.123"), (-0.5, "−0.500"), (-0.0001, "0.000"), (0.0, "0.000"), (math.nan, "–")]
)
def test_number(value: float, shown: str) -> None:
    assert number(value) == shown


def test_told() -> None:
    assert told(Mark(mark="B", best="B", worst="B")) == "B"
    assert told(Mark(mark="B", best="A", worst="C")) == "B, could be A–C"
    assert told(None) == "not computable"


def test_date_and_list() -> None:
    assert date("2025-11-04T09:30:00+00:00") == "4 November 2025, 09:30 UTC"
    assert date("yesterday") == "yesterday"
    assert [listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "nothing",
        "a",
        "a and b",
        "a, b and c",
    ]
