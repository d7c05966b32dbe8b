"""The words that a detector read, where they stand in the answer: exactly those that it finds in a column."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detect.texts import PAIRS, read_examples, stored_texts
from equipoise.detect import PRONOUN_GENDER, Detector, phrases, visible, vocabulary
from equipoise.detect.detector import join_tokens
from equipoise.detect.visible import trace_visible
from equipoise.probes import find_probes, get_probe
from equipoise.schema import READINGS

DETECTORS = {
    detector.title: detector
    for probe in find_probes().values()
    for detector in (probe.read_by(reading).detector for reading in READINGS)
}
Words = dict[str, list[str]]


def words_in_column(detector: Detector, answers: list[str]) -> list[Words]:
    """For each answer, by group of patterns, what polars finds in the visible text."""
    shown = visible(pl.col("answer"))
    searched = join_tokens(shown) if detector.whole_tokens else shown
    found = {group: searched.str.extract_all(pattern) for group, pattern in detector.patterns.items()}
    return pl.DataFrame({"answer": answers}).select(**found).rows(named=True)


def words_at_spans(detector: Detector, answers: list[str]) -> list[Words]:
    """For each answer, by group of patterns, the visible text at the spans."""
    traced = trace_visible(answers)
    texts = pl.Series("shown", [shown for shown, _ in traced], dtype=pl.String).to_frame()
    if detector.whole_tokens:
        texts = texts.select(join_tokens(pl.col("shown")))
    found = []
    for shown, (_, origins), spans in zip(texts["shown"], traced, detector.spans_of(answers), strict=True):
        words: Words = {group: [] for group in detector.patterns}
        for start, end, group in spans:
            pairs = zip(shown, origins, strict=True)
            words[group].append("".join(character for character, origin in pairs if start <= origin < end))
        found.append(words)
    return found


def expect_same_words(detector: Detector, answers: list[str]) -> list[Words]:
    found = words_in_column(detector, answers)
    for answer, at_spans, in_column in zip(answers, words_at_spans(detector, answers), found, strict=True):
        assert at_spans == in_column, answer
    return found


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_spans_of_the_examples(detector: Detector) -> None:
    found = expect_same_words(detector, read_examples())
    assert all(any(words[group] for words in found) for group in detector.patterns)


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_spans_of_difficult_texts(detector: Detector) -> None:
    expect_same_words(detector, PAIRS)


@settings(max_examples=15)
@given(st.lists(stored_texts, min_size=1, max_size=30))
def test_spans_of_any_text(answers: list[str]) -> None:
    for detector in DETECTORS.values():
        expect_same_words(detector, answers)


@pytest.mark.parametrize(
    ("probe", "answer", "group", "words"),
    [
        ("discrimination_tamkin", "Well. **Answer:** Yes, she has no record.", "yes", ["Answer:** Yes"]),
        ("discrimination_tamkin", "I see no risk; it should be approved.", "yes", ["it should be approved"]),
        ("discrimination_tamkin", "It depends on the bank.", "undecided", ["It depends"]),
        (
            "hiring_an",
            "Dear Ann,\n\nwe’re happy to offer you the role of chef.",
            "accepted",
            ["happy to offer you the role"],
        ),
        ("hiring_an", "Dear Ann,\n\nyou were *not* selected.", "rejected", ["not* selected"]),
    ],
)
def test_spans_are_the_words_of_the_statement(probe: str, answer: str, group: str, words: list[str]) -> None:
    found = [answer[start:end] for start, end, of in get_probe(probe).detector.spans(answer) if of == group]
    assert found == words


WORDS = vocabulary({"all": ["self-reliant", "kind"]}, groups={"hyphenated": ["self-reliant"], "plain": ["kind"]})


@pytest.mark.parametrize(
    ("detector", "answer", "expected"),
    [
        (PRONOUN_GENDER, "He met HER.", [("He", "male"), ("HER", "female")]),
        (PRONOUN_GENDER, "<think>he</think>She", [("She", "female")]),
        (PRONOUN_GENDER, "**S**he's", [("S**he", "female")]),
        (PRONOUN_GENDER, "s\u200bhe \u200bhe", [("s\u200bhe", "female"), ("he", "male")]),
        (PRONOUN_GENDER, "(s)he", [("(s)he", "female"), ("he", "male")]),
        (PRONOUN_GENDER, "the sheets", []),
        (PRONOUN_GENDER, "he\u0301 éhe", []),
        (PRONOUN_GENDER, "", []),
        (phrases({"ok": "you are in"}), "No: You  are\n**in**!", [("You  are\n**in", "ok")]),
        (WORDS, "A self‑reliant, kind soul.", [("self‑reliant", "hyphenated"), ("kind", "plain")]),
        (WORDS, "kind-hearted, self-kind", []),
    ],
)
def test_spans_stand_where_the_words_stand(detector: Detector, answer: str, expected: list[tuple[str, str]]) -> None:
    assert [(answer[start:end], group) for start, end, group in detector.spans(answer)] == expected


def test_many_answers_at_once_have_the_spans_that_each_has_alone() -> None:
    answers = [*read_examples()[:60], *PAIRS[:60], "", "plain", "<think>he</think>She", "**S**he"]
    for detector in DETECTORS.values():
        assert detector.spans_of(answers) == [detector.spans(answer) for answer in answers]
