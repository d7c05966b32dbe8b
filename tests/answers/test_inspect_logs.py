"""Answers in logs of Inspect."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalSample,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.model import ModelOutput

from answers.shapes import FAILED, NOT_ASKED, OK, write
from equipoise.answers.files import SCHEMA, read_tables
from equipoise.errors import InputError

BOOM = EvalError(message="boom", traceback="", traceback_ansi="")
FORMATS = ["log.eval", "log.json"]


def sample(key: str, epoch: int, answer: str | None, asked: str = "Who?", error: EvalError | None = None) -> EvalSample:
    """One attempt; without an answer it was not asked, or failed with the error."""
    output = ModelOutput() if answer is None else ModelOutput.from_content("m", answer)
    return EvalSample(id=key, epoch=epoch, input=asked, target="", output=output, error=error)


def rows_of(path: Path, samples: list[EvalSample], ids: list[str] | None = None) -> list[Any]:
    """The rows that are read of a log with these samples, sorted; `ids` are those that it lists."""
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="jobs_lum",
        dataset=EvalDataset(sample_ids=ids),
        model="m",
        config=EvalConfig(epochs=2),
    )
    log = EvalLog(status="success", eval=spec)
    log.samples = samples
    write_eval_log(log, str(path))
    return sorted(pl.concat(read_tables(path)).select(*SCHEMA).rows(), key=str)


@pytest.mark.parametrize("ids", [["0abc", "0abd"], None], ids=["whole", "cut off"])
@pytest.mark.parametrize("name", FORMATS)
def test_answers_and_what_was_not_asked_are_read(name: str, ids: list[str] | None, tmp_path: Path) -> None:
    samples = [sample("0abc", 1, "She."), sample("0abc", 2, "He."), sample("0abd", 1, None, "?")]
    assert rows_of(tmp_path / name, samples, ids) == [
        ("0abc", "Who?", 1, OK, "She."),
        ("0abc", "Who?", 2, OK, "He."),
        ("0abd", "?", 1, NOT_ASKED, None),
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_an_answer_stays_when_its_scorer_failed(name: str, tmp_path: Path) -> None:
    samples = [sample("0abc", 1, "She."), sample("0abc", 2, "He.", error=BOOM)]
    assert rows_of(tmp_path / name, samples) == [
        ("0abc", "Who?", 1, OK, "She."),
        ("0abc", "Who?", 2, OK, "He."),
    ]


@pytest.mark.parametrize("name", FORMATS)
def test_an_error_without_an_answer_is_a_failed_attempt(name: str, tmp_path: Path) -> None:
    rows = rows_of(tmp_path / name, [sample("0abe", 1, None, error=BOOM)])
    assert rows == [("0abe", "Who?", 1, FAILED, None)]


def test_without_the_library_a_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(InputError, match=r"equipoise\[inspect\]"):
        pl.concat(read_tables(write(tmp_path / "a.eval", [{}])))
