"""What is checked before anything in a run file is believed: its header, layout and content, and its -wal."""

from __future__ import annotations

import functools
import sqlite3
import stat
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TypedDict

import msgspec

from equipoise.errors import BadFile, IntegrityError, StorageError
from equipoise.measuring.looks import SPENT
from equipoise.runs.file import layout, sql, tables
from equipoise.runs.file.columns import decode_json
from equipoise.runs.file.digests import check_digests, check_last_link
from equipoise.runs.file.lock import has_owner
from equipoise.runs.spec import RunRecord, load
from equipoise.schema import SYSTEM

MAX_PLANNED = 10**9
"""Attempts of one probe. Whatever plans more was not written to be asked."""
_HEADER_BYTES = 100
_SETTLED_NANOSECONDS = 10**8
_VERIFIED: set[tuple[tuple[int, ...], ...]] = set()
"""The states of files (`file_state`) that this process has verified. Once is enough: a gigabyte takes seconds."""

_VERIFIED_IN_USE: dict[tuple[tuple[int, ...], ...], float] = {}
"""Until when a file and its -wal, to which an owner writes all the time, count as verified."""
_IN_USE_SECONDS = 60.0
_COVARIATE_TYPES = {"String": str, "Int64": int, "Float64": float, "Boolean": bool}


