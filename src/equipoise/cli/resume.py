"""`equipoise resume`: go on with a run that stopped."""

from __future__ import annotations

from typer import Option

from equipoise.cli import options
from equipoise.cli.run import ask, print_outcome
from equipoise.errors import BadParameter
from equipoise.report.files import check_target
from equipoise.runs.spec import PACE, make_spec


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
    from equipoise.runs.file.reader import RunReader
    from equipoise.runs.growth import wants_more
    from equipoise.runs.resume import parse_failures, resume, wants_answers
    from equipoise.runs.run import Run

    check_target(report)
    make_spec(**given.fields())
    failures = parse_failures(filter(None, retry.split(",")))
    with RunReader.open(file, checked=True) as reader:
        is_open = "judge" in given or wants_answers(reader, failures)
    if "max_tokens" in given and not failures:
        raise BadParameter("--max-tokens is for failures that are asked again. Name them, too: --retry empty")
    run = None if is_open else Run.open(file)
    if run is None or wants_more(run) or run.unjudged(failures):
        session = resume(file, model=model, retry=failures, **given.session())
        run = ask(session, quiet=quiet)
    print_outcome(run, report, given, as_json=as_json)
