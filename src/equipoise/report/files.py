"""Files that are written: checked before any work is done, and there whole or not at all."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from equipoise.errors import InputError, StorageError

SQLITE_HEADER = b"SQLite format 3\0"
"""How a run file begins."""


def check_target(path: Path | None) -> None:
    """Refuse a path that cannot be written, and a run file, whose answers would be lost. None stands for stdout."""
    if path is None:
        return
    if path.is_dir():
        raise StorageError(f"{path} cannot be written: it is a folder.")
    if not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")
    if path.is_file():
        with _translate_os_errors(path), path.open("rb") as file:
            if file.read(len(SQLITE_HEADER)) == SQLITE_HEADER:
                raise InputError(f"{path} is a run file, and its answers would be lost. Choose another name.")


def make_folder(path: Path) -> None:
    """Make a folder and those above it, if they are not there."""
    with _translate_os_errors(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def writing(path: Path | None) -> Iterator[IO[bytes]]:
    """Open a file to write, or stdout. A regular file appears when all is written; a device is written directly."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    check_target(path)
    with _translate_os_errors(path):
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


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.") from None
