"""Readings beside the labels of people: what is read is read rightly, and alike for men and women."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from benchmarks.exchange import exchange_genders, find_unequal
from benchmarks.real import RealAnswers, find_real_answers

from equipoise.authoring import Probe
from equipoise.measuring.evaluate import find_labels
from equipoise.probes import find_probes, get_probe, labelled
from equipoise.probes.labelled import FIGURES, Accuracy, compare_labels, decided_label, describe_accuracy, read_labelled
from labelling import label_rows

LABELLED = [name for name, probe in find_probes().items() if read_labelled(probe)]
TWO_READINGS = [name for name in LABELLED if get_probe(name).specified]
REAL = find_real_answers()
MOST = 500
"""Real answers of a file; `make detectors` reads all of them."""
CHARACTERS = [
    *(
        f"Tom and Ana Reed, {pair}, run the mill. He bakes bread and she sells it. He is loud and she is quiet."
        for pair in (
            "brother and sister",
            "husband and wife",
            "a brother and a sister",
            "a brother and his sister",
            "a husband and his wife",
            "brother and their sister",
        )
    ),
    "There was once a woman named Clara. She gave her last coin to a beggar because he was hungry. Clara smiled.",
    "In the town of Willow Creek there lived a man. He gave his last coin to a widow because she was hungry.",
    "The nurse tucked a stray curl behind her ear. Mr. Patterson was asleep, his breathing shallow.",
    "As a mother of two, I've learned patience. I wake at five. My son is loud; he sings.",
    "I've always been the kind of guy who fixes things. My wife laughs at me; she says I should rest.",
]
"""Answers in which the order of the genders, or the words of one, could be taken for something."""


@pytest.mark.parametrize("name", LABELLED)
def test_labelled_answers_that_are_read_are_read_rightly(name: str) -> None:
    probe = get_probe(name)
    rows = read_labelled(probe)
    found = label_rows(probe.detector, rows)
    counts = compare_labels(probe.detector, [row["label"] for row in rows], found)
    decided = sum(bool(decided_label(probe.detector, row["label"])) for row in rows)
    assert counts.wrong_read == 0, [
        (row["label"], said, row["answer"])
        for row, said in zip(rows, found, strict=True)
        if decided_label(probe.detector, said) not in ("", row["label"])
    ]
    assert counts.read >= 0.8 * decided


@pytest.mark.parametrize("name", LABELLED)
def test_about_a_hundred_answers_are_labelled_and_both_genders_alike(name: str) -> None:
    rows = read_labelled(get_probe(name))
    assert 50 <= len(rows) <= 110
    labels = [row["label"] for row in rows]
    if "female" in labels:
        assert abs(labels.count("male") - labels.count("female")) <= 2
    for label in get_probe(name).detector.labels if "gender" in rows[0] else ():
        genders = [row["gender"] for row in rows if row["label"] == label]
        assert genders.count("male") == genders.count("female") >= 7


@pytest.mark.parametrize("reading", ["careful", "specified"])
@pytest.mark.parametrize("name", TWO_READINGS)
def test_exchanging_the_genders_exchanges_the_labels_and_nothing_else(name: str, reading: str) -> None:
    answers = [row["answer"] for row in read_labelled(get_probe(name))]
    assert not unequal(get_probe(name).read_by(reading), answers)


@pytest.mark.parametrize("answer", CHARACTERS)
def test_exchanging_the_genders_of_one_character_or_two(answer: str) -> None:
    assert not unequal(get_probe("jobs_lum"), [answer])


@pytest.mark.skipif(not REAL, reason="the real answers are not here: EQUIPOISE_REAL_ANSWERS")
@pytest.mark.parametrize("reading", ["careful", "specified"])
@pytest.mark.parametrize("file", REAL, ids=lambda file: file.name)
def test_exchanging_the_genders_in_real_answers(file: RealAnswers, reading: str) -> None:
    some = replace(file, answers=file.answers[:MOST], rows=file.rows[:MOST])
    probe = file.probe.read_by(reading)
    found = find_unequal(lambda answers: some.label(probe, answers), some.answers)
    # Words that are exchanged wrongly ("her" before a noun that no list knows) leave a few.
    assert len(found) <= 0.002 * len(some.answers)


def unequal(probe: Probe, answers: list[str]) -> list[tuple[str, str, str]]:
    return find_unequal(lambda texts: find_labels(probe.detector, texts), answers)


def test_exchanging_the_genders_changes_the_texts() -> None:
    text = "He met her brother; Mr. Hale told his wife. I saw her."
    exchanged = "She met his sister; Mrs. Hale told her husband. I saw him."
    assert exchange_genders(text) == exchanged


@pytest.mark.parametrize(
    ("truth", "found", "expected"),
    [
        (["yes", "no", "", "refused"], ["yes", "no", "", "undecided"], (4, 2, 0, 0, 0)),
        (["yes", "no"], ["no", "no"], (2, 2, 1, 1, 1)),
        (["yes", "no"], ["", "refused"], (2, 0, 0, 2, 0)),
        (["", "refused"], ["yes", "undecided"], (2, 1, 1, 1, 0)),
    ],
)
def test_what_counts_as_read_and_as_wrong(
    truth: list[str], found: list[str], expected: tuple[int, int, int, int, int]
) -> None:
    n, read, wrong_read, wrong, flips = expected
    counts = compare_labels(get_probe("discrimination_tamkin").detector, truth, found)
    assert counts == Accuracy(n=n, read=read, wrong_read=wrong_read, wrong=wrong, flips=flips)


def test_a_label_that_a_reading_does_not_know_counts_as_nothing_decided() -> None:
    specified = get_probe("jobs_lum").read_by("specified").detector
    assert compare_labels(specified, ["they", "mixed"], ["", "male"]).wrong == 1


def test_the_error_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = get_probe("jobs_lum")
    counts = {"answers": 1_200, "models": 12, "read": 600, "wrong": 30, "flips": 0}
    monkeypatch.setattr(labelled, "read_figures", lambda: {probe.detector.title: counts})
    assert describe_accuracy(probe) == (
        f"Of 1,200 answers of 12 real models, labelled by hand, the careful reading ({probe.detector.title}) read 600 "
        "(50%), and 30 of these wrongly (5%; none as the opposite)."
    )
    monkeypatch.setattr(labelled, "read_figures", dict)
    assert "has not been measured on answers of real models" in describe_accuracy(probe)


def test_the_stated_figures_are_those_of_the_detectors_of_today() -> None:
    probes = find_probes().values()
    known = {probe.read_by(reading).detector.title for probe in probes for reading in ("careful", "specified")}
    assert json.loads(FIGURES.read_text(encoding="utf-8")).keys() <= known, "measure again: make detectors"
