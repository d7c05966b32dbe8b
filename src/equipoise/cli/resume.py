"""`equipoise resume`: go on with a run that stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli import model_options as options
from equipoise.cli.output import AsJson
from equipoise.cli.run import ask, print_outcome
from equipoise.errors import BadParameter
from equipoise.report.files import check_target


@options.takes("base_url", "key_variable", *options.PACE, *options.JUDGE)
def command(
    file: Annotated[Path, typer.Argument(help="The run file.")],
    *,
    report: options.Report = None,
    as_json: AsJson = False,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="The program that the file names: it may be run.", metavar="MODEL"),
    ] = None,
    retry: Annotated[
        str | None,
        typer.Option(help="Ask these failures again: http_error,timeout,malformed,empty, …", metavar="STATES"),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, help="Longest answer from now on, with --retry: more than before. Answers stay.", metavar="N"
        ),
    ] = None,
    key_command: options.KeyCommand = None,
    header: options.Header = None,
    allow_insecure: options.AllowInsecure = False,
    allow_secret_url: options.AllowSecretUrl = False,
    allow_missing: options.AllowMissing = 0.05,
    quiet: options.Quiet = False,
    given: dict[str, Any],
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
    for name in ("judge_base_url", "judge_key_variable"):
        if name in given and "judge" not in given:
            raise BadParameter(f"--{name.replace('_', '-')} is about a judge. Name it, too: --judge MODEL")
    failures = parse_failures(retry.split(",") if retry else ())
    with RunReader.open(file, verify="layout") as reader:
        is_open = "judge" in given or wants_answers(reader, failures)
    if max_tokens is not None and not failures:
        raise BadParameter("--max-tokens is for failures that are asked again. Name them, too: --retry empty")
    run = None if is_open else Run.open(file)
    if run is None or wants_more(run) or run.unjudged(failures):
        session = resume(
            file,
            model=model,
            retry=failures,
            max_tokens=max_tokens,
            key_command=key_command,
            headers=options.read_headers(header),
            allow_insecure=allow_insecure,
            allow_secret_url=allow_secret_url,
            **given,
        )
        run = ask(session, quiet=quiet)
    print_outcome(run, allow_missing, report, as_json=as_json)
