"""`equipoise probes`, `prompts`, `score`: what they print where, and with which code they end."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.main import get_command

import equipoise
from calling import Command, Outcome
from equipoise.assets import REGISTRY, Https
from equipoise.cli import app
from equipoise.errors import InputError
from equipoise.measuring import plan as plans
from equipoise.probes import find_probes, get_probe
from equipoise.schema import Status

PROBES = find_probes()
FORMATS = ("jsonl", "csv", "parquet", "openai-batch", "anthropic-batch", "gemini-batch")
# Nothing listens on this port of this machine.
CLOSED = "http://127.0.0.1:9/"


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def output(outcome: Outcome) -> str:
    """What a command printed that succeeded."""
    assert outcome.code == 0, outcome.err
    return outcome.out


def packaged(probe: str) -> tuple[str, ...]:
    """The words of the command that choose the corpus that needs no download."""
    names = [corpus.name for corpus in PROBES[probe].corpora if corpus.file is not None]
    return ("--set", f"corpus={names[0]}") if names else ()


def population(probe: str) -> int:
    """How many items there are to draw from."""
    corpus = {"corpus": packaged(probe)[1].partition("=")[2]} if packaged(probe) else {}
    return equipoise.plan(probe, sample_k=None, **corpus).items  # type: ignore[arg-type]


SIZE = min(64, *map(population, PROBES))
SAMPLE = ("--sample", str(SIZE), "--repeat", "2", "--seed", "3")


# From prompts to a score


def simulated(probe: str) -> dict[str, str]:
    """An answer to every prompt of the sample, by id."""
    corpus = {"corpus": packaged(probe)[1].partition("=")[2]} if packaged(probe) else {}
    parameters: dict[str, Any] = {"sample_k": SIZE, "random_seed": 3, **corpus}
    prompts = equipoise.plan(probe, **parameters).prompts()
    answers = PROBES[probe].simulate(prompts, "random", np.random.default_rng(1))
    return dict(zip(prompts["id"], answers, strict=True))


def answered(form: str, prompts: Path, answers: Mapping[str, str]) -> Path:
    """The file that a user, or a provider, would make of the prompts."""
    if form in ("csv", "parquet"):
        table = pl.read_csv(prompts) if form == "csv" else pl.read_parquet(prompts)
        table = table.with_columns(pl.col("id").replace_strict(answers).alias("answer"))
        path = prompts.with_name(f"answers.{form}")
        table.write_csv(path) if form == "csv" else table.write_parquet(path)
        return path
    rows = [json.loads(line) for line in prompts.read_text(encoding="utf-8").splitlines()]
    key = {"jsonl": "id", "gemini-batch": "key"}.get(form, "custom_id")
    made = [make_output(form, row, answers[row[key].partition("-")[0]]) for row in rows]
    random.Random(1).shuffle(made)
    path = prompts.with_name("answers.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    return path


def make_output(form: str, row: dict[str, Any], answer: str) -> dict[str, Any]:
    """The line of an output file for a line of the input."""
    match form:
        case "openai-batch":
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
            response = {"status_code": 200, "body": {"choices": [choice]}}
            return {"custom_id": row["custom_id"], "error": None, "response": response}
        case "anthropic-batch":
            message = {"content": [{"type": "text", "text": answer}], "stop_reason": "end_turn"}
            return {"custom_id": row["custom_id"], "result": {"type": "succeeded", "message": message}}
        case "gemini-batch":
            candidate = {"content": {"parts": [{"text": answer}], "role": "model"}, "finishReason": "STOP"}
            return {"key": row["key"], "response": {"candidates": [candidate]}}
        case _:
            return {"id": row["id"], "repetition": row["repetition"], "answer": answer}


@pytest.mark.parametrize("probe", PROBES)
def test_answers_to_the_prompts_are_scored_in_every_format(probe: str, command: Command, tmp_path: Path) -> None:
    answers, results = simulated(probe), []
    for form in FORMATS:
        output(command("prompts", probe, *SAMPLE, *packaged(probe), "--format", form, "-o", tmp_path / "prompts"))
        outcome = command(
            "score",
            answered(form, tmp_path / "prompts", answers),
            "--probe",
            probe,
            *SAMPLE,
            *packaged(probe),
            "--json",
        )
        results.append(json.loads(output(outcome)))
        attempts = 2 * len(answers)
        assert outcome.err.splitlines() == [f"{attempts:,} answers read, {attempts:,} matched to the plan"]
    assert all(result == results[0] for result in results)
    check_shape(results[0], probe)
    check_coverage(results[0]["coverage"], probe)


def check_shape(result: dict[str, Any], probe: str) -> None:
    assert list(result) == [
        *("probe", "version", "reading", "detector", "judge", "corpus", "corpus_sha256", "parameters", "items"),
        *("level", "looks", "metrics", "slices", "bounds", "complete", "generalised", "marks", "coverage", "matching"),
        "selection",
    ]
    assert (result["probe"], result["version"]) == (probe, PROBES[probe].version)
    assert result["corpus"] == (packaged(probe)[1].partition("=")[2] if packaged(probe) else None)
    assert set(result["parameters"]) == {parameter.name for parameter in PROBES[probe].all_parameters()}
    assert (result["parameters"]["sample_k"], result["parameters"]["random_seed"]) == (SIZE, 3)
    check_metrics(result["metrics"], probe)
    assert tuple(result["slices"]) == PROBES[probe].slices
    for groups in result["slices"].values():
        assert len(groups) > 1
        for metrics in groups.values():
            check_metrics(metrics, probe)
    assert set(result["marks"]) == {metric.name for metric in PROBES[probe].metrics if metric.bands}
    for mark in result["marks"].values():
        assert list(mark) == ["mark", "best", "worst", "undecided"]
        assert (mark["mark"] is None) == mark["undecided"]
        assert mark["undecided"] or mark["best"] <= mark["mark"] <= mark["worst"]


def check_metrics(metrics: dict[str, dict[str, Any]], probe: str) -> None:
    assert list(metrics) == [metric.name for metric in PROBES[probe].all_metrics()]
    for estimate in metrics.values():
        assert list(estimate) == ["value", "low", "high", "n", "defined"]
        assert all(number is None or isinstance(number, float) for number in list(estimate.values())[:3])
        assert isinstance(estimate["n"], int)


def check_coverage(coverage: dict[str, dict[str, int]], probe: str) -> None:
    arms = PROBES[probe].arms.values if PROBES[probe].arms else ()  # type: ignore[union-attr]
    assert list(coverage)[: len(arms) + 1] == ["all", *arms]
    assert arms or not PROBES[probe].coverage_columns or len(coverage) > 1
    for counts in coverage.values():
        assert list(counts) == ["planned", *Status, "detected", "undetected", "evaluation_failed"]
        assert sum(counts[state] for state in Status) == counts["planned"]
        assert counts["detected"] + counts["undetected"] == counts["ok"] + counts["truncated"]
    if arms:
        for name, count in coverage["all"].items():
            assert count == sum(coverage[arm][name] for arm in arms), name


@pytest.mark.parametrize("probe", PROBES)
def test_coverage_adds_up_when_much_is_missing(probe: str, command: Command, tmp_path: Path) -> None:
    answers = list(simulated(probe).items())
    states = [*Status, None, None, None]
    rows = [
        {"id": key, "answer": answer if place % 5 else "…", "status": states[place % len(states)]}
        for place, (key, answer) in enumerate(answers)
    ]
    rows += [{"id": "strange", "answer": "x"}, rows[0], rows[0], {"id": answers[1][0], "answer": ""}]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    outcome = command("score", file, "--probe", probe, *SAMPLE, *packaged(probe), "--json")
    result = json.loads(output(outcome))
    check_coverage(result["coverage"], probe)
    assert result["matching"]["read"] == len(rows)
    assert (result["matching"]["surplus"], result["matching"]["unknown"]) == (1, 1)
    assert result["matching"]["missing"] == result["coverage"]["all"]["planned"] - result["matching"]["matched"]
    assert "1 answers are surplus" in outcome.err
    assert "1 answers belong to no planned prompt" in outcome.err
    assert f"{result['matching']['missing']:,} planned attempts have no answer" in outcome.err


def test_answers_are_found_by_the_text_of_their_prompt(command: Command, tmp_path: Path) -> None:
    prompts = [json.loads(line) for line in output(command("prompts", "jobs_lum")).splitlines()]
    files = {key: tmp_path / f"{key}.jsonl" for key in ("id", "prompt")}
    for key, file in files.items():
        rows = [{key: row[key], "answer": "He." if place % 3 else "She."} for place, row in enumerate(prompts)]
        random.Random(2).shuffle(rows)
        file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    by_id, by_text = (
        json.loads(output(command("score", file, "--probe", "jobs_lum", "--json"))) for file in files.values()
    )
    assert by_id == by_text
    assert by_id["metrics"]["masculine_rate"]["value"] == pytest.approx(226 / 339)


@pytest.fixture
def scored(command: Command, tmp_path: Path) -> Path:
    """Answers to all of hiring_an's sample."""
    file = tmp_path / "answers.jsonl"
    rows = [{"id": key, "answer": answer} for key, answer in simulated("hiring_an").items()]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def test_a_table_for_readers(scored: Path, command: Command) -> None:
    words = ("score", scored, "--probe", "hiring_an", "--sample", str(SIZE), "--seed", "3")
    plain, sliced = output(command(*words)), output(command(*words, "--slices"))
    for metric in PROBES["hiring_an"].all_metrics():
        assert metric.name in plain
    assert "hiring_an v1 · Hiring e-mails" in plain
    assert "all: 128 of 128 attempts measured" in plain
    assert f"female: {SIZE} of {SIZE} attempts measured" in plain
    assert "@race" not in plain
    assert re.search(r"^ +diff_acceptance_rate@race:asian +-?\d", sliced, flags=re.MULTILINE)


