"""Files that are written: checked before any work is done, and there whole or not at all."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from equipoise.errors import InputError, StorageError
from equipoise.settings import write_whole

SQLITE_HEADER = b"SQLite format 3\0"
"""How a run file begins."""


def check_target(path: Path | None) -> None:
    """Refuse a path that cannot be written, and a run file, whose answers would be lost. None stands for stdout."""
    if path is None:
        return
    with _translate_os_errors(path):
        if path.is_dir():
            raise StorageError(f"{path} cannot be written: it is a folder.")
        if not path.parent.is_dir():
            raise StorageError(f"{path} cannot be written: there is no folder {path.parent}.")
        if not _is_device(path) and is_run_file(path):
            raise InputError(f"{path} is a run file, and its answers would be lost. Choose another name.")


def is_run_file(path: Path) -> bool:
    """Whether a regular file begins as run files do."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def check_run_target(path: Path) -> None:
    """Refuse what can never be a run file: a device or a pipe."""
    with _translate_os_errors(path):
        if _is_device(path) or (path.exists() and not path.is_file() and not path.is_dir()):
            raise InputError(f"{path} cannot be a run file: it is no regular file. Choose another name.")


def make_folder(path: Path) -> None:
    """Make a folder and those above it, if they are not there."""
    with _translate_os_errors(path):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write. A regular file appears when all is written; a device is written directly."""
    check_target(path)
    with _translate_os_errors(path):
        if _is_device(path) or (path.exists() and not path.is_file()):
            with path.open("wb") as file:
                yield file
            return
        with write_whole(path) as file:
            yield file


def _is_device(path: Path) -> bool:
    """Whether a path names a device or an open file of this process, such as /dev/stdout, which is written directly.

    A file beside it, to take its place, could replace the device itself. /dev/shm is a folder for files in memory.
    """
    place = f"{path.absolute()}/"
    return place.startswith(("/dev/", "/proc/")) and not place.startswith("/dev/shm/")  # noqa: S108 - compared only


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"The name {path.name[:60]!r}… is too long for a file.") from None
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.") from None
