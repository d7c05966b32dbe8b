"""`equipoise score`: answers from elsewhere to results, and to a report."""

from __future__ import annotations

import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise
from answering import answer_all
from calling import Command, output
from cli.answer_files import (
    SIX,
    TWICE,
    answer_prompts,
    packaged_corpus,
    simulate,
    write_batch,
    write_lines,
)
from cli.conftest import check_output
from equipoise.probes import get_probe

FORMATS = ("jsonl", "csv", "parquet", "openai-batch", "anthropic-batch", "gemini-batch")
SIZE = 4
SAMPLE = ("--sample", str(SIZE), "--repeat", "2", "--seed", "3")


@pytest.mark.parametrize("probe", ["hiring_an", "hiring_bloomberg"], ids=["user", "system"])
def test_answers_to_the_prompts_are_scored_alike_in_every_format(
    probe: str,
    command: Command,
    tmp_path: Path,
) -> None:
    """The prompts of one probe have a system part."""
    answers = simulate(probe, sample=SIZE, seed=3, **packaged_corpus(probe))
    results: list[dict[str, Any]] = []
    plan = [*SAMPLE]
    for name, value in packaged_corpus(probe).items():
        plan += ["--set", f"{name}={value}"]
    for form in FORMATS:
        output(command("prompts", probe, *plan, "--format", form, "--model", "m", "-o", "prompts"))
        file = answer_prompts(form, tmp_path / "prompts", answers)
        outcome = command("score", file, "--probe", probe, *plan, "--json")
        results.append(json.loads(output(outcome)))
        attempts = 2 * len(answers)
        assert outcome.err == f"{attempts:,} answers read, {attempts:,} matched to the plan\n"
    assert check_output(results[0]) == "score/1"
    for form, result in zip(FORMATS, results, strict=True):
        assert result == results[0], form


def test_answers_are_found_by_the_text_of_their_prompt(command: Command) -> None:
    prompts = [json.loads(line) for line in output(command("prompts", "jobs_lum")).splitlines()]
    results = []
    for key in ("id", "prompt"):
        rows = []
        for place, row in enumerate(prompts):
            rows.append({key: row[key], "answer": "He." if place % 3 else "She."})
        random.Random(2).shuffle(rows)
        words = (write_lines(f"{key}.jsonl", rows), "--probe", "jobs_lum", "--json")
        results.append(json.loads(output(command("score", *words))))
    assert results[0] == results[1]
    assert results[0]["metrics"]["masculine_rate"]["value"] == pytest.approx(226 / 339)


@pytest.fixture
def hiring(command: Command) -> tuple[Any, ...]:
    """The words that score a small sample of hiring_an."""
    answers = simulate("hiring_an", sample=40, seed=3)
    rows = [{"id": key, "answer": answer} for key, answer in answers.items()]
    file = write_lines("answers.jsonl", rows)
    return ("score", file, "--probe", "hiring_an", "--sample", 40, "--seed", "3")


def test_a_table_shows_every_metric_and_what_it_rests_on(
    hiring: tuple[Any, ...],
    command: Command,
) -> None:
    plain = output(command(*hiring))
    names = [metric.name for metric in get_probe("hiring_an").all_metrics()]
    assert [name for name in names if name not in plain] == []
    assert "hiring_an v2 · Hiring e-mails" in plain
    assert "40 of 40 attempts are answered." in plain
    assert "race_" not in plain


def test_a_table_says_why_a_mark_is_not_decided(command: Command) -> None:
    prompts = [json.loads(line) for line in output(command("prompts", "jobs_lum")).splitlines()]
    lines = [{"id": prompt["id"], "answer": "She sews."} for prompt in prompts[:100]]
    write_lines("few.jsonl", lines)
    shown = output(command("score", "few.jsonl", "--probe", "jobs_lum", "--allow-missing", "1"))
    assert "masculine_rate: not decided yet: missing answers could change the mark." in " ".join(shown.split())


def test_all_shows_the_slices_too(hiring: tuple[Any, ...], command: Command) -> None:
    sliced = output(command(*hiring, "--all"))
    row = r"^ +race_asian_diff_acceptance_rate +-?\d"
    assert re.search(row, sliced, flags=re.MULTILINE)


def test_without_answers_to_measure_there_is_a_result_that_says_so(command: Command) -> None:
    (key, *_) = equipoise.plan("jobs_lum", sample=6).prompts()["id"]
    rows = [{"id": key, "answer": None, "status": "timeout"}]
    words = ("score", write_lines("failed.jsonl", rows), *SIX)
    outcome = command(*words)
    assert outcome.code == 3
    assert "not computable" in outcome.out
    assert "0 of 6 attempts are answered: 5 pending; 1 timeout." in outcome.out
    assert "error: 100.0% of the 6 attempts of the plan have no answer to measure" in outcome.err
    assert "and at most 5.0% may be missing" in outcome.err
    assert outcome.err.rstrip().endswith("may be missing: 5 pending, 1 timeout.")
    assert command(*words, "--allow-missing", "1").code == 0


