"""Files of other tools, line by line as their documentation has them: read, scored and imported."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

import equipoise
from answers.shapes import (
    FAILED,
    NOT_ASKED,
    OK,
    SHAPES,
    WITHHELD,
    Shape,
    anthropic,
    gemini,
    openai_chat,
    states_of,
    write,
)
from equipoise.answers.files import SCHEMA, read_tables
from equipoise.runs.imports import import_answers
from equipoise.schema import Status

OUTCOMES = [
    pytest.param(shape, state, id=f"{shape.__name__}-{state}") for shape in SHAPES for state in states_of(shape)
]


@pytest.mark.parametrize(("shape", "state"), OUTCOMES)
def test_every_outcome_is_read_as_what_it_is(shape: Shape, state: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [shape("0abc", "Who?", "She.", state)])
    [(key, prompt, repetition, status, answer)] = pl.concat(read_tables(path)).select(*SCHEMA).rows()
    assert key in ("0abc", "CALL0000001", None)
    assert key == "0abc" or prompt == "Who?"
    assert repetition is None
    assert status == state
    assert answer == (None if state in (WITHHELD, FAILED, NOT_ASKED) else "She.")


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_scoring_and_importing_give_what_our_own_format_gives(shape: Shape, tmp_path: Path) -> None:
    prompts = equipoise.plan("jobs_lum", sample=40).prompts()
    answers = [f"{'She' if place % 3 else 'He'} is {place}." for place in range(40)]
    rows = list(zip(prompts["id"], prompts["prompt"], answers, strict=True))
    random.Random(3).shuffle(rows)
    lines = [shape(key, prompt, answer, OK) for key, prompt, answer in rows]
    path = write(tmp_path / "a.jsonl", lines)
    own = equipoise.score("jobs_lum", {key: answer for key, _, answer in rows}, sample=40)
    run, new, matching = import_answers(path, tmp_path / "run.equipoise", probes="jobs_lum", sample=40)
    assert new == 40
    assert matching.matched == 40
    assert run.complete
    assert run.result("jobs_lum").metrics == own.metrics
    scored = equipoise.score("jobs_lum", pl.concat(read_tables(path)), sample=40)
    assert scored.metrics == own.metrics


@pytest.mark.parametrize("shape", [anthropic, openai_chat, gemini])
def test_what_was_not_asked_stays_pending_in_a_run(shape: Shape, tmp_path: Path) -> None:
    first, *others = equipoise.plan("jobs_lum", sample=10).prompts()["id"]
    lines = [shape(first, "", "", NOT_ASKED)]
    lines += [shape(key, "", "She.", OK) for key in others]
    path = write(tmp_path / "a.jsonl", lines)
    run, new, _ = import_answers(path, tmp_path / "run.equipoise", probes="jobs_lum", sample=10)
    assert new == 9
    assert not run.complete
    assert run.counts[Status.PENDING] == 1
