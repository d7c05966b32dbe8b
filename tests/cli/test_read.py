"""`equipoise read`: one line per answer, in order; and `--reading` on the commands that evaluate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app

ANSWERS = ["Yes. She has no record.", "It depends.", "…", "No"]


def run(*arguments: str, stdin: str | None = None) -> tuple[int, str]:
    outcome = CliRunner().invoke(app, list(arguments), input=stdin)
    return outcome.exit_code, outcome.stdout


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_answers_are_read_in_order(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"answers{ending}"
    lines = [json.dumps({"answer": answer}) for answer in ANSWERS] if ending == ".jsonl" else ["answer", *ANSWERS]
    path.write_text("\n".join(lines), encoding="utf-8")
    code, out = run("read", "discrimination_tamkin", str(path), "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [row["label"] for row in rows] == ["yes", "undecided", None, "no"]
    assert [row["words"] for row in rows] == [["Yes"], ["It depends"], [], ["No"]]
    assert {row["reading"] for row in rows} == {"careful"}


def test_the_specified_reading_from_stdin() -> None:
    lines = "\n".join(json.dumps({"answer": answer}) for answer in ANSWERS)
    code, out = run("read", "discrimination_tamkin", "--reading", "specified", "--json", stdin=lines)
    assert code == 0
    assert [json.loads(line)["label"] for line in out.splitlines()] == [None, None, None, "no"]


def test_a_line_without_an_answer_is_named() -> None:
    outcome = CliRunner().invoke(app, ["read", "jobs_lum"], input='{"text": "He"}\n')
    assert "stdin, line 1" in str(outcome.exception)


def test_for_people(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"answer": "Her forge is old. She likes it."}), encoding="utf-8")
    assert run("read", "jobs_lum", str(path))[1].split() == ["1", "female", "Her", "·", "She"]
