"""`import` stores the answers of a batch job in a run file; `estimate` says what a run would take."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import equipoise
from calling import Command
from equipoise.probes import get_probe
from equipoise.runs.run import Run
from equipoise.schema import Status
from serving.faulty import FaultyServer

PLAN = ["--probe", "jobs_lum", "--sample", "6", "--repeat", "2"]
Output = Callable[..., str]


@pytest.fixture
def output(command: Command) -> Output:
    """What a command prints that succeeds."""

    def run(*words: str) -> str:
        outcome = command(*words)
        assert outcome.code == 0, outcome.err
        return outcome.out

    return run


def batch_output(requests: list[dict[str, Any]]) -> str:
    def line(request: dict[str, Any]) -> str:
        text = f"He. {request['body']['messages'][0]['content']} {request['custom_id']}"
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        response = {"status_code": 200, "body": {"choices": [choice]}}
        return json.dumps({"custom_id": request["custom_id"], "response": response, "error": None})

    return "\n".join(map(line, requests))


@pytest.fixture
def requests(output: Output) -> list[dict[str, Any]]:
    words = ["prompts", "jobs_lum", *PLAN[2:], "--format", "openai-batch"]
    return [json.loads(line) for line in output(*words).splitlines()]


def test_a_batch_job_in_two_files_fills_a_run(output: Output, requests: list[dict[str, Any]]) -> None:
    Path("first.jsonl").write_text(batch_output(requests[1::2]))
    Path("second.jsonl").write_text(batch_output(requests[::2]))
    named = ("--model", "openai/gpt-4o-mini", "--allow-missing", "0.5")
    output("import", "first.jsonl", "-o", "run.equipoise", *named, *PLAN)
    assert not Run.open("run.equipoise").complete
    output("import", "second.jsonl", "-o", "run.equipoise")
    run = Run.open("run.equipoise")
    assert run.complete
    assert run.counts[Status.OK] == len(requests) == 12
    shown = json.loads(output("show", "run.equipoise", "--json"))
    assert shown["model"] == "openai/gpt-4o-mini"
    assert shown["results"]["jobs_lum"]["metrics"]["masculine_rate"]["value"] == 1.0
    for row in run.transcripts("jobs_lum").iter_rows(named=True):
        assert row["answer"] == f"He. {row['prompt']} {row['id']}-{row['repetition']}"


def test_answers_that_are_already_there_stay(output: Output, requests: list[dict[str, Any]]) -> None:
    Path("answers.jsonl").write_text(batch_output(requests))
    output("import", "answers.jsonl", "-o", "run.equipoise", *PLAN)
    Path("answers.jsonl").write_text(batch_output(requests).replace("He.", "She."))
    output("import", "answers.jsonl", "-o", "run.equipoise")
    assert all(answer.startswith("He.") for answer in Run.open("run.equipoise").attempts()["answer"])


def test_resuming_asks_for_what_the_batch_job_lacks(output: Output, requests: list[dict[str, Any]]) -> None:
    Path("answers.jsonl").write_text(batch_output(requests[:5]))
    output("import", "answers.jsonl", "-o", "run.equipoise", "--model", "custom/test", *PLAN, "--allow-missing", "1")
    with FaultyServer() as server:
        output("resume", "run.equipoise", "--base-url", server.url)
    assert server.total == len(requests) - 5
    assert Run.open("run.equipoise").complete


def test_answers_to_a_probe_that_is_not_installed(tmp_path: Path) -> None:
    """The library takes a probe as a value, and the run that it gives back knows that probe."""
    probe = replace(get_probe("jobs_lum"), name="unknown_jobs")
    prompts = equipoise.plan(probe, sample=4).prompts()
    answers = dict.fromkeys(prompts["id"], "He.")
    run, new, matching = equipoise.import_answers(answers, tmp_path / "run.equipoise", probes=probe, sample=4)
    assert (new, matching.matched, matching.missing) == (4, 4, 0)
    assert run.results()["unknown_jobs"].metrics["masculine_rate"].value == 1.0


def test_a_broken_line_leaves_no_run(command: Command) -> None:
    Path("answers.jsonl").write_text('{"custom_id": "x"\n')
    outcome = command("import", "answers.jsonl", "-o", "run.equipoise", *PLAN)
    assert outcome.code == 2
    assert "answers.jsonl, line 1" in outcome.err
    assert not Path("run.equipoise").exists()


@pytest.fixture
def once(requests: list[dict[str, Any]]) -> list[str]:
    """Answers to the six prompts, which do not say their repetition."""
    keys = dict.fromkeys(request["custom_id"].partition("-")[0] for request in requests)
    return [json.dumps({"id": key, "answer": "She."}) + "\n" for key in keys]


def test_answers_that_do_not_say_their_repetition_are_not_dropped(command: Command, once: list[str]) -> None:
    for name in ("1.jsonl", "2.jsonl"):
        Path(name).write_text("".join(once))
    assert command("import", "1.jsonl", "-o", "run.equipoise", *PLAN).code == 3
    refused = command("import", "2.jsonl", "-o", "run.equipoise")
    assert refused.code == 2
    assert "6 answers do not say their repetition, and run.equipoise has answers to their prompts" in refused.err
    assert Run.open("run.equipoise").counts[Status.OK] == 6
    assert command("import", "1.jsonl", "2.jsonl", "-o", "both.equipoise", *PLAN).code == 0
    again = command("import", "1.jsonl", "2.jsonl", "-o", "both.equipoise")
    assert (again.code, "12 answers are surplus" in again.err) == (0, True)


def test_probes_of_different_sizes_keep_their_own_repetitions(tmp_path: Path) -> None:
    jobs, hiring = get_probe("jobs_lum"), get_probe("hiring_an")
    sizes: dict[str, Any] = {"jobs_lum.sample": 2, "jobs_lum.repeat": 3, "hiring_an.sample": 2}
    keys = [key for probe in (jobs, hiring) for key in equipoise.plan(probe, sample=2).prompts()["id"]]
    rows = [{"id": key, "answer": "She."} for key in keys for _ in range(3)]
    run, new, matching = equipoise.import_answers(rows, tmp_path / "run.equipoise", probes=[jobs, hiring], **sizes)
    assert (new, matching.surplus, matching.missing, run.complete) == (2 * 3 + 2, 2 * 2, 0, True)


@pytest.mark.parametrize("resps", [[["-1.2", "False"]], []])
def test_samples_without_texts_leave_no_run(command: Command, resps: list[Any]) -> None:
    line = {"doc_id": 0, "doc": {}, "arguments": [["?", "a"], ["?", "b"]], "resps": [resps, resps]}
    Path("samples.jsonl").write_text(json.dumps(line))
    outcome = command("import", "samples.jsonl", "-o", "run.equipoise", *PLAN)
    assert (outcome.code, "samples.jsonl, line 1: lm-eval samples" in outcome.err) == (2, True)
    assert not Path("run.equipoise").exists()


def test_a_run_of_another_probe_is_refused(command: Command, once: list[str]) -> None:
    Path("1.jsonl").write_text("".join(once))
    command("import", "1.jsonl", "-o", "run.equipoise", *PLAN)
    outcome = command("import", "1.jsonl", "-o", "run.equipoise", "--probe", "hiring_an")
    assert outcome.code == 2
    assert "run.equipoise has prompts of jobs_lum, and none of hiring_an." in outcome.err


@pytest.mark.skipif(sys.platform == "win32", reason="There are no named pipes.")
def test_a_pipe_is_refused_because_it_is_read_twice(command: Command) -> None:
    os.mkfifo("pipe")
    outcome = command("import", "pipe", "-o", "run.equipoise", *PLAN)
    assert (outcome.code, "Write it to a file first." in outcome.err) == (2, True)
    assert not Path("run.equipoise").exists()


@pytest.mark.parametrize("source", ["answers", "answers/*.jsonl.out"])
def test_a_folder_or_a_pattern_is_imported(command: Command, requests: list[dict[str, Any]], source: str) -> None:
    Path("answers").mkdir()
    for number in (0, 1):
        Path(f"answers/{number}.jsonl.out").write_text(batch_output(requests[number::2]))
    Path("answers/manifest.json.out").write_text("{}")
    outcome = command("import", source, "-o", "run.equipoise", *PLAN)
    assert outcome.code == 0, outcome.err
    assert ("left out: manifest.json.out" in outcome.err) == (source == "answers")
    assert Run.open("run.equipoise").complete


def test_an_estimate_counts_what_would_be_sent(output: Output) -> None:
    words = ["estimate", "openai/gpt-4o-mini", "--suite", "quick", "--repeat", "3", "--price", "1,10", "--json"]
    estimate = json.loads(output(*words))
    assert estimate["attempts"] == 3 * estimate["prompts"] == sum(row["attempts"] for row in estimate["probes"])
    assert estimate["cost"] == pytest.approx((estimate["prompt_tokens"] + 10 * estimate["completion_tokens"]) / 1e6)
    assert "in all" in output("estimate")


def test_an_estimate_needs_a_provider_that_is_known(command: Command) -> None:
    outcome = command("estimate", "opnai/x")
    assert outcome.code == 2
    assert "openai" in outcome.err


def test_the_standard_suite_has_the_sizes_of_the_cards(output: Output, corpora: Path) -> None:
    founding = ["business_vocabulary", "discrimination_tamkin", "gest_creative", "hiring_an", "jobs_lum"]
    chosen = [word for name in founding for word in ("--probe", name)]
    assert json.loads(output("estimate", "openai/gpt-4o-mini", *chosen, "--json"))["prompts"] == 25_556
