"""The command line. Commands parse, call and print; errors are caught here, once."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from equipoise import __version__
from equipoise.cli import compare, data, estimate, gate, probes, prompts, report, run, score, show, verify
from equipoise.cli.output import note, robust_streams
from equipoise.errors import EquipoiseError, InputError, IntegrityError, StorageError
from equipoise.safe_text import printable_line
from equipoise.settings import environment

COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Ask a model": {"run": run.command, "resume": run.resume, "extend": run.extend, "estimate": estimate.command},
    "Look at what came out": {
        "show": show.command,
        "report": report.command,
        "transcripts": report.transcripts,
        "compare": compare.command,
        "gate": gate.command,
        "export": report.export,
        "verify": verify.command,
    },
    "Answers from elsewhere": {
        "prompts": prompts.command,
        "score": score.command,
        "import": score.import_,
        "read": score.read,
    },
    "Probes and data": {"probes": probes.command},
}
"""The commands, in the groups of the help."""
OPTIONS = {
    "Mostly enough": "--suite --probe --out --report --retry --certain --max-cost --yes --quiet",
    "More: what is asked": "--config --sample --repeat --seed --set --until-certain --probabilities --reading",
    "More: own prompts": "--pairs --read --columns --letters --bands",
    "More: where": "--base-url --key-variable --key-command --header --trust-config --allow-insecure "
    "--allow-secret-url",
    "More: how the model answers": "--temperature --top-p --max-tokens --model-seed --system --extra",
    "More: pace": "--concurrency --deadline --patience --tries --rpm",
    "More: limits": "--allow-missing --max-requests --max-tokens-total --price",
    "More: a judge": "--judge --judge-base-url --judge-key-variable --judge-price --judge-anyway --no-judge",
}
OTHERS = "More"
"""Options that are in no group come last."""
MANY = 20
"""A command with fewer options lists them as they are."""
_GROUP_OF = {option: group for group, options in OPTIONS.items() for option in options.split()}


class GroupedCommand(TyperCommand):
    """A command whose options stand in groups, if there are many."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options into the help."""
        if len(self.params) < MANY:
            super().format_options(ctx, formatter)
            return
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *OPTIONS, OTHERS)}
        for parameter in self.get_params(ctx):
            names = [_GROUP_OF[name] for name in parameter.opts if name in _GROUP_OF]
            group = (names or [OTHERS])[0] if parameter.param_type_name == "option" else "Arguments"
            if record := parameter.get_help_record(ctx):
                groups[group].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class GroupedCommands(TyperGroup):
    """The command line, whose commands stand in groups: the panels that they were added to."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the name that typer gives it
        """Write the commands into the help, each with its first sentence."""
        widest = max(map(len, self.commands))
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            text = command.get_short_help_str(formatter.width - 6 - widest)
            groups.setdefault(command.rich_help_panel, []).append((name.ljust(widest), text))  # type: ignore[attr-defined]
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


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
for group, commands in COMMANDS.items():
    for name, command in commands.items():
        summary = (command.__doc__ or "").partition("\n")[0]
        app.command(name, cls=GroupedCommand, short_help=summary, rich_help_panel=group)(command)
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
