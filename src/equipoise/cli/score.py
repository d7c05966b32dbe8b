"""`equipoise score`, `import` and `read`: answers from anywhere to marks, into a run file, or to labels."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from equipoise.cli import options
from equipoise.cli.output import note, open_console, open_output, print_json
from equipoise.cli.show import print_result, print_run
from equipoise.errors import Incomplete, InputError, NoAnswers
from equipoise.report.files import check_run_target, check_target
from equipoise.safe_text import printable_line

if TYPE_CHECKING:
    from equipoise.measuring.partials import Partial
    from equipoise.measuring.plan import Plan
    from equipoise.measuring.result import Matching, Result

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
    report: options.Report = None,
    engine: str = Option(LOCAL, help="Where many files are scored: here, or on Ray.", metavar="local|ray[:ADDRESS]"),
    everything: bool = Option(False, "--all", help="Show the slices (race, age, …), too."),
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
    from equipoise.cli.progress import show_shards
    from equipoise.measuring.partials import Partial
    from equipoise.measuring.result import Audit
    from equipoise.report import text as texts
    from equipoise.runs import suites
    from equipoise.runs.ask import events

    check_target(partial)
    check_target(report)
    if engine not in (LOCAL, RAY) and not engine.startswith(f"{RAY}:"):
        raise InputError(f"--engine must be {LOCAL}, {RAY} or {RAY}:ADDRESS. Got {engine!r} instead.")
    paths, names = _find_files(files), given.column_names()
    shards = None
    are_partials = any(path.suffix == PARTIAL for path in paths)
    if report is not None and (partial is not None or are_partials):
        raise InputError("A report shows answers, and partials hold none: score the answers themselves with --report.")
    if are_partials:
        is_told = bool(given.keys() - {"allow_missing"} or probe or suite or engine != LOCAL)
        shards = _read_partials(paths, is_told=is_told)
    else:
        chosen = given.one_probe(probe).read_by(given.get("reading"))
        parameters = given.parameters([chosen])
        (planned,) = suites.plan_probes(chosen, suite or "standard", parameters, repeated=suite is not None)
        are_lines = paths == files and not any(path.suffix.lower() == PARQUET for path in paths)
        if partial is not None or engine != LOCAL or not (are_lines or len(paths) == 1):
            shards = _score_shards(planned, paths, names, engine)
    total = Partial.sum(show_shards(shards, len(paths))) if shards else None
    if total is not None and not total.values.matching.read:
        raise NoAnswers(", ".join(map(str, files)))
    if total is not None and partial is not None:
        matching.refuse_nothing_matched(total.values.matching)
        _note_matching(total.values.matching, total.setup.repetitions)
        with open_output(partial) as file:
            total.write(file)
        note(f"{total.attempts.height:,} attempts in {partial}")
        return
    result = total.result() if total is not None else scoring.score_tables(planned, answer_files.read_all(paths, names))
    matching.refuse_nothing_matched(result.matching)
    _note_matching(result.matching, result.setup.repetitions)
    if as_json:
        print_json("score/1", result.to_dict())
    else:
        console = open_console()
        print_result(result, console, slices=everything)
        for sentence in texts.describe_undecided(result):
            console.print(printable_line(sentence), style="dim")
    if report is not None:
        _write_report(report, paths, {"probes": chosen, "suite": suite, "names": names, **parameters})
    _check_used(result.matching)
    events.check_complete(Audit({result.probe: result}).counts, None, given.allow_missing())
    _check_read(result)


@options.takes("probes", "allow_missing", *options.PLAN, *options.OWN, *options.COLUMNS)
def import_(
    files: options.Answers,
    *,
    out: Path = Option(..., "--out", "-o", help="The run file: made if it is not there, else added to."),
    model: str = Option(
        "custom/imported", "--model", "-m", help="The model that answered, as for run.", metavar="NAME"
    ),
    suite: options.Suite = None,
    as_json: options.AsJson = False,
    given: options.Given,
) -> None:
    """Put answers from elsewhere into a run file. Prompts are found by id or text, as for score.

    For a new run file, give the same --probe, --suite, --sample, --repeat, --seed and --set as for the prompts;
    equipoise resume then asks the model for what is missing. An answer takes the place of a failure, and never that of
    another answer.

    Examples: equipoise import batch_output.jsonl -o run.equipoise --model openai/gpt-4o-mini --probe jobs_lum
    """
    from equipoise import probes
    from equipoise.runs import imports
    from equipoise.runs.ask import events

    check_run_target(out)
    is_new = not out.exists()
    wanted = [*given.get("probes", ()), *given.own_probes()] or None
    chosen = probes.choose_probes(wanted)
    run, new, matching = imports.import_answers(
        _find_files(files),
        out,
        model=model,
        probes=wanted,
        suite=suite,
        names=given.column_names(),
        **given.parameters(chosen),
    )
    _note_matching(matching, max(planned.repetitions for planned in run.planned.values()))
    missing = events.describe_failures(run.counts)
    note(f"{new:,} attempts are new in {out}{missing and ', which lacks answers: ' + missing}")
    print_run(run, as_json=as_json)
    # Of answers that a run file has already, as many may come again as want to.
    _check_used(matching if is_new else replace(matching, surplus=0))
    events.check_complete(run.counts, run.path, given.allow_missing())


@options.takes("sample", "seed", "settings", "reading")
def read(
    probe: str = Argument(help="The probe whose detector reads; see: equipoise probes"),
    file: str = Argument(
        "-",
        help="Answers in any form that score reads, with prompt or id where the detector wants the prompt; - is JSONL "
        "on stdin.",
        metavar="[FILE|-]",
    ),
    *,
    as_json: options.AsJson = False,
    given: options.Given,
) -> None:
    """Print for each answer, in order, the label, the words it rests on and the reading.

    It shows how the instrument reads your own texts. With --json: one line per answer with label (null: nothing is
    decided), words and reading. --sample, --seed and --set say which prompts were planned, for detectors that use more
    of a prompt than its text.

    Examples: equipoise read jobs_lum answers.jsonl · equipoise read hiring_an answers.csv --reading specified --json
    """
    from equipoise import probes
    from equipoise.answers import files, score

    chosen = probes.get_probe(probe).read_by(given.get("reading"))
    tables = files.read_tables(Path(file))
    console = open_console()
    for number, one in enumerate(score.read_answers(chosen, tables, **given.parameters([chosen])), 1):
        if as_json:
            print_json("read/1", asdict(one), indent=None)
        else:
            words = printable_line(" · ".join(one.words)) or "–"
            console.print(f"{number:>5}  {one.label or 'undetected':<10}  {words}", soft_wrap=True, markup=False)


def _find_files(sources: list[Path]) -> list[Path]:
    """The files that are named, in folders, or meant by patterns; what is left out of a folder is said."""
    from equipoise.answers import shards

    files, left_out = shards.find_shards(sources)
    if left_out:
        shown = ", ".join(path.name for path in left_out[:5]) + (", …" if len(left_out) > 5 else "")
        note(f"left out: {shown} (in a folder, files that end with {', '.join(shards.ENDINGS)} are read)")
    return files


def _read_partials(paths: list[Path], *, is_told: bool) -> Iterator[Partial]:
    """The partials. Nothing else may be said of them: they know their probe and parameters."""
    from equipoise.measuring.partials import Partial

    if not all(path.suffix == PARTIAL for path in paths):
        raise InputError(f"Answers and partials ({PARTIAL}) cannot be mixed. Make partials of the answers: --partial")
    if is_told:
        raise InputError(
            "Partials know their probe, parameters and reading, and are added here. Leave out the options that say it."
        )
    return map(Partial.read, paths)


def _score_shards(planned: Plan, paths: list[Path], names: dict[str, str], engine: str) -> Iterator[Partial]:
    from equipoise.answers import shards
    from equipoise.engines import ray

    if engine == LOCAL:
        yield from shards.score_shards(planned, paths, names)
        return
    with redirect_stdout(sys.stderr):  # there Ray would write of workers that died
        yield from ray.score_shards(planned, paths, names, address=engine.partition(":")[2] or None)


def _write_report(report: Path, files: list[Path], plan_arguments: Mapping[str, Any]) -> None:
    """Write the report of a run file that lasts as long as the writing."""
    from equipoise.runs import imports

    with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
        path = Path(folder) / f"{files[0].stem}.equipoise"
        run, _, _ = imports.import_answers(files, path, **plan_arguments)
        run.report(report)
    note(f"report: {report}")


def _note_matching(found: Matching, repetitions: int) -> None:
    """Say how many answers were read and matched, and how many are not used."""
    note(f"{found.read:,} answers read, {found.matched:,} matched to the plan")
    if found.surplus:
        note(
            f"{found.surplus:,} answers are surplus: more than {repetitions} for a prompt (--repeat says how many). "
            "Answers are kept before failures, and the first before the others"
        )
    if found.unknown:
        note(f"{found.unknown:,} answers belong to no planned prompt (other --sample, --seed or --set?)")


def _check_read(result: Result) -> None:
    """Fail if no answer at all could be classified: then nothing was measured."""
    coverage = result.coverage["all"]
    if coverage["detected"] or not coverage["undetected"]:
        return
    labels = result.setup.probe.detector.counted_labels
    seen = [f"{coverage[label]:,} {label}" for label in labels if coverage.get(label)]
    what = f" ({', '.join(seen)})" if seen else ""
    raise Incomplete(
        f"None of the {coverage['undetected']:,} answers could be classified{what}, so nothing was measured. "
        f"To see how each is read: equipoise read {result.probe} FILE"
    )


def _check_used(found: Matching) -> None:
    """Fail if so many answers are not used that the plan is most likely another one."""
    if (dropped := found.surplus + found.unknown) >= MOST_UNUSED * found.read:
        raise Incomplete(
            f"{dropped:,} of {found.read:,} answers are not used, as said above. Give the same --suite, --sample, "
            "--repeat, --seed and --set as for the prompts."
        )
