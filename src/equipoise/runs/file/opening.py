"""Opening a run file. A file that is not a whole run of ours is refused before anything in it is believed."""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from equipoise.errors import BadFile, IntegrityError, StorageError
from equipoise.runs.file import sql
from equipoise.runs.file.columns import decode_json
from equipoise.runs.file.lock import has_lock_of_owner
from equipoise.runs.file.settings import RunSettings
from equipoise.runs.file.storage_errors import translate_storage_errors

_HEADER_BYTES = 100
_SQLITE_MAGIC = b"SQLite format 3\0"
_BUSY_SECONDS = 2.0
_SETTLED_NANOSECONDS = 10**8
_VERIFIED: set[tuple[tuple[int, ...], ...]] = set()
"""The states of files (`_file_state`) that this process has verified. Once is enough: a gigabyte takes two seconds."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 256 * 1024 * 1024,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}


def connect_reader(path: Path) -> sqlite3.Connection:
    """A read-only connection to a whole run file of any known schema."""
    wal_mode = check_header(path)
    has_wal = _wal(path).exists()
    # SQLite would create a missing -wal. Without one nobody writes to the file, so it can be opened as immutable.
    connection = _connect(path, "mode=ro&immutable=1" if wal_mode and not has_wal else "mode=ro", sql.READER)
    with _close_on_error(connection), translate_storage_errors(path):
        _check_schema(connection, path)
        _check_content(connection, path)
        _check_not_partial_copy(connection, path, has_wal=has_wal)
        read_settings(connection, path)
    return connection


def connect_owner(path: Path) -> sqlite3.Connection:
    """The one connection that writes, after migrating the file to the newest schema. The caller holds the lock."""
    if path.with_name(path.name + "-journal").exists():
        _roll_back(path)
    connect_reader(path).close()
    connection = _connect(path, "mode=rw", sql.OWNER)
    with _close_on_error(connection), translate_storage_errors(path):
        _migrate(connection)
        _check_schema(connection, path)
    return connection


def _roll_back(path: Path) -> None:
    """Undo a change that a kill interrupted. SQLite does it when a connection that may write reads the file."""
    with closing(_connect(path, "mode=rw", sql.OWNER)) as connection, translate_storage_errors(path):
        connection.execute(sql.GET_VERSION).fetchall()


def mark_in_use(connection: sqlite3.Connection) -> None:
    """Note in the file that it is in use, then switch to a -wal: a copy that lacks its -wal can be recognised by that.

    This is also the first write, so a disk that cannot be written to is noticed before anything is asked.
    """
    _set_in_use(connection, "true")
    connection.execute(sql.USE_WAL)
    connection.execute(sql.IN_USE).fetchall()  # SQLite creates the -wal at the first read


def release(connection: sqlite3.Connection) -> None:
    """Leave one whole file that can be copied. A reader may keep the -wal for a while; nothing is lost by that."""
    _set_in_use(connection, "false")
    connection.execute(sql.CHECKPOINT).fetchall()
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute(sql.LEAVE_WAL)


def _set_in_use(connection: sqlite3.Connection, value: str) -> None:
    with transaction(connection):
        connection.execute(sql.SET_IN_USE, (value, value))


def create_empty(path: Path) -> sqlite3.Connection:
    """A new file with the newest schema, in an open transaction: it is empty until the caller commits."""
    connection = _connect(path, "mode=rwc", sql.OWNER)
    with _close_on_error(connection), translate_storage_errors(path):
        connection.execute(sql.SET_APPLICATION_ID)
        connection.execute(sql.USE_LARGE_CACHE)
        connection.execute(sql.BEGIN)
        _apply_migrations(connection, since=0)
    return connection


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


def schema_version(connection: sqlite3.Connection) -> int:
    """The number of the file's schema."""
    ((version,),) = connection.execute(sql.GET_VERSION)
    return int(version)


