"""`equipoise score`: answers from anywhere to metrics and marks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli.lazy import answer_files, matching, probes, scoring, suites, tables
from equipoise.cli.output import AsJson, note, open_console, print_json
from equipoise.cli.probe_options import (
    AnswerColumn,
    IdColumn,
    PromptColumn,
    Reading,
    Repeat,
    Sample,
    Seed,
    Set,
    read_names,
    read_parameters,
)

if TYPE_CHECKING:
    from equipoise.measuring.result import Matching


def command(
    file: Annotated[
        Path,
        typer.Argument(help="Answers: JSONL, CSV, Parquet, the output of a batch job, a log of Inspect or lm-eval."),
    ],
    *,
    probe: Annotated[str, typer.Option(help="The probe that was asked; see: equipoise probes")],
    suite: Annotated[
        str, typer.Option(help="The suite of the prompts: quick, ci, standard or full.", metavar="NAME")
    ] = "standard",
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
    reading: Reading = None,
    answer_column: AnswerColumn = None,
    prompt_column: PromptColumn = None,
    id_column: IdColumn = None,
    slices: Annotated[bool, typer.Option("--slices", help="Show the slices (race, age, …) too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Score answers. Each line holds an answer and the id or the text of its prompt; the order does not matter.

    Give the same --suite, --sample, --repeat, --seed and --set as for the prompts.

    Examples: equipoise score answers.jsonl --probe jobs_lum · equipoise score out.jsonl --probe hiring_an --json
    """
    chosen = probes.get_probe(probe)
    parameters = read_parameters([chosen], sample, repeat, seed, settings)
    (planned,) = suites.plan_probes(chosen.read_by(reading), suite, parameters)
    result = scoring.score_tables(
        planned, answer_files.read_tables(file, read_names(answer_column, prompt_column, id_column))
    )
    matching.refuse_nothing_matched(result.matching)
    note_matching(result.matching, planned.repetitions)
    if as_json:
        print_json(result.to_dict())
        return
    console = open_console()
    console.print(tables.result_table(result, slices=slices, width=console.width))
    for table in result.selection if slices else result.selection[:1]:
        console.print(tables.selection_table(table))
    for line in (*tables.coverage_lines(result), *(table.describe() for table in result.selection)):
        console.print(line)


def note_matching(found: Matching, repetitions: int) -> None:
    """Say what became of the answers that were read."""
    note(f"{found.read:,} answers read, {found.matched:,} matched to the plan")
    if found.missing:
        note(f"{found.missing:,} planned attempts have no answer")
    if found.surplus:
        note(f"{found.surplus:,} answers are surplus: more than {repetitions} for a prompt (--repeat says how many)")
    if found.unknown:
        note(f"{found.unknown:,} answers belong to no planned prompt (other --sample, --seed or --set?)")
