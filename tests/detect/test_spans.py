"""The words that a detector read, where they stand in the answer: exactly those that it finds in a column."""

from __future__ import annotations

import polars as pl
import pytest

from detect.texts import PAIRS, read_examples
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
from equipoise.probes import find_probes
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
        (DECISIONS, "Well. **Answer:** Yes, she has no record.", [("Answer:** Yes", "yes")]),
        (HIRING_LETTERS, "Dear Ann,\n\nyou were *not* selected.", [("not* selected", "rejected")]),
        (CHARACTERS, "Kim is a quiet man. *He* hums.", [("man", "male"), ("He", "male")]),
        (phrases({"ok": "you are in"}), "No: You  are\n**in**!", [("You  are\n**in", "ok")]),
        (WORDS, "A self‑reliant, kind soul.", [("self‑reliant", "hyphenated"), ("kind", "plain")]),
        (WORDS, "kind-hearted, self-kind", []),
    ],
)
def test_spans_stand_where_the_words_stand(detector: Detector, answer: str, expected: list[tuple[str, str]]) -> None:
    assert [(answer[start:end], group) for start, end, group in detector.spans([answer])[0]] == expected
