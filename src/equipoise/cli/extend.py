"""`equipoise extend`: ask more of a run that is there."""

from __future__ import annotations

from typer import Option

from equipoise.cli import options
from equipoise.cli.confirm import confirm_run
from equipoise.cli.run import ask, print_outcome
from equipoise.report.files import check_target
from equipoise.runs.spec import PACE


@options.takes("base_url", "key_variable", *PACE, "price", *options.JUDGE, "allow_missing", *options.ACCESS)
def command(
    file: options.RunFile,
    *,
    sample: int | None = Option(
        None, min=1, help="Items of each probe, in all: those that are there and new ones.", metavar="N"
    ),
    suite: str | None = Option(
        None, help="As much as this suite asks, if it asks about the same texts.", metavar="NAME"
    ),
    repeat: int | None = Option(None, min=1, help="How often each prompt is asked, in all.", metavar="N"),
    certain: bool = Option(
        False, "--certain", help="As many items as should make every mark certain, by the answers so far."
    ),
    until_certain: bool = Option(
        False, "--until-certain", help="Double the items up to four times, until every mark is certain."
    ),
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
    session = extend(
        file,
        sample=sample,
        suite=suite,
        repeat=repeat,
        certain=certain,
        until_certain=until_certain,
        confirm=lambda expected: confirm_run(expected, yes=yes),
        **given.session(),
    )
    print_outcome(ask(session, quiet=quiet), report, given, as_json=as_json)
