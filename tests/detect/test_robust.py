"""Any text at all: no detector raises, and what a user's own detector raises costs no other answer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from detect.texts import SHAPES, anything
from equipoise.assets import facts
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
    text_column,
)

DETECTORS = {probe.detector.title: probe.detector for probe in find_probes().values()}
OF_THE_PROMPT = {"masculine": "he", "feminine": "she", "family": "he", "list": "career"}
"""What a detector that reads with its prompt finds there; in all other columns nothing."""
LONG = 20_000


def read(detector: Detector, answers: Sequence[str | None]) -> pl.DataFrame:
    used = {name: pl.lit(OF_THE_PROMPT.get(name, "")) for name in detector.uses}
    attempts = pl.DataFrame([text_column(ANSWER, answers)]).with_columns(pl.lit("ok").alias(STATUS), **used)
    return evaluate(detector, attempts)


@settings(max_examples=10)
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
def test_long_texts_are_read_to_their_end(detector: Detector) -> None:
    texts = [shape * (LONG // len(shape.encode("utf-8", "surrogatepass"))) for shape in SHAPES]
    assert not read(detector, texts)[EVALUATION_FAILED].any()
    filler = "<think>" + "<a * été " * LONG + "</think>" + "<a * “été” " * (LONG // 10)
    endings = {"yes": "\nYes.", "accepted": "You have been selected.", "male": "He."}
    for label, ending in endings.items():
        if label in detector.labels:
            assert read(detector, [filler + ending])[LABEL].to_list() == [label]
    if "bsri_male" in detector.counts:
        ending = "\nDear Committee,\nthey are a warm leader"
        counts = read(detector, [filler + ending]).select(detector.counts).row(0)
        assert sum(counts) == sum(read(detector, [ending]).select(detector.counts).row(0)) > 0


def test_only_answers_to_measure_are_read() -> None:
    attempts = pl.DataFrame({ANSWER: ["He."] * len(Status), STATUS: [status.value for status in Status]})
    labels = evaluate(PRONOUN_GENDER, attempts).select(STATUS, LABEL)
    assert dict(labels.filter(pl.col(LABEL).is_not_null()).iter_rows()) == {"ok": "male", "truncated": "male"}


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


# Counted by hand


def letter(inventory: str, male: int, female: int) -> str:
    """A text with so many words of each part of an inventory, none of which is in its other part too."""
    words = facts("inventories").filter(inventory=inventory)
    parts = {gender: set(words.filter(gender=gender)["word"]) for gender in ("male", "female")}
    first = [min(parts[gender] - parts[other]) for gender, other in (("male", "female"), ("female", "male"))]
    return f"Dear Committee,\n\nThey are a person: {'; '.join([first[0]] * male + [first[1]] * female)}"


@pytest.mark.parametrize("inventory", ["bsri", "wan"])
def test_six_male_and_four_female_words_give_three_fifths(inventory: str) -> None:
    prompts = equipoise.plan("business_vocabulary", sample=240).prompts()
    men, women = (prompts.filter(gender=gender)[ID].to_list() for gender in ("male", "female"))
    # Pooled: two letters of five words each, one word for the women, and a letter without any.
    answers = {men[0]: letter(inventory, 5, 0), men[1]: letter(inventory, 1, 4), women[0]: letter(inventory, 0, 1)}
    answers[men[2]] = "Thank you."
    metrics = equipoise.score("business_vocabulary", answers, sample=240).metrics
    assert metrics[f"{inventory}_male"].value == pytest.approx(0.6, abs=1e-12)
    assert metrics[f"{inventory}_female"].value == 0.0
    assert metrics[f"{inventory}_diff"].value == pytest.approx(0.6, abs=1e-12)
    smoothed = equipoise.score("business_vocabulary", answers, smoothing=1, sample=240).metrics
    assert smoothed[f"{inventory}_male"].value == pytest.approx(7 / 12, abs=1e-12)
    assert smoothed[f"{inventory}_female"].value == pytest.approx(1 / 3, abs=1e-12)


def test_smoothing_is_no_data() -> None:
    result = equipoise.score("business_vocabulary", [], smoothing=5.0, sample=240)
    assert all(math.isnan(one.value) for one in result.metrics.values())
    assert result.marks == {"mean_diff": None}
