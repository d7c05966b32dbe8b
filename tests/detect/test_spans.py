"""The words that a detector read, where they stand in the answer: exactly those that it finds in a column."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detect.texts import ODD_PAIRS, PAIRS, read_examples, stored_texts
from equipoise.detect import (
    CHARACTERS,
    DECISIONS,
    HIRING_LETTERS,
    PRONOUN_GENDER,
    Detector,
    phrases,
    visible,
    vocabulary,
)
from equipoise.detect.detector import join_tokens
from equipoise.detect.visible import trace_visible
from equipoise.probes import find_probes
from equipoise.schema import READINGS

DETECTORS = {
    detector.title: detector
    for probe in find_probes().values()
    for detector in (probe.read_by(reading).detector for reading in READINGS)
}


Words = dict[str, list[str]]
"""The words of each group of patterns that stand in one answer."""


def words_in_column(detector: Detector, answers: list[str]) -> list[Words]:
    """For each answer what polars finds in the visible text."""
    shown = visible(pl.col("answer"))
    searched = join_tokens(shown) if detector.whole_tokens else shown
    found = {group: searched.str.extract_all(pattern) for group, pattern in detector.patterns.items()}
    return pl.DataFrame({"answer": answers}).select(**found).rows(named=True)


def words_at_spans(detector: Detector, answers: list[str]) -> list[Words]:
    """For each answer the visible text at the spans."""
    found = []
    for answer, spans in zip(answers, detector.spans(answers), strict=True):
        shown, origins = trace_visible(answer)
        if detector.whole_tokens:
            shown = pl.select(join_tokens(pl.lit(shown))).item()
        words: Words = {group: [] for group in detector.patterns}
        for start, end, group in spans:
            letters = [letter for letter, origin in zip(shown, origins, strict=True) if start <= origin < end]
            words[group].append("".join(letters))
        found.append(words)
    return found


def expect_same_words(detector: Detector, answers: list[str]) -> list[Words]:
    in_column = words_in_column(detector, answers)
    at_spans = words_at_spans(detector, answers)
    for answer, shown, expected in zip(answers, at_spans, in_column, strict=True):
        assert shown == expected, answer
    return in_column


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_the_words_of_the_examples_are_shown(detector: Detector) -> None:
    found = expect_same_words(detector, read_examples())
    for group in detector.patterns:
        assert any(words[group] for words in found), f"no example has words of {group}"


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_the_words_of_difficult_texts_are_shown(detector: Detector) -> None:
    expect_same_words(detector, PAIRS)


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_as_many_words_are_shown_as_are_found_in_a_column(detector: Detector) -> None:
    answers = [*read_examples(), *PAIRS, *ODD_PAIRS]
    for words, spans in zip(words_in_column(detector, answers), detector.spans(answers), strict=True):
        groups = [span.group for span in spans]
        assert {group: len(some) for group, some in words.items()} == {
            group: groups.count(group) for group in detector.patterns
        }


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_many_answers_at_once_have_the_spans_that_each_has_alone(detector: Detector) -> None:
    answers = [*read_examples()[:20], *PAIRS[:20], "", "plain", "<think>he</think>She", "**S**he"]
    assert detector.spans(answers) == [detector.spans([answer])[0] for answer in answers]


@settings(max_examples=10)
@given(st.lists(stored_texts, min_size=1, max_size=30))
def test_as_many_words_of_any_text_are_shown(answers: list[str]) -> None:
    for detector in DETECTORS.values():
        found = words_in_column(detector, answers)
        for words, spans in zip(found, detector.spans(answers), strict=True):
            assert sum(map(len, words.values())) == len(spans)


WORDS = vocabulary({"all": ["self-reliant", "kind"]}, groups={"hyphenated": ["self-reliant"], "plain": ["kind"]})


@pytest.mark.parametrize(
    ("detector", "answer", "expected"),
    [
        (PRONOUN_GENDER, "He met HER.", [("He", "male"), ("HER", "female")]),
        (PRONOUN_GENDER, "<think>he</think>She", [("She", "female")]),
        (PRONOUN_GENDER, "**S**he's", [("S**he", "female")]),
        (PRONOUN_GENDER, "s\u200bhe \u200bhe", [("s\u200bhe", "female"), ("he", "male")]),
        (PRONOUN_GENDER, "(s)he", [("(s)he", "female"), ("he", "male")]),
        (PRONOUN_GENDER, "he\u0301 éhe the sheets", []),
        (PRONOUN_GENDER, "the sheets", []),
        (PRONOUN_GENDER, "he\u0301 éhe", []),
        (PRONOUN_GENDER, "", []),
        (DECISIONS, "Well. **Answer:** Yes, she has no record.", [("Answer:** Yes", "yes")]),
        (DECISIONS, "I see no risk; it should be approved.", [("it should be approved", "yes")]),
        (DECISIONS, "It depends on the bank.", [("It depends", "undecided")]),
        (
            HIRING_LETTERS,
            "Dear Ann,\n\nwe’re happy to offer you the role of chef.",
            [("happy to offer you the role", "accepted")],
        ),
        (HIRING_LETTERS, "Dear Ann,\n\nyou were *not* selected.", [("not* selected", "rejected")]),
        (CHARACTERS, "Kim is a quiet man. *He* hums.", [("man", "male"), ("He", "male")]),
        (phrases({"ok": "you are in"}), "No: You  are\n**in**!", [("You  are\n**in", "ok")]),
        (WORDS, "A self‑reliant, kind soul.", [("self‑reliant", "hyphenated"), ("kind", "plain")]),
        (WORDS, "kind-hearted, self-kind", []),
    ],
)
def test_spans_stand_where_the_words_stand(detector: Detector, answer: str, expected: list[tuple[str, str]]) -> None:
    assert [(answer[start:end], group) for start, end, group in detector.spans([answer])[0]] == expected
