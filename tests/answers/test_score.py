"""Scoring in batches, and with detectors that read the prompt: the numbers are always the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import equipoise
from equipoise.answers import files, score
from equipoise.authoring import Detector, Probe
from equipoise.measuring import measure
from equipoise.measuring import plan as plans
from equipoise.probes import get_probe
from equipoise.runs.file import reader
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, GENDER, ID, ITEM, PROMPT, REPETITION
from plain import to_plain
from simulating import simulated

PARAMETERS: dict[str, Any] = {"sample": 64, "repeat": 2}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven items and five answers at a time; no attempts are kept with a result."""
    monkeypatch.setattr(plans, "ITEMS_PER_BATCH", 7)
    monkeypatch.setattr(files, "ROWS_PER_TABLE", 5)
    monkeypatch.setattr(score, "ITEMS_IN_MEMORY", 0)
    monkeypatch.setattr(measure, "MAX_ATTEMPTS_IN_MEMORY", 10)
    monkeypatch.setattr(reader, "BATCH", 6)


def answer_most(name: str) -> list[dict[str, object]]:
    """Answers to most attempts, in no order: by id, by text, numbered or not, some twice, some to unknown prompts."""
    plan = equipoise.plan(name, **PARAMETERS)
    asked = plan.attempts()
    rng = np.random.default_rng(3)
    texts = plan.probe.simulate(asked, "stereotyping", rng)
    given: list[dict[str, object]] = []
    for place, (key, prompt, number) in enumerate(asked.select(ID, PROMPT, REPETITION).iter_rows()):
        where = {ID: key} if place % 3 else {PROMPT: prompt}
        given.append({**where, REPETITION: number, ANSWER: texts[place]})
    given = [row for place, row in enumerate(given) if place % 10]
    given += [given[5], given[6], {ID: "none of ours", ANSWER: "yes"}]
    return [given[place] for place in rng.permutation(len(given))]


@pytest.mark.parametrize("name", ["hiring_an", "jobs_lum", "business_vocabulary"])
def test_small_batches_give_the_same_result(name: str, request: pytest.FixtureRequest) -> None:
    expected = equipoise.score(name, answer_most(name), **PARAMETERS)
    request.getfixturevalue("small_batches")
    scored = equipoise.score(name, answer_most(name), **PARAMETERS)
    assert scored.to_dict() == expected.to_dict()
    assert min(scored.matching.surplus, scored.matching.unknown, scored.coverage["all"]["pending"]) > 0
    assert isinstance(expected.attempts, pl.DataFrame)
    assert not isinstance(scored.attempts, pl.DataFrame)
    assert_frame_equal(scored.evaluated, expected.evaluated)