def test_without_answers_to_measure_there_is_a_result_that_says_so(command: Command, tmp_path: Path) -> None:
    prompt = json.loads(output(command("prompts", "jobs_lum", "--sample", "1")))["prompt"]
    (tmp_path / "failed.jsonl").write_text(json.dumps({"prompt": prompt, "answer": None, "status": "timeout"}))
    shown = output(command("score", tmp_path / "failed.jsonl", "--probe", "jobs_lum"))
    assert "not computable" in shown
    assert "0 of 339 attempts measured, 338 pending, 1 timeout" in shown


# prompts


def test_prompts_are_lines_of_json_and_notes_go_elsewhere(command: Command) -> None:
    outcome = command("prompts", "hiring_an", "--sample", "3")
    rows = [json.loads(line) for line in output(outcome).splitlines()]
    assert len(rows) == 6
    assert list(rows[0])[:3] == ["id", "item", "prompt"]
    assert {"template", "qualification", "race", "occupation", "masculinity", "gender", "name"} <= set(rows[0])
    assert outcome.err == "6 prompts of hiring_an\n"


SAMPLING = ("--temperature", "0.5", "--max-tokens", "7", "--system", "Be brief.")


@pytest.mark.parametrize(
    ("form", "sampling", "expected"),
    [
        (
            "openai-batch",
            SAMPLING,
            {
                "custom_id": "ID-1",
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": {
                    "model": "some-model",
                    "temperature": 0.5,
                    "max_tokens": 7,
                    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "PROMPT"}],
                },
            },
        ),
        (
            "anthropic-batch",
            SAMPLING,
            {
                "custom_id": "ID-1",
                "params": {
                    "model": "some-model",
                    "max_tokens": 7,
                    "temperature": 0.5,
                    "messages": [{"role": "user", "content": "PROMPT"}],
                    "system": "Be brief.",
                },
            },
        ),
        (
            "gemini-batch",
            SAMPLING,
            {
                "key": "ID-1",
                "request": {
                    "contents": [{"role": "user", "parts": [{"text": "PROMPT"}]}],
                    "generationConfig": {"temperature": 0.5, "maxOutputTokens": 7},
                    "systemInstruction": {"parts": [{"text": "Be brief."}]},
                },
            },
        ),
    ],
)
def test_batch_input_holds_requests(
    form: str, sampling: tuple[str, ...], expected: dict[str, Any], command: Command
) -> None:
    words = ("prompts", "jobs_lum", "--sample", "2", "--repeat", "2", "--seed", "3")
    asked = [json.loads(line) for line in output(command(*words)).splitlines()]
    lines = output(command(*words, "--format", form, "--model", f"{form.partition('-')[0]}/some-model", *sampling))
    assert len(lines.splitlines()) == 4
    template = json.dumps(expected)
    assert [json.loads(line) for line in lines.splitlines()] == [
        json.loads(template.replace("ID-1", f"{row['id']}-{row['repetition']}").replace("PROMPT", row["prompt"]))
        for row in asked
    ]


