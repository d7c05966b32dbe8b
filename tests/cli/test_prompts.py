"""`equipoise prompts`: what is printed where, in every format."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from calling import Command, output
from equipoise.measuring import plan as plans
from equipoise.probes import get_probe


def test_prompts_are_lines_of_json_and_notes_go_elsewhere(command: Command) -> None:
    outcome = command("prompts", "hiring_an", "--sample", "5")
    rows = [json.loads(line) for line in output(outcome).splitlines()]
    assert len(rows) == 6
    assert list(rows[0])[:3] == ["id", "item", "prompt"]
    assert {
        "template",
        "qualification",
        "race",
        "occupation",
        "masculinity",
        "gender",
        "name",
    } <= set(rows[0])
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
    assert [json.loads(line) for line in lines.splitlines()] == [
        json.loads(REQUESTS[form].replace("ID-1", f"{row['id']}-{row['repetition']}").replace("PROMPT", row["prompt"]))
        for row in asked
    ]


@pytest.mark.parametrize("probe", ["jobs_lum", "hiring_an"])
@pytest.mark.parametrize("form", REQUESTS)
def test_a_batch_asks_with_the_limit_of_the_probe(form: str, probe: str, command: Command) -> None:
    words = ("prompts", probe, "--sample", "1", "--format", form, "--model", "m")
    (line, *_) = output(command(*words)).splitlines()
    assert f'":{get_probe(probe).max_tokens}' in line


@pytest.mark.parametrize("form", ["jsonl", "openai-batch"])
@pytest.mark.parametrize("suite", ["quick", "ci", "standard"])
def test_a_suite_asks_as_often_as_a_run(suite: str, form: str, command: Command) -> None:
    chosen = ("--suite", suite, "--probe", "jobs_lum", "--json")
    estimate = json.loads(output(command("estimate", "openai/gpt-4o-mini", *chosen)))
    asked = output(command("prompts", "jobs_lum", "--suite", suite, "--format", form)).splitlines()
    assert len(asked) == estimate["attempts"]
    once = output(command("prompts", "jobs_lum", "--suite", suite, "--repeat", "1")).splitlines()
    assert len(once) == estimate["prompts"]


def test_every_request_of_a_batch_has_a_key_of_its_own(command: Command) -> None:
    """Each prompt of the standard suite is asked several times."""
    words = ("prompts", "jobs_lum", "--suite", "standard", "--format", "openai-batch")
    keys = [json.loads(line)["custom_id"] for line in output(command(*words)).splitlines()]
    assert len(keys) > 339
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--format", "openai-batch", "--max-tokens", "0"),
            "'max_tokens' must be `int` >= 1",
        ),
        (("--format", "anthropic-batch"), "--model is needed"),
        (
            ("--format", "openai-batch", "--model", "anthropic/claude-x"),
            "Got 'anthropic/claude-x' instead",
        ),
        (("--format", "anthropic-batch", "--model", "openai/gpt-4o"), "--format openai-batch?"),
    ],
)
def test_a_batch_that_could_not_be_asked_is_refused(
    words: tuple[str, ...],
    message: str,
    command: Command,
) -> None:
    outcome = command("prompts", "jobs_lum", "--sample", "1", *words)
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err


@pytest.mark.parametrize("form", ["jsonl", "csv", *REQUESTS])
def test_a_file_holds_what_stdout_would(form: str, command: Command, tmp_path: Path) -> None:
    words = ("prompts", "jobs_lum", "--sample", "9", "--format", form, "--model", "m")
    assert output(command(*words, "-o", "prompts")) == ""
    assert Path("prompts").read_text(encoding="utf-8") == output(command(*words))
    assert [path.name for path in tmp_path.iterdir()] == ["prompts"]


@pytest.mark.fault("S10")
def test_formulas_of_a_spreadsheet_are_neutralised_in_csv_only(command: Command) -> None:
    words = ("prompts", "jobs_lum", "--sample", "1", "--set", "template==HYPERLINK({job})")
    (row,) = csv.DictReader(io.StringIO(output(command(*words, "--format", "csv"))))
    assert row["prompt"].startswith("'=HYPERLINK(")
    assert json.loads(output(command(*words)))["prompt"].startswith("=HYPERLINK(")


def test_many_prompts_are_one_table_with_one_header(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = output(command("prompts", "jobs_lum", "--format", "csv"))
    monkeypatch.setattr(plans.Plan.batches, "__defaults__", (10,))
    assert output(command("prompts", "jobs_lum", "--format", "csv")) == whole


@pytest.mark.fault("P15")
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_reader_may_close_the_pipe(form: str) -> None:
    words = ["prompts", "hiring_an", "--sample", "2000", "--format", form]
    process = subprocess.Popen(
        [sys.executable, "-m", "equipoise", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    notes = process.stderr.read().decode()
    process.stderr.close()
    # One large write may end without an error when the reader leaves; then the note is printed.
    assert process.wait() == 0
    assert notes.replace("2,000 prompts of hiring_an\n", "") == ""


SHARDS = [
    (("--shards", "3"), "name a folder for them with --out"),
    (("--shards", "0", "-o", "x"), "--shards must be between 1 and 7"),
    (("--shards", "8", "-o", "x"), "--shards must be between 1 and 7"),
]


@pytest.mark.parametrize(("words", "message"), SHARDS, ids=["no folder", "none", "too many"])
def test_shards_that_cannot_be_are_refused(
    words: tuple[str, ...],
    message: str,
    command: Command,
) -> None:
    outcome = command("prompts", "jobs_lum", "--sample", "7", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert not Path("x").exists()


def test_shards_of_a_batch_are_the_batch_in_pieces(command: Command) -> None:
    words = ("prompts", "jobs_lum", "--sample", "7", "--format", "openai-batch")
    whole = output(command(*words))
    output(command(*words, "--shards", "3", "-o", "batch"))
    pieces = sorted(Path("batch").glob("prompts-*.jsonl"))
    assert len(pieces) == 3
    assert "".join(path.read_text() for path in pieces) == whole


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("gpt-5-mini", "max_completion_tokens"),
        ("openai/o3", "max_completion_tokens"),
        ("o4-mini-2025-04-16", "max_completion_tokens"),
        ("gpt-4o-mini", "max_tokens"),
        ("openai/gpt-4.1", "max_tokens"),
    ],
)
def test_a_batch_names_the_limit_as_the_model_wants_it(model: str, limit: str, command: Command) -> None:
    """Models that reason refuse max_tokens, and a batch job is not asked again."""
    words = ("prompts", "jobs_lum", "--sample", "1", "--format", "openai-batch", "--model", model)
    (line, *_) = output(command(*words)).splitlines()
    body = json.loads(line)["body"]
    assert {"max_tokens", "max_completion_tokens"} & body.keys() == {limit}
    assert body[limit] == get_probe("jobs_lum").max_tokens
