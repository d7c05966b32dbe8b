"""Answers in Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise
from answers.shapes import Line, write
from equipoise.answers.files import read_tables
from equipoise.errors import BadFile, InputError
from equipoise.runs.imports import import_answers


def test_parquet_is_read_as_the_same_rows_in_json_lines_are(tmp_path: Path) -> None:
    rows: list[Line] = [
        {"id": "0abc", "prompt": None, "repetition": 1, "status": None, "answer": "She."},
        {"id": "0abc", "prompt": None, "repetition": 2, "status": "truncated", "answer": "He"},
        {"id": None, "prompt": "Who?", "repetition": None, "status": "timeout", "answer": None},
        {"id": "0abd", "prompt": None, "repetition": 1, "status": None, "answer": "<think>He?</think>"},
        {"id": "0abe", "prompt": None, "repetition": 1, "status": "ok", "answer": " \x1c\n"},
        {"id": "0abf", "prompt": None, "repetition": 1, "status": "ok", "answer": "<b>She</b>"},
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    lines = write(tmp_path / "a.jsonl", rows)
    assert pl.concat(read_tables(tmp_path / "a.parquet")).equals(pl.concat(read_tables(lines)))


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": ["a"]}, "a column answer is needed. There are: id"),
        ({"prompt": ["Who?"], "status": ["ok"]}, "a column answer is needed"),
        ({"id": [1], "answer": ["a"]}, "the column id must hold String, not Int64"),
        ({"id": ["a"], "answer": [["a"]]}, "the column answer must hold String"),
        ({"id": ["a"], "answer": ["a"], "repetition": ["1"]}, "the column repetition must hold Int64"),
        ({"id": ["a"], "answer": ["a"], "repetition": [1.5]}, "row 1: repetition must be a whole number"),
        ({"id": ["a"], "answer": ["a"], "repetition": [-1]}, "row 1: repetition must be 0 or more"),
        ({"id": ["a"] * 2, "answer": ["a"] * 2, "status": ["ok", "fine"]}, "row 2: status must be one of"),
        ({"id": pl.Series([], dtype=pl.String), "answer": pl.Series([], dtype=pl.String)}, "holds no answers"),
    ],
)
def test_parquet_that_cannot_be_read_is_refused(columns: dict[str, Any], words: str, tmp_path: Path) -> None:
    pl.DataFrame(columns, strict=False).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(BadFile, match=words):
        pl.concat(read_tables(tmp_path / "a.parquet"))


@pytest.mark.fault("D4")
def test_answers_without_ids_and_prompts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"answer": ["She."]}).write_parquet(path)
    with pytest.raises(InputError, match="Each needs the id or the text of its prompt"):
        equipoise.score("jobs_lum", pl.concat(read_tables(path)), sample=20)


def test_a_row_with_neither_id_nor_prompt_belongs_to_no_prompt(tmp_path: Path) -> None:
    first = equipoise.plan("jobs_lum", sample=20).prompts()["id"][0]
    path = tmp_path / "a.parquet"
    pl.DataFrame({"id": [None, first], "answer": ["He.", "She."]}).write_parquet(path)
    run, new, matching = import_answers(path, tmp_path / "run.equipoise", probes="jobs_lum", sample=20)
    assert new == 1
    assert matching.unknown == 1
    assert run.attempts().filter(pl.col("answer").is_not_null())["answer"].to_list() == ["She."]
