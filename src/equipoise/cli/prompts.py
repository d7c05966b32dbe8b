"""`equipoise prompts`: the planned prompts, to be answered anywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.lazy import answer_prompts, planning, probes
from equipoise.cli.output import note, open_output
from equipoise.cli.probe_options import Repeat, Sample, Seed, Set, read_parameters


class Format(StrEnum):
    """The names of `answers.prompts.PromptFormat`, for the help."""

    JSONL = "jsonl"
    CSV = "csv"
    OPENAI_BATCH = "openai-batch"


def command(
    probe: Annotated[str, typer.Argument(help="The probe; see: equipoise probes")],
    *,
    form: Annotated[
        Format, typer.Option("--format", help="JSONL, CSV, or input of an OpenAI batch job.")
    ] = Format.JSONL,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write; default: stdout.")] = None,
    model: Annotated[str, typer.Option(help="The model to name in a batch job.")] = "gpt-4o-mini",
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
) -> None:
    """Write the planned prompts, one per line: id, item, prompt and the covariates.

    With --repeat, each prompt stands once for every repetition.

    Examples: equipoise prompts jobs_lum > prompts.jsonl · equipoise prompts hiring_an --sample 500 -o hiring.jsonl
    """
    chosen = probes.get_probe(probe)
    planned = planning.plan(chosen, **read_parameters([chosen], sample, repeat, seed, settings))
    with open_output(out) as file:
        count = answer_prompts.write_prompts(planned, file, answer_prompts.PromptFormat(form), model)
    times = f", {planned.repetitions} times each" if planned.repetitions > 1 else ""
    note(f"{count:,} prompts of {chosen.name}{times}")
