"""Answers from elsewhere: a report at once, and a run file that says where they come from and what is not known."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import polars as pl
import pytest

from answering import answer_all
from calling import Command
from equipoise.runs.run import Run

SAMPLE = ("--probe", "jobs_lum", "--sample", "30")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    rows = [f'{key};"{answer}"' for key, answer in answer_all(sample=30).items()]
    path.write_text("\n".join(["id;response", *rows]), encoding="utf-8")
    return path


def test_a_score_can_have_a_report(command: Command, answers: Path) -> None:
    words = ("score", answers, *SAMPLE, "--answer-column", "response", "--report", "report.html", "--json")
    outcome = command(*words, "--model", "openai/<b>x")
    assert outcome.code == 0, outcome.err
    assert "report: report.html" in outcome.err
    page = Path("report.html").read_text(encoding="utf-8")
    value = json.loads(outcome.out)["metrics"]["stereotype_rate"]["value"]
    assert f"{value:.3f}".replace("-", "−") in page
    assert "Imported: 30 attempts from answers.csv" in page
    assert hashlib.sha256(answers.read_bytes()).hexdigest() in page
    assert "equipoise run " not in page
    assert "openai/<b>x" not in page
    assert [path.name for path in Path().iterdir() if path.suffix == ".equipoise"] == []
    for unknown in ("answers.equipoise", "left to the endpoint", "no system message", "first attempt ended"):
        assert unknown not in page
    assert "equipoise verify" not in page, "there is no run file to hold against it"
    facts = dict(re.findall(r"<dt>(When|How|Who answered)</dt><dd>\s*<bdi>(.*?)</bdi>", page))
    assert {name: fact.partition(";")[0] for name, fact in facts.items()} == dict.fromkeys(facts, "not known")
    assert len(facts) == 3
    assert "temperature&#34;" not in page


def test_a_report_that_cannot_be_written_is_refused_first(command: Command, answers: Path) -> None:
    assert command("score", answers, *SAMPLE, "--answer-column", "response", "--report", "no/folder/r.html").code == 5


def test_nothing_matched_is_wrong_input(command: Command, answers: Path) -> None:
    answers.write_text('{"id": "x", "answer": "He."}\n', encoding="utf-8")
    answers = answers.rename(answers.with_suffix(".jsonl"))
    assert command("score", answers, *SAMPLE, "--report", "report.html").code == 2
    assert command("import", answers, *SAMPLE, "-o", "run.equipoise").code == 2
    assert not Path("report.html").exists()
    assert not Path("run.equipoise").exists()


def test_an_imported_run_says_so_wherever_it_is_shown(command: Command, answers: Path) -> None:
    done = command("import", answers, "-o", "run.equipoise", *SAMPLE, "--answer-column", "response")
    assert done.code == 0, done.err
    source = f"Imported: 30 attempts from answers.csv (SHA-256 {hashlib.sha256(answers.read_bytes()).hexdigest()})."
    assert source in done.out
    assert "is not known here" in done.out
    shown = command("show", "run.equipoise")
    assert "imported answers, complete" in shown.out
    assert source in shown.out
    described = json.loads(command("show", "run.equipoise", "--json").out)
    assert described["imported"] is True
    assert described["settings"]["notes"][0].startswith(source)
    assert "A: custom/imported · run.equipoise · imported answers, complete" in (
        command("compare", "run.equipoise", "run.equipoise").out
    )
    for outcome in (done, shown):
        assert "equipoise run " not in outcome.out + outcome.err
    run = Run.open("run.equipoise")
    assert run.settings.imported
    assert "imported answers" in repr(run)
    origin = "The answers were imported: how the model was asked is not known."
    assert repr(run.results()).splitlines()[:2] == ["custom/imported", origin]
    assert f"<p>{origin}</p>" in run.results()._repr_html_()
    gate = command("gate", "run.equipoise", "--fail-on", "D", "--undecided", "pass", "--markdown", "gate.md")
    assert f"note: {origin}" in gate.err
    assert "were imported" in Path("gate.md").read_text(encoding="utf-8")
    command("gate", "run.equipoise", "--fail-on", "D", "--junit", "gate.xml")
    assert f'<property name="note" value="{origin}"' in Path("gate.xml").read_text(encoding="utf-8")
    for what in ("metrics", "readings", "attempts", "prompts"):
        rows = list(map(json.loads, command("export", run.path, "--what", what, "--format", "jsonl").out.splitlines()))
        assert {row["answers_origin"] for row in rows} == {"imported"}, what
    attempts = command("export", run.path, "--what", "attempts", "--format", "jsonl").out.splitlines()
    assert {(row["tries"], row["finished_at"]) for row in map(json.loads, attempts)} == {(None, None)}
    assert command("transcripts", "run.equipoise", "-o", "answers.html").code == 0
    page = Path("answers.html").read_text(encoding="utf-8")
    assert origin in page
    assert ", imported on " in page
    assert ", asked on " not in page
    assert command("report", "run.equipoise", "run.equipoise", "-o", "both.html", "--charts", "charts").code == 0
    assert set(pl.read_csv("charts/heatmap.csv")["answers"]) == {"imported"}
    assert "custom/imported (run.equipoise) 1 (imported)" in Path("charts/heatmap.svg").read_text(encoding="utf-8")
    assert "The answers of B were imported." in command("compare", "run.equipoise", "run.equipoise").err


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_that_is_not_there_is_named(command: Command, tmp_path: Path, ending: str) -> None:
    table = pl.DataFrame({"id": ["a", "b"], "response": ["She.", "He."]})
    path = tmp_path / f"answers.{ending}"
    match ending:
        case "csv":
            table.write_csv(path)
        case "jsonl":
            table.write_ndjson(path)
        case _:
            table.write_parquet(path)
    outcome = command("score", path, *SAMPLE, "--answer-column", "respons")
    assert outcome.code == 2
    assert f"No column of {path} is called 'respons'. Did you mean 'response'?" in outcome.err
