"""Results to stdout, notes to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from equipoise.report.files import writing
from equipoise.safe_text import printable

if TYPE_CHECKING:
    from rich.console import Console

FILE_WIDTH = 200
STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def open_console() -> Console:
    """Where results are drawn: plain and wide when it is not a terminal."""
    from rich import console

    terminal = console.Console(highlight=False, markup=False)
    return terminal if terminal.is_terminal else console.Console(highlight=False, markup=False, width=FILE_WIDTH)


def note(text: str) -> None:
    """Say something beside the results."""
    sys.stderr.write(f"{printable(text)}\n")


def print_json(kind: str, value: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """Print one JSON object that names its schema and version, which rises when a field goes or changes: docs/schemas/.

    All but ASCII is escaped, so nothing in it can steer a terminal.
    """
    plain = orjson.loads(orjson.dumps({"schema": f"equipoise/{kind}", **value}))
    text = json.dumps(plain, indent=indent).replace("\x7f", "\\u007f")
    sys.stdout.write(f"{text}\n")


def open_output(path: Path | None) -> AbstractContextManager[IO[bytes]]:
    """A file to write, or stdout."""
    return nullcontext(sys.stdout.buffer) if path is None or str(path) in STDOUT else writing(path)
