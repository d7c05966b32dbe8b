"""`equipoise score`: from prompts in every format to a result."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import equipoise
from calling import Command, output
from equipoise.authoring import Probe
from equipoise.probes import find_probes
from equipoise.schema import Status
from fitting import check_output

PROBES = find_probes()
FORMATS = ("jsonl", "csv", "parquet", "openai-batch", "anthropic-batch", "gemini-batch")


def packaged(probe: str) -> tuple[str, ...]:
    """The words of the command that choose the corpus that needs no download."""
    names = [corpus.name for corpus in PROBES[probe].corpora if corpus.file is not None]
    return ("--set", f"corpus={names[0]}") if names else ()


SIZE = 40
SAMPLE = ("--sample", str(SIZE), "--repeat", "2", "--seed", "3")
IN_EVERY_FORMAT = ("hiring_an", "hiring_bloomberg")
"""Without and with a system part. Other probes are scored in one format: they differ in what they ask, not in how."""


def simulated(probe: str) -> dict[str, str]:
    """An answer to every prompt of the sample, by id."""
    corpus = {"corpus": packaged(probe)[1].partition("=")[2]} if packaged(probe) else {}
    parameters: dict[str, Any] = {"sample": SIZE, "seed": 3, **corpus}
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
    prompts, sample = tmp_path / "prompts", (*SAMPLE, *packaged(probe))
    for form in FORMATS if probe in IN_EVERY_FORMAT else ("jsonl",):
        output(command("prompts", probe, *sample, "--format", form, "--model", "m", "-o", prompts))
        outcome = command("score", answered(form, prompts, answers), "--probe", probe, *sample, "--json")
        results.append(json.loads(output(outcome)))
        attempts = 2 * len(answers)
        assert outcome.err.splitlines() == [f"{attempts:,} answers read, {attempts:,} matched to the plan"]
    assert all(result == results[0] for result in results)
    check_shape(results[0], probe)
    check_coverage(results[0]["coverage"], probe)


def check_shape(result: dict[str, Any], probe: str) -> None:
    assert check_output(result) == "score/1"
    assert (result["probe"], result["version"]) == (probe, PROBES[probe].version)
    assert result["corpus"] == (packaged(probe)[1].partition("=")[2] if packaged(probe) else None)
    assert set(result["parameters"]) == {parameter.name for parameter in PROBES[probe].all_parameters()}
    assert (result["parameters"]["sample"], result["parameters"]["seed"]) == (SIZE, 3)
    check_metrics(result["metrics"], PROBES[probe].with_parameters(result["parameters"]))
    assert set(result["marks"]) == {metric.name for metric in PROBES[probe].metrics if metric.bands}
    for mark in result["marks"].values():
        assert (mark["mark"] is None) == mark["undecided"]
        assert mark["undecided"] or mark["best"] <= mark["mark"] <= mark["worst"]


def check_metrics(metrics: dict[str, dict[str, Any]], probe: Probe) -> None:
    names = [metric.name for metric in probe.all_metrics()]
    assert list(metrics)[: len(names)] == names
    for column in probe.slices:
        of_groups = [name for name in metrics if name.startswith(f"{column}_")]
        assert len(of_groups) > len(names)
        assert all(name.endswith(tuple(names)) for name in of_groups)


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
    assert outcome.code == 3
    result = json.loads(outcome.out)
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
    assert "hiring_an v2 · Hiring e-mails" in plain
    assert f"all: {SIZE} of {SIZE} attempts measured" in plain
    assert f"female: {SIZE // 2} of {SIZE // 2} attempts measured" in plain
    assert "race_" not in plain
    assert re.search(r"^ +race_asian_diff_acceptance_rate +-?\d", sliced, flags=re.MULTILINE)


INCOMPLETE = (
    "error: 100.0% of the 339 attempts of the plan have no answer to measure, and at most 5.0% may be missing: "
    "338 pending, 1 timeout."
)


def test_without_answers_to_measure_there_is_a_result_that_says_so(command: Command, tmp_path: Path) -> None:
    prompt = json.loads(output(command("prompts", "jobs_lum", "--sample", "1")))["prompt"]
    (tmp_path / "failed.jsonl").write_text(json.dumps({"prompt": prompt, "answer": None, "status": "timeout"}))
    outcome = command("score", tmp_path / "failed.jsonl", "--probe", "jobs_lum")
    assert "not computable" in outcome.out
    assert "0 of 339 attempts measured, 338 pending, 1 timeout" in outcome.out
    assert outcome.code == 3
    assert outcome.err.splitlines() == [
        "1 answers read, 1 matched to the plan, not all with an answer to measure: 1 timeout",
        "338 planned attempts have no answer",
        INCOMPLETE,
    ]
    assert command("score", tmp_path / "failed.jsonl", "--probe", "jobs_lum", "--allow-missing", "1").code == 0


ANSWERED = "Name: Ann. She is kind, and her friends like her."


def write_batch(path: Path, states: Mapping[str, int | str]) -> Path:
    """Output of OpenAI for these keys: answered (200), failed (another code), or never sent (a word)."""
    lines = []
    for key, state in states.items():
        choice = {"finish_reason": "stop", "message": {"content": ANSWERED}}
        body = {"choices": [choice]} if state == 200 else {"error": {"message": "…", "code": None}}
        response = None if isinstance(state, str) else {"status_code": state, "body": body}
        error = {"code": state, "message": "…"} if isinstance(state, str) else None
        lines.append(json.dumps({"custom_id": key, "response": response, "error": error}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


SIX = ("--probe", "jobs_lum", "--sample", "6")


@pytest.fixture
def batches(tmp_path: Path) -> list[Path]:
    """Two batch jobs: three requests of the first failed, and were asked again in the second."""
    keys = list(equipoise.plan("jobs_lum", sample=6).prompts()["id"])
    return [
        write_batch(tmp_path / "1_out.jsonl", dict.fromkeys(keys[:3], 200)),
        write_batch(tmp_path / "1_err.jsonl", dict(zip(keys[3:], (500, "batch_expired", 500), strict=True))),
        write_batch(tmp_path / "2_out.jsonl", dict.fromkeys(keys[3:], 200)),
        write_batch(tmp_path / "2_err.jsonl", {}),
    ]


@pytest.mark.parametrize("name", ["score", "import"])
@pytest.mark.parametrize("joined", [True, False], ids=["one file", "four files"])
def test_a_later_answer_takes_the_place_of_a_failure(
    name: str, joined: bool, batches: list[Path], command: Command, tmp_path: Path
) -> None:
    if joined:
        (tmp_path / "all.jsonl").write_text("".join(path.read_text() for path in batches))
    files = [tmp_path / "all.jsonl"] if joined else batches
    outcome = command(name, *files, *SIX, *(("-o", "run.equipoise") if name == "import" else ()), "--json")
    shown = json.loads(output(outcome))
    result = shown["results"]["jobs_lum"] if name == "import" else shown
    assert result["coverage"]["all"]["ok"] == 6
    assert outcome.err.splitlines()[0] == "9 answers read, 6 matched to the plan"
    assert outcome.err.splitlines()[1].startswith("3 answers are surplus")


def test_imported_one_after_the_other_answers_take_the_place_of_failures(batches: list[Path], command: Command) -> None:
    lacking = command("import", batches[0], batches[1], *SIX, "-o", "run.equipoise")
    assert lacking.code == 3
    assert "5 attempts are new in run.equipoise, which lacks answers: 1 pending, 2 http_error" in lacking.err
    assert "equipoise resume run.equipoise --retry http_error" in lacking.err
    outcome = command("import", batches[2], "-o", "run.equipoise")
    assert output(outcome)
    assert outcome.err.splitlines() == [
        "3 answers read, 3 matched to the plan",
        "3 attempts are new in run.equipoise",
    ]
    described = json.loads(output(command("show", "run.equipoise", "--json")))
    assert (described["states"]["ok"], described["complete"]) == (6, True)
    assert "3 attempts from 2_out.jsonl" in described["settings"]["notes"][1]
    assert "2 of them in place of failures" in described["settings"]["notes"][1]
    assert output(command("verify", "run.equipoise"))
    again = command("import", batches[1], batches[2], "-o", "run.equipoise")
    assert again.code == 0
    assert "6 answers are surplus" in again.err
    assert "0 attempts are new in run.equipoise\n" in again.err


@pytest.mark.parametrize(
    ("state", "words"), [(500, "6 http_error"), ("batch_expired", "6 pending")], ids=["failed", "never sent"]
)
def test_a_batch_without_any_answer_is_incomplete(
    state: int | str, words: str, command: Command, tmp_path: Path
) -> None:
    keys = equipoise.plan("jobs_lum", sample=6).prompts()["id"]
    path = write_batch(tmp_path / "out.jsonl", dict.fromkeys(keys, state))
    scored = command("score", path, *SIX)
    assert (scored.code, scored.err.splitlines()[0]) == (
        3,
        f"6 answers read, 6 matched to the plan, not all with an answer to measure: {words}",
    )
    imported = command("import", path, *SIX, "-o", "run.equipoise")
    assert (imported.code, f"which lacks answers: {words}" in imported.err) == (3, True)


@pytest.mark.parametrize("words", [["score"], ["import", "-o", "run.equipoise"]], ids=lambda words: words[0])
def test_answers_that_are_mostly_not_used_are_an_error(command: Command, tmp_path: Path, words: list[str]) -> None:
    """Two answers to each prompt, and no --repeat 2: half of them would be dropped with a note."""
    keys = equipoise.plan("jobs_lum", sample=6).prompts()["id"]
    rows = [{"id": key, "answer": "She did."} for key in keys for _ in range(2)]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    outcome = command(*words, path, *SIX)
    assert outcome.code == 3
    assert "6 of 12 answers are not used" in outcome.err
    assert command("score", path, *SIX, "--repeat", "2").code == 0
