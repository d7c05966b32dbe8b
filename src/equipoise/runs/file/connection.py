"""Connections to a run file: for reading, or for its one owner; and what a disk may answer."""

from __future__ import annotations

import contextlib
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
from equipoise.runs.file.ownership import beside

_BUSY_SECONDS = 30.0
"""How long one waits for another: the owner for readers that check the file before it marks the file as in use."""
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


def connect_reader(path: Path, *, checked: bool, whole: bool = True) -> sqlite3.Connection:
    """A read-only connection to a run file with the right layout, and content unless the caller has `checked` that.

    If not the `whole` content, then what goes on with a run: settings, prompts, and the last attempt.
    """
    checks.check_file(path)
    with translate_storage_errors(path):
        connection = _connect(path, "mode=ro", sql.READER)
        with on_error(connection.close):
            checks.check_layout(connection, path)
            if not checked:
                checks.check_content(connection, path, whole=whole)
    return connection


def connect_owner(path: Path, *, checked: bool) -> sqlite3.Connection:
    """The one connection that writes. The caller holds the lock.

    A -wal says that the file is in use, so that a copy without it is recognised. To switch to it is also the first
    write: a disk that cannot be written to is noticed before anything is asked.
    """
    with translate_storage_errors(path):
        if beside(path, "-journal").exists():  # SQLite undoes a change that a kill interrupted
            with contextlib.closing(_connect(path, "mode=rw", sql.OWNER)) as interrupted:
                interrupted.execute(sql.GET_VERSION).fetchall()
        # By a connection that leaves a refused file untouched. What was answered is checked when it is measured.
        connect_reader(path, checked=checked, whole=False).close()
        connection = _connect(path, "mode=rw", sql.OWNER)
        with on_error(connection.close):
            connection.execute(sql.USE_WAL).fetchall()
            connection.execute(sql.DIGESTS).fetchall()  # SQLite creates the -wal at the first read
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
    wal = beside(path, "-wal")
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    free = shutil.disk_usage(path.parent).free
    if limit != resource.RLIM_INFINITY:
        free = min(free, limit - path.stat().st_size)
    free -= wal.stat().st_size if wal.exists() else 0  # its content will need space in the main file, too
    if free >= reserve:
        return None
    return (
        f"{path}: only {max(free, 0) / 2**20:.0f} MB can still be written there, and a run keeps "
        f"{reserve / 2**20:.0f} MB free so that no answer is lost. Make room first."
    )