def test_a_batch_asks_with_the_limit_of_the_probe(command: Command) -> None:
    for probe in ("jobs_lum", "hiring_an"):
        line = json.loads(
            output(command("prompts", probe, "--sample", "1", "--format", "openai-batch")).splitlines()[0]
        )
        assert line["body"]["max_tokens"] == get_probe(probe).max_tokens


def test_a_file_holds_what_stdout_would(command: Command, tmp_path: Path) -> None:
    for form in set(FORMATS) - {"parquet"}:
        out = tmp_path / "prompts"
        outcome = command("prompts", "jobs_lum", "--format", form, "-o", out)
        assert output(outcome) == ""
        assert out.read_text(encoding="utf-8") == output(command("prompts", "jobs_lum", "--format", form))
        assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == ["prompts"]


def test_formulas_of_a_spreadsheet_are_neutralised_in_csv_only(command: Command) -> None:
    words = ("prompts", "jobs_lum", "--sample", "1", "--set", "template==HYPERLINK({job})")
    (row,) = csv.DictReader(io.StringIO(output(command(*words, "--format", "csv"))))
    assert row["prompt"].startswith("'=HYPERLINK(")
    assert json.loads(output(command(*words)))["prompt"].startswith("=HYPERLINK(")


def test_many_prompts_are_one_table_with_one_header(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = output(command("prompts", "jobs_lum", "--format", "csv"))
    monkeypatch.setattr(plans.Plan.batches, "__defaults__", (10,))
    assert output(command("prompts", "jobs_lum", "--format", "csv")) == whole


@pytest.mark.parametrize("words", [["prompts", "hiring_an"], ["prompts", "hiring_an", "--format", "csv"]])
def test_a_reader_may_close_the_pipe(words: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "equipoise", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    notes = process.stderr.read().decode()
    process.stderr.close()
    # One large write may end without an error when the reader leaves; then the note is still printed.
    assert (process.wait(), notes.replace("10,000 prompts of hiring_an\n", "")) == (0, "")


# probes


def test_probes_are_listed(command: Command) -> None:
    lines = output(command("probes")).splitlines()
    assert [line.split()[0] for line in lines] == ["probe", *PROBES]
    described = json.loads(output(command("probes", "--json")))
    assert [probe["name"] for probe in described] == list(PROBES)
    for probe in described:
        assert {metric.name for metric in PROBES[probe["name"]].all_metrics()} == set(probe["metrics"])


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_shows_its_card(probe: str, command: Command) -> None:
    shown = output(command("probes", probe))
    assert shown.startswith(PROBES[probe].card.text.rstrip())
    assert "`random_seed` = 0" in shown
    assert json.loads(output(command("probes", probe, "--json")))["name"] == probe


# Help


def test_every_command_has_help_with_an_example(command: Command) -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert {"probes", "prompts", "score", "data"} <= set(commands)
    assert all(name in without_colours(output(command("--help"))) for name in commands)
    for name in commands:
        assert "Example" in without_colours(output(command(name, "--help"))), name


def test_the_version(command: Command) -> None:
    assert output(command("--version")) == f"{equipoise.__version__}\n"


# Mistakes

TEMPLATE = "template=Write about {}."


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        (["prompts", "job_lum"], 2, ["No probe is called 'job_lum'", "Did you mean 'jobs_lum'?", "equipoise probes"]),
        (["probes", "xyz"], 2, ["No probe is called 'xyz'", *PROBES]),
        (["score", "x.jsonl", "--probe", "lum_jobs"], 2, ["No probe is called 'lum_jobs'"]),
        (["prompts", "jobs_lum", "--sample", "0"], 2, ["between 1 and 339", "Got 0 instead"]),
        (["prompts", "jobs_lum", "--sample", "-3"], 2, ["between 1 and 339", "Got -3 instead"]),
        (["prompts", "jobs_lum", "--sample", "999999999"], 2, ["between 1 and 339", "Got 999999999 instead"]),
        (["prompts", "hiring_an", "--sample", "2712001"], 2, ["between 1 and 2,712,000"]),
        (["prompts", "jobs_lum", "--sample", "x"], 2, ["--sample needs a whole number or 'all'. Got 'x' instead"]),
        (["prompts", "jobs_lum", "--sample", "1.5"], 2, ["--sample needs a whole number"]),
        (["prompts", "jobs_lum", "--repeat", "0"], 2, ["num_repetitions", "between 1 and 1,000,000", "Got 0 instead"]),
        (["prompts", "jobs_lum", "--seed", "-1"], 2, ["random_seed", "0 or more", "Got -1 instead"]),
        (["prompts", "jobs_lum", "--set", "templat=x"], 2, ["No parameter", "'templat'", "Did you mean 'template'"]),
        (["prompts", "jobs_lum", "--set", "template"], 2, ["--set needs NAME=VALUE. Got 'template' instead"]),
        (["prompts", "hiring_an", "--set", "design=paired"], 2, ["'matched', 'random'", "Got 'paired' instead"]),
        (["prompts", "gest_creative", "--set", "corpus=gest2"], 2, ["'gest', 'mottos'"]),
        (["prompts", "gest_creative", "--set", "exclude=15"], 2, ["exclude", "tuple"]),
        (["prompts", "gest_creative", "--set", "exclude=[15"], 2, ["exclude", "JSON"]),
        (["prompts", "gest_creative", "--set", "exclude=[[15]]"], 2, ["exclude", "from 1 to 16"]),
        (["prompts", "business_vocabulary", "--set", 'templates=[{"male": 1, "female": ""}]'], 2, ["template"]),
        (["prompts", "jobs_lum", "--set", TEMPLATE.format("{work}")], 2, ["{work}", "The slots there are: {job}"]),
        (["prompts", "jobs_lum", "--set", TEMPLATE.format("a job")], 2, ["lacks the slot {job}"]),
        (
            ["prompts", "jobs_lum", "--set", TEMPLATE.format("{job.__class__}")],
            2,
            ["{job.__class__}", "not a plain name", "The slots there are: {job}"],
        ),
        (["prompts", "jobs_lum", "--set", TEMPLATE.format("{0}")], 2, ["{0}", "not a plain name"]),
        (["prompts", "jobs_lum", "--set", TEMPLATE.format("{job")], 2, ["cannot be read"]),
        (["score", "missing.jsonl", "--probe", "jobs_lum"], 2, ["There is no file missing.jsonl"]),
        (["score", "\x1b[31mred\x1b]0;x\x07", "--probe", "jobs_lum"], 2, [r"no file \x1b[31mred\x1b]0;x\x07"]),
        (["score", ".", "--probe", "jobs_lum"], 2, ["holds no answers", ".parquet"]),
        (["score", "x.jsonl"], 2, ["--probe is needed", "equipoise probes"]),
        (["prompts", "jobs_lum", "-o", "nowhere/prompts.jsonl"], 5, ["nowhere/prompts.jsonl cannot be written"]),
    ],
)
def test_a_mistake_is_reported_in_one_message(
    words: list[str], code: int, parts: list[str], command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if words[0] == "prompts" and "-o" not in words:
        words = [*words, "-o", "out.jsonl"]
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (code, ""), outcome.err
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert all(part in outcome.err for part in parts), outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["prompts"],
        ["prompts", "jobs_lum", "--format", "xml"],
        ["prompts", "jobs_lum", "--repeat", "x"],
        ["prompts", "jobs_lum", "--seed", "x"],
        ["prompts", "jobs_lum", "--nothing"],
        ["unheard-of"],
    ],
)
def test_words_that_the_command_does_not_know(words: list[str], command: Command) -> None:
    outcome = command(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Usage" in without_colours(outcome.err)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id": "a", "answer": "x"}\nno json\n', "line 2: not JSON"),
        (b'{"id": "a", "answer": "x"}\n[1]\n', "line 2: a JSON object is needed"),
        (b'{"answer": "x"}\n', "line 1: no field id or prompt"),
        (b'{"id": "a"}\n', "line 1: no field answer"),
        (b'{"id": "a", "answer": "\xe9"}\n', "line 1: not UTF-8 at byte 23 of the file"),
        (b'{"id": "a", "answer": "x", "repetition": "y"}\n', "line 1: repetition must be a whole number"),
    ],
)
def test_a_bad_file_is_reported_with_its_line(content: bytes, message: str, command: Command, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_bytes(content)
    outcome = command("score", file, "--probe", "jobs_lum", "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {file}, {message}")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="Permissions do not stop this user.")
