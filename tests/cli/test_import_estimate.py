"""`import` stores the answers of a batch job in a run file; `estimate` says what a run would take."""

from __future__ import annotations

import json
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
    output("import", "first.jsonl", "-o", "run.equipoise", "--model", "openai/gpt-4o-mini", *PLAN)
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
    output("import", "answers.jsonl", "-o", "run.equipoise", "--model", "custom/test", *PLAN)
    with FaultyServer() as server:
        output("resume", "run.equipoise", "--base-url", server.url)
    assert server.total == len(requests) - 5
    assert Run.open("run.equipoise").complete


def test_answers_to_a_probe_that_is_not_installed(tmp_path: Path) -> None:
    """The library takes a probe as a value, and the run that it gives back knows that probe."""
    probe = replace(get_probe("jobs_lum"), name="unknown_jobs")
    prompts = equipoise.plan(probe, sample_k=4).prompts()
    answers = dict.fromkeys(prompts["id"], "He.")
    run, new, matching = equipoise.import_answers(
        answers, tmp_path / "run.equipoise", probes=probe, parameters={"sample_k": 4}
    )
    assert (new, matching.matched, matching.missing) == (4, 4, 0)
    assert run.results()["unknown_jobs"].metrics["masculine_rate"].value == 1.0


def test_a_broken_line_leaves_no_run(command: Command) -> None:
    Path("answers.jsonl").write_text('{"custom_id": "x"\n')
    outcome = command("import", "answers.jsonl", "-o", "run.equipoise", *PLAN)
    assert outcome.code == 2
    assert "answers.jsonl, line 1" in outcome.err
    assert not Path("run.equipoise").exists()


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
    assert json.loads(output("estimate", "openai/gpt-4o-mini", *chosen, "--json"))["prompts"] == 22_556
