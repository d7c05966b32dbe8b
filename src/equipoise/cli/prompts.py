"""`equipoise prompts`: the planned prompts, to be answered anywhere."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli import model_options as options
from equipoise.cli.output import note, open_output
from equipoise.cli.own_prompts import choose_one, takes_own_prompts
from equipoise.cli.probe_options import Repeat, Sample, Seed, Set, read_parameters
from equipoise.errors import InputError
from equipoise.report.files import make_folder

if TYPE_CHECKING:
    from equipoise.answers.prompts import PromptFormat, Row
    from equipoise.measuring.plan import Plan


class Format(StrEnum):
    """The names of `answers.prompts.PromptFormat`, for the help."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    OPENAI_BATCH = "openai-batch"
    ANTHROPIC_BATCH = "anthropic-batch"
    GEMINI_BATCH = "gemini-batch"


@takes_own_prompts
def command(
    probe: Annotated[str | None, typer.Argument(help="The probe; see: equipoise probes")] = None,
    *,
    form: Annotated[
        Format, typer.Option("--format", help="JSONL, CSV, Parquet, or input of a batch job.")
    ] = Format.JSONL,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write; default: stdout.")] = None,
    shards: Annotated[
        int | None,
        typer.Option(help="Write so many files, of whole items each, to the folder --out.", metavar="N"),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            help="quick, ci, standard or full: as many prompts as run would ask, and as often. Default: standard, once "
            "each.",
            metavar="NAME",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="The model that a batch job asks; for OpenAI gpt-4o-mini unless it is given. That of a Gemini job is "
            "given when it is started.",
        ),
    ] = None,
    temperature: options.Temperature = None,
    max_tokens: options.MaxTokens = None,
    system: options.System = None,
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
    own: Any,
) -> None:
    """Write the planned prompts, one per line: id, item, prompt and the covariates.

    With --suite or --repeat, each prompt stands once for every repetition. A batch job asks what equipoise run would
    ask: with the probe's limit on the length of answers, and with --temperature, --max-tokens and --system. For import
    and score, give the same --suite, --sample, --repeat, --seed and --set.

    Examples: equipoise prompts jobs_lum > prompts.jsonl · equipoise prompts hiring_an --format anthropic-batch --model
    claude-haiku-4-5 -o batch.jsonl · equipoise prompts hiring_an --format parquet --shards 64 -o prompts
    """
    from equipoise import models
    from equipoise.answers import prompts as answer_prompts
    from equipoise.runs import batches, suites

    chosen = choose_one(probe, own)
    wanted = answer_prompts.PromptFormat(form)
    parameters = read_parameters([chosen], sample, repeat, seed, settings)
    (planned,) = suites.plan_probes(chosen, suite or "standard", parameters, asked=suite is not None)
    make_line = None
    if wanted in batches.BATCHES:
        limit = chosen.max_tokens if max_tokens is None else max_tokens
        sampling = models.Sampling(temperature=temperature, max_tokens=limit, system=system)
        make_line = batches.make_lines(wanted, model, sampling)
    elif not (temperature is None and max_tokens is None and system is None):
        note(f"--temperature, --max-tokens and --system are for batch jobs: {form} holds prompts only")
    if shards is None:
        with open_output(out) as file:
            count = answer_prompts.write_prompts(planned, file, wanted, make_line)
    else:
        count = _write_shards(planned, wanted, make_line, shards, out)
    times = f", {planned.repetitions} times each" if planned.repetitions > 1 else ""
    files = f", in {shards:,} files" if shards else ""
    note(f"{count:,} prompts of {chosen.name}{times}{files}")


def _write_shards(
    planned: Plan, form: PromptFormat, make_line: Callable[[Row], Row] | None, shards: int, folder: Path | None
) -> int:
    """Write the prompts to files of a folder, numbered from 1."""
    from equipoise.answers import prompts as answer_prompts

    if folder is None:
        raise InputError("--shards writes several files: name a folder for them with --out.")
    ranges = answer_prompts.split_plan(planned, shards)
    make_folder(folder)
    ending = form if form in ("csv", "parquet") else "jsonl"
    count = 0
    for number, items in enumerate(ranges, 1):
        with open_output(folder / f"prompts-{number:05}.{ending}") as file:
            count += answer_prompts.write_prompts(planned, file, form, make_line, items)
    return count