@pytest.mark.parametrize(
    ("state", "words"),
    [(500, "6 http_error"), ("batch_expired", "6 pending")],
    ids=["failed", "never sent"],
)
def test_a_batch_without_any_answer_is_incomplete(
    state: int | str,
    words: str,
    command: Command,
) -> None:
    path = write_batch("out.jsonl", dict.fromkeys(answer_all(sample=6), state))
    scored = command("score", path, *SIX)
    assert scored.code == 3
    assert scored.err.splitlines()[0] == "6 answers read, 6 matched to the plan"
    assert f"may be missing: {words}." in scored.err
    imported = command("import", path, *SIX, "-o", "run.equipoise")
    assert imported.code == 3
    assert f"which lacks answers: {words}" in imported.err


def test_answers_that_are_mostly_not_used_are_an_error(command: Command) -> None:
    """Two answers to each prompt, and no --repeat 2: half of them would be dropped with a note."""
    rows = [{"id": key, "answer": "She did."} for key in answer_all(sample=6) for _ in range(2)]
    path = write_lines("answers.jsonl", rows)
    for words in (["score", path], ["import", "-o", "run.equipoise", path]):
        outcome = command(*words, *SIX)
        assert outcome.code == 3
        assert "6 of 12 answers are not used" in outcome.err
    assert command("score", path, *TWICE).code == 0


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_that_is_not_there_is_named_with_the_nearest(
    command: Command,
    ending: str,
) -> None:
    table = pl.DataFrame({"id": ["a", "b"], "response": ["She.", "He."]})
    path = Path(f"answers.{ending}")
    match ending:
        case "csv":
            table.write_csv(path)
        case "jsonl":
            table.write_ndjson(path)
        case _:
            table.write_parquet(path)
    outcome = command("score", path, *SIX, "--answer-column", "respons")
    assert outcome.code == 2
    assert f"No column of {path}" in outcome.err
    assert "is called 'respons'. Did you mean 'response'?" in outcome.err


# The report of a score


@pytest.fixture
def answers(command: Command) -> Path:
    """Answers in a table whose column of answers is called `response`."""
    rows = [f'{key};"{answer}"' for key, answer in answer_all(sample=6).items()]
    path = Path("answers.csv")
    path.write_text("\n".join(["id;response", *rows]), encoding="utf-8")
    return path


def test_score_writes_a_report_of_its_numbers(command: Command, answers: Path) -> None:
    words = ("score", answers, *SIX, "--answer-column", "response", "--report", "report.html")
    done = command(*words, "--json")
    assert done.code == 0, done.err
    assert "report: report.html" in done.err
    page = Path("report.html").read_text(encoding="utf-8")
    value = json.loads(done.out)["metrics"]["masculine_rate"]["value"]
    assert f"{value:.3f}".replace("-", "−") in page


def test_the_report_of_a_score_says_where_the_answers_come_from(
    command: Command,
    answers: Path,
) -> None:
    words = ("score", answers, *SIX, "--answer-column", "response", "--report", "report.html")
    output(command(*words))
    page = Path("report.html").read_text(encoding="utf-8")
    assert "Imported: 6 attempts from answers.csv" in page
    assert hashlib.sha256(answers.read_bytes()).hexdigest() in page


def test_the_report_of_a_score_does_not_claim_to_know_how_the_model_was_asked(
    command: Command,
    answers: Path,
) -> None:
    words = ("score", answers, *SIX, "--answer-column", "response", "--report", "report.html")
    output(command(*words))
    assert list(Path().glob("*.equipoise")) == []
    page = Path("report.html").read_text(encoding="utf-8")
    for claim in ("equipoise run ", "no system message", "first attempt ended"):
        assert claim not in page
    assert "left to the endpoint" not in page
    facts = re.findall(r"<dt>(When|How|Who answered)</dt><dd>\s*<bdi>(.*?)</bdi>", page)
    assert {name for name, _ in facts} == {"When", "How", "Who answered"}
    assert {fact.partition(";")[0] for _, fact in facts} == {"not known"}


def test_a_report_that_cannot_be_written_is_refused_first(command: Command, answers: Path) -> None:
    words = ("score", answers, *SIX, "--answer-column", "response")
    outcome = command(*words, "--report", "no/folder/r.html")
    assert (outcome.code, outcome.out) == (5, "")


def test_partials_have_no_report(command: Command, answers: Path) -> None:
    words = ("score", answers, *SIX, "--answer-column", "response", "--partial", "one.partial")
    assert command(*words).code == 0
    refused = command("score", "one.partial", "--report", "report.html")
    assert refused.code == 2
    assert "partials hold none" in refused.err
    assert not Path("report.html").exists()


def test_nothing_matched_writes_no_report_and_no_run(command: Command) -> None:
    file = write_lines("answers.jsonl", [{"id": "x", "answer": "He."}])
    assert command("score", file, *SIX, "--report", "report.html").code == 2
    assert command("import", file, *SIX, "-o", "run.equipoise").code == 2
    assert not Path("report.html").exists()
    assert not Path("run.equipoise").exists()


def test_answers_of_which_none_could_be_classified_are_no_success(command: Command) -> None:
    """The table is shown, and says what was seen instead; the exit code says that nothing was measured."""
    keys = equipoise.plan("hiring_an", sample=40).prompts()["id"]
    rows = [{"id": key, "answer": "Wir melden uns bald."} for key in keys]
    outcome = command("score", write_lines("odd.jsonl", rows), "--probe", "hiring_an", "--sample", 40)
    assert outcome.code == 3
    assert "not computable" in outcome.out
    assert "None of the 40 answers could be classified, so nothing was measured." in outcome.err
    assert "equipoise read hiring_an FILE" in outcome.err
