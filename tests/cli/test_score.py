"""`equipoise score` and `import`: answers from elsewhere to results, to a report, and into a run file."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from answering import answer_all
from calling import Command, output
from cli.conftest import check_output
from equipoise.probes import get_probe
from equipoise.runs.run import Run
from equipoise.schema import Status
from serving.faulty import FaultyServer

FORMATS = ("jsonl", "csv", "parquet", "openai-batch")
SIZE = 4
SAMPLE = ("--sample", str(SIZE), "--repeat", "2", "--seed", "3")
SIX = ("--probe", "jobs_lum", "--sample", "6")
TWICE = (*SIX, "--repeat", "2")


def write_lines(path: str | Path, rows: list[Any]) -> Path:
    """Write rows as lines of JSON."""
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Path(path)


def simulate(probe: str) -> dict[str, str]:
    """An answer to every prompt of the sample, by id."""
    prompts = equipoise.plan(probe, sample=SIZE, seed=3).prompts()
    answers = get_probe(probe).simulate(prompts, "random", np.random.default_rng(1))
    return dict(zip(prompts["id"], answers, strict=True))


def answered(form: str, prompts: Path, answers: Mapping[str, str]) -> Path:
    """The file that a user, or a provider, would make of the prompts."""
    path = prompts.with_name(f"answers.{form if form in ('csv', 'parquet') else 'jsonl'}")
    if form in ("csv", "parquet"):
        table = pl.read_csv(prompts) if form == "csv" else pl.read_parquet(prompts)
        table = table.with_columns(pl.col("id").replace_strict(answers).alias("answer"))
        table.write_csv(path) if form == "csv" else table.write_parquet(path)
        return path
    rows = [json.loads(line) for line in prompts.read_text(encoding="utf-8").splitlines()]
    key = "id" if form == "jsonl" else "custom_id"
    made = [make_output(form, row, answers[row[key].partition("-")[0]]) for row in rows]
    random.Random(1).shuffle(made)
    return write_lines(path, made)


def make_output(form: str, row: dict[str, Any], answer: str) -> dict[str, Any]:
    """The line of an output file for a line of the input."""
    match form:
        case "openai-batch":
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
            response = {"status_code": 200, "body": {"choices": [choice]}}
            return {"custom_id": row["custom_id"], "error": None, "response": response}
        case _:
            return {"id": row["id"], "repetition": row["repetition"], "answer": answer}


def test_answers_to_the_prompts_are_scored_in_every_format(command: Command, tmp_path: Path) -> None:
    probe = "hiring_bloomberg"  # its prompts have a system part
    answers, results = simulate(probe), []
    for form in FORMATS:
        output(command("prompts", probe, *SAMPLE, "--format", form, "--model", "m", "-o", "prompts"))
        outcome = command("score", answered(form, tmp_path / "prompts", answers), "--probe", probe, *SAMPLE, "--json")
        results.append(json.loads(output(outcome)))
        assert outcome.err == f"{2 * len(answers):,} answers read, {2 * len(answers):,} matched to the plan\n"
    assert all(result == results[0] for result in results)
    assert check_output(results[0]) == "score/1"


def test_a_table_for_readers(command: Command) -> None:
    rows = [{"id": key, "answer": answer} for key, answer in simulate("hiring_an").items()]
    words = ("score", write_lines("answers.jsonl", rows), "--probe", "hiring_an", "--sample", SIZE, "--seed", "3")
    plain = output(command(*words))
    assert [one.name for one in get_probe("hiring_an").all_metrics() if one.name not in plain] == []
    assert f"{SIZE} of {SIZE} attempts are answered." in plain
    assert "race_" not in plain
    assert re.search(r"^ +race_\w+_diff_acceptance_rate +-?\d", output(command(*words, "--all")), flags=re.MULTILINE)


def test_without_answers_to_measure_there_is_a_result_that_says_so(command: Command) -> None:
    (key, *_) = equipoise.plan("jobs_lum", sample=6).prompts()["id"]
    words = ("score", write_lines("failed.jsonl", [{"id": key, "answer": None, "status": "timeout"}]), *SIX)
    outcome = command(*words)
    assert outcome.code == 3
    assert "not computable" in outcome.out
    assert "0 of 6 attempts are answered: 5 pending; 1 timeout." in outcome.out
    assert "error: 100.0% of the 6 attempts of the plan have no answer to measure, and at most 5.0%" in outcome.err
    assert command(*words, "--allow-missing", "1").code == 0


ANSWERED = "Name: Ann. She is kind, and her friends like her."


def write_batch(path: str, states: Mapping[str, int | str]) -> Path:
    """Output of OpenAI for these keys: answered (200), failed (another code), or never sent (a word)."""
    lines = []
    for key, state in states.items():
        choice = {"finish_reason": "stop", "message": {"content": ANSWERED}}
        body = {"choices": [choice]} if state == 200 else {"error": {"message": "…", "code": None}}
        response = None if isinstance(state, str) else {"status_code": state, "body": body}
        error = {"code": state, "message": "…"} if isinstance(state, str) else None
        lines.append({"custom_id": key, "response": response, "error": error})
    return write_lines(path, lines)


@pytest.fixture
def batches(command: Command) -> list[Path]:
    """Two batch jobs: three requests of the first failed, and were asked again in the second."""
    keys = list(equipoise.plan("jobs_lum", sample=6).prompts()["id"])
    return [
        write_batch("1_out.jsonl", dict.fromkeys(keys[:3], 200)),
        write_batch("1_err.jsonl", dict(zip(keys[3:], (500, "batch_expired", 500), strict=True))),
        write_batch("2_out.jsonl", dict.fromkeys(keys[3:], 200)),
        write_batch("2_err.jsonl", {}),
    ]


@pytest.mark.parametrize("words", [["score"], ["import", "-o", "run.equipoise"]], ids=lambda words: words[0])
def test_a_later_answer_takes_the_place_of_a_failure(words: list[str], batches: list[Path], command: Command) -> None:
    outcome = command(*words, *batches, *SIX, "--json")
    shown = json.loads(output(outcome))
    result = shown["results"]["jobs_lum"] if "results" in shown else shown
    assert result["coverage"]["all"]["ok"] == 6
    assert outcome.err.startswith("9 answers read, 6 matched to the plan\n3 answers are surplus")


def test_imported_one_after_the_other_answers_take_the_place_of_failures(batches: list[Path], command: Command) -> None:
    lacking = command("import", batches[0], batches[1], *SIX, "-o", "run.equipoise")
    assert lacking.code == 3
    assert "5 attempts are new in run.equipoise, which lacks answers: 1 pending, 2 http_error" in lacking.err
    assert "equipoise resume run.equipoise --retry http_error" in lacking.err
    outcome = command("import", batches[2], "-o", "run.equipoise")
    assert output(outcome)
    assert outcome.err.splitlines() == ["3 answers read, 3 matched to the plan", "3 attempts are new in run.equipoise"]
    described = json.loads(output(command("show", "run.equipoise", "--json")))
    assert (described["states"]["ok"], described["complete"]) == (6, True)
    assert "3 attempts from 2_out.jsonl" in described["settings"]["notes"][1]
    assert "2 of them in place of failures" in described["settings"]["notes"][1]
    again = command("import", batches[1], batches[2], "-o", "run.equipoise")
    assert (again.code, "6 answers are surplus" in again.err) == (0, True)
    assert "0 attempts are new in run.equipoise\n" in again.err
    Path("other.jsonl").write_text(batches[0].read_text().replace(ANSWERED, "Name: Bob. He is kind."))
    assert command("import", "other.jsonl", "-o", "run.equipoise").code == 0
    assert set(Run.open("run.equipoise").attempts()["answer"]) == {ANSWERED}, "an answer stays"


def test_answers_that_are_mostly_not_used_are_an_error(command: Command) -> None:
    """Two answers to each prompt, and no --repeat 2: half of them would be dropped with a note."""
    rows = [{"id": key, "answer": "She did."} for key in answer_all(sample=6) for _ in range(2)]
    path = write_lines("answers.jsonl", rows)
    outcome = command("import", "-o", "run.equipoise", path, *SIX)
    assert (outcome.code, "6 of 12 answers are not used" in outcome.err) == (3, True)
    assert command("score", path, *TWICE).code == 0


def test_resuming_asks_for_what_was_not_imported(command: Command) -> None:
    asked = output(command("prompts", "jobs_lum", *TWICE[2:], "--format", "openai-batch")).splitlines()
    keys = [json.loads(line)["custom_id"] for line in asked]
    Path("answers").mkdir()
    for number in (0, 1):
        write_batch(f"answers/{number}.jsonl.out", dict.fromkeys(keys[number:6:2], 200))
    Path("answers/manifest.json.out").write_text("{}")
    imported = command("import", "answers", "-o", "run.equipoise", "--model", "custom/test", *TWICE)
    assert (imported.code, "left out: manifest.json.out" in imported.err) == (3, True)
    with FaultyServer() as server:
        output(command("resume", "run.equipoise", "--base-url", server.url))
    assert server.total == len(keys) - 6 == 6
    run = Run.open("run.equipoise")
    assert (run.complete, run.model, run.counts[Status.OK]) == (True, "custom/test", 12)


def test_answers_that_do_not_say_their_repetition_are_not_dropped(command: Command) -> None:
    rows = [{"id": key, "answer": "She."} for key in answer_all(sample=6)]
    for name in ("1.jsonl", "2.jsonl"):
        write_lines(name, rows)
    assert command("import", "1.jsonl", "-o", "run.equipoise", *TWICE).code == 3
    refused = command("import", "2.jsonl", "-o", "run.equipoise")
    assert refused.code == 2
    assert "6 answers do not say their repetition, and run.equipoise has answers to their prompts" in refused.err
    assert Run.open("run.equipoise").counts[Status.OK] == 6
    assert command("import", "1.jsonl", "2.jsonl", "-o", "both.equipoise", *TWICE).code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="There are no named pipes.")
def test_a_pipe_is_refused_because_it_is_read_twice(command: Command) -> None:
    os.mkfifo("pipe")
    outcome = command("import", "pipe", "-o", "run.equipoise", *SIX)
    assert (outcome.code, "Write it to a file first." in outcome.err) == (2, True)


def test_an_imported_run_says_so_wherever_it_is_shown(command: Command) -> None:
    answers = Path("answers.csv")
    rows = [f'{key};"{answer}"' for key, answer in answer_all(sample=6).items()]
    answers.write_text("\n".join(["id;response", *rows]), encoding="utf-8")
    done = command("import", answers, "-o", "run.equipoise", *SIX, "--answer-column", "response")
    assert done.code == 0, done.err
    source = f"Imported: 6 attempts from answers.csv (SHA-256 {hashlib.sha256(answers.read_bytes()).hexdigest()})."
    assert source in done.out
    shown = command("show", "run.equipoise").out
    assert "imported answers, complete" in shown
    assert "is not known here" in shown
    assert "equipoise run " not in shown + done.err
    compared = command("compare", "run.equipoise", "run.equipoise")
    assert "A: custom/imported · run.equipoise · imported answers, complete" in compared.out
    assert "The answers of B are imported." in compared.err
    run, origin = Run.open("run.equipoise"), "The answers were imported: how the model was asked is not known."
    assert "imported answers" in repr(run)
    gate = command("gate", "run.equipoise", "--fail-on", "D", "--markdown", "gate.md", "--junit", "gate.xml")
    assert f"note: {origin}" in gate.err
    assert "were imported" in Path("gate.md").read_text(encoding="utf-8")
    assert f'<property name="note" value="{origin}"' in Path("gate.xml").read_text(encoding="utf-8")
    attempts = command("export", run.path, "--what", "attempts", "--format", "jsonl").out.splitlines()
    facts = {(row["answers_origin"], row["tries"], row["finished_at"]) for row in map(json.loads, attempts)}
    assert facts == {("imported", None, None)}
    assert command("transcripts", "run.equipoise", "-o", "answers.html").code == 0
    page = Path("answers.html").read_text(encoding="utf-8")
    assert (origin in page, ", imported on " in page, ", asked on " in page) == (True, True, False)


def test_score_writes_a_report(command: Command) -> None:
    lines = [json.dumps({"id": key, "answer": answer}) for key, answer in answer_all(sample=6).items()]
    Path("answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = command("score", "answers.jsonl", *SIX, "--report", "report.html")
    assert (done.code, "report: report.html" in done.err) == (0, True), done.err
    assert "imported" in Path("report.html").read_text(encoding="utf-8")
    command("score", "answers.jsonl", *SIX, "--partial", "one.partial")
    refused = command("score", "one.partial", "--report", "report.html")
    assert (refused.code, "partials hold none" in refused.err) == (2, True)
