"""What is checked before anything in a run file is believed: its header, layout and content."""

from __future__ import annotations

import functools
import sqlite3
import stat
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal, TypedDict

import msgspec

from equipoise.errors import BadFile, IntegrityError, StorageError
from equipoise.measuring.marks import SPENT
from equipoise.runs.file import sql
from equipoise.runs.file.digests import check_digests
from equipoise.runs.file.ownership import lock_path
from equipoise.runs.file.tables import STORED_TYPES, decode_json
from equipoise.runs.spec import RunRecord, load
from equipoise.schema import SYSTEM

Verify = Literal["whole", "plan", "layout"]
"""How much of a file is checked before it is used: all of it, which takes seconds for a gigabyte; what going on with a
run needs, its settings, prompts and last attempt; or the layout, if the caller has verified the rest before."""
MAX_PLANNED = 10**9
"""Attempts of one probe. Whatever plans more was not written to be asked."""
_HEADER_BYTES = 100
_COVARIATE_TYPES = {"String": str, "Int64": int, "Float64": float, "Boolean": bool}


def beside(path: Path, suffix: str) -> Path:
    """What SQLite keeps beside a run file: its -wal, -shm or -journal."""
    return path.with_name(path.name + suffix)


def check_file(path: Path) -> None:
    """Refuse what is no file, too small to be a run file, or a copy without its -wal, before SQLite opens it."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise BadFile(f"There is no run file {path}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
    if not stat.S_ISREG(found.st_mode):
        raise BadFile(f"{path} is no file, and so no run file.")
    if found.st_size < _HEADER_BYTES:
        raise IntegrityError(f"{path} is not a run file: it is no SQLite file.")
    wal = beside(path, "-wal")
    if not (lock_path(path).exists() or wal.exists()) and _expects_wal(path) and not lock_path(path).exists():
        raise IntegrityError(
            f"{path} was copied while it was in use, without {wal.name}: the newest answers are missing. "
            f"Copy it again when the run has ended, or copy {path.name} and {wal.name} together."
        )


def _expects_wal(path: Path) -> bool:
    """Whether the header says that there is a -wal: while the file is in use, and after a kill.

    Not for a file that this process owns: to close it would end the locks that SQLite holds on it.
    """
    with path.open("rb") as file:
        return file.read(_HEADER_BYTES)[18] == 2


def check_header(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse the file of another program, or of another version of the schema, by its header."""
    try:
        ((application,),) = connection.execute(sql.GET_APPLICATION_ID)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise IntegrityError(f"{path} is not a run file: it is no SQLite file.") from None
        raise
    if application != sql.APPLICATION_ID:
        raise IntegrityError(f"{path} is not a run file: it is a SQLite file of another program.")
    ((version,),) = connection.execute(sql.GET_VERSION)
    if version > sql.SCHEMA:
        raise IntegrityError(
            f"{path} was written by a newer equipoise: its schema is {version}, this one knows {sql.SCHEMA}. "
            "It was left untouched. Update: pip install -U equipoise"
        )
    if version != sql.SCHEMA:
        raise IntegrityError(f"{path} has the unknown schema {version}; this equipoise knows {sql.SCHEMA}.")


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file with anything in its schema that is missing, changed or not ours."""
    actual, expected = _schema_objects(connection), _expected_objects()
    if wrong := sorted({name for _, name, _, _ in actual ^ expected}):
        raise IntegrityError(
            f"{path} does not have the layout of a run file. "
            f"Missing, changed or not ours: {', '.join(wrong[:5])}{' …' if len(wrong) > 5 else ''}."
        )


def _schema_objects(connection: sqlite3.Connection) -> frozenset[tuple[str, ...]]:
    """Every row of the schema, whatever its type and name: SQLite runs a trigger by any name."""
    rows = connection.execute(sql.OBJECTS).fetchall()
    return frozenset(
        (str(kind), str(name), str(table), " ".join((text or "").split())) for kind, name, table, text in rows
    )


@functools.cache
def _expected_objects() -> frozenset[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in sql.TABLES:
            connection.execute(statement)
        return _schema_objects(connection)


def check_content(connection: sqlite3.Connection, path: Path, verify: Verify) -> None:
    """Refuse damage, changes, and counts and settings that no run has."""
    if verify == "layout":
        return
    connection.execute(sql.BEGIN_READING)  # the owner may write meanwhile, and digests belong to one moment
    try:
        if verify == "whole":
            ((verdict,),) = connection.execute(sql.INTEGRITY_CHECK)
            if verdict != "ok":
                raise IntegrityError(f"{path} is damaged: {verdict}.")
            _check_counts(connection, path)
        read_settings(connection, path)
        for name, _, parameters, _, _, _, covariates, *_ in connection.execute(sql.PROBES).fetchall():
            if not isinstance(decode_json(parameters, path), dict):
                raise IntegrityError(f"{path} is damaged: the parameters of {name} must be a mapping.")
            types = decode_json(covariates, path)
            if not isinstance(types, dict) or not all(
                isinstance(kind, str) and kind in STORED_TYPES for kind in types.values()
            ):
                raise IntegrityError(
                    f"{path} is damaged: the covariates of {name} must be a mapping from names to types."
                )
            if verify == "whole":
                _check_covariates(connection, name, types, path)
        check_digests(connection, path, whole=verify == "whole")
    finally:
        if connection.in_transaction:
            connection.execute(sql.ROLLBACK)


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


def read_settings(connection: sqlite3.Connection, path: Path) -> RunRecord:
    """The settings in the file, checked."""
    rows = connection.execute(sql.SETTINGS).fetchall()
    stored = {key: decode_json(value, path) for key, value in rows}
    record = load(stored, RunRecord, lambda problem: IntegrityError(f"{path} is damaged: {problem}"))
    for probe, sizes in record.looks.items():
        if not sizes or len(sizes) > len(SPENT) or sizes != sorted(set(sizes)):
            raise IntegrityError(f"{path} is damaged: the looks of {probe} must be up to {len(SPENT)} growing sizes.")
    return record


def _check_covariates(connection: sqlite3.Connection, probe: str, types: Mapping[str, str], path: Path) -> None:
    """Refuse a prompt with a covariate that is missing, null or of another type than the probe says."""
    needed = {column: _COVARIATE_TYPES[kind] for column, kind in types.items() if column != SYSTEM}
    decoder = msgspec.json.Decoder(TypedDict("Covariates", needed))  # type: ignore[operator]
    for prompt, covariates in connection.execute(sql.COVARIATES, (probe,)):
        try:
            decoder.decode(covariates)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise IntegrityError(f"{path} is damaged: the covariates of prompt {prompt} of {probe}: {error}.") from None
