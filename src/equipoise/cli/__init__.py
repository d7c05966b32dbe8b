"""The command line: one file per command. Commands parse, call and print; errors are caught here, once."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Annotated, Any

import typer

from equipoise import __version__
from equipoise.cli import (
    compare,
    data,
    estimate,
    export,
    extend,
    gate,
    import_,
    probes,
    prompts,
    read,
    report,
    resume,
    run,
    score,
    show,
    transcripts,
    verify,
)
from equipoise.cli.groups import GroupedCommand, GroupedCommands
from equipoise.cli.output import note
from equipoise.cli.streams import robust_streams
from equipoise.errors import EquipoiseError, InputError, IntegrityError, StorageError
from equipoise.safe_text import printable_line
from equipoise.settings import environment

COMMANDS = {
    "Ask a model": (run, resume, extend, estimate),
    "Look at what came out": (show, report, transcripts, compare, gate, export, verify),
    "Answers from elsewhere": (prompts, score, import_, read),
    "Probes and data": (probes,),
}
"""The modules of the commands, each called as its module is, in the groups of the help."""
app = typer.Typer(
    name="equipoise",
    cls=GroupedCommands,
    epilog="Exit codes: 0 done · 1 a bug of ours · 2 your input · 3 too much is missing · 4 the endpoint refused or "
    "the budget is reached · 5 storage · 6 integrity · 7 the gate failed · 8 the gate could not decide · "
    "130/143 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # drawing boxes around the help would double the time it takes
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group, modules in COMMANDS.items():
    for module in modules:
        name = module.__name__.rpartition(".")[2].rstrip("_")
        summary = (module.command.__doc__ or "").partition("\n")[0]
        app.command(name, cls=GroupedCommand, short_help=summary, rich_help_panel=group)(module.command)
app.add_typer(data.app, name="data", rich_help_panel=group)


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
    with robust_streams() as outlet:
        code = _run_command()
        sys.stdout.flush()
        if outlet.problem:
            note(f"error: {outlet.problem}")
            code = code or StorageError.exit_code
    sys.exit(code)


def _run_command() -> int:
    """Run the command that was typed; give its exit code."""
    try:
        " ".join(sys.argv).encode()
    except UnicodeEncodeError:
        encoding = sys.getfilesystemencoding()
        text = f"A word of this command is not text in the encoding of this system ({encoding}): "
        return _report(InputError(f"{text}it could neither be stored nor sent. Rename the file, or set the locale."))
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return 130
    except EquipoiseError as error:
        return _report(error)
    except MemoryError as error:
        return _report(StorageError("There is not enough memory for this."), error)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _report(StorageError(f"{place}{error.strerror or error}."), error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of polars; it is no Exception
            raise
        if "Os {" in str(error):
            return _report(StorageError(f"A limit of this system was reached: {error}."), error)
        damaged = "A file that was given cannot be read: it is damaged, or larger than the memory."
        return _report(IntegrityError(damaged), error)
    return 0


def _report(error: EquipoiseError, cause: BaseException | None = None) -> int:
    if environment().get("EQUIPOISE_TRACEBACK"):
        traceback.print_exception(cause or error)
    note(f"error: {error}")
    return error.exit_code


def _print_warning(message: Warning | str, *_place: Any, **_more: Any) -> None:
    """A warning is meant for the user here, not for a programmer: no file and no line."""
    note(f"warning: {printable_line(str(message))}")
