"""Answers in pieces: exactly what the detector read is marked, and nothing is left out unless it says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.detect import PRONOUN_GENDER, Detector, phrases, vocabulary
from equipoise.report.html.pieces import MAX_CHARACTERS, MAX_REASONING, Piece, split_text
from equipoise.report.text import reveal_invisible

VOCABULARY = vocabulary({"male": ["self-reliant", "reliant"]}, {"masculine": ["self-reliant", "reliant"]})
PHRASES = phrases({"accepted": "you have been selected"})
FRAGMENTS = (
    *("he", "she", "(s)he", "Her", "hero", " ", "\n", "*", "_", "-", ".", "’s", "\u200b", "\u202e", "\x00", "İ", "é"),
    *("<b>", "</b>", "<think>", "</think>", "</thinking>", "**S**he", "😀"),
)
ANSWERS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=30).map("".join)


def marked(text: str, detector: Detector) -> list[tuple[str, tuple[int, ...]]]:
    return [(piece.text, piece.groups) for piece in split_text(text, detector) if piece.kind == "word"]


@pytest.mark.parametrize(
    ("text", "detector", "words"),
    [
        ("She said he left.", PRONOUN_GENDER, [("She", (1,)), ("he", (0,))]),
        ("the hero, there, shed", PRONOUN_GENDER, []),
        (
            "**She** _her_ __his__ he/she",
            PRONOUN_GENDER,
            [("She", (1,)), ("her", (1,)), ("his", (0,)), ("he", (0,)), ("she", (1,))],
        ),
        ("she’s and he's", PRONOUN_GENDER, [("she", (1,)), ("he", (0,))]),
        ("**S**he and (s)he", PRONOUN_GENDER, [("S**he", (1,)), ("(s)", (1,)), ("he", (1, 0))]),
        ("a self-reliant person", VOCABULARY, [("self-reliant", (0,))]),
        ("over-reliant, reliant-ish, reliant", VOCABULARY, [("reliant", (0,))]),
        ("You have\n**been** selected!", PHRASES, [("You have\n**been** selected", (0,))]),
        ("You have<think>not</think>been selected!", PHRASES, [("You have", (0,)), ("been selected", (0,))]),
        ("<think>she</think>he", PRONOUN_GENDER, [("he", (0,))]),
        ("she</think>he", PRONOUN_GENDER, [("he", (0,))]),
        ("he <think>she", PRONOUN_GENDER, [("he", (0,))]),
        ("s\u200bhe", PRONOUN_GENDER, [("s", (1,)), ("he", (1,))]),
    ],
)
def test_words_that_were_read_are_marked(
    text: str, detector: Detector, words: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert marked(text, detector) == words


@given(ANSWERS)
def test_exactly_the_spans_of_the_detector_are_marked(answer: str) -> None:
    groups = list(PRONOUN_GENDER.patterns)
    read: dict[int, list[int]] = {}
    for span in PRONOUN_GENDER.spans([answer])[0]:
        for place in range(span.start, span.end):
            read.setdefault(place, []).append(groups.index(span.group))
    expected = [(answer[place], tuple(read[place])) for place in sorted(read)]
    shown = [(character, own) for word, own in marked(answer, PRONOUN_GENDER) for character in word]
    assert shown == [(character, own) for character, own in expected if reveal_invisible(character) == character]


@given(st.text())
def test_the_pieces_make_up_the_text(text: str) -> None:
    assert "".join(piece.text for piece in split_text(text, PRONOUN_GENDER)) == reveal_invisible(text)


def test_a_long_text_is_cut() -> None:
    assert split_text("x" * 30, most=10) == [Piece(text="x" * 10), Piece(kind="cut", text="[cut: 20 more characters]")]


def test_long_reasoning_is_cut_by_itself() -> None:
    pieces = split_text(f"<think>{'r' * 1000}</think>he", PRONOUN_GENDER)
    assert [piece.kind for piece in pieces] == ["reasoning", "cut", "word"]
    assert pieces[1].text == f"[cut: {1015 - MAX_REASONING:,} more characters]"


@pytest.mark.parametrize(("rest", "kind"), [(" left", "word"), ("ro", "text")])
def test_a_word_at_the_cut_is_marked_if_the_whole_word_was_read(rest: str, kind: str) -> None:
    """Of "hero", only "he" is shown, and that was not read."""
    start = "x " * (MAX_CHARACTERS // 2 - 1)
    *_, last, cut = split_text(f"{start}he{rest}", PRONOUN_GENDER)
    assert (last.kind, cut.kind) == (kind, "cut")
    assert last.text.endswith("he")


def test_words_after_much_reasoning_are_marked() -> None:
    answer = "<think>no</think>" + "x<think>y</think>" * 1_000 + "he"
    assert split_text(answer, PRONOUN_GENDER)[-1] == Piece(text="he", kind="word", groups=(0,))


def test_many_stretches_make_few_pieces() -> None:
    assert len(split_text("x<think>y</think>" * 50_000)) < 2_000