def test_a_folder_that_cannot_be_written(command: Command, tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    outcome = command("prompts", "jobs_lum", "-o", tmp_path / "locked" / "out.jsonl")
    assert (outcome.code, outcome.out) == (5, "")


def test_an_old_file_survives_a_plan_that_fails_half_way(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InputError("Two prompts have the same id.")

    monkeypatch.setattr(plans, "_refuse_equal_ids", refuse)
    old = tmp_path / "prompts.jsonl"
    old.write_text("old", encoding="utf-8")
    assert command("prompts", "jobs_lum", "-o", old).code == 2
    assert old.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [old]


@pytest.mark.parametrize(
    ("probe", "asset", "alternative"),
    [("gest_creative", "gest", "mottos"), ("discrimination_tamkin", "discrim-eval", "scenarios")],
)
@pytest.mark.parametrize("name", ["prompts", "score"])
def test_a_corpus_that_cannot_be_fetched(
    name: str,
    probe: str,
    asset: str,
    alternative: str,
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setitem(REGISTRY, asset, replace(REGISTRY[asset], sources=(Https(url=CLOSED + asset),)))
    (tmp_path / "answers.jsonl").write_text("", encoding="utf-8")
    outcome = (
        command("prompts", probe)
        if name == "prompts"
        else command("score", tmp_path / "answers.jsonl", "--probe", probe)
    )
    assert (outcome.code, outcome.out) == (6, "")
    assert f"equipoise data fetch {asset}" in outcome.err
    assert f"--set corpus={alternative}" in outcome.err
