"""`equipoise import`: answers of a batch job into a run file."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli import asking
from equipoise.cli.options import Repeat, Sample, Seed, Set, parameters
from equipoise.cli.output import note
from equipoise.cli.score import say
from equipoise.cli.show import AsJson, show


def command(
    files: Annotated[list[Path], typer.Argument(help="JSONL, CSV (.csv) or output of an OpenAI batch job.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The run file: made if it is not there, else added to.")],
    model: Annotated[
        str, typer.Option(help="The model that answered, as for run; for a new run file.")
    ] = "custom/imported",
    probe: asking.Probes = None,
    suite: asking.SuiteName = None,
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
    as_json: AsJson = False,
) -> None:
    """Put answers from elsewhere into a run file. Prompts are found by id or text, as for score.

    For a new run file, give the same --probe, --suite, --sample, --repeat, --seed and --set as for the prompts;
    equipoise resume then asks the model for what is missing.

    Examples: equipoise import batch_output.jsonl -o run.equipoise --model openai/gpt-4o-mini --probe jobs_lum
    """
    from equipoise.answers import from_file
    from equipoise.auditing import imported_settings, plans_for
    from equipoise.importing import record
    from equipoise.run import Run
    from equipoise.runs import RunFile
    from equipoise.suites import chosen

    answers = list(chain.from_iterable(map(from_file, files)))
    if out.exists():
        file = RunFile.open(out)
    else:
        probes = chosen(probe or None)
        suite = suite or "standard"
        plans = plans_for(probes, suite, parameters(probes, sample, repeat, seed, settings))
        file = RunFile.create(out, settings=imported_settings(model, suite), plans=plans)
    with file:
        new, matching = record(file, answers)
    run = Run.open(out)
    say(replace(matching, missing=0), max(planned.repetitions for planned in run.planned.values()))
    note(f"{new:,} attempts are new in {out}; {run.size - run.ended:,} are still pending")
    show(run, as_json=as_json, slices=False)
