"""`equipoise import`: answers of a batch job into a run file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from typer import Option

from equipoise.cli import options
from equipoise.cli.output import note
from equipoise.cli.score import check_used, find_files, note_matching
from equipoise.cli.show import print_run
from equipoise.report.files import check_run_target


@options.takes("probes", "allow_missing", *options.PLAN, *options.OWN, *options.COLUMNS)
def command(
    files: options.Answers,
    *,
    out: Path = Option(..., "--out", "-o", help="The run file: made if it is not there, else added to."),
    model: options.AnsweredBy = "custom/imported",
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
    from equipoise.runs.ask import policy

    check_run_target(out)
    is_new = not out.exists()
    wanted = options.add_own(given.get("probes", ()), given.own_probe())
    chosen = probes.choose_probes(wanted)
    run, new, matching = imports.import_answers(
        find_files(files),
        out,
        model=model,
        probes=wanted,
        suite=suite,
        names=given.column_names(),
        **given.parameters(chosen),
    )
    note_matching(matching, max(planned.repetitions for planned in run.planned.values()))
    missing = policy.describe_failures(run.counts)
    note(f"{new:,} attempts are new in {out}{missing and ', which lacks answers: ' + missing}")
    print_run(run, as_json=as_json)
    # Of answers that a run file has already, as many may come again as want to.
    check_used(matching if is_new else replace(matching, surplus=0))
    policy.check_complete(run.counts, run.path, given.allow_missing())
