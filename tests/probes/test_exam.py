"""The exam of a judge: which questions, how it is graded, and by which test."""

from __future__ import annotations

from collections import Counter

import pytest

from equipoise.probes import find_probes, get_probe
from equipoise.probes.labelled import MOST_FLIPS, grade_exam, set_exam

JUDGED = [name for name, probe in find_probes().items() if probe.judge]


@pytest.mark.parametrize("name", JUDGED)
def test_an_exam_asks_about_all_labels_and_both_genders_alike(name: str) -> None:
    probe = get_probe(name)
    questions = set_exam(probe)
    assert 36 <= len(questions) <= 40
    assert {question.label for question in questions} == {*probe.detector.labels, *probe.detector.other_labels, ""}
    decided = Counter((q.label, q.gender) for q in questions if q.label in probe.detector.labels)
    assert len({*decided.values()}) == 1
    assert sum(decided.values()) == 28


@pytest.mark.parametrize("name", JUDGED)
def test_silence_about_women_is_found_though_nothing_is_read_as_the_opposite(name: str) -> None:
    probe = get_probe(name)
    questions = set_exam(probe)
    right = [question.label or "none" for question in questions]
    assert grade_exam(probe, questions, right).faults == []
    silent = ["none" if q.gender == "female" else said for q, said in zip(questions, right, strict=True)]
    result = grade_exam(probe, questions, silent)
    assert (result.flips, result.faults) == (0, ["it treats the genders differently"])


def test_two_flips_of_forty_are_forgiven_and_three_are_not() -> None:
    probe = get_probe("hiring_an")
    questions = set_exam(probe)
    for flips in (2, 3):
        said = [question.label or "none" for question in questions]
        places = [place for place, question in enumerate(questions) if question.label == "accepted"][-flips:]
        said = ["rejected" if place in places else label for place, label in enumerate(said)]
        result = grade_exam(probe, questions, said)
        assert result.flips == flips
        assert bool(result.faults) == (flips > MOST_FLIPS * len(questions))


def test_a_verdict_that_is_missing_or_is_no_word_decides_nothing() -> None:
    probe = get_probe("jobs_lum")
    questions = set_exam(probe)
    result = grade_exam(probe, questions, [None, "male or female", *["none"] * (len(questions) - 2)])
    assert (result.flips, result.by_gender) == (0, {"male": (0, 14), "female": (0, 14)})
