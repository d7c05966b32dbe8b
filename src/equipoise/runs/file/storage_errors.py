"""Errors of SQLite and of the file system, translated into ours: StorageError (exit 5) or IntegrityError (exit 6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from equipoise.errors import IntegrityError, StorageError

_STORAGE_ERRORS = {
    sqlite3.SQLITE_READONLY_ROLLBACK: "a change to it was interrupted; `equipoise resume` repairs the file",
    sqlite3.SQLITE_FULL: "the disk is full, or the file has reached the allowed size",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
    sqlite3.SQLITE_READONLY: "it cannot be written to",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_PERM: "permission is denied",
    sqlite3.SQLITE_BUSY: "another program has locked it",
    sqlite3.SQLITE_LOCKED: "another program has locked it",
    sqlite3.SQLITE_NOLFS: "the file has grown too large for this disk",
}


@contextmanager
def translate_storage_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into StorageError or IntegrityError that name the file."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):
        raise  # a bug of ours
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        code = getattr(error, "sqlite_errorcode", 0)
        primary_code = code & 0xFF  # the higher bytes only refine it
        if reason := _STORAGE_ERRORS.get(code) or _STORAGE_ERRORS.get(primary_code):
            raise StorageError(f"{path}: {reason} ({error}).") from error
        raise IntegrityError(f"{path} is damaged, or was not written by equipoise: {error}.") from error
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}.") from error
