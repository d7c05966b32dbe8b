"""`equipoise prompts`: what is printed where, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calling import Command, output
from equipoise.probes import get_probe


def test_prompts_are_lines_of_json_and_notes_go_elsewhere(command: Command) -> None:
    outcome = command("prompts", "hiring_an", "--sample", "5")
    rows = [json.loads(line) for line in output(outcome).splitlines()]
    assert len(rows) == 6
    assert list(rows[0])[:3] == ["id", "item", "prompt"]
    assert {"template", "qualification", "race", "occupation", "masculinity", "gender", "name"} <= set(rows[0])
    assert outcome.err == "6 prompts of hiring_an\n"


SAMPLING = ("--temperature", "0.5", "--max-tokens", "7", "--system", "Be brief.")


REQUESTS = {
    "openai-batch": """{"custom_id": "ID-1", "method": "POST", "url": "/v1/chat/completions", "body": {
        "model": "some-model", "temperature": 0.5, "max_tokens": 7,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "PROMPT"}]}}""",
    "anthropic-batch": """{"custom_id": "ID-1", "params": {
        "model": "some-model", "temperature": 0.5, "max_tokens": 7, "system": "Be brief.",
        "messages": [{"role": "user", "content": "PROMPT"}]}}""",
    "gemini-batch": """{"key": "ID-1", "request": {
        "contents": [{"role": "user", "parts": [{"text": "PROMPT"}]}],
        "generationConfig": {"temperature": 0.5, "maxOutputTokens": 7},
        "systemInstruction": {"parts": [{"text": "Be brief."}]}}}""",
}


@pytest.mark.parametrize("form", REQUESTS)
def test_batch_input_holds_requests(form: str, command: Command) -> None:
    words = ("prompts", "jobs_lum", "--sample", "2", "--repeat", "2", "--seed", "3")
    asked = [json.loads(line) for line in output(command(*words)).splitlines()]
    lines = output(command(*words, "--format", form, "--model", f"{form.partition('-')[0]}/some-model", *SAMPLING))
    assert len(lines.splitlines()) == 4
    assert f'":{get_probe("jobs_lum").max_tokens}' in output(command(*words, "--format", form, "--model", "m"))
    assert [json.loads(line) for line in lines.splitlines()] == [
        json.loads(REQUESTS[form].replace("ID-1", f"{row['id']}-{row['repetition']}").replace("PROMPT", row["prompt"]))
        for row in asked
    ]


def test_a_suite_asks_as_often_as_a_run_and_its_answers_are_recognised(command: Command) -> None:
    words = ("--suite", "standard", "--probe", "jobs_lum")
    estimate = json.loads(output(command("estimate", "openai/gpt-4o-mini", *words, "--json")))
    asked = output(command("prompts", "jobs_lum", "--suite", "standard", "--format", "anthropic-batch", "--model", "m"))
    keys = [json.loads(line)["custom_id"] for line in asked.splitlines()]
    assert len(keys) == len(set(keys)) == estimate["attempts"] > estimate["prompts"]
    message = {"content": [{"type": "text", "text": "She."}], "stop_reason": "end_turn"}
    lines = [{"custom_id": key, "result": {"type": "succeeded", "message": message}} for key in keys]
    Path("answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for name, where in (("score", ()), ("import", ("-o", "run.equipoise"))):
        outcome = command(name, "answers.jsonl", *words, *where)
        assert outcome.code == 0
        assert outcome.err.splitlines()[0] == f"{len(keys):,} answers read, {len(keys):,} matched to the plan"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--format", "openai-batch", "--max-tokens", "0"),
            "'max_tokens' must be `int` >= 1",
        ),
        (("--format", "anthropic-batch"), "--model is needed"),
        (("--format", "anthropic-batch", "--model", "openai/gpt-4o"), "--format openai-batch?"),
    ],
)
def test_a_batch_that_could_not_be_asked_is_refused(words: tuple[str, ...], message: str, command: Command) -> None:
    outcome = command("prompts", "jobs_lum", "--sample", "1", *words)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
