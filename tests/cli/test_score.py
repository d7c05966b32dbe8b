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
from equipoise.probes import find_probes
from equipoise.schema import Status

PROBES = find_probes()
FORMATS = ("jsonl", "csv", "parquet", "openai-batch", "anthropic-batch", "gemini-batch")


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
