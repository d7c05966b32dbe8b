"""Opening a run file: what is not a run of ours is refused before anything in it is believed."""

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
from equipoise.runs import sql
from equipoise.runs.faults import told
from equipoise.runs.lock import left_by_owner

_HEADER = 100
_MAGIC = b"SQLite format 3\0"
_BUSY_SECONDS = 2.0
_SETTLED = 10**8
_SOUND: set[tuple[tuple[int, ...], ...]] = set()
"""Files, as they stood, whose content this process has checked: two seconds for each gigabyte, and once is enough."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 256 * 1024 * 1024,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}


def reader(path: Path, *, older: bool = False) -> sqlite3.Connection:
    """A read-only connection to a file that is a whole run of a schema that is known here."""
    wal_mode = check_header(path, older=older)
    has_wal = _wal(path).exists()
    # Without a -wal nobody writes to it, and SQLite would create one: it is read as it stands instead.
    connection = _connect(path, "mode=ro" + ("&immutable=1" if wal_mode and not has_wal else ""), sql.READER)
    with _closed_on_error(connection), told(path):
        _check_schema(connection, path)
        _check_content(connection, path)
        _check_whole(connection, path, has_wal=has_wal)
    return connection


def owner(path: Path) -> sqlite3.Connection:
    """The one connection that writes, with the newest schema. The caller holds the lock."""
    if path.with_name(path.name + "-journal").exists():
        _roll_back(path)
    reader(path, older=True).close()
    connection = _connect(path, "mode=rw", sql.OWNER)
    with _closed_on_error(connection), told(path):
        migrate(connection)
        _check_schema(connection, path)
    return connection


def _roll_back(path: Path) -> None:
    """Undo a change that a kill cut off, which only a connection that may write can do."""
    with closing(_connect(path, "mode=rw", sql.OWNER)) as connection, told(path):
        connection.execute(sql.GET_VERSION).fetchall()


def occupy(connection: sqlite3.Connection) -> None:
    """Say in the file itself that it is in use, so that a copy without its -wal can be told; then use a -wal.

    This is also the first write, so a disk that takes none is found before anything is asked.
    """
    set_in_use(connection, "true")
    connection.execute(sql.USE_WAL)
    connection.execute(sql.IN_USE).fetchall()  # the first look at it creates the -wal


def vacate(connection: sqlite3.Connection) -> None:
    """Leave one whole file that can be copied. A reader may keep the -wal there a while; nothing is lost by that."""
    set_in_use(connection, "false")
    connection.execute(sql.CHECKPOINT).fetchall()
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute(sql.LEAVE_WAL)


def set_in_use(connection: sqlite3.Connection, value: str) -> None:
    """Write down whether the file is in use."""
    with transaction(connection):
        connection.execute(sql.SET_IN_USE, (value, value))


def empty(path: Path) -> sqlite3.Connection:
    """A new file with the newest schema, in an open transaction: it is empty until that is committed."""
    connection = _connect(path, "mode=rwc", sql.OWNER)
    with _closed_on_error(connection), told(path):
        connection.execute(sql.SET_APPLICATION_ID)
        connection.execute(sql.ROOM)
        connection.execute(sql.BEGIN)
        _apply(connection, 0, sql.SCHEMA)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    connection.execute(sql.BEGIN)
    try:
        yield
        connection.execute(sql.COMMIT)
    except BaseException:
        if connection.in_transaction:
            connection.execute(sql.ROLLBACK)
        raise


def migrate(connection: sqlite3.Connection) -> None:
    """Bring an older schema up to the newest, all steps or none."""
    ((version,),) = connection.execute(sql.GET_VERSION)
    if version < sql.SCHEMA:
        with transaction(connection):
            _apply(connection, version, sql.SCHEMA)


def _apply(connection: sqlite3.Connection, since: int, until: int) -> None:
    for statements in sql.MIGRATIONS[since:until]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(sql.SET_VERSION.format(until))


def _connect(path: Path, mode: str, pragmas: tuple[str, ...]) -> sqlite3.Connection:
    with told(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,  # the pump writes from one thread of its own, and only from there
        )
    with _closed_on_error(connection), told(path):
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        for pragma in pragmas:
            connection.execute(pragma)
    return connection


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def check_header(path: Path, *, older: bool) -> bool:
    """Refuse a foreign file by its first bytes, before SQLite sees it; give whether it is in WAL mode."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER)
    except (FileNotFoundError, NotADirectoryError):
        raise BadFile(f"There is no run file {path}.") from None
    except IsADirectoryError:
        raise BadFile(f"{path} is a directory, not a run file.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    if len(head) < _HEADER or not head.startswith(_MAGIC):
        raise IntegrityError(f"{path} is not a run file: it is no SQLite file.")
    if int.from_bytes(head[68:72], "big") != sql.APPLICATION_ID:
        raise IntegrityError(f"{path} is not a run file: it is a SQLite file of another program.")
    version = int.from_bytes(head[60:64], "big")
    if version > sql.SCHEMA:
        raise IntegrityError(
            f"{path} was written by a newer equipoise: its schema is {version}, this one knows up to {sql.SCHEMA}. "
            "It was left untouched. Update: pip install -U equipoise"
        )
    if version < sql.SCHEMA and not older:
        raise IntegrityError(
            f"{path} was written by an older equipoise: its schema is {version}, this one reads {sql.SCHEMA}. "
            f"To bring it up to date: equipoise resume {path}"
        )
    return head[18] == 2


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    ((version,),) = connection.execute(sql.GET_VERSION)
    if not 0 < version <= sql.SCHEMA:
        raise IntegrityError(f"{path} has the unknown schema {version}; this equipoise knows up to {sql.SCHEMA}.")
    found, expected = _objects(connection), _expected(version, sql.MIGRATIONS)
    if found != expected:
        odd = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
        raise IntegrityError(
            f"{path} is not laid out as a run file of schema {version}. "
            f"Missing, changed or not ours: {', '.join(odd[:5])}{' …' if len(odd) > 5 else ''}."
        )


def _check_content(connection: sqlite3.Connection, path: Path) -> None:
    seen = _stamp(path)
    if seen in _SOUND:
        return
    ((verdict,),) = connection.execute(sql.QUICK_CHECK)
    if verdict != "ok":
        raise IntegrityError(f"{path} is damaged: {verdict}.")
    for (probe,) in connection.execute(sql.OVERFULL):
        raise IntegrityError(f"{path} holds more attempts of {probe} than were planned.")
    # What was written a moment ago could change again without a change of its time.
    if all(time.time_ns() - written > _SETTLED for *_, written in seen):
        _SOUND.add(seen)


def vouch(path: Path) -> None:
    """Count a file as checked that this process has just written itself."""
    _SOUND.add(_stamp(path))


def _stamp(path: Path) -> tuple[tuple[int, ...], ...]:
    """Which file it is and when it was last written, its -wal too."""
    files = [file.stat() for file in (path, _wal(path)) if file.exists()]
    return tuple((stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in files)


def _check_whole(connection: sqlite3.Connection, path: Path, *, has_wal: bool) -> None:
    in_use = connection.execute(sql.IN_USE).fetchone()
    if in_use is None:
        raise IntegrityError(f"{path} is damaged: its settings are missing.")
    if in_use != ("false",) and not has_wal and not left_by_owner(path):
        wal = _wal(path).name
        raise IntegrityError(
            f"{path} was copied while it was in use, without {wal}: the newest answers are missing. "
            f"Copy it again when the run has ended, or copy {path.name} and {wal} together."
        )


def _objects(connection: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    return {name: (kind, " ".join((text or "").split())) for name, kind, text in connection.execute(sql.OBJECTS)}


@functools.cache
def _expected(version: int, migrations: tuple[tuple[str, ...], ...]) -> dict[str, tuple[str, str]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statements in migrations[:version]:
            for statement in statements:
                connection.execute(statement)
        return _objects(connection)


def sizes(path: Path) -> tuple[int, int]:
    """Bytes of the file and of its -wal."""
    wal = _wal(path)
    return path.stat().st_size, wal.stat().st_size if wal.exists() else 0


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def sync_directory(path: Path) -> None:
    """Make a new name in a directory survive a power cut, where the system lets one ask for it."""
    if os.name == "posix":
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
