"""Scoring in batches: however small they are, the numbers are the same."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import equipoise
from equipoise import answers, matching, scoring
from equipoise.frames import ANSWER, ID, PROMPT, REPETITION
from equipoise.plans import Plan
from equipoise.run import Run
from equipoise.runs import store, tables
from simulating import simulated

PARAMETERS: dict[str, Any] = {"sample_k": 64, "num_repetitions": 2}
PROBES = ("hiring_an", "jobs_lum", "business_vocabulary")


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven items, five answers, four prompts at a time; nothing is kept with a result."""
    whole = Plan.batches

    def batches(self: Plan, size: int = 7) -> Iterator[pl.DataFrame]:
        return whole(self, size)

    monkeypatch.setattr(Plan, "batches", batches)
    monkeypatch.setattr(answers, "BATCH", 5)
    monkeypatch.setattr(matching, "STEP", 4)
    monkeypatch.setattr(scoring, "BATCH", 0)
    monkeypatch.setattr(scoring, "KEPT", 10)
    monkeypatch.setattr(store.RunFile.answers, "__defaults__", (6,))


def rows(name: str) -> list[dict[str, object]]:
    """Answers to most attempts, in no order: by id, by text, numbered or not, some twice, some strange."""
    plan = equipoise.plan(name, **PARAMETERS)
    asked = plan.attempts()
    rng = np.random.default_rng(3)
    said = plan.probe.simulate(asked, "stereotyping", rng)
    given: list[dict[str, object]] = []
    for place, (key, prompt, number) in enumerate(asked.select(ID, PROMPT, REPETITION).iter_rows()):
        where = {ID: key} if place % 3 else {PROMPT: prompt}
        given.append({**where, REPETITION: number, ANSWER: said[place]})
    given = [row for place, row in enumerate(given) if place % 10]
    given += [given[5], given[6], {ID: "none of ours", ANSWER: "yes"}]
    return [given[place] for place in rng.permutation(len(given))]


@pytest.fixture
def at_once() -> dict[str, equipoise.Result]:
    return {name: equipoise.score(name, rows(name), **PARAMETERS) for name in PROBES}


@pytest.mark.parametrize("name", PROBES)
def test_small_batches_give_the_same_result(
    at_once: dict[str, equipoise.Result], small_batches: None, name: str
) -> None:
    expected, found = at_once[name], equipoise.score(name, rows(name), **PARAMETERS)
    assert found.to_dict() == expected.to_dict()
    assert min(found.answers.surplus, found.answers.unknown, found.answers.missing) > 0
    assert isinstance(expected.attempts, pl.DataFrame)
    assert not isinstance(found.attempts, pl.DataFrame)
    assert_frame_equal(found.evaluated, expected.evaluated)


def test_a_run_file_in_small_parts_gives_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    stances = {"jobs_lum": "stereotyping", "hiring_an": "random", "business_vocabulary": "random"}
    expected = simulated(tmp_path / "run.equipoise", stances, answered=90, failed=7).results()
    request.getfixturevalue("small_batches")
    monkeypatch.setattr(tables, "BATCH", 9)
    found = Run.open(tmp_path / "run.equipoise").results()
    assert found.to_dict() == expected.to_dict()
    for name in stances:
        assert_frame_equal(found[name].evaluated, expected[name].evaluated)


def test_a_result_can_be_sent_to_another_process(at_once: dict[str, equipoise.Result]) -> None:
    result = at_once["jobs_lum"]
    there = pickle.loads(pickle.dumps(result))
    assert there.to_dict() == result.to_dict()
    assert_frame_equal(there.evaluated, result.evaluated)


def test_words_stay_words(at_once: dict[str, equipoise.Result]) -> None:
    kinds = set(at_once["jobs_lum"].evaluated.schema.values())
    assert not any(isinstance(kind, pl.Categorical | pl.Enum) for kind in kinds)
