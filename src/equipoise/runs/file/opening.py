"""Opening and closing a run file, as a reader or as its one owner."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from equipoise.errors import IntegrityError, StorageError
from equipoise.runs.file import checks, layout, sql
from equipoise.runs.file.digests import write_setting
from equipoise.runs.file.storage_errors import translate_storage_errors
from equipoise.runs.file.undo import on_error

_BUSY_SECONDS = 2.0
_TRIES = 5
_LONGEST_VALUE = 256 * 1024 * 1024
_IMMUTABLE = "mode=ro&immutable=1"
"""Reads the file alone: no -wal, no locks."""


def connect_reader(path: Path, *, whole: bool = True) -> sqlite3.Connection:
    """A read-only connection to a run file that was verified as a `whole`, or as far as going on with it needs.

    Until its owner has a -wal, a file may change while it is read without a lock. Then it is read again.
    """
    checks.check_file(path)
    for _ in range(_TRIES):
        before = checks.file_state(path)
        try:
            return _connect_reader(path, whole=whole)
        except IntegrityError:
            if checks.file_state(path) == before:
                raise
    return _connect_reader(path, whole=whole)


def _connect_reader(path: Path, *, whole: bool) -> sqlite3.Connection:
    has_wal = checks.wal_path(path).exists()
    # SQLite would create a missing -wal. Without one nobody writes to the file, so it can be opened as immutable.
    in_change = has_wal or _journal_path(path).exists()
    connection = _connect(path, "mode=ro" if in_change else _IMMUTABLE, sql.READER)
    with on_error(connection.close), translate_storage_errors(path):
        checks.check_header(connection, path)
        checks.check_schema(connection, path)
        checks.check_not_partial_copy(connection, path, has_wal=has_wal)
        checks.check_content(connection, path, whole=whole)
    return connection


def connect_owner(path: Path, *, whole: bool = True) -> sqlite3.Connection:
    """The one connection that writes. The caller holds the lock.

    What lies beside a -wal is verified as a whole: below, both become one file, and they may not belong together.
    """
    if _journal_path(path).exists():
        _roll_back(path)
    connect_reader(path, whole=whole or checks.wal_path(path).exists()).close()
    connection, deadline = _connect(path, "mode=rw", sql.OWNER), time.monotonic() + _BUSY_SECONDS
    with on_error(connection.close), translate_storage_errors(path):
        checks.check_schema(connection, path)
        # What a killed owner left in the -wal goes into the file, so that nothing below is written to an old -wal.
        while not _leave_wal(connection):
            if time.monotonic() > deadline:
                raise StorageError(f"{path} is being read by another process. Try again when that has ended.")
            time.sleep(_BUSY_SECONDS / 20)
    return connection


def _roll_back(path: Path) -> None:
    """Undo a change that a kill interrupted. SQLite does it when a connection that may write reads the file."""
    with closing(_connect(path, "mode=rw", sql.OWNER)) as connection, translate_storage_errors(path):
        connection.execute(sql.GET_VERSION).fetchall()


def mark_in_use(connection: sqlite3.Connection) -> None:
    """Note in the file itself that it is in use, then switch to a -wal.

    By that, a copy that lacks its -wal is recognised. This is also the first write, so a disk that cannot be written to
    is noticed before anything is asked.
    """
    with transaction(connection):
        write_setting(connection, "in_use", "true")
    connection.execute(sql.USE_WAL)
    connection.execute(sql.IN_USE).fetchall()  # SQLite creates the -wal at the first read


def release(connection: sqlite3.Connection) -> None:
    """Leave one whole file that can be copied. A reader may keep the -wal for a while; nothing is lost by that."""
    with transaction(connection):
        write_setting(connection, "in_use", "false")
    _leave_wal(connection)


def _leave_wal(connection: sqlite3.Connection) -> bool:
    """Move what is in the -wal into the file; return whether the -wal is gone. It stays while another process reads."""
    connection.execute(sql.CHECKPOINT).fetchall()
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute(sql.LEAVE_WAL).fetchall()
    ((mode,),) = connection.execute(sql.JOURNAL_MODE)
    return bool(mode == "delete")


def create_empty(path: Path) -> sqlite3.Connection:
    """A new file with its tables, in an open transaction: it is empty until the caller commits."""
    with translate_storage_errors(path):
        create_private_file(path)
    connection = _connect(path, "mode=rw", sql.OWNER)
    with on_error(connection.close), translate_storage_errors(path):
        connection.execute(sql.SET_APPLICATION_ID)
        connection.execute(sql.BEGIN)
        for statement in layout.STATEMENTS:
            connection.execute(statement)
        connection.execute(sql.SET_VERSION.format(layout.SCHEMA))
    return connection


def create_private_file(path: Path) -> None:
    """Create an empty file that only its owner can read; what SQLite puts beside it gets the same rights."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def save_copy(connection: sqlite3.Connection, path: Path) -> None:
    """Save the open run file, with everything in its -wal, under a new name, as if its owner had closed it."""
    with translate_storage_errors(path):
        create_private_file(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as copy:
            connection.backup(copy)
            release(copy)
        sync_directory(path.parent)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit everything in the body, or nothing."""
    connection.execute(sql.BEGIN)
    try:
        yield
        connection.execute(sql.COMMIT)
    except BaseException:
        if connection.in_transaction:
            connection.execute(sql.ROLLBACK)
        raise


def new_run_id() -> str:
    """A random id, by which the files of one run are known to belong together."""
    return uuid.uuid4().hex


def _connect(path: Path, mode: str, pragmas: tuple[str, ...]) -> sqlite3.Connection:
    with translate_storage_errors(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # the pump uses the connection in a thread of its own, and only there
        )
    with on_error(connection.close), translate_storage_errors(path):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)  # a run file has none
        for pragma in pragmas:
            connection.execute(pragma)
    return connection


def _journal_path(path: Path) -> Path:
    """What SQLite keeps beside a file that it changes without a -wal; left by a kill, it undoes the change."""
    return path.with_name(path.name + "-journal")


def sync_directory(path: Path) -> None:
    """Make a new file name in the directory survive a power failure, where the system offers that."""
    if os.name == "posix":
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