def read_settings(connection: sqlite3.Connection, path: Path) -> RunSettings:
    """The settings in the file, checked."""
    with translate_storage_errors(path):
        rows = connection.execute(sql.SETTINGS).fetchall()
    return RunSettings.parse({key: decode_json(value, path) for key, value in rows}, path)


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring an older file to the newest schema, by all steps or none."""
    version = schema_version(connection)
    if version < sql.SCHEMA:
        with transaction(connection):
            _apply_migrations(connection, since=version)


def _apply_migrations(connection: sqlite3.Connection, since: int) -> None:
    for statements in sql.MIGRATIONS[since:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(sql.SET_VERSION.format(sql.SCHEMA))


def _connect(path: Path, mode: str, pragmas: tuple[str, ...]) -> sqlite3.Connection:
    with translate_storage_errors(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # the pump uses the connection in a thread of its own, and only there
        )
    with _close_on_error(connection), translate_storage_errors(path):
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        for pragma in pragmas:
            connection.execute(pragma)
    return connection


@contextmanager
def _close_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def check_header(path: Path) -> bool:
    """Refuse a foreign file by its first bytes, before SQLite reads it. Returns whether the file is in WAL mode."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise BadFile(f"There is no run file {path}.") from None
    except IsADirectoryError:
        raise BadFile(f"{path} is a directory, not a run file.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    if len(header) < _HEADER_BYTES or not header.startswith(_SQLITE_MAGIC):
        raise IntegrityError(f"{path} is not a run file: it is no SQLite file.")
    if int.from_bytes(header[68:72], "big") != sql.APPLICATION_ID:
        raise IntegrityError(f"{path} is not a run file: it is a SQLite file of another program.")
    version = int.from_bytes(header[60:64], "big")
    if version > sql.SCHEMA:
        raise IntegrityError(
            f"{path} was written by a newer equipoise: its schema is {version}, this one knows up to {sql.SCHEMA}. "
            "It was left untouched. Update: pip install -U equipoise"
        )
    return header[18] == 2


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    version = schema_version(connection)
    if not 0 < version <= sql.SCHEMA:
        raise IntegrityError(f"{path} has the unknown schema {version}; this equipoise knows 1 to {sql.SCHEMA}.")
    actual, expected = _schema_objects(connection), _expected_objects(version, sql.MIGRATIONS)
    if actual != expected:
        wrong = sorted(name for name in actual.keys() | expected.keys() if actual.get(name) != expected.get(name))
        raise IntegrityError(
            f"{path} does not have the layout of a run file of schema {version}. "
            f"Missing, changed or not ours: {', '.join(wrong[:5])}{' …' if len(wrong) > 5 else ''}."
        )


def _check_content(connection: sqlite3.Connection, path: Path) -> None:
    state = _file_state(path)
    if state in _VERIFIED:
        return
    ((verdict,),) = connection.execute(sql.QUICK_CHECK)
    if verdict != "ok":
        raise IntegrityError(f"{path} is damaged: {verdict}.")
    for (probe,) in connection.execute(sql.PROBES_WITH_TOO_MANY_ATTEMPTS):
        raise IntegrityError(f"{path} holds more attempts of {probe} than were planned.")
    # A file that was written a moment ago could change again within the same timestamp.
    if all(time.time_ns() - written > _SETTLED_NANOSECONDS for *_, written in state):
        _VERIFIED.add(state)


def mark_verified(path: Path) -> None:
    """Count a file as verified that this process has just written itself."""
    _VERIFIED.add(_file_state(path))


def _file_state(path: Path) -> tuple[tuple[int, ...], ...]:
    """Which file it is, its size and when it was last written; the same of its -wal."""
    stats = [file.stat() for file in (path, _wal(path)) if file.exists()]
    return tuple((stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in stats)


def _check_not_partial_copy(connection: sqlite3.Connection, path: Path, *, has_wal: bool) -> None:
    in_use = connection.execute(sql.IN_USE).fetchone()
    if in_use is None:
        raise IntegrityError(f"{path} is damaged: its settings are missing.")
    if in_use != ("false",) and not has_wal and not has_lock_of_owner(path):
        wal = _wal(path).name
        raise IntegrityError(
            f"{path} was copied while it was in use, without {wal}: the newest answers are missing. "
            f"Copy it again when the run has ended, or copy {path.name} and {wal} together."
        )


def _schema_objects(connection: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    return {name: (kind, " ".join((text or "").split())) for name, kind, text in connection.execute(sql.OBJECTS)}


@functools.cache
def _expected_objects(version: int, migrations: tuple[tuple[str, ...], ...]) -> dict[str, tuple[str, str]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statements in migrations[:version]:
            for statement in statements:
                connection.execute(statement)
        return _schema_objects(connection)


def file_sizes(path: Path) -> tuple[int, int]:
    """Bytes of the file and of its -wal."""
    wal = _wal(path)
    return path.stat().st_size, wal.stat().st_size if wal.exists() else 0


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def sync_directory(path: Path) -> None:
    """Make a new file name in the directory survive a power failure, where the system offers that."""
    if os.name == "posix":
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
