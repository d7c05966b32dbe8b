"""Results to stdout, notes to stderr."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import orjson

from equipoise.report.files import writing
from equipoise.safe_text import printable

if TYPE_CHECKING:
    from rich.console import Console

Kind = Literal[
    "compare/1",
    "data-list/1",
    "data-verify/1",
    "estimate/1",
    "gate/1",
    "probes/1",
    "read/1",
    "run/1",
    "score/1",
    "verify/1",
]
"""What is printed as JSON, each with its version, which rises when a field goes or changes: see docs/schemas/."""
FILE_WIDTH = 200
STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
STEERING = re.compile(
    "[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that a terminal may act on instead of showing them, and that JSON does not escape by itself."""


def open_console() -> Console:
    """Where results are drawn: plain and wide when it is not a terminal."""
    from rich import console

    terminal = console.Console(highlight=False, markup=False)
    return terminal if terminal.is_terminal else console.Console(highlight=False, markup=False, width=FILE_WIDTH)


def note(text: str) -> None:
    """Say something beside the results."""
    sys.stderr.write(f"{printable(text)}\n")


def print_json(kind: Kind, value: Mapping[str, Any], *, indent: bool = True) -> None:
    """Print one JSON object that names its schema, on one line or indented.

    Characters that could steer a terminal are written as numbers.
    """
    layout = orjson.OPT_INDENT_2 if indent else 0
    text = orjson.dumps({"schema": f"equipoise/{kind}", **value}, option=layout | orjson.OPT_APPEND_NEWLINE).decode()
    sys.stdout.flush()
    sys.stdout.buffer.write(STEERING.sub(_escape_for_json, text).encode())
    sys.stdout.buffer.flush()


def open_output(path: Path | None) -> AbstractContextManager[IO[bytes]]:
    """A file to write, or stdout."""
    return nullcontext(sys.stdout.buffer) if path is None or str(path) in STDOUT else writing(path)


def _escape_for_json(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
