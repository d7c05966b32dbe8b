"""`equipoise prompts`: the planned prompts, to be answered anywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli import model_options as options
from equipoise.cli.lazy import answer_prompts, batches, models, probes, suites
from equipoise.cli.output import note, open_output
from equipoise.cli.probe_options import Repeat, Sample, Seed, Set, read_parameters


class Format(StrEnum):
    """The names of `answers.prompts.PromptFormat`, for the help."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    OPENAI_BATCH = "openai-batch"
    ANTHROPIC_BATCH = "anthropic-batch"
    GEMINI_BATCH = "gemini-batch"


def command(
    probe: Annotated[str, typer.Argument(help="The probe; see: equipoise probes")],
    *,
    form: Annotated[
        Format, typer.Option("--format", help="JSONL, CSV, Parquet, or input of a batch job.")
    ] = Format.JSONL,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write; default: stdout.")] = None,
    suite: Annotated[str, typer.Option(help="quick, ci, standard or full.", metavar="NAME")] = "standard",
    model: Annotated[
        str, typer.Option(help="The model that a batch job asks; that of a Gemini job is given when it is started.")
    ] = "gpt-4o-mini",
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    system: options.System = None,
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
) -> None:
    """Write the planned prompts, one per line: id, item, prompt and the covariates.

    With --repeat, each prompt stands once for every repetition. A batch job asks what equipoise run would ask: with
    the probe's limit on the length of answers, and with --temperature, --max-tokens and --system. For import and score,
    give the same --suite, --sample, --repeat, --seed and --set.

    Examples: equipoise prompts jobs_lum > prompts.jsonl · equipoise prompts hiring_an --format anthropic-batch --model
    claude-haiku-4-5 -o batch.jsonl
    """
    chosen = probes.get_probe(probe)
    wanted = answer_prompts.PromptFormat(form)
    (planned,) = suites.plan_probes(chosen, suite, read_parameters([chosen], sample, repeat, seed, settings))
    make_line = None
    if wanted in batches.BATCHES:
        limit = max_tokens or chosen.max_tokens
        sampling = models.Sampling(temperature=temperature, max_tokens=limit, system=system)
        make_line = batches.make_lines(wanted, model, sampling)
    elif not (temperature is None and max_tokens is None and system is None):
        note(f"--temperature, --max-tokens and --system are for batch jobs: {form} holds prompts only")
    with open_output(out) as file:
        count = answer_prompts.write_prompts(planned, file, wanted, make_line)
    times = f", {planned.repetitions} times each" if planned.repetitions > 1 else ""
    note(f"{count:,} prompts of {chosen.name}{times}")