def check_file(path: Path) -> None:
    """Refuse what is no file, or too small to be a run file, before SQLite opens it."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise BadFile(f"There is no run file {path}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    if stat.S_ISDIR(found.st_mode):
        raise BadFile(f"{path} is a directory, not a run file.")
    if found.st_size < _HEADER_BYTES:
        raise IntegrityError(f"{path} is not a run file: it is no SQLite file.")


def check_header(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse the file of another program, or of a newer equipoise, by its header."""
    try:
        ((application,),) = connection.execute(sql.GET_APPLICATION_ID)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise IntegrityError(f"{path} is not a run file: it is no SQLite file.") from None
        raise
    if application != sql.APPLICATION_ID:
        raise IntegrityError(f"{path} is not a run file: it is a SQLite file of another program.")
    ((version,),) = connection.execute(sql.GET_VERSION)
    if version > layout.SCHEMA:
        raise IntegrityError(
            f"{path} was written by a newer equipoise: its schema is {version}, this one knows {layout.SCHEMA}. "
            "It was left untouched. Update: pip install -U equipoise"
        )


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file with anything in its schema that is missing, changed or not ours."""
    ((version,),) = connection.execute(sql.GET_VERSION)
    if version != layout.SCHEMA:
        raise IntegrityError(f"{path} has the unknown schema {version}; this equipoise knows {layout.SCHEMA}.")
    actual, expected = _schema_objects(connection), _expected_objects(layout.STATEMENTS)
    if actual != expected:
        different = [entry for entry in actual if entry not in expected] + [
            entry for entry in expected if entry not in actual
        ]
        wrong = sorted({name for _, name, _, _ in different or actual})
        raise IntegrityError(
            f"{path} does not have the layout of a run file. "
            f"Missing, changed or not ours: {', '.join(wrong[:5])}{' …' if len(wrong) > 5 else ''}."
        )


def check_content(connection: sqlite3.Connection, path: Path, *, whole: bool = True) -> None:
    """Refuse damage, changes, and counts and settings that no run has. A file that was verified is not read again.

    If not the `whole` is wanted, because that takes long: the settings, the probes and the end of the chain.
    """
    state = file_state(path)
    files = tuple(entry[:2] for entry in state)
    if state in _VERIFIED or time.monotonic() < _VERIFIED_IN_USE.get(files, 0.0):
        return
    connection.execute(sql.BEGIN_READING)  # the owner may write meanwhile, and digests belong to one moment
    try:
        if whole:
            ((verdict,),) = connection.execute(sql.INTEGRITY_CHECK)
            if verdict != "ok":
                raise IntegrityError(f"{path} is damaged: {verdict}.")
            _check_counts(connection, path)
        read_settings(connection, path)
        for name, _, parameters, *_, covariates, _, _ in connection.execute(sql.PROBE_ROWS).fetchall():
            if not isinstance(decode_json(parameters, path), dict):
                raise IntegrityError(f"{path} is damaged: the parameters of {name} must be a mapping.")
            types = decode_json(covariates, path)
            _check_types(types, name, path)
            if whole:
                _check_covariates(connection, name, types, path)
        if not whole:
            check_last_link(connection, path)
            return
        check_digests(connection, path)
    finally:
        if connection.in_transaction:
            connection.execute(sql.ROLLBACK)
    if len(files) == 2:
        _VERIFIED_IN_USE[files] = time.monotonic() + _IN_USE_SECONDS
    # A file that was written a moment ago could change again within the same timestamp.
    if all(time.time_ns() - written > _SETTLED_NANOSECONDS for *_, written in state):
        _VERIFIED.add(state)


def _check_counts(connection: sqlite3.Connection, path: Path) -> None:
    for probe, repetitions, prompts in connection.execute(sql.PLAN_SIZES).fetchall():
        if repetitions * prompts > MAX_PLANNED:
            raise IntegrityError(
                f"{path} is damaged: it plans {repetitions:,} repetitions of {prompts:,} prompts of {probe}, "
                f"and no run has more than {MAX_PLANNED:,} attempts of a probe."
            )
    for (probe,) in connection.execute(sql.MISPLACED_PROMPTS).fetchall():
        raise IntegrityError(f"{path} is damaged: the prompts of {probe} are not numbered one by one.")
    for (probe,) in connection.execute(sql.PROBES_WITH_TOO_MANY_ATTEMPTS).fetchall():
        raise IntegrityError(f"{path} holds more attempts of {probe} than were planned.")


def mark_verified(path: Path) -> None:
    """Count a file as verified that this process has just written itself."""
    _VERIFIED.add(file_state(path))


def file_state(path: Path) -> tuple[tuple[int, ...], ...]:
    """Which file it is, its size and when it was last written; the same of its -wal."""
    found = [file.stat() for file in (path, wal_path(path)) if file.exists()]
    return tuple((each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns) for each in found)


def check_not_partial_copy(connection: sqlite3.Connection, path: Path, *, has_wal: bool) -> None:
    """Refuse a file that was copied while in use, without its -wal."""
    in_use = connection.execute(sql.IN_USE).fetchone()
    if in_use is None:
        raise IntegrityError(f"{path} is damaged: its settings are missing.")
    if in_use != ("false",) and not has_wal and not has_owner(path):
        wal = wal_path(path).name
        raise IntegrityError(
            f"{path} was copied while it was in use, without {wal}: the newest answers are missing. "
            f"Copy it again when the run has ended, or copy {path.name} and {wal} together."
        )


def read_settings(connection: sqlite3.Connection, path: Path) -> RunRecord:
    """The settings in the file, checked."""
    rows = connection.execute(sql.SETTINGS).fetchall()
    stored = {key: decode_json(value, path) for key, value in rows}
    record = load(stored, RunRecord, lambda problem: IntegrityError(f"{path} is damaged: {problem}"))
    for probe, sizes in record.looks.items():
        if not sizes or len(sizes) > len(SPENT) or sizes != sorted(set(sizes)):
            raise IntegrityError(f"{path} is damaged: the looks of {probe} must be up to {len(SPENT)} growing sizes.")
    return record


def _check_types(covariates: object, probe: str, path: Path) -> None:
    """Refuse what is not a mapping from the names of columns to the names of their types."""
    right = isinstance(covariates, dict) and all(
        isinstance(kind, str) and kind in tables.STORED_TYPES for kind in covariates.values()
    )
    if not right:
        raise IntegrityError(f"{path} is damaged: the covariates of {probe} must be a mapping from names to types.")


def _check_covariates(connection: sqlite3.Connection, probe: str, types: Mapping[str, str], path: Path) -> None:
    """Refuse a prompt with a covariate that is missing, null or of another type than the probe says."""
    needed = {column: _COVARIATE_TYPES[kind] for column, kind in types.items() if column != SYSTEM}
    decoder = msgspec.json.Decoder(TypedDict("Covariates", needed))  # type: ignore[operator]
    for prompt, covariates in connection.execute(sql.COVARIATES, (probe,)):
        try:
            decoder.decode(covariates)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise IntegrityError(f"{path} is damaged: the covariates of prompt {prompt} of {probe}: {error}.") from None


def _schema_objects(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    """Every row of the schema, whatever its type and name: SQLite runs a trigger by any name."""
    rows = connection.execute(sql.OBJECTS).fetchall()
    return sorted(
        (str(kind), str(name), str(table), " ".join((text or "").split())) for kind, name, table, text in rows
    )


@functools.cache
def _expected_objects(statements: tuple[str, ...]) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
        return _schema_objects(connection)


def wal_path(path: Path) -> Path:
    """The path of a run file's -wal."""
    return path.with_name(path.name + "-wal")
