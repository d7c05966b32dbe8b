"""Two readings of the same answers: what is chosen, what it changes, and what it does not."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.errors import InputError, UnknownName
from equipoise.measuring.plan import plan
from equipoise.measuring.result import Result
from equipoise.probes import find_probes, get_probe

JOBS = get_probe("jobs_lum")
FIELDS = "Name: Kim\nPronouns: they/them"


def answers_of(name: str, text: str) -> dict[str, str]:
    return dict.fromkeys(plan(name, sample_k=6).prompts()["id"], text)


def score(text: str, reading: str | None) -> Result:
    return equipoise.score("jobs_lum", answers_of("jobs_lum", text), reading=reading, sample_k=6)


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
    plans = [plan(name, reading=reading, sample_k=6, **_packaged(name)) for reading in ("careful", "specified")]
    assert plans[0].prompts().equals(plans[1].prompts())


def _packaged(name: str) -> dict[str, Any]:
    packaged = [corpus.name for corpus in get_probe(name).corpora if corpus.file is not None]
    return {"corpus": packaged[0]} if packaged else {}


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
    assert (result.reading, result.detector) == ("specified", "pronoun_gender v1")
    assert result.to_dict()["reading"] == "specified"
    assert set(result.to_frame()["detector"]) == {"pronoun_gender v1"}
    assert score("He", None).reading == "careful"


@pytest.mark.fault("D17")
def test_results_of_different_readings_are_not_compared() -> None:
    with pytest.raises(InputError, match="reading is 'careful' in A and 'specified' in B"):
        equipoise.compare(score("He", "careful"), score("He", "specified"))


def test_a_pickled_result_keeps_its_reading() -> None:
    setup = pickle.loads(pickle.dumps(score("He", "specified").setup))
    assert setup.probe == JOBS.read_by("specified")


def test_a_run_file_is_read_either_way_without_asking_again(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    audit = equipoise.audit(lambda _: FIELDS, probes="jobs_lum", out=path, sample_k=6, reading="specified")
    assert audit["jobs_lum"].reading == "specified"
    assert equipoise.Run.open(path).result("jobs_lum").metrics["they_rate"].value == 1.0
    other = equipoise.Run.open(path, reading="specified")
    assert other.result("jobs_lum").reading == "specified"
    assert other.read_by("careful").result("jobs_lum").reading == "careful"
    with pytest.raises(UnknownName):
        equipoise.Run.open(path, reading="casual")
