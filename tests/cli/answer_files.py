"""Files of answers, as users and providers of batch jobs make them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import equipoise
from equipoise.probes import get_probe

SIX = ("--probe", "jobs_lum", "--sample", "6")
"""The plan of six prompts."""
TWICE = (*SIX, "--repeat", "2")
ANSWERED = "Name: Ann. She is kind, and her friends like her."


def write_lines(path: str | Path, rows: list[Any]) -> Path:
    """Write rows as lines of JSON."""
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Path(path)


def write_batch(path: str, states: Mapping[str, int | str]) -> Path:
    """Write output of OpenAI: a key is answered (200), failed (a code) or never sent (a word)."""
    lines = []
    for key, state in states.items():
        choice = {"finish_reason": "stop", "message": {"content": ANSWERED}}
        body: dict[str, Any] = {"choices": [choice]}
        if state != 200:
            body = {"error": {"message": "…", "code": None}}
        response: dict[str, Any] | None = {"status_code": state, "body": body}
        error = None
        if isinstance(state, str):
            response = None
            error = {"code": state, "message": "…"}
        lines.append({"custom_id": key, "response": response, "error": error})
    return write_lines(path, lines)


def packaged_corpus(probe: str) -> dict[str, str]:
    """The parameter that chooses the corpus that needs no download, if the probe has corpora."""
    names = [corpus.name for corpus in get_probe(probe).corpora if corpus.file is not None]
    return {"corpus": names[0]} if names else {}


def simulate(probe: str, **parameters: Any) -> dict[str, str]:
    """An answer to every prompt of a plan, by id."""
    prompts = equipoise.plan(probe, **parameters).prompts()
    answers = get_probe(probe).simulate(prompts, "random", np.random.default_rng(1))
    return dict(zip(prompts["id"], answers, strict=True))


def answer_prompts(form: str, prompts: Path, answers: Mapping[str, str]) -> Path:
    """Write the file that a user, or a provider, would make of the prompts."""
    if form in ("csv", "parquet"):
        return _answer_table(form, prompts, answers)
    rows = [json.loads(line) for line in prompts.read_text(encoding="utf-8").splitlines()]
    key = {"jsonl": "id", "gemini-batch": "key"}.get(form, "custom_id")
    made = [_make_output(form, row, answers[row[key].partition("-")[0]]) for row in rows]
    random.Random(1).shuffle(made)
    return write_lines(prompts.with_name("answers.jsonl"), made)


def _answer_table(form: str, prompts: Path, answers: Mapping[str, str]) -> Path:
    path = prompts.with_name(f"answers.{form}")
    table = pl.read_csv(prompts) if form == "csv" else pl.read_parquet(prompts)
    table = table.with_columns(pl.col("id").replace_strict(answers).alias("answer"))
    if form == "csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    return path


def _make_output(form: str, row: dict[str, Any], answer: str) -> dict[str, Any]:
    """The line of an output file for a line of the input."""
    match form:
        case "openai-batch":
            message = {"role": "assistant", "content": answer}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            response = {"status_code": 200, "body": {"choices": [choice]}}
            return {"custom_id": row["custom_id"], "error": None, "response": response}
        case "anthropic-batch":
            said = {"content": [{"type": "text", "text": answer}], "stop_reason": "end_turn"}
            result = {"type": "succeeded", "message": said}
            return {"custom_id": row["custom_id"], "result": result}
        case "gemini-batch":
            content = {"parts": [{"text": answer}], "role": "model"}
            candidate = {"content": content, "finishReason": "STOP"}
            return {"key": row["key"], "response": {"candidates": [candidate]}}
        case _:
            return {"id": row["id"], "repetition": row["repetition"], "answer": answer}
