"""`equipoise resume`: go on with a run that stopped."""

from __future__ import annotations

from typer import Option

from equipoise.cli import options
from equipoise.cli.run import ask, print_outcome
from equipoise.report.files import check_target
from equipoise.runs.spec import PACE


@options.takes(
    "base_url", "key_variable", "max_tokens", *PACE, "price", *options.JUDGE, "allow_missing", *options.ACCESS
)
def command(
    file: options.RunFile,
    *,
    report: options.Report = None,
    as_json: options.AsJson = False,
    model: str | None = Option(
        None, "--model", "-m", help="The program that the file names: it may be run.", metavar="MODEL"
    ),
    retry: str = Option(
        "",
        help="Ask these failures again: http_error,timeout,malformed,empty, … With --max-tokens, up to this limit.",
        metavar="STATES",
    ),
    quiet: options.Quiet = False,
    given: options.Given,
) -> None:
    """Ask only for what has no answer yet, as the run was started. A finished run asks nothing.

    A failure is asked again only with --retry, and the earlier one is kept; --max-tokens then holds for what is asked
    again and for all that is pending. With --judge, a finished run is judged; the model is not needed for that.

    Examples: equipoise resume gpt-4o-mini.equipoise · equipoise resume run.equipoise --retry http_error,timeout ·
    equipoise resume run.equipoise --retry empty --max-tokens 16384
    """
    from equipoise.runs.resume import resume

    check_target(report)
    session = resume(file, model=model, retry=retry.split(",") if retry else (), **given.session())
    print_outcome(ask(session, quiet=quiet), report, given, as_json=as_json)
