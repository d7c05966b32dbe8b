"""What is checked before anything in a run file is believed: its header, layout and content."""

from __future__ import annotations

import functools
import sqlite3
from contextlib import closing
from pathlib import Path

from msgspec.json import decode

from equipoise.errors import IntegrityError
from equipoise.measuring.marks import SPENT
from equipoise.runs.file import sql
from equipoise.runs.file.digests import check_digests
from equipoise.runs.file.values import Planned
from equipoise.runs.spec import RunRecord, load


def check_layout(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse the file of another program or version, and one with anything in its schema that is not ours."""
    ((application,),) = connection.execute(sql.GET_APPLICATION_ID)
    if application != sql.APPLICATION_ID:
        raise IntegrityError(f"{path} is not a run file: it is empty, or of another program.")
    ((version,),) = connection.execute(sql.GET_VERSION)
    if version != sql.SCHEMA:
        raise IntegrityError(
            f"{path} was written by another equipoise: its schema is {version}, this one knows {sql.SCHEMA}. "
            "It was left untouched. Update: pip install -U equipoise"
        )
    # Whatever its type and name: SQLite runs a trigger by any name.
    if wrong := sorted({str(name) for _, name, *_ in {*connection.execute(sql.OBJECTS)} ^ _expected_objects()}):
        raise IntegrityError(
            f"{path} does not have the layout of a run file. "
            f"Missing, changed or not ours: {', '.join(wrong[:5])}{' …' if len(wrong) > 5 else ''}."
        )


@functools.cache
def _expected_objects() -> frozenset[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in sql.TABLES:
            connection.execute(statement)
        return frozenset(connection.execute(sql.OBJECTS))


def check_content(connection: sqlite3.Connection, path: Path, *, whole: bool) -> None:
    """Refuse damage, changes, and settings that no run has; in the `whole` file, which takes seconds for a gigabyte,
    or only in settings and the last attempt. Prompts are checked then when they are read.
    """
    with connection:
        connection.execute(sql.BEGIN_READING)  # the owner may write meanwhile, and digests belong to one moment
        if whole:
            ((verdict,),) = connection.execute(sql.INTEGRITY_CHECK)
            if verdict != "ok":
                raise IntegrityError(f"{path} is damaged: {verdict}.")
        read_settings(connection, path)
        plan = read_plan(connection)
        for planned in plan if whole else ():
            _check_counts(connection, planned, path)
        for (probe,) in connection.execute(sql.IMPOSSIBLE).fetchall() if whole else ():
            raise IntegrityError(f"{path} is damaged: {probe} has attempts that nobody planned.")
        check_digests(connection, path, plan, whole=whole)


def _check_counts(connection: sqlite3.Connection, planned: Planned, path: Path) -> None:
    """Refuse prompts that are not those of a plan, and plans that nobody could ask."""
    number = planned.prompts
    if not 1 <= number * planned.repetitions <= sql.MAX_PLANNED:
        raise IntegrityError(f"{path} is damaged: {planned.name} plans no attempts, or more than {sql.MAX_PLANNED:,}.")
    if connection.execute(sql.COUNT_PLACES, (planned.name,)).fetchone() != (number, number, 0, number - 1):
        raise IntegrityError(f"{path} is damaged: {planned.name} has prompts that are not numbered one by one.")


def read_settings(connection: sqlite3.Connection, path: Path) -> RunRecord:
    """The settings in the file, checked."""
    stored = {key: decode(value) for key, value in connection.execute(sql.SETTINGS).fetchall()}
    record = load(stored, RunRecord, lambda problem: IntegrityError(f"{path} is damaged: {problem}"))
    for probe, sizes in record.looks.items():
        if not sizes or len(sizes) > len(SPENT) or sizes != sorted(set(sizes)):
            raise IntegrityError(f"{path} is damaged: the looks of {probe} must be up to {len(SPENT)} growing sizes.")
    return record


def read_plan(connection: sqlite3.Connection) -> list[Planned]:
    """The probes in the file, checked."""
    return [decode(plan, type=Planned) for (plan,) in connection.execute(sql.PLANS).fetchall()]
