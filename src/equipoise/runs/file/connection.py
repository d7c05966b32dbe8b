"""Connections to a run file: for reading, or for its one owner; and what a disk may answer."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from polars.exceptions import PolarsError

from equipoise.errors import IntegrityError, StorageError
from equipoise.runs.file import checks, sql

_BUSY_SECONDS = 600.0
"""How long one waits for another: the owner, to commit, for readers that check a large file."""
_LONGEST_VALUE = 256 * 1024 * 1024
_STORAGE_CODES = {
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
    *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOLFS),
}


@contextmanager
def translate_storage_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite, polars and the file system into StorageError or IntegrityError that name the file."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise  # a bug of ours
    except (sqlite3.Error, UnicodeDecodeError, OverflowError, PolarsError) as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_READONLY_ROLLBACK:
            raise StorageError(f"{path}: a change was interrupted; `equipoise resume` repairs the file.") from error
        if code & 0xFF in _STORAGE_CODES:  # the higher bytes only refine it
            raise StorageError(f"{path}: {error}.") from error
        reason = str(error).partition("\n")[0]
        raise IntegrityError(f"{path} is damaged, or was not written by equipoise: {reason}.") from error
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.") from error


@contextmanager
def on_error(undo: Callable[[], object]) -> Iterator[None]:
    """Close a file or release a lock if the body fails: the caller will not get it."""
    try:
        yield
    except BaseException:
        undo()
        raise


def connect(path: Path, *, owner: bool, checked: bool) -> sqlite3.Connection:
    """A connection to a run file with the right layout, and content unless the caller has `checked` that.

    Its owner, who holds the lock, can write. Of the content, what goes on with a run is checked then: settings, prompts
    and the last attempt. What was answered is checked when it is measured.
    """
    checks.check_file(path)
    with translate_storage_errors(path):
        connection = _connect(path, "mode=rw", sql.OWNER) if owner else _connect(path, "mode=ro", sql.READER)
        with on_error(connection.close):
            checks.check_layout(connection, path)
            if not checked:
                checks.check_content(connection, path, whole=not owner)
            if owner:  # a file that cannot be written to is noticed before anything is asked
                connection.execute(sql.BEGIN)
                connection.rollback()
    return connection


def create_empty(path: Path) -> sqlite3.Connection:
    """A new file with its tables, readable by its owner only, in an open transaction: empty until the caller commits.

    What SQLite puts beside it gets the same rights.
    """
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = _connect(path, "mode=rw", sql.CREATOR)
    with on_error(connection.close):
        for statement in (*sql.SET_HEADER, sql.BEGIN, *sql.TABLES):
            connection.execute(statement)
    return connection


def _connect(path: Path, mode: str, pragmas: tuple[str, ...]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # the pump uses the connection in a thread of its own, and only there
    )
    with on_error(connection.close):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)  # a run file has none
        for pragma in pragmas:
            connection.execute(pragma)
    return connection


def sync_directory(path: Path) -> None:
    """Make a new file name in the directory survive a power failure."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def describe_shortage(path: Path, reserve: int) -> str | None:
    """A message if the disk, or a limit on the size of files, leaves less than the reserve."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    free = shutil.disk_usage(path.parent).free
    if limit != resource.RLIM_INFINITY:
        free = min(free, limit - path.stat().st_size)
    if free >= reserve:
        return None
    return (
        f"{path}: only {max(free, 0) / 2**20:.0f} MB can still be written there, and a run keeps "
        f"{reserve / 2**20:.0f} MB free so that no answer is lost. Make room first."
    )
