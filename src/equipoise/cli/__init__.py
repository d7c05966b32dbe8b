"""The command line: one file a command. Commands parse, call, print; errors are caught here, once."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from equipoise import __version__
from equipoise.cli import (
    compare,
    data,
    estimate,
    export,
    gate,
    import_,
    probes,
    prompts,
    report,
    resume,
    run,
    score,
    show,
)
from equipoise.errors import EquipoiseError

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
for module in (run, resume, show, report, compare, gate, export, estimate, import_, probes, prompts, score):
    name, about = (
        module.__name__.rpartition(".")[2].removesuffix("_"),
        (module.command.__doc__ or "").partition("\n")[0],
    )
    app.command(name, short_help=about)(module.command)
app.add_typer(data.app, name="data")


def _version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")] = False,
) -> None:
    """How gender-biased is a language model? Probes, metrics with honest intervals, marks A to D."""


def main() -> None:
    """Run the command line: an error of the user prints as one message, and its class gives the exit code."""
    try:
        app()
    except EquipoiseError as error:
        from equipoise.report.terminal import printable

        sys.stderr.write(f"error: {printable(str(error))}\n")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except SystemExit as stop:
        # typer has turned it into exit 1 that the reader of our output has gone (`| head`). That is no failure, and
        # there is nothing more to say, also not on closing.
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
