"""`equipoise gate`: pass or fail, for a pipeline."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.config import GateRules, read_config
from equipoise.cli.model_options import ConfigFile
from equipoise.cli.output import AsJson, note, open_console, print_json
from equipoise.cli.probe_options import Unjudged
from equipoise.errors import BadParameter, GateFailed, GateUndecided
from equipoise.report.files import check_target, writing
from equipoise.safe_text import printable_line


class Undecided(StrEnum):
    """What an undecided gate counts as."""

    PASS = "pass"  # noqa: S105 - a verdict
    FAIL = "fail"


def command(
    file: Annotated[Path, typer.Argument(help="The run file.", metavar="RUN")],
    *,
    baseline: Annotated[
        Path | None, typer.Option(help="The run file to compare with, for --no-regression.", metavar="RUN")
    ] = None,
    fail_on: Annotated[
        str | None, typer.Option(help="Fail if a marked metric has this mark or a worse one.", metavar="B|C|D")
    ] = None,
    max_: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            help="Fail if a metric is farther than this from even-handed (a metric without marks: larger than this). "
            "Repeatable. METRIC is stereotype_rate, jobs_lum.stereotype_rate for one probe, or "
            "race_white_diff_acceptance_rate for one group of a slice.",
            metavar="METRIC=VALUE",
        ),
    ] = None,
    no_regression: Annotated[
        bool,
        typer.Option(
            "--no-regression",
            help="Fail if a marked metric is farther from even-handed than in the baseline, with a p-value below 0.05 "
            "after Holm's correction over all marked metrics.",
        ),
    ] = False,
    uncertain: Annotated[
        str | None,
        typer.Option(
            help="What decides --fail-on and --max. interval: a rule fails only if all of the interval breaks it, and "
            "passes only if none of it does; else it is undecided. value: what was measured, alone; worst: the far end "
            "of the interval; best: the near end.",
            metavar="interval|value|worst|best",
            show_default="interval",
        ),
    ] = None,
    undecided: Annotated[
        Undecided | None,
        typer.Option(help="Let an undecided gate pass (exit 0) or fail (exit 7) instead of exit 8."),
    ] = None,
    allow_incomplete: Annotated[
        bool,
        typer.Option(
            "--allow-incomplete", help="Judge a run with pending attempts, or with many that failed, all the same."
        ),
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML.", metavar="FILE")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a Markdown summary.", metavar="FILE")] = None,
    config: ConfigFile = None,
    unjudged: Unjudged = False,
    as_json: AsJson = False,
) -> None:
    """Check a run against rules: exit 0 if all are kept, 7 if one is broken, 8 if the data do not say. One line each.

    A metric that is not computable is undecided, and so is a run with pending attempts or with more than 5% that have
    no answer.

    Examples: equipoise gate run.equipoise --fail-on C ·
    equipoise gate new.equipoise --baseline old.equipoise --no-regression --junit gate.xml ·
    equipoise gate run.equipoise --max hiring_an.diff_acceptance_rate=0.1
    """
    from equipoise.measuring import gate as gating
    from equipoise.report.terminal import gates
    from equipoise.runs import finished
    from equipoise.runs import run as runs

    written = read_config(config).gate if config else GateRules()
    fail_on = fail_on or written.fail_on
    rules = gating.Rules(
        fail_on=fail_on and fail_on.upper(),
        max=dict(map(_parse_limit, max_)) if max_ else written.max,
        no_regression=no_regression or written.no_regression,
        uncertain=uncertain or written.uncertain,
        allow_incomplete=allow_incomplete or written.allow_incomplete,
    )
    undecided = undecided or (Undecided(written.undecided) if written.undecided else None)
    if baseline is None and written.baseline and config:
        baseline = config.parent / written.baseline
    for out in (junit, markdown):
        check_target(out)
    run = runs.Run.open(file, judged=not unjudged)
    other = None if baseline is None else runs.Run.open(baseline, judged=not unjudged)
    gate = finished.gate(run, rules, baseline=other)
    if as_json:
        print_json(gate.to_dict())
    else:
        console = open_console()
        for line in gates.check_lines(gate, console.width if console.is_terminal else None):
            console.print(line, soft_wrap=True)
    for text in gate.notes:
        note(f"note: {printable_line(text)}")
    for path, content in ((junit, gates.junit(gate)), (markdown, gates.markdown(gate).encode())):
        if path is not None:
            with writing(path) as opened:
                opened.write(content)
    headline, model = gates.headline(gate), printable_line(gate.model)
    if gate.outcome is gating.Outcome.FAILED:
        raise GateFailed(f"The gate failed for {model}: {headline}.")
    if gate.outcome is gating.Outcome.UNDECIDED:
        if undecided is Undecided.FAIL:
            raise GateFailed(f"The gate failed for {model}, because undecided counts as failed: {headline}.")
        if undecided is None:
            raise GateUndecided(f"The gate could not decide on {model}: {headline}. Ask more, or use --undecided.")
    note(f"The gate passed: {headline}.")


def _parse_limit(given: str) -> tuple[str, float]:
    name, _, value = given.rpartition("=")
    try:
        limit = float(value)
    except ValueError:
        limit = math.nan
    if not name or not math.isfinite(limit):
        raise BadParameter(f"--max needs METRIC=VALUE, as in stereotype_rate=0.15. Got {given!r} instead.")
    return name.strip(), limit
