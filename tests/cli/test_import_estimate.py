"""`import` brings the answers of a batch job into a run file; `estimate` says what a run would take."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calling import exit_code
from equipoise.frames import Status
from equipoise.run import Run
from serving.faulty import FaultyServer

PLAN = ["--probe", "jobs_lum", "--sample", "6", "--repeat", "2"]
Command = Callable[..., str]


@pytest.fixture
def equipoise(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command in an empty folder: what it prints, if it ends with the code that is expected."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, code: int = 0) -> str:
        ended = exit_code(monkeypatch, *words)
        out, err = capfd.readouterr()
        assert ended == code, err
        return out if code == 0 else err

    return run


def batch_output(requests: list[dict[str, Any]]) -> str:
    def line(request: dict[str, Any]) -> str:
        text = f"He. {request['body']['messages'][0]['content']} {request['custom_id']}"
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        response = {"status_code": 200, "body": {"choices": [choice]}}
        return json.dumps({"custom_id": request["custom_id"], "response": response, "error": None})

    return "\n".join(map(line, requests))


@pytest.fixture
def requests(equipoise: Command) -> list[dict[str, Any]]:
    words = ["prompts", "jobs_lum", *PLAN[2:], "--format", "openai-batch"]
    return [json.loads(line) for line in equipoise(*words).splitlines()]


def test_a_batch_job_in_two_files_fills_a_run(equipoise: Command, requests: list[dict[str, Any]]) -> None:
    Path("first.jsonl").write_text(batch_output(requests[1::2]))
    Path("second.jsonl").write_text(batch_output(requests[::2]))
    equipoise("import", "first.jsonl", "-o", "run.equipoise", "--model", "openai/gpt-4o-mini", *PLAN)
    assert not Run.open("run.equipoise").complete
    equipoise("import", "second.jsonl", "-o", "run.equipoise")
    run = Run.open("run.equipoise")
    assert run.complete
    assert run.counts[Status.OK] == len(requests) == 12
    told = json.loads(equipoise("show", "run.equipoise", "--json"))
    assert told["model"] == "openai/gpt-4o-mini"
    assert told["results"]["jobs_lum"]["metrics"]["masculine_rate"]["value"] == 1.0
    for row in run.transcripts("jobs_lum").iter_rows(named=True):
        assert row["answer"] == f"He. {row['prompt']} {row['id']}#{row['repetition']}"


def test_what_is_there_stays(equipoise: Command, requests: list[dict[str, Any]]) -> None:
    Path("answers.jsonl").write_text(batch_output(requests))
    equipoise("import", "answers.jsonl", "-o", "run.equipoise", *PLAN)
    Path("answers.jsonl").write_text(batch_output(requests).replace("He.", "She."))
    equipoise("import", "answers.jsonl", "-o", "run.equipoise")
    assert all(answer.startswith("He.") for answer in Run.open("run.equipoise").attempts()["answer"])


def test_resuming_asks_for_what_the_batch_job_lacks(equipoise: Command, requests: list[dict[str, Any]]) -> None:
    Path("answers.jsonl").write_text(batch_output(requests[:5]))
    equipoise("import", "answers.jsonl", "-o", "run.equipoise", "--model", "custom/test", *PLAN)
    with FaultyServer() as server:
        equipoise("resume", "run.equipoise", "--base-url", server.url)
    assert server.total == len(requests) - 5
    assert Run.open("run.equipoise").complete


def test_a_broken_line_leaves_no_run(equipoise: Command) -> None:
    Path("answers.jsonl").write_text('{"custom_id": "x"\n')
    assert "answers.jsonl, line 1" in equipoise("import", "answers.jsonl", "-o", "run.equipoise", *PLAN, code=2)
    assert not Path("run.equipoise").exists()


def test_an_estimate_counts_what_would_be_sent(equipoise: Command) -> None:
    words = ["estimate", "openai/gpt-4o-mini", "--suite", "quick", "--repeat", "3", "--price", "1,10", "--json"]
    told = json.loads(equipoise(*words))
    assert told["attempts"] == 3 * told["prompts"] == sum(row["attempts"] for row in told["probes"])
    assert told["cost"] == pytest.approx((told["prompt_tokens"] + 10 * told["completion_tokens"]) / 1e6)
    assert "in all" in equipoise("estimate")
    assert "opena" in equipoise("estimate", "opnai/x", code=2)


def test_the_standard_suite_has_the_sizes_of_the_cards(equipoise: Command, corpora: Path) -> None:
    assert json.loads(equipoise("estimate", "openai/gpt-4o-mini", "--json"))["prompts"] == 22_556
