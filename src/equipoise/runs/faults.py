"""What SQLite says, in our words: storage that fails (exit 5), or a file that is not what it should be (exit 6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from equipoise.errors import IntegrityError, StorageError

_STORAGE = {
    sqlite3.SQLITE_READONLY_ROLLBACK: "a change to it was cut off, which `equipoise resume` mends",
    sqlite3.SQLITE_FULL: "the disk (or the limit of a file's size) is full",
    sqlite3.SQLITE_IOERR: "the disk does not read or write",
    sqlite3.SQLITE_READONLY: "it cannot be written to",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_PERM: "permission is denied",
    sqlite3.SQLITE_BUSY: "another program has locked it",
    sqlite3.SQLITE_LOCKED: "another program has locked it",
    sqlite3.SQLITE_NOLFS: "the file has grown too large for this disk",
}


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn faults of SQLite and of the file system into StorageError or IntegrityError that name the file."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise  # a bug of ours
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if words := _STORAGE.get(code) or _STORAGE.get(code & 0xFF):  # the low byte is the kind of the fault
            raise StorageError(f"{path}: {words} ({error}).") from error
        raise IntegrityError(f"{path} is damaged, or was not written by equipoise: {error}.") from error
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.") from error