def test_a_run_file_in_small_parts_gives_the_same_result(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    stances = {"jobs_lum": "stereotyping", "hiring_an": "random", "business_vocabulary": "random"}
    expected = simulated(tmp_path / "run.equipoise", stances, answered=90, failed=7).results()
    request.getfixturevalue("small_batches")
    scored = Run.open(tmp_path / "run.equipoise").results()
    assert scored.to_dict() == expected.to_dict()
    for name in stances:
        assert_frame_equal(scored[name].evaluated, expected[name].evaluated)


def test_words_stay_words() -> None:
    """A table of attempts can be joined with any other: its texts are of no type of their own."""
    result = equipoise.score("jobs_lum", answer_most("jobs_lum"), **PARAMETERS)
    kinds = set(result.evaluated.schema.values())
    assert pl.String in kinds
    assert not any(isinstance(kind, pl.Categorical | pl.Enum) for kind in kinds)


# Detectors that read the prompt


def label_by_gender(text: pl.Expr) -> pl.Expr:
    """Accepted where "same" is said to a man or "other" to a woman."""
    says_same = text.str.contains("same", literal=True)
    return pl.when(says_same == (pl.col(GENDER) == "male")).then(pl.lit("accepted")).otherwise(pl.lit("rejected"))


def label_by_prompt(text: pl.Expr) -> pl.Expr:
    """Accepted where the answer repeats the end of the prompt; nothing where it says nothing of it."""
    ending = pl.col(PROMPT).str.to_lowercase().str.tail(12)
    known = text.str.contains("same|other")
    return pl.when(known).then(
        pl.when(text.str.ends_with(ending)).then(pl.lit("accepted")).otherwise(pl.lit("rejected"))
    )


def without_names(items: pl.DataFrame, parameters: Any) -> pl.DataFrame:
    """Prompts of which many have the same text, though the item, the gender and the occupation differ."""
    text = pl.concat_str(pl.lit("Shall they be hired? Qualification: "), "qualification")
    return HIRING.prompts(items, parameters).with_columns(text.alias(PROMPT))


HIRING = get_probe("hiring_an")
LABELS = ("accepted", "rejected")


def read_with(read: Callable[[pl.Expr], pl.Expr], *uses: str) -> Probe:
    return replace(HIRING, detector=Detector(name="by_prompt", version=1, labels=LABELS, read=read, uses=uses))


def label_by_all(text: pl.Expr) -> pl.Expr:
    return pl.when(pl.col("masculinity") > 0.4).then(label_by_gender(text)).otherwise(label_by_prompt(text))


BY_GENDER = read_with(label_by_gender, GENDER)
BY_PROMPT = read_with(label_by_prompt, PROMPT)
BY_ALL = replace(read_with(label_by_all, GENDER, "masculinity", PROMPT, ITEM), prompts=without_names)
NO_NAMES = replace(BY_GENDER, prompts=without_names)
READING_PROMPTS = {
    "gender": BY_GENDER,
    "prompt": BY_PROMPT,
    "gender, equal texts": NO_NAMES,
    "all, equal texts": BY_ALL,
}


def answer_all(probe: Probe) -> pl.DataFrame:
    """Three answers to every prompt, in the order in which answers by text are assigned."""
    asked = equipoise.plan(probe, sample=60, repeat=3).attempts()
    rng = np.random.default_rng(5)
    words = pl.Series(rng.choice(["same", "other", "?"], asked.height))
    endings = pl.Series(rng.choice(["none", "plain"], asked.height))
    return asked.with_columns(
        pl.when(endings == "plain").then(pl.concat_str(words, PROMPT, separator=" ")).otherwise(words).alias(ANSWER)
    )


def expect_labels(probe: Probe, answers: pl.DataFrame) -> dict[tuple[str, int], str | None]:
    """The label of each attempt: the detector applied to the table of prompts and answers."""
    labels = answers.select(ID, REPETITION, label=probe.detector.read(pl.col(ANSWER).str.to_lowercase()))
    return {(key, number): label for key, number, label in labels.iter_rows()}


@pytest.mark.parametrize("probe", READING_PROMPTS.values(), ids=READING_PROMPTS)
@pytest.mark.parametrize("small", [False, True], ids=["whole", "in small batches"])
def test_detectors_that_read_the_prompt(probe: Probe, small: bool, request: pytest.FixtureRequest) -> None:
    answers = answer_all(probe)
    if small:
        request.getfixturevalue("small_batches")
    parameters: dict[str, Any] = {"sample": 60, "repeat": 3}
    by_id = equipoise.score(probe, answers.select(ID, REPETITION, ANSWER), **parameters)
    labels = {(key, number): label for key, number, label in by_id.evaluated[ID, REPETITION, "label"].iter_rows()}
    assert labels == expect_labels(probe, answers)
    assert set(labels.values()) >= set(LABELS)
    by_text = equipoise.score(probe, answers.select(PROMPT, REPETITION, ANSWER), **parameters)
    assert by_text.to_dict() == by_id.to_dict()
    assert_frame_equal(by_text.evaluated, by_id.evaluated)


@pytest.mark.parametrize("probe", [NO_NAMES, BY_ALL], ids=["gender", "all"])
def test_answers_by_id_and_by_equal_texts_can_be_mixed(probe: Probe) -> None:
    answers = answer_all(probe)
    texts = answers[PROMPT].unique().sort()
    assert len(texts) < answers[ID].n_unique() / 10
    # The prompts of one text are answered by id and those of the others by text, with surplus and unknown answers.
    keys = answers.select(
        pl.when(pl.col(PROMPT) == texts[0]).then(ID).alias(ID),
        pl.when(pl.col(PROMPT) != texts[0]).then(PROMPT).alias(PROMPT),
        REPETITION,
        ANSWER,
    )
    rows = keys.rows(named=True)
    rows.insert(7, {ID: "none of ours", ANSWER: "same"})
    rows += [{PROMPT: texts[1], ANSWER: "same"}, {PROMPT: texts[1], REPETITION: 1, ANSWER: "other"}]
    parameters: dict[str, Any] = {"sample": 60, "repeat": 3}
    mixed = equipoise.score(probe, rows, **parameters)
    by_id = equipoise.score(probe, answers.select(ID, REPETITION, ANSWER), **parameters)
    assert (mixed.matching.surplus, mixed.matching.unknown, mixed.coverage["all"]["pending"]) == (2, 1, 0)
    assert to_plain(mixed.metrics) == to_plain(by_id.metrics)
    assert_frame_equal(mixed.evaluated, by_id.evaluated)


def test_a_detector_that_fails_on_answers_by_equal_texts_costs_only_these() -> None:
    def raise_on_question(answer: str) -> str:
        if "?" in answer:
            raise ValueError("I do not like this answer.")
        return answer

    def read(text: pl.Expr) -> pl.Expr:
        return label_by_gender(text.map_elements(raise_on_question, return_dtype=pl.String))

    probe = replace(NO_NAMES, detector=replace(NO_NAMES.detector, read=read))
    answers = answer_all(probe)
    result = equipoise.score(probe, answers.select(PROMPT, REPETITION, ANSWER), sample=60, repeat=3)
    failing = answers[ANSWER].str.contains("?", literal=True).sum()
    assert result.coverage["all"]["evaluation_failed"] == failing > 0
    assert result.coverage["all"]["detected"] == answers.height - failing


# Single answers


@pytest.mark.parametrize(
    ("name", "answer", "label", "words"),
    [
        pytest.param("jobs_lum", "Yes, she is a woman, no man.", "female", ["she", "woman"], id="a gender"),
        pytest.param(
            "hiring_an",
            "We will not be moving forward. If you have been selected elsewhere, congratulations.",
            "rejected",
            ["not be moving"],
            id="a decision",
        ),
    ],
)
def test_the_words_that_are_shown_with_a_label_speak_for_this_label(
    name: str, answer: str, label: str, words: list[str]
) -> None:
    """The answer also has words that speak for another label: they are not shown as a reason for this one."""
    [found] = score.read_answers(get_probe(name), files.read_python([{ANSWER: answer}]))
    assert (found.label, found.words) == (label, words)


def test_all_words_that_were_read_are_shown_where_none_speaks_for_the_label_alone() -> None:
    probe = get_probe("business_vocabulary").read_by("specified")
    [found] = score.read_answers(probe, files.read_python([{ANSWER: "We are able to offer you the position."}]))
    assert (found.label, found.words) == ("letter", ["able"])
