"""`equipoise score`: answers from anywhere to metrics and marks."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.model_options import AllowMissing, Report
from equipoise.cli.output import AsJson, note, open_console, open_output, print_json
from equipoise.cli.own_prompts import choose_one, takes_own_prompts
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
from equipoise.errors import Incomplete, InputError, NoAnswers
from equipoise.report.files import check_target

if TYPE_CHECKING:
    from equipoise.authoring import Probe
    from equipoise.measuring.partials import Partial
    from equipoise.measuring.plan import Plan
    from equipoise.measuring.result import Matching, Result
    from equipoise.schema import Status

LOCAL, RAY = "local", "ray"
PARTIAL, PARQUET = ".partial", ".parquet"
PENDING = "pending"
MOST_UNUSED = 0.4
"""If as many answers as this are not used, the command fails. Failures that were asked again are not used, either."""


@takes_own_prompts
def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Answers: JSONL, CSV, Parquet, the output of a batch job, a log of Inspect or lm-eval; a folder of "
            "files, or a pattern; or partials.",
            metavar="FILE...",
        ),
    ],
    *,
    probe: Annotated[str | None, typer.Option(help="The probe that was asked; see: equipoise probes")] = None,
    suite: Annotated[
        str | None,
        typer.Option(help="The suite that was given for the prompts: quick, ci, standard or full.", metavar="NAME"),
    ] = None,
    sample: Sample = None,
    repeat: Repeat = None,
    seed: Seed = None,
    settings: Set = None,
    reading: Reading = None,
    answer_column: AnswerColumn = None,
    prompt_column: PromptColumn = None,
    id_column: IdColumn = None,
    partial: Annotated[
        Path | None,
        typer.Option(help="Write what was summed up to this file, for score to add to others.", metavar="FILE"),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="Where many files are scored: here, or on Ray.", metavar="local|ray[:ADDRESS]")
    ] = LOCAL,
    report: Report = None,
    model: Annotated[
        str, typer.Option("--model", "-m", help="The model that answered, as the report names it.", metavar="NAME")
    ] = "custom/imported",
    allow_missing: AllowMissing = 0.05,
    slices: Annotated[bool, typer.Option("--slices", help="Show the slices (race, age, …) too.")] = False,
    as_json: AsJson = False,
    own: Any,
) -> None:
    """Score answers. Each line holds an answer and the id or the text of its prompt; the order does not matter.

    Give the same --suite, --sample, --repeat, --seed and --set as for the prompts. Many files are scored one by one,
    with one of them in memory; each answer must be in one file only. Files of lines that are named one by one are read
    as one: there an answer takes the place of a failure. A partial knows its probe and parameters.

    Examples: equipoise score answers.jsonl --probe jobs_lum · equipoise score answers/ --probe hiring_an --engine ray ·
    equipoise score 7.parquet --probe hiring_an --partial 7.partial · equipoise score *.partial --json ·
    equipoise score answers.csv --probe jobs_lum --answer-column response --report report.html
    """
    from equipoise.answers import files as answer_files
    from equipoise.answers import matching, shards
    from equipoise.answers import score as scoring
    from equipoise.cli.progress import show_shards
    from equipoise.runs import suites
    from equipoise.runs.ask import policy

    check_target(partial)
    check_target(report)
    address = _read_engine(engine)
    paths = find_files(files)
    names = read_names(answer_column, prompt_column, id_column)
    if report is not None and (partial is not None or any(path.suffix == PARTIAL for path in paths)):
        raise InputError("A report shows answers, and partials hold none: score the answers themselves with --report.")
    if any(path.suffix == PARTIAL for path in paths):
        given = (probe, own, suite, sample, repeat, seed, settings, reading, *names)
        _refuse_mixed(paths, given=any(value is not None for value in given) or engine != LOCAL)
        with show_shards() as on_shard:
            total = shards.read_partials(paths, on_shard)
    else:
        chosen = choose_one(probe, own)
        parameters = read_parameters([chosen], sample, repeat, seed, settings)
        chosen = chosen.read_by(reading)
        (planned,) = suites.plan_probes(chosen, suite or "standard", parameters, asked=suite is not None)
        are_lines = paths == files and not any(path.suffix.lower() == PARQUET for path in paths)
        if (len(paths) == 1 or are_lines) and partial is None and engine == LOCAL:
            tables_of_all = answer_files.read_all(paths, names, answer_files.read_tables)
            result = scoring.score_tables(planned, tables_of_all)
            _print(result, slices=slices, as_json=as_json)
            _write_report(report, paths, chosen, model, suite, parameters, names)
            check_used(result.matching)
            policy.check_complete(result.states, None, allow_missing)
            return
        total = _score_shards(planned, paths, names, engine, address)
    if not total.answers:
        raise NoAnswers(", ".join(map(str, files)))
    if partial is None:
        result = total.result()
        _print(result, slices=slices, as_json=as_json)
        if probe is not None or own is not None:
            _write_report(report, paths, chosen, model, suite, parameters, names)
        check_used(result.matching)
        policy.check_complete(result.states, None, allow_missing)
        return
    found = total.matching(planned=total.seen.size)
    matching.refuse_nothing_matched(found)
    with open_output(partial) as file:
        total.write(file)
    note(f"{total.answers:,} answers read, {total.seen.size:,} attempts summed up in {partial}")
    note_dropped(found, total.setup.repetitions)


def find_files(files: list[Path]) -> list[Path]:
    """The files that are named, in folders, or meant by patterns; what is left out of a folder is said."""
    from equipoise.answers import shards

    if left_out := shards.find_left_out(files):
        shown = ", ".join(path.name for path in left_out[:5]) + (", …" if len(left_out) > 5 else "")
        note(f"left out: {shown} (in a folder, files that end with {', '.join(shards.ENDINGS)} are read)")
    return shards.find_shards(files)


def _read_engine(engine: str) -> str | None:
    """The address of Ray, if one is given."""
    name, _, address = engine.partition(":")
    if name not in (LOCAL, RAY) or (name == LOCAL and engine != LOCAL):
        raise InputError(f"--engine must be {LOCAL}, {RAY} or {RAY}:ADDRESS. Got {engine!r} instead.")
    return address or None


def _refuse_mixed(paths: list[Path], *, given: bool) -> None:
    if not all(path.suffix == PARTIAL for path in paths):
        raise InputError(f"Answers and partials ({PARTIAL}) cannot be mixed. Make partials of the answers: --partial")
    if given:
        raise InputError(
            "Partials know their probe, parameters and reading, and are added here. Leave out the options that say it."
        )


def _score_shards(planned: Plan, paths: list[Path], names: dict[str, str], engine: str, address: str | None) -> Partial:
    from equipoise.answers import shards
    from equipoise.cli.progress import show_shards
    from equipoise.engines import ray as ray_engine

    with show_shards() as on_shard:
        if engine == LOCAL:
            return shards.score_shards(planned, paths, names, on_shard)
        with redirect_stdout(sys.stderr):  # there Ray would write of workers that died
            return ray_engine.score_shards(planned, paths, names, on_shard, address=address)


def _print(result: Result, *, slices: bool, as_json: bool) -> None:
    from equipoise.answers import matching
    from equipoise.report.terminal import tables

    matching.refuse_nothing_matched(result.matching)
    missing = result.matching.missing
    states = {status: count - (missing if status == PENDING else 0) for status, count in result.states.items()}
    note_matching(result.matching, states)
    note_dropped(result.matching, result.setup.repetitions)
    if as_json:
        print_json("score/1", result.to_dict())
        return
    console = open_console()
    console.print(tables.result_table(result, slices=slices, width=console.width))
    for table in result.selection if slices else result.selection[:1]:
        console.print(tables.selection_table(table))
    for line in (*tables.coverage_lines(result), *(table.describe() for table in result.selection)):
        console.print(line)


def _write_report(
    report: Path | None,
    files: list[Path],
    probe: Probe,
    model: str,
    suite: str | None,
    parameters: Mapping[str, Any],
    names: Mapping[str, str],
) -> None:
    """Write the report, if one is wanted, of a run file that lasts as long as the writing."""
    from equipoise.report.html import write as html
    from equipoise.runs import imports

    if report is None:
        return
    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        path = Path(folder) / f"{files[0].stem}.equipoise"
        run, _, _ = imports.import_answers(
            files, path, model=model, probes=probe, suite=suite, names=names, **parameters
        )
        run.temporary = True
        html.write_report([run], report)
    note(f"report: {report}")


def note_matching(found: Matching, states: Mapping[Status, int]) -> None:
    """Say how many answers were read and matched, and in which states those are that cannot be measured."""
    from equipoise.runs.ask import policy

    failed = policy.describe_failures(states)
    without = f", not all with an answer to measure: {failed}" if failed else ""
    note(f"{found.read:,} answers read, {found.matched:,} matched to the plan{without}")
    if found.missing:
        note(f"{found.missing:,} planned attempts have no answer")


def note_dropped(found: Matching, repetitions: int) -> None:
    """Say how many of the answers that were read are not used."""
    if found.surplus:
        note(
            f"{found.surplus:,} answers are surplus: more than {repetitions} for a prompt (--repeat says how many). "
            "Answers are kept before failures, and the first before the others"
        )
    if found.unknown:
        note(f"{found.unknown:,} answers belong to no planned prompt (other --sample, --seed or --set?)")


def check_used(found: Matching) -> None:
    """Fail if so many answers are not used that the plan is most likely another one."""
    if (dropped := found.surplus + found.unknown) >= MOST_UNUSED * found.read:
        raise Incomplete(
            f"{dropped:,} of {found.read:,} answers are not used, as said above. Give the same --suite, --sample, "
            "--repeat, --seed and --set as for the prompts."
        )
