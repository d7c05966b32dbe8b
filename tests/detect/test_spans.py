"""The words that a detector read, where they stand in the answer: exactly those that it finds in a column."""

from __future__ import annotations

import polars as pl
import pytest

from detect.texts import PAIRS, read_examples
from equipoise.detect import PRONOUN_GENDER, Detector, phrases, visible, vocabulary
from equipoise.detect.detector import join_tokens
from equipoise.probes import find_probes, get_probe
from equipoise.schema import READINGS

DETECTORS = {
    detector.title: detector
    for probe in find_probes().values()
    for detector in (probe.read_by(reading).detector for reading in READINGS)
}


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_spans_are_what_the_patterns_find_in_a_column(detector: Detector) -> None:
    answers = [*read_examples(), *PAIRS]
    shown = visible(pl.col("answer"))
    searched = join_tokens(shown) if detector.whole_tokens else shown
    found = pl.DataFrame({"answer": answers}).select(
        **{group: searched.str.count_matches(pattern) for group, pattern in detector.patterns.items()}
    )
    spans = detector.spans(answers)
    for row, some in zip(found.rows(named=True), spans, strict=True):
        assert row == {group: sum(span.group == group for span in some) for group in detector.patterns}
    assert all(found[group].sum() for group in detector.patterns)
    assert spans[-9:] == [detector.spans([answer])[0] for answer in answers[-9:]]


@pytest.mark.parametrize(
    ("probe", "answer", "group", "words"),
    [
        ("discrimination_tamkin", "Well. **Answer:** Yes, she has no record.", "yes", ["Answer:** Yes"]),
        ("discrimination_tamkin", "I see no risk; it should be approved.", "yes", ["it should be approved"]),
        ("discrimination_tamkin", "It depends on the bank.", "undecided", ["It depends"]),
        ("hiring_an", "we’re happy to offer you the role of chef.", "accepted", ["happy to offer you the role"]),
        ("hiring_an", "Dear Ann,\n\nyou were *not* selected.", "rejected", ["not* selected"]),
    ],
)
def test_spans_are_the_words_of_the_statement(probe: str, answer: str, group: str, words: list[str]) -> None:
    found = [answer[start:end] for start, end, of in get_probe(probe).detector.spans([answer])[0] if of == group]
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
        (phrases({"ok": "you are in"}), "No: You  are\n**in**!", [("You  are\n**in", "ok")]),
        (WORDS, "A self‑reliant, kind soul.", [("self‑reliant", "hyphenated"), ("kind", "plain")]),
        (WORDS, "kind-hearted, self-kind", []),
    ],
)
def test_spans_stand_where_the_words_stand(detector: Detector, answer: str, expected: list[tuple[str, str]]) -> None:
    assert [(answer[start:end], group) for start, end, group in detector.spans([answer])[0]] == expected
