"""The command line: one file per command. Commands parse, call and print; errors are caught here, once."""

from __future__ import annotations

import errno
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
    extend,
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
    transcripts,
    verify,
)
from equipoise.cli.groups import GroupedCommand, GroupedCommands
from equipoise.cli.output import note
from equipoise.cli.streams import ReaderGone, robust_streams
from equipoise.errors import EquipoiseError, InputError, IntegrityError, StorageError
from equipoise.safe_text import printable_line
from equipoise.settings import environment

COMMANDS: dict[str, Callable[..., None]] = {
    "run": run.command,
    "resume": resume.command,
    "extend": extend.command,
    "show": show.command,
    "report": report.command,
    "transcripts": transcripts.command,
    "compare": compare.command,
    "gate": gate.command,
    "export": export.command,
    "verify": verify.command,
    "estimate": estimate.command,
    "import": import_answers.command,
    "probes": probes.command,
    "prompts": prompts.command,
    "score": score.command,
    "read": read.command,
}

app = typer.Typer(
    name="equipoise",
    cls=GroupedCommands,
    help="How gender-biased is a language model? Probes, metrics with honest intervals, marks A to D.",
    epilog="Exit codes: 0 done · 1 a bug of ours · 2 your input · 3 too much is missing · 4 the endpoint refused or "
    "the budget is reached · 5 storage · 6 integrity · 7 the gate failed · 8 the gate could not decide · "
    "130/143 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # drawing boxes around the help would double the time it takes
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, command in COMMANDS.items():
    app.command(name, cls=GroupedCommand, short_help=(command.__doc__ or "").partition("\n")[0])(command)
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
    with robust_streams() as stdout:
        code = _run_command()
        sys.stdout.flush()
        if stdout is not None and stdout.problem:
            note(f"error: {stdout.problem}")
            code = code or StorageError.exit_code
    sys.exit(code)


def _run_command() -> int:
    """Run the command that was typed; give its exit code."""
    try:
        _check_words(sys.argv[1:])
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return 130
    except ReaderGone:
        return 0
    except EquipoiseError as error:
        return _report(error, InputError.exit_code if _is_long_name(error.__context__) else error.exit_code)
    except MemoryError as error:
        return _report(StorageError("There is not enough memory for this."), StorageError.exit_code, error)
    except OSError as error:
        if _is_long_name(error):
            return _report(InputError(f"The name {str(error.filename)[:60]!r}… is too long for a file."), 2, error)
        place = f"{error.filename}: " if error.filename else ""
        return _report(StorageError(f"{place}{error.strerror or error}."), StorageError.exit_code, error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        if "Os {" in str(error):
            return _report(StorageError(f"A limit of this system was reached: {error}."), StorageError.exit_code, error)
        damaged = IntegrityError("A file that was given cannot be read: it is damaged, or larger than the memory.")
        return _report(damaged, damaged.exit_code, error)
    return 0


def _check_words(words: list[str]) -> None:
    """Refuse what is no text: it could neither be stored nor sent nor shown."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{word!r} is not text in the encoding of this system ({sys.getfilesystemencoding()}). "
                "Names of files and models, prompts and all other words must be; rename the file, or set the locale."
            ) from None


def _is_long_name(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG


def _report(error: EquipoiseError, code: int, cause: BaseException | None = None) -> int:
    if environment().get("EQUIPOISE_TRACEBACK"):
        traceback.print_exception(cause or error)
    note(f"error: {error}")
    return code


def _print_warning(message: Warning | str, *_place: Any, **_more: Any) -> None:
    """A warning is meant for the user here, not for a programmer: no file and no line."""
    note(f"warning: {printable_line(str(message))}")
