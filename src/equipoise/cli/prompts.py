"""`equipoise prompts`: the planned prompts, to be answered anywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.options import Repeat, Sample, Seed, Set, parameters
from equipoise.cli.output import note, writing

if TYPE_CHECKING:
    import polars as pl

    from equipoise.plans import Plan


class Form(StrEnum):
    """How the prompts are written."""

    JSONL = "jsonl"
    CSV = "csv"
    OPENAI_BATCH = "openai-batch"


def command(
    probe: Annotated[str, typer.Argument(help="The probe; see: equipoise probes")],
    *,
    form: Annotated[Form, typer.Option("--format", help="JSONL, CSV, or input of an OpenAI batch job.")] = Form.JSONL,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write; default: stdout.")] = None,
    model: Annotated[str, typer.Option(help="The model to name in a batch job.")] = "gpt-4o-mini",
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
) -> None:
    """Write the planned prompts, a line each: id, item, prompt and the covariates.

    With --repeat, each prompt stands once for every repetition.

    Examples: equipoise prompts jobs_lum > prompts.jsonl · equipoise prompts hiring_an --sample 500 -o hiring.jsonl
    """
    from equipoise.probes import get
    from equipoise.scoring import plan

    chosen = get(probe)
    planned = plan(chosen, **parameters([chosen], sample, repeat, seed, settings))
    count = 0
    with writing(out) as file:
        for batch in planned.batches():
            count += batch.height
            _write(file, repeated(planned, batch), form, model, first=count == batch.height)
    note(f"{count:,} prompts of {chosen.name}" + (f", {planned.repetitions} times each" * (planned.repetitions > 1)))


def repeated(planned: Plan, prompts: pl.DataFrame) -> pl.DataFrame:
    """The prompts once for each repetition; as they are when there is one."""
    import polars as pl

    from equipoise.frames import ID, REPETITION

    if planned.repetitions == 1:
        return prompts
    times = pl.int_ranges(1, planned.repetitions + 1).alias(REPETITION)
    return prompts.select(ID, times, pl.exclude(ID)).explode(REPETITION)


def _write(file: IO[bytes], prompts: pl.DataFrame, form: Form, model: str, *, first: bool) -> None:
    import orjson

    from equipoise.frames import without_formulas

    if form is Form.CSV:
        file.write(without_formulas(prompts).write_csv(include_header=first).encode())
        return
    rows = prompts.iter_rows(named=True)
    if form is Form.OPENAI_BATCH:
        rows = (_batch_line(row, model) for row in rows)
    file.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)


def _batch_line(row: dict[str, Any], model: str) -> dict[str, Any]:
    """A request of an OpenAI batch job; `custom_id` brings the answer back to its prompt and repetition."""
    from equipoise.frames import ID, PROMPT, REPETITION

    times = f"#{row[REPETITION]}" if REPETITION in row else ""
    body = {"model": model, "messages": [{"role": "user", "content": row[PROMPT]}]}
    return {"custom_id": row[ID] + times, "method": "POST", "url": "/v1/chat/completions", "body": body}
