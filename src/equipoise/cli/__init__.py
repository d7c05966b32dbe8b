"""The command line: one file per command. Commands parse, call and print; errors are caught here, once."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from equipoise import __version__
from equipoise.cli import (
    compare,
    data,
    estimate,
    export,
    gate,
    import_answers,
    probes,
    prompts,
    read,
    report,
    resume,
    run,
    score,
    show,
)
from equipoise.cli.output import note
from equipoise.errors import EquipoiseError
from equipoise.report.terminal.safe_text import printable_line
from equipoise.settings import environment

COMMANDS: dict[str, Callable[..., None]] = {
    "run": run.command,
    "resume": resume.command,
    "show": show.command,
    "report": report.command,
    "compare": compare.command,
    "gate": gate.command,
    "export": export.command,
    "estimate": estimate.command,
    "import": import_answers.command,
    "probes": probes.command,
    "prompts": prompts.command,
    "score": score.command,
    "read": read.command,
}

app = typer.Typer(
    name="equipoise",
    help="How gender-biased is a language model? Probes, metrics with honest intervals, marks A to D.",
    epilog="Exit codes: 0 done · 1 a bug of ours · 2 your input · 3 too much is missing · 4 the endpoint refused or "
    "the budget is reached · 5 storage · 6 integrity · 7 the gate failed · 130/143 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # drawing boxes around the help would double the time it takes
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, command in COMMANDS.items():
    app.command(name, short_help=(command.__doc__ or "").partition("\n")[0])(command)
app.add_typer(data.app, name="data")


def _print_version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """How gender-biased is a language model? Probes, metrics with honest intervals, marks A to D."""


def main() -> None:
    """Run the command line: an error of the user prints as one message, and its class gives the exit code."""
    warnings.showwarning = _print_warning
    try:
        app()
    except EquipoiseError as error:
        if environment().get("EQUIPOISE_TRACEBACK"):
            traceback.print_exception(error)
        note(f"error: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except SystemExit as stop:
        # typer turns it into exit 1 when the reader of our output has gone (`| head`). That is no failure, and
        # there is nothing more to print, also not on closing.
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _print_warning(message: Warning | str, *_place: Any, **_more: Any) -> None:
    """A warning is meant for the user here, not for a programmer: no file and no line."""
    note(f"warning: {printable_line(str(message))}")
