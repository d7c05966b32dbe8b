"""Connections to a run file: for reading, or for its one owner, who holds a lock; and what a disk may answer."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import MsgspecError
from polars.exceptions import PolarsError

from equipoise.errors import BadFile, IntegrityError, StorageError
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
    """Turn errors of SQLite, of decoding and of the file system into StorageError or IntegrityError."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise  # a bug of ours
    except (sqlite3.Error, MsgspecError, PolarsError, UnicodeError, OverflowError, RecursionError) as error:
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


def check_file(path: Path) -> None:
    """Refuse what is no file."""
    with translate_storage_errors(path):
        if not path.exists():
            raise BadFile(f"There is no run file {path}.")
        if not path.is_file():
            raise BadFile(f"{path} is no file, and so no run file.")


def connect(path: Path, *, owner: bool, already_checked: bool) -> sqlite3.Connection:
    """A connection to a run file with the right layout, and content unless the caller has `already_checked` that.

    Its owner, who holds the lock, can write. Of the content, what goes on with a run is checked then: settings
    and the last attempt. Prompts are checked when they are read, and what was answered when it is measured.
    """
    check_file(path)
    with translate_storage_errors(path):
        connection = _connect(path, "mode=rw", sql.OWNER) if owner else _connect(path, "mode=ro", sql.READER)
        with on_error(connection.close):
            checks.check_layout(connection, path)
            if not already_checked:
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
        check_same_thread=False,  # the pump works on the file in a thread of its own
    )
    with on_error(connection.close):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)  # a run file has none
        for pragma in pragmas:
            connection.execute(pragma)
    return connection


def beside(path: Path, suffix: str) -> Path:
    """What stands beside a run file: its .lock, and the -journal of SQLite while a change is written."""
    return path.with_name(path.name + suffix)


HELD_BY_ANOTHER = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


class Lock:
    """The lock of a run file's owner. The constructor takes it at once or raises StorageError.

    The lock file holds the process id of the owner. It is removed on release; one that a kill left is taken over.
    """

    def __init__(self, path: Path) -> None:
        self._path = beside(path, ".lock")
        while True:
            try:
                self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                raise StorageError(f"{path.parent} cannot be written to: {error.strerror} ({path.name}).") from None
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise self._explain(error, path) from None
            if is_same_file(os.fstat(self._fd), self._path):
                break
            os.close(self._fd)  # the previous owner removed the file between opening and locking
        os.ftruncate(self._fd, 0)
        os.write(self._fd, str(os.getpid()).encode())

    def _explain(self, error: OSError, path: Path) -> StorageError:
        """Why the lock could not be taken; the lock file is closed."""
        owner = os.read(self._fd, 20).decode("ascii", "replace")
        os.close(self._fd)
        if error.errno not in HELD_BY_ANOTHER:
            self._path.unlink(missing_ok=True)
            return StorageError(
                f"{path.parent} is on a file system without locks ({error.strerror}), so that two processes could "
                "write to one run file. Keep run files on a local disk, and copy them when they are finished."
            )
        process = f" (pid {owner})" if owner else ""
        return StorageError(
            f"{path} is in use by another process{process}. "
            "A run has one owner: wait until it has finished, or stop it."
        )

    def release(self) -> None:
        """Give the lock back."""
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def is_same_file(known: os.stat_result, path: Path) -> bool:
    """Whether this file is the one that has the path now."""
    try:
        return os.path.samestat(known, path.stat())
    except FileNotFoundError:
        return False
