"""Any text at all: no detector raises, and what a user's own detector raises costs no other answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from detect.texts import SHAPES, anything, people
from equipoise.detect import PRONOUN_GENDER, Detector, vocabulary
from equipoise.measuring.evaluate import evaluate
from equipoise.probes import find_probes, get_probe
from equipoise.schema import (
    ANSWER,
    EVALUATION_FAILED,
    GENDER,
    ID,
    LABEL,
    STATUS,
    Status,
    replace_surrogates,
    text_column,
)

DETECTORS = {probe.detector.title: probe.detector for probe in find_probes().values()}
OF_THE_PROMPT = {"masculine": "he", "feminine": "she", "family": "he", "list": "career"}
"""What a detector that reads with its prompt finds there; in all other columns nothing."""
LONG = 100_000
"""Bytes of a long answer."""


def read(detector: Detector, answers: Sequence[str | None]) -> pl.DataFrame:
    used = {name: pl.lit(OF_THE_PROMPT.get(name, "")) for name in detector.uses}
    attempts = pl.DataFrame([text_column(ANSWER, answers)]).with_columns(pl.lit("ok").alias(STATUS), **used)
    return evaluate(detector, attempts)


@settings(max_examples=20)
@given(st.lists(st.one_of(st.none(), anything), min_size=1, max_size=60))
def test_no_detector_raises(answers: list[str | None]) -> None:
    for detector in DETECTORS.values():
        evaluated = read(detector, answers)
        assert evaluated.height == len(answers)
        assert not evaluated[EVALUATION_FAILED].any()
        if detector.labels:
            labels = evaluated[LABEL]
            assert set(labels) <= {*detector.labels, *detector.other_labels, None}
            assert all(label is None for answer, label in zip(answers, labels, strict=True) if answer is None)
        else:
            assert all(count is None or count >= 0 for row in evaluated.select(detector.counts).rows() for count in row)


@settings(max_examples=100)
@given(people)
def test_any_words_about_people_are_read(answer: str) -> None:
    assert not read(get_probe("jobs_lum").detector, [answer])[EVALUATION_FAILED].any()


@given(anything)
def test_text_enters_a_column_unchanged_but_for_lone_surrogates(answer: str) -> None:
    (stored,) = text_column(ANSWER, [answer])
    assert stored == replace_surrogates(answer)
    if not any("\ud800" <= letter <= "\udfff" for letter in answer):
        assert stored == answer
    stored.encode()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ud800\ud800", "\ufffd\ufffd"),
        ("\x00", "\x00"),
    ],
)
def test_lone_surrogates_are_replaced_and_pairs_joined(given: str, expected: str) -> None:
    assert text_column(ANSWER, [given, None]).to_list() == [expected, None]


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_long_answer_of_one_shape_is_read(detector: Detector, shape: str) -> None:
    size = len(shape.encode("utf-8", "surrogatepass"))
    (row,) = read(detector, [shape * (LONG // size)]).rows(named=True)
    assert not row[EVALUATION_FAILED]


FILLER = "<think>" + "<a * été " * LONG + "</think>" + "<a * “été” " * (LONG // 10)
"""A megabyte of reasoning, and an answer of which nothing is read."""
ENDINGS = [("yes", "\nYes."), ("accepted", "You have been selected."), ("male", "He.")]
BY_LABEL = [
    pytest.param(detector, label, ending, id=f"{name}: {label}")
    for label, ending in ENDINGS
    for name, detector in DETECTORS.items()
    if label in detector.labels
]


@pytest.mark.parametrize(("detector", "label", "ending"), BY_LABEL)
def test_a_megabyte_is_read_to_its_end(detector: Detector, label: str, ending: str) -> None:
    assert read(detector, [FILLER + ending])[LABEL].to_list() == [label]


def test_words_at_the_end_of_a_megabyte_are_counted() -> None:
    detector = get_probe("business_vocabulary").detector
    ending = "\nDear Committee,\nthey are a warm leader"
    counts = read(detector, [FILLER + ending]).select(detector.counts).row(0)
    alone = read(detector, [ending]).select(detector.counts).row(0)
    assert counts == alone
    assert sum(counts) > 0


def test_only_answers_to_measure_are_read() -> None:
    attempts = pl.DataFrame({ANSWER: ["He."] * len(Status), STATUS: [status.value for status in Status]})
    labels = evaluate(PRONOUN_GENDER, attempts).select(STATUS, LABEL)
    assert dict(labels.filter(pl.col(LABEL).is_not_null()).iter_rows()) == {"ok": "male", "truncated": "male"}


def test_a_detector_may_read_the_prompt() -> None:
    contradicts = pl.when(pl.col(GENDER) == "male").then(pl.lit("female")).otherwise(pl.lit("male"))
    detector = dataclasses.replace(PRONOUN_GENDER, read=lambda text: contradicts, uses=(GENDER,))
    attempts = pl.DataFrame({GENDER: ["male", "female"] * 2, ANSWER: ["?"] * 4, STATUS: ["ok", "ok", "timeout", "ok"]})
    # Without an answer, nothing is read, whatever the prompt.
    assert evaluate(detector, attempts)[LABEL].to_list() == ["female", "male", None, "male"]


# A detector of the user's own


def label_or_raise(answer: str) -> str | None:
    if "boom" in answer:
        raise ValueError("I do not like this answer.")
    return "male" if "he" in answer.split() else None


RAISING = dataclasses.replace(
    PRONOUN_GENDER, name="raising", read=lambda text: text.map_elements(label_or_raise, return_dtype=pl.String)
)
RAISING_PROBE = dataclasses.replace(get_probe("jobs_lum"), detector=RAISING)


@pytest.mark.fault("D11")
def test_a_detector_that_raises_costs_only_the_answers_on_which_it_raises() -> None:
    answers = [f"he boom {row}" if row % 50 == 7 else "he" if row % 3 else "nobody" for row in range(339)]
    failing = [row for row, answer in enumerate(answers) if "boom" in answer]
    evaluated = read(RAISING, answers)
    assert evaluated[EVALUATION_FAILED].arg_true().to_list() == failing
    for row, label in enumerate(evaluated[LABEL]):
        assert label == (None if row in failing or not row % 3 else "male"), row


@pytest.mark.fault("D11")
@pytest.mark.parametrize(
    "detector", [PRONOUN_GENDER, vocabulary({"male": ["he"]}, groups={})], ids=["labels", "counts"]
)
def test_a_detector_that_raises_on_a_prompt_costs_only_its_answers(detector: Detector) -> None:
    def refuse_women(gender: str) -> bool:
        if gender == "female":
            raise ValueError("I do not like this prompt.")
        return True

    def read(text: pl.Expr) -> pl.Expr:
        return detector.read(text.filter(pl.col(GENDER).map_elements(refuse_women, return_dtype=pl.Boolean)))

    attempts = pl.DataFrame({GENDER: ["male", "female"] * 3, ANSWER: ["he"] * 6, STATUS: ["ok"] * 6})
    evaluated = evaluate(dataclasses.replace(detector, read=read, uses=(GENDER,)), attempts)
    assert evaluated[GENDER].to_list() == attempts[GENDER].to_list()
    assert evaluated[EVALUATION_FAILED].to_list() == [False, True] * 3
    assert evaluated[detector.columns[0]].is_null().to_list() == [False, True] * 3


@pytest.mark.fault("D11")
def test_failed_evaluations_are_counted() -> None:
    prompts = equipoise.plan("jobs_lum").prompts()
    answers = ["he boom" if row < 4 else "he" if row < 300 else "nobody" for row in range(prompts.height)]
    result = equipoise.score(RAISING_PROBE, dict(zip(prompts[ID], answers, strict=True)))
    counts = result.coverage["all"]
    assert (counts["ok"], counts["evaluation_failed"]) == (339, 4)
    assert (counts["detected"], counts["undetected"]) == (296, 43)
    assert result.metrics["masculine_rate"].value == 1.0
    assert result.metrics["masculine_rate"].n == 296
