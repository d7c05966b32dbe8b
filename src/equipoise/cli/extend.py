"""`equipoise extend`: ask more of a run that is there."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli import options
from equipoise.cli.confirm import confirm_run
from equipoise.cli.run import ask, print_outcome
from equipoise.report.files import check_target
from equipoise.runs.spec import PACE


@options.takes("base_url", "key_variable", *PACE, "price", *options.JUDGE, "allow_missing", *options.ACCESS)
def command(
    file: Annotated[Path, typer.Argument(help="The run file.")],
    *,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Items of each probe, in all: those that are there and new ones.", metavar="N"),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="As much as this suite asks, if it asks about the same texts.", metavar="NAME")
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, help="How often each prompt is asked, in all.", metavar="N")
    ] = None,
    certain: Annotated[
        bool, typer.Option("--certain", help="As many items as should make every mark certain, by the answers so far.")
    ] = False,
    until_certain: Annotated[
        bool, typer.Option("--until-certain", help="Double the items up to four times, until every mark is certain.")
    ] = False,
    report: options.Report = None,
    as_json: options.AsJson = False,
    yes: options.Yes = False,
    quiet: options.Quiet = False,
    given: options.Given,
) -> None:
    """Plan more of a run, keep every answer, and ask for what is missing, as the run was started.

    Examples: equipoise extend run.equipoise --sample 400 · equipoise extend run.equipoise --certain ·
    equipoise extend run.equipoise --repeat 3 --yes
    """
    from equipoise.runs.resume import extend

    check_target(report)
    sizes: dict[str, Any] = {"sample": sample, "suite": suite, "repeat": repeat}
    sizes |= {"certain": certain, "until_certain": until_certain}
    again = ["equipoise", "extend", str(file)]
    for name, value in sizes.items():
        if value:
            again += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    session = extend(
        file,
        confirm=lambda expected: confirm_run(expected, file, yes=yes, again=shlex.join([*again, "--yes"])),
        **sizes,
        **given.session(),
    )
    print_outcome(ask(session, quiet=quiet), report, given, as_json=as_json)
