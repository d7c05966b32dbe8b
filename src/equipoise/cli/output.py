"""Results to stdout, notes and progress to stderr, files in one piece."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from equipoise.errors import InputError, StorageError

if TYPE_CHECKING:
    from rich.console import Console

DATABASE = b"SQLite format 3\0"
"""How a run file begins."""


def stdout() -> Console:
    """Where results are drawn: plain and wide when it is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=200)


def note(text: str) -> None:
    """Say something beside the results."""
    from equipoise.report.terminal import printable

    sys.stderr.write(f"{printable(text)}\n")


def print_json(value: Any) -> None:
    """Print one JSON value."""
    import orjson

    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def check_target(path: Path | None) -> None:
    """Refuse what cannot be written, and a run file: its answers cannot be had again. Best before any work is done."""
    if path is None:
        return
    if path.is_dir():
        raise StorageError(f"{path} cannot be written: it is a folder.")
    if not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(DATABASE)) == DATABASE:
                raise InputError(f"{path} is a run file, and its answers would be lost. Choose another name.")


@contextmanager
def writing(path: Path | None) -> Iterator[IO[bytes]]:
    """The file that is written, or stdout. A file appears whole or not at all; a device is no file."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        check_target(path)
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        try:
            with temporary.open("xb") as file:
                yield file
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.") from None
