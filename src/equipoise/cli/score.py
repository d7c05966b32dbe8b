"""`equipoise score`: answers from anywhere to metrics and marks."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Option

from equipoise.cli import options
from equipoise.cli.output import note, open_console, open_output, print_json
from equipoise.cli.show import print_result
from equipoise.errors import Incomplete, InputError, NoAnswers
from equipoise.report.files import check_target

if TYPE_CHECKING:
    from equipoise.measuring.partials import Partial
    from equipoise.measuring.plan import Plan
    from equipoise.measuring.result import Matching

LOCAL, RAY = "local", "ray"
PARTIAL, PARQUET = ".partial", ".parquet"
MOST_UNUSED = 0.4
"""If as many answers as this are not used, the command fails. Failures that were asked again are not used, either."""


@options.takes("reading", "allow_missing", *options.PLAN, *options.OWN, *options.COLUMNS)
def command(
    files: options.Answers,
    *,
    probe: str | None = Option(None, "--probe", "-p", help="The probe that was asked; see: equipoise probes"),
    suite: options.Suite = None,
    partial: Path | None = Option(
        None, help="Write what was read to this file, for score to add to others.", metavar="FILE"
    ),
    engine: str = Option(LOCAL, help="Where many files are scored: here, or on Ray.", metavar="local|ray[:ADDRESS]"),
    report: options.Report = None,
    model: options.AnsweredBy = "custom/imported",
    slices: bool = Option(False, "--slices", help="Show the slices (race, age, …) too."),
    as_json: options.AsJson = False,
    given: options.Given,
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
    from equipoise.answers import matching
    from equipoise.answers import score as scoring
    from equipoise.runs import suites
    from equipoise.runs.ask import policy

    check_target(partial)
    check_target(report)
    if engine not in (LOCAL, RAY) and not engine.startswith(f"{RAY}:"):
        raise InputError(f"--engine must be {LOCAL}, {RAY} or {RAY}:ADDRESS. Got {engine!r} instead.")
    paths, names = find_files(files), given.column_names()
    are_partials = any(path.suffix == PARTIAL for path in paths)
    if report is not None and (partial is not None or are_partials):
        raise InputError("A report shows answers, and partials hold none: score the answers themselves with --report.")
    total, result, plan_arguments = None, None, {}
    if are_partials:
        told = given.keys() - {"allow_missing"} or probe or suite or engine != LOCAL
        total = _add_partials(paths, told=bool(told))
    else:
        chosen = given.one_probe(probe).read_by(given.get("reading"))
        parameters = given.parameters([chosen])
        plan_arguments = {"probes": chosen, "suite": suite, **parameters}
        (planned,) = suites.plan_probes(chosen, suite or "standard", parameters, repeated=suite is not None)
        are_lines = paths == files and not any(path.suffix.lower() == PARQUET for path in paths)
        if (len(paths) == 1 or are_lines) and partial is None and engine == LOCAL:
            result = scoring.score_tables(planned, answer_files.read_all(paths, names))
        else:
            total = _score_shards(planned, paths, names, engine)
    if total is not None and not total.answers:
        raise NoAnswers(", ".join(map(str, files)))
    if total is not None and partial is not None:
        found = total.matching(planned=total.attempts.height)
        matching.refuse_nothing_matched(found)
        note_matching(found, total.setup.repetitions)
        with open_output(partial) as file:
            total.write(file)
        note(f"{total.attempts.height:,} attempts in {partial}")
        return
    result = total.result() if total is not None else result
    assert result is not None
    matching.refuse_nothing_matched(result.matching)
    note_matching(result.matching, result.setup.repetitions)
    if as_json:
        print_json("score/1", result.to_dict())
    else:
        print_result(result, open_console(), slices=slices)
    if report is not None:
        _write_report(report, paths, names, model, plan_arguments)
    check_used(result.matching)
    policy.check_complete(result.states, None, given.allow_missing())


def find_files(files: list[Path]) -> list[Path]:
    """The files that are named, in folders, or meant by patterns; what is left out of a folder is said."""
    from equipoise.answers import parts

    if left_out := parts.find_left_out(files):
        shown = ", ".join(path.name for path in left_out[:5]) + (", …" if len(left_out) > 5 else "")
        note(f"left out: {shown} (in a folder, files that end with {', '.join(parts.ENDINGS)} are read)")
    return parts.find_shards(files)


def _add_partials(paths: list[Path], *, told: bool) -> Partial:
    """The sum of partials. Nothing else may be said of them: they know their probe and parameters."""
    from equipoise.answers import parts
    from equipoise.cli.progress import show_shards

    if not all(path.suffix == PARTIAL for path in paths):
        raise InputError(f"Answers and partials ({PARTIAL}) cannot be mixed. Make partials of the answers: --partial")
    if told:
        raise InputError(
            "Partials know their probe, parameters and reading, and are added here. Leave out the options that say it."
        )
    with show_shards() as on_shard:
        return parts.read_partials(paths, on_shard)


def _score_shards(planned: Plan, paths: list[Path], names: dict[str, str], engine: str) -> Partial:
    from equipoise.answers import parts
    from equipoise.cli.progress import show_shards
    from equipoise.engines import ray

    with show_shards() as on_shard:
        if engine == LOCAL:
            return parts.score_shards(planned, paths, names, on_shard)
        address = engine.partition(":")[2] or None
        with redirect_stdout(sys.stderr):  # there Ray would write of workers that died
            return ray.score_shards(planned, paths, names, on_shard, address=address)


def _write_report(
    report: Path, files: list[Path], names: Mapping[str, str], model: str, plan_arguments: Mapping[str, Any]
) -> None:
    """Write the report of a run file that lasts as long as the writing."""
    from equipoise.report.html import write as html
    from equipoise.runs import imports

    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        path = Path(folder) / f"{files[0].stem}.equipoise"
        run, _, _ = imports.import_answers(files, path, model=model, names=names, **plan_arguments)
        run.temporary = True
        html.write_report([run], report)
    note(f"report: {report}")


def note_matching(found: Matching, repetitions: int) -> None:
    """Say how many answers were read and matched, and how many are not used."""
    note(f"{found.read:,} answers read, {found.matched:,} matched to the plan")
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
