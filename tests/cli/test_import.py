"""`equipoise import`: answers from elsewhere into a run file, which a run then goes on from."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import equipoise
from answering import answer_all
from calling import Command, output
from cli.answer_files import ANSWERED, SIX, TWICE, write_batch, write_lines
from equipoise.probes import get_probe
from equipoise.runs.run import Run
from equipoise.schema import Status
from serving.faulty import FaultyServer


@pytest.fixture
def batches(command: Command) -> list[Path]:
    """Two batch jobs: three requests of the first failed, and were asked again in the second."""
    keys = list(equipoise.plan("jobs_lum", sample=6).prompts()["id"])
    failed = dict(zip(keys[3:], (500, "batch_expired", 500), strict=True))
    return [
        write_batch("1_out.jsonl", dict.fromkeys(keys[:3], 200)),
        write_batch("1_err.jsonl", failed),
        write_batch("2_out.jsonl", dict.fromkeys(keys[3:], 200)),
        write_batch("2_err.jsonl", {}),
    ]


@pytest.mark.parametrize("joined", [True, False], ids=["one file", "four files"])
@pytest.mark.parametrize(
    "words",
    [["score"], ["import", "-o", "run.equipoise"]],
    ids=["score", "import"],
)
def test_a_later_answer_takes_the_place_of_a_failure(
    words: list[str],
    joined: bool,
    batches: list[Path],
    command: Command,
) -> None:
    files = batches
    if joined:
        Path("all.jsonl").write_text("".join(path.read_text() for path in batches))
        files = [Path("all.jsonl")]
    outcome = command(*words, *files, *SIX, "--json")
    shown = json.loads(output(outcome))
    result = shown["results"]["jobs_lum"] if "results" in shown else shown
    assert result["coverage"]["all"]["ok"] == 6
    told = "9 answers read, 6 matched to the plan\n3 answers are surplus"
    assert outcome.err.startswith(told)


def test_an_import_that_lacks_answers_says_how_to_get_them(
    batches: list[Path],
    command: Command,
) -> None:
    lacking = command("import", batches[0], batches[1], *SIX, "-o", "run.equipoise")
    assert lacking.code == 3
    told = "5 attempts are new in run.equipoise, which lacks answers: 1 pending, 2 http_error"
    assert told in lacking.err
    assert "equipoise resume run.equipoise --retry http_error" in lacking.err


@pytest.fixture
def imported(batches: list[Path], command: Command) -> list[Path]:
    """The batch jobs, imported one after the other into run.equipoise."""
    assert command("import", batches[0], batches[1], *SIX, "-o", "run.equipoise").code == 3
    outcome = command("import", batches[2], "-o", "run.equipoise")
    assert output(outcome)
    assert outcome.err.splitlines() == [
        "3 answers read, 3 matched to the plan",
        "3 attempts are new in run.equipoise",
    ]
    return batches


@pytest.mark.usefixtures("imported")
def test_answers_that_are_imported_later_take_the_place_of_failures(command: Command) -> None:
    described = json.loads(output(command("show", "run.equipoise", "--json")))
    assert described["states"]["ok"] == 6
    assert described["complete"] is True
    note = described["settings"]["notes"][1]
    assert "3 attempts from 2_out.jsonl" in note
    assert "2 of them in place of failures" in note
    assert output(command("verify", "run.equipoise"))


def test_importing_the_same_again_adds_nothing(imported: list[Path], command: Command) -> None:
    again = command("import", imported[1], imported[2], "-o", "run.equipoise")
    assert again.code == 0
    assert "6 answers are surplus" in again.err
    assert "0 attempts are new in run.equipoise\n" in again.err


def test_an_answer_that_is_there_stays(imported: list[Path], command: Command) -> None:
    other = imported[0].read_text().replace(ANSWERED, "Name: Bob. He is kind.")
    Path("other.jsonl").write_text(other)
    assert command("import", "other.jsonl", "-o", "run.equipoise").code == 0
    assert set(Run.open("run.equipoise").attempts()["answer"]) == {ANSWERED}


def find_keys(command: Command) -> list[str]:
    """The keys of a batch job for twelve attempts, two at each prompt."""
    words = ("prompts", "jobs_lum", *TWICE[2:], "--format", "openai-batch")
    return [json.loads(line)["custom_id"] for line in output(command(*words)).splitlines()]


def test_a_batch_job_in_two_files_fills_a_run(command: Command) -> None:
    keys = find_keys(command)
    write_batch("first.jsonl", dict.fromkeys(keys[1::2], 200))
    write_batch("second.jsonl", dict.fromkeys(keys[::2], 200))
    named = ("--model", "openai/gpt-4o-mini", "--allow-missing", "0.5")
    output(command("import", "first.jsonl", "-o", "run.equipoise", *named, *TWICE))
    assert not Run.open("run.equipoise").complete
    output(command("import", "second.jsonl", "-o", "run.equipoise"))
    run = Run.open("run.equipoise")
    assert run.complete
    assert run.counts[Status.OK] == len(keys) == 12
    assert run.model == "openai/gpt-4o-mini"


def test_every_answer_of_a_batch_job_belongs_to_its_own_prompt(command: Command) -> None:
    words = ("prompts", "jobs_lum", *TWICE[2:], "--format", "openai-batch")
    rows = []
    for line in output(command(*words)).splitlines():
        request = json.loads(line)
        asked = request["body"]["messages"][0]["content"]
        message = {"content": f"He. {asked} {request['custom_id']}"}
        body = {"choices": [{"message": message, "finish_reason": "stop"}]}
        response = {"status_code": 200, "body": body}
        rows.append({"custom_id": request["custom_id"], "response": response, "error": None})
    write_lines("answers.jsonl", rows[::-1])
    output(command("import", "answers.jsonl", "-o", "run.equipoise", *TWICE))
    transcripts = Run.open("run.equipoise").transcripts("jobs_lum")
    assert transcripts.height == 12
    for row in transcripts.iter_rows(named=True):
        assert row["answer"] == f"He. {row['prompt']} {row['id']}-{row['repetition']}"


def test_resuming_asks_for_what_was_not_imported(command: Command) -> None:
    keys = find_keys(command)
    write_batch("answers.jsonl", dict.fromkeys(keys[:6], 200))
    words = ("import", "answers.jsonl", "-o", "run.equipoise", "--model", "custom/test", *TWICE)
    assert command(*words).code == 3
    with FaultyServer() as server:
        output(command("resume", "run.equipoise", "--base-url", server.url))
        assert server.total == len(keys) - 6 == 6
    run = Run.open("run.equipoise")
    assert run.complete
    assert run.model == "custom/test"
    assert run.counts[Status.OK] == 12


@pytest.mark.parametrize("source", ["answers", "answers/*.jsonl.out"])
def test_a_folder_or_a_pattern_is_imported(source: str, command: Command) -> None:
    keys = find_keys(command)
    Path("answers").mkdir()
    for number in (0, 1):
        write_batch(f"answers/{number}.jsonl.out", dict.fromkeys(keys[number::2], 200))
    Path("answers/manifest.json.out").write_text("{}")
    outcome = command("import", source, "-o", "run.equipoise", *TWICE)
    assert outcome.code == 0, outcome.err
    assert ("left out: manifest.json.out" in outcome.err) == (source == "answers")
    assert Run.open("run.equipoise").complete


@pytest.fixture
def once(command: Command) -> list[dict[str, str]]:
    """Answers to six prompts, which do not say their repetition."""
    return [{"id": key, "answer": "She."} for key in answer_all(sample=6)]


def test_answers_that_do_not_say_their_repetition_are_not_dropped(
    command: Command,
    once: list[dict[str, str]],
) -> None:
    for name in ("1.jsonl", "2.jsonl"):
        write_lines(name, once)
    assert command("import", "1.jsonl", "-o", "run.equipoise", *TWICE).code == 3
    refused = command("import", "2.jsonl", "-o", "run.equipoise")
    assert refused.code == 2
    told = "6 answers do not say their repetition, and run.equipoise has answers to their prompts"
    assert told in refused.err
    assert Run.open("run.equipoise").counts[Status.OK] == 6
    both = command("import", "1.jsonl", "2.jsonl", "-o", "both.equipoise", *TWICE)
    assert both.code == 0
    assert Run.open("both.equipoise").counts[Status.OK] == 12


def test_probes_of_different_sizes_keep_their_own_repetitions(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {
        "jobs_lum.sample": 2,
        "jobs_lum.repeat": 3,
        "hiring_an.sample": 2,
    }
    rows = []
    for probe in ("jobs_lum", "hiring_an"):
        for key in equipoise.plan(probe, sample=2).prompts()["id"]:
            rows += [{"id": key, "answer": "She."}] * 3
    path = tmp_path / "run.equipoise"
    probes = ["jobs_lum", "hiring_an"]
    run, new, matching = equipoise.import_answers(rows, path, probes=probes, **sizes)
    assert new == 2 * 3 + 2
    assert matching.surplus == 2 * 2
    assert run.complete


def test_answers_to_a_probe_that_is_not_installed_are_imported(tmp_path: Path) -> None:
    """The library takes a probe as a value, and the run that it gives back knows that probe."""
    probe = replace(get_probe("jobs_lum"), name="unknown_jobs")
    prompts = equipoise.plan(probe, sample=4).prompts()
    answers = dict.fromkeys(prompts["id"], "He.")
    path = tmp_path / "run.equipoise"
    run, new, matching = equipoise.import_answers(answers, path, probes=probe, sample=4)
    assert (new, matching.matched, run.complete) == (4, 4, True)
    assert run.results()["unknown_jobs"].metrics["masculine_rate"].value == 1.0


OPTIONS = {"doc_id": 0, "doc": {}, "arguments": [["?", "a"], ["?", "b"]]}
"""A line of samples of lm-eval, whose task compares the likelihoods of two options."""
BROKEN = [
    ('{"custom_id": "x"\n', "answers.jsonl, line 1"),
    (
        json.dumps({**OPTIONS, "resps": [[], []]}),
        "answers.jsonl, line 1: no text that a model wrote",
    ),
    (
        json.dumps({**OPTIONS, "resps": [[["-1.2", "False"]], [["-1.2", "False"]]]}),
        "answers.jsonl, line 1: no text that a model wrote",
    ),
]


@pytest.mark.parametrize(
    ("content", "message"),
    BROKEN,
    ids=["no JSON", "no answers", "log-likelihoods"],
)
def test_what_cannot_be_read_leaves_no_run(content: str, message: str, command: Command) -> None:
    Path("answers.jsonl").write_text(content)
    outcome = command("import", "answers.jsonl", "-o", "run.equipoise", *TWICE)
    assert outcome.code == 2
    assert message in outcome.err
    assert not Path("run.equipoise").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="There are no named pipes.")
def test_a_pipe_is_refused_because_it_is_read_twice(command: Command) -> None:
    os.mkfifo("pipe")
    outcome = command("import", "pipe", "-o", "run.equipoise", *SIX)
    assert outcome.code == 2
    assert "Write it to a file first." in outcome.err
    assert not Path("run.equipoise").exists()


@pytest.mark.parametrize("name", ["score", "import"])
def test_answers_to_a_suite_are_recognised_with_their_repetitions(
    name: str,
    command: Command,
) -> None:
    plan = ("--suite", "standard", "--format", "anthropic-batch", "--model", "m")
    asked = output(command("prompts", "jobs_lum", *plan)).splitlines()
    message = {"content": [{"type": "text", "text": "She."}], "stop_reason": "end_turn"}
    rows = []
    for line in asked:
        result = {"type": "succeeded", "message": message}
        rows.append({"custom_id": json.loads(line)["custom_id"], "result": result})
    write_lines("answers.jsonl", rows)
    where = ("-o", "run.equipoise") if name == "import" else ()
    words = (name, "answers.jsonl", "--suite", "standard", "--probe", "jobs_lum", *where)
    outcome = command(*words)
    assert outcome.code == 0
    first = outcome.err.splitlines()[0]
    assert first == f"{len(rows):,} answers read, {len(rows):,} matched to the plan"


def test_what_responses_say_beside_their_answers_is_kept(command: Command) -> None:
    """The served model, its fingerprint, why answers ended, and tokens: as if a run had asked."""
    keys = list(equipoise.plan("jobs_lum", sample=6).prompts()["id"])
    lines = []
    for number, key in enumerate(keys):
        message = {"role": "assistant", "content": "She is a nurse."}
        body = {
            "model": f"gpt-4o-2024-{'05-13' if number < 2 else '11-20'}",
            "system_fingerprint": "fp_7",
            "choices": [{"index": 0, "message": message, "finish_reason": "length" if number == 0 else "stop"}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 4},
        }
        lines.append({"custom_id": f"{key}-1", "response": {"status_code": 200, "body": body}})
    assert command("import", write_lines("out.jsonl", lines), "-o", "run.equipoise", *SIX).code == 0
    run = Run.open("run.equipoise")
    attempts = run.transcripts("jobs_lum")
    assert sorted(attempts["served_model"]) == ["gpt-4o-2024-05-13"] * 2 + ["gpt-4o-2024-11-20"] * 4
    assert set(attempts["fingerprint"]) == {"fp_7"}
    assert sorted(attempts["finish_reason"]) == ["length"] + ["stop"] * 5
    assert run.provenance.usage == (66, 24)


@pytest.mark.parametrize("value", [7, "many", -1, None, 1.5])
def test_odd_values_beside_an_answer_do_not_keep_it_out(value: object, command: Command) -> None:
    keys = equipoise.plan("jobs_lum", sample=6).prompts()["id"]
    rows = [{"id": key, "answer": "He.", "served_model": value, "prompt_tokens": value} for key in keys]
    assert command("import", write_lines("rows.jsonl", rows), "-o", "run.equipoise", *SIX).code == 0
    assert Run.open("run.equipoise").counts[Status.OK] == 6
