"""`equipoise score`: answers from anywhere to metrics and marks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli.options import Repeat, Sample, Seed, Set, parameters
from equipoise.cli.output import note, print_json, stdout

if TYPE_CHECKING:
    from equipoise.matching import Matching


def command(
    file: Annotated[Path, typer.Argument(help="JSONL, CSV (.csv) or output of an OpenAI batch job.")],
    *,
    probe: Annotated[str, typer.Option(help="The probe that was asked; see: equipoise probes")],
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
    slices: Annotated[bool, typer.Option("--slices", help="Show the slices (race, age, …) too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Score answers. Each line holds an answer and the id or the text of its prompt; the order does not matter.

    Give the same --sample, --repeat, --seed and --set as for the prompts.

    Examples: equipoise score answers.jsonl --probe jobs_lum · equipoise score out.jsonl --probe hiring_an --json
    """
    from equipoise.answers import from_file
    from equipoise.probes import get
    from equipoise.scoring import plan, score_rows

    chosen = get(probe)
    planned = plan(chosen, **parameters([chosen], sample, repeat, seed, settings))
    result = score_rows(planned, from_file(file))
    say(result.answers, planned.repetitions)
    if as_json:
        print_json(result.to_dict())
        return
    from equipoise.report.terminal import coverage_lines, result_table

    console = stdout()
    console.print(result_table(chosen, result, slices=slices))
    for line in coverage_lines(result):
        console.print(line)


def say(matching: Matching, repetitions: int) -> None:
    """Say what became of the lines that were read."""
    note(f"{matching.read:,} answers read, {matching.matched:,} matched to the plan")
    if matching.missing:
        note(f"{matching.missing:,} planned attempts have no answer")
    if matching.surplus:
        note(f"{matching.surplus:,} answers are surplus: more than {repetitions} for a prompt (--repeat says how many)")
    if matching.unknown:
        note(f"{matching.unknown:,} answers belong to no planned prompt (other --sample, --seed or --set?)")
