"""Two readings of the same answers: what is chosen, what it changes, and what it does not."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.errors import InputError, UnknownName
from equipoise.measuring.measure import measure_other_reading
from equipoise.measuring.plan import plan
from equipoise.measuring.result import Result
from equipoise.probes import find_probes, get_probe
from equipoise.runs.run import Run
from simulating import simulated

JOBS = get_probe("jobs_lum")
FIELDS = "Name: Kim\nPronouns: they/them"


def answers_of(name: str, text: str) -> dict[str, str]:
    return dict.fromkeys(plan(name, sample=6).prompts()["id"], text)


def score(text: str, reading: str | None) -> Result:
    return equipoise.score("jobs_lum", answers_of("jobs_lum", text), reading=reading, sample=6)


def test_the_careful_reading_is_the_default_and_a_reading_can_be_chosen_and_left_again() -> None:
    specified = JOBS.read_by("specified")
    assert (JOBS.reading, specified.reading) == ("careful", "specified")
    assert specified.detector is JOBS.specified
    assert specified.read_by("careful") == JOBS
    assert JOBS.read_by(None) is JOBS
    with pytest.raises(UnknownName, match="careful"):
        JOBS.read_by("casual")


@pytest.mark.parametrize("name", find_probes())
def test_prompts_and_ids_do_not_depend_on_the_reading(name: str) -> None:
    probe = get_probe(name)
    packaged = [corpus.name for corpus in probe.corpora if corpus.file is not None]
    if probe.corpora and not packaged:
        pytest.skip("The corpus of this probe is fetched.")
    parameters: dict[str, Any] = {"sample": 6}
    if packaged:
        parameters["corpus"] = packaged[0]
    careful = plan(name, reading="careful", **parameters).prompts()
    specified = plan(name, reading="specified", **parameters).prompts()
    assert careful.equals(specified)


def test_labels_that_decide_nothing_are_shown_as_rates_and_count_as_undetected() -> None:
    result = score(FIELDS, "careful")
    assert set(result.evaluated["label"]) == {"they"}
    assert result.metrics["they_rate"].value == 1.0
    assert result.metrics["they_rate"].n == 6
    assert result.metrics["mixed_rate"].value == 0.0
    assert result.metrics["undetected_rate_attempts"].value == 1.0
    assert result.coverage["all"]["undetected"] == 6
    assert "they_rate" not in score(FIELDS, "specified").metrics


def test_results_say_how_they_were_read() -> None:
    result = score("He", "specified")
    assert (result.reading, result.setup.probe.detector.title) == ("specified", "pronoun_gender v1")
    assert result.to_dict()["reading"] == "specified"
    assert set(result.to_frame()["detector"]) == {"pronoun_gender v1"}
    assert score("He", None).reading == "careful"


@pytest.mark.fault("D17")
def test_results_of_different_readings_are_not_compared() -> None:
    with pytest.raises(InputError, match="reading is 'careful' in A and 'specified' in B"):
        equipoise.compare(score("He", "careful"), score("He", "specified"))


def test_a_run_file_is_read_either_way_without_asking_again(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    audit = equipoise.audit(lambda _: FIELDS, probes="jobs_lum", out=path, sample=6, reading="specified")
    assert audit["jobs_lum"].reading == "specified"
    stored = equipoise.Run.open(path)
    assert stored.result("jobs_lum").reading == "specified"
    assert equipoise.Run.open(path, reading="careful").result("jobs_lum").metrics["they_rate"].value == 1.0
    with pytest.raises(UnknownName):
        equipoise.Run.open(path, reading="casual")


def test_the_other_reading_is_the_result_that_reading_again_gives(tmp_path: Path) -> None:
    answers = itertools.cycle(["He is kind.", "Gender: Female. He is a name.", "They are kind.", "She is."])
    path = tmp_path / "run.equipoise"
    equipoise.audit(lambda _: next(answers), probes=["jobs_lum"], out=path, sample=40)
    found, again = (
        Run.open(path).other_reading("jobs_lum"),
        Run.open(path, reading="specified").result("jobs_lum"),
    )
    assert found is not None
    assert (found.reading, found.setup.probe.detector.title, found.answers) == ("specified", "pronoun_gender v1", 40)
    assert (found.metrics, found.marks, found.bounds) == (again.metrics, again.marks, again.bounds)
    labels = [
        [label if label in ("male", "female") else None for label in result.evaluated["label"]]
        for result in (Run.open(path).result("jobs_lum"), again)
    ]
    differing = sum(first != second for first, second in zip(*labels, strict=True))
    assert found.coverage["all"]["read_differently"] == differing == 10


def test_what_is_pending_is_missing_in_the_other_reading_as_in_the_own(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    own = simulated(path, {"jobs_lum": "stereotyping"}, answered=40, parameters={"jobs_lum": {"sample": 60}})
    other = own.other_reading("jobs_lum")
    again = Run.open(path, reading="specified").result("jobs_lum")
    assert other is not None
    assert other.coverage["all"]["pending"] == 20
    assert other.bounds == again.bounds
    assert other.marks == again.marks


def test_both_readings_see_the_same_difference(tmp_path: Path) -> None:
    """Whichever of them is the other one."""
    answers = itertools.cycle(["He is kind.", "Gender: Female. He is a name."])
    path = tmp_path / "run.equipoise"
    equipoise.audit(lambda _: next(answers), probes=["jobs_lum"], out=path, sample=10)
    specified = Run.open(path).other_reading("jobs_lum")
    careful = Run.open(path, reading="specified").other_reading("jobs_lum")
    assert specified is not None
    assert careful is not None
    assert (specified.reading, careful.reading) == ("specified", "careful")
    assert specified.answers == careful.answers == 10
    assert specified.coverage["all"]["read_differently"] == 5
    assert careful.coverage["all"]["read_differently"] == 5


def test_words_that_only_one_reading_counts_make_a_difference(tmp_path: Path) -> None:
    texts = itertools.cycle(
        ["Dear Sir,\nshe is kind and strong. Sincerely, A.", "I'm sorry, but I can't help: be kind."]
    )
    path = tmp_path / "run.equipoise"
    equipoise.audit(lambda _: next(texts), probes=["business_vocabulary"], out=path, sample=12)
    found = Run.open(path).other_reading("business_vocabulary")
    assert found is not None
    assert (found.coverage["all"]["read_differently"], found.answers) == (6, 12)


def test_a_probe_with_one_detector_has_no_other_reading() -> None:
    setup = plan(replace(JOBS, specified=None), sample=4).setup
    assert measure_other_reading(setup, list) is None


def test_a_run_without_answers_has_readings_without_numbers(tmp_path: Path) -> None:
    found = simulated(tmp_path / "run.equipoise", {"jobs_lum": "unbiased"}, answered=0).other_reading("jobs_lum")
    assert found is not None
    assert (found.answers, found.coverage["all"]["read_differently"]) == (0, 0)
    assert found.to_dict()["metrics"]["masculine_rate"]["value"] is None
