"""Results to stdout, notes to stderr."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from equipoise.cli.lazy import console
from equipoise.report.terminal.safe_text import printable

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
FILE_WIDTH = 200


def open_console() -> Console:
    """Where results are drawn: plain and wide when it is not a terminal."""
    terminal = console.Console(highlight=False, markup=False)
    return terminal if terminal.is_terminal else console.Console(highlight=False, markup=False, width=FILE_WIDTH)


def note(text: str) -> None:
    """Say something beside the results."""
    sys.stderr.write(f"{printable(text)}\n")


def print_json(value: Any) -> None:
    """Print one JSON value."""
    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()
