"""Prompts written to files, to be answered anywhere: JSONL, CSV, or the input of an OpenAI batch job."""

from __future__ import annotations

from enum import StrEnum
from typing import IO, Any

import orjson
import polars as pl

from equipoise.measuring.plan import Plan
from equipoise.schema import ID, PROMPT, REPETITION, SYSTEM, escape_formulas

ROWS_AT_A_TIME = 100_000
"""How many rows are made before they are written. It bounds the memory where prompts are repeated often."""


class PromptFormat(StrEnum):
    """How prompts are written."""

    JSONL = "jsonl"
    CSV = "csv"
    OPENAI_BATCH = "openai-batch"


def write_prompts(planned: Plan, file: IO[bytes], form: PromptFormat, model: str) -> int:
    """Write the prompts of a plan, once for each repetition; return how many prompts there are.

    `model` is the one that a batch job names.
    """
    count = 0
    size = max(ROWS_AT_A_TIME // planned.repetitions, 1)
    for batch in planned.batches():
        for prompts in batch.iter_slices(size):
            _write_batch(file, _repeat(planned, prompts), form, model, header=count == 0)
            count += prompts.height
    return count


def _repeat(planned: Plan, prompts: pl.DataFrame) -> pl.DataFrame:
    """The prompts once for each repetition; unchanged if there is only one."""
    if planned.repetitions == 1:
        return prompts
    repetitions = pl.int_ranges(1, planned.repetitions + 1).alias(REPETITION)
    return prompts.select(ID, repetitions, pl.exclude(ID)).explode(REPETITION)


def _write_batch(file: IO[bytes], prompts: pl.DataFrame, form: PromptFormat, model: str, *, header: bool) -> None:
    if form is PromptFormat.CSV:
        file.write(escape_formulas(prompts).write_csv(include_header=header).encode())
        return
    rows = prompts.iter_rows(named=True)
    if form is PromptFormat.OPENAI_BATCH:
        rows = (_batch_line(row, model) for row in rows)
    file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def _batch_line(row: dict[str, Any], model: str) -> dict[str, Any]:
    """A request of an OpenAI batch job. `custom_id` brings the answer back to its prompt and repetition."""
    repetition = f"#{row[REPETITION]}" if REPETITION in row else ""
    messages = [{"role": "system", "content": row[SYSTEM]}] if row.get(SYSTEM) else []
    body = {"model": model, "messages": [*messages, {"role": "user", "content": row[PROMPT]}]}
    return {"custom_id": row[ID] + repetition, "method": "POST", "url": "/v1/chat/completions", "body": body}
