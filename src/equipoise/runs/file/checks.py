"""What is checked before anything in a run file is believed: its header, its layout, its content.

Digests show what was changed since it was written, by a bad disk or by hand. The settings, the plans of the probes and
each block of 1,000 prompts have one. Attempts, and the verdicts of a judge, form a chain in the order in which they
were stored: the digest of each covers its content and the digest before it, from a random one, `start`, to the last,
`attempts`. So what is changed, removed or added is found. Anyone can compute these digests, so they show damage and
mistakes, not forgery. `docs/run-file.md` says how to compute them.
"""

from __future__ import annotations

import functools
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from msgspec.json import decode
from orjson import dumps

from equipoise.errors import IntegrityError
from equipoise.measuring.marks import SPENT
from equipoise.runs.file import sql
from equipoise.runs.file.values import StoredPlan
from equipoise.runs.spec import RunRecord, load

START, END = "start", "attempts"
BLOCK = 1_000
"""So many prompts of a probe have a digest, and are read together to be asked."""
_DIGEST_BYTES = 16


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
        _check_digests(connection, path, plan, whole=whole)


def _check_counts(connection: sqlite3.Connection, planned: StoredPlan, path: Path) -> None:
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


def read_plan(connection: sqlite3.Connection) -> list[StoredPlan]:
    """The probes in the file, checked."""
    return [decode(plan, type=StoredPlan) for (plan,) in connection.execute(sql.PLANS).fetchall()]


class Chain:
    """The end of the chain of attempts and verdicts, to which more are added."""

    def __init__(self, length: int, digest: bytes) -> None:
        self.length = length
        self.digest = digest

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Chain:
        """The chain as far as the file holds it."""
        ((length,),) = connection.execute(sql.LAST_PLACE)
        return cls(length, *connection.execute(sql.GET_DIGEST, (END,)).fetchone())

    def add(self, content: Sequence[Any]) -> tuple[Any, ...]:
        """Add an attempt or a verdict; return its place and digest, followed by its content."""
        self.length += 1
        content_bytes = dumps(content, default=_encode_bytes)
        self.digest = blake2b(self.digest + content_bytes, digest_size=_DIGEST_BYTES).digest()
        return self.length, self.digest, *content

    def write(self, connection: sqlite3.Connection) -> None:
        """Store where the chain ends now."""
        connection.execute(sql.SET_DIGEST, (END, self.digest))


def start_chain(connection: sqlite3.Connection) -> None:
    """Store where the chain of a new run starts. No two runs start alike."""
    start = secrets.token_bytes(_DIGEST_BYTES)
    connection.executemany(sql.SET_DIGEST, [(START, start), (END, start)])


def read_digests(connection: sqlite3.Connection) -> dict[str, bytes]:
    """The digests as they are stored."""
    return dict(connection.execute(sql.DIGESTS))


def write_digest(connection: sqlite3.Connection, part: str) -> None:
    """Store the digest of the settings, of the probes or of a block of prompts anew."""
    connection.execute(sql.SET_DIGEST, (part, _digest_rows(_select_part(connection, part))))


def name_block(probe: str, number: int) -> str:
    """The part that is a block of prompts."""
    return f"prompts {probe} {number}"


def name_blocks(planned: Iterable[StoredPlan]) -> list[str]:
    """The parts that are all prompts of these probes."""
    return [name_block(one.name, number) for one in planned for number in range(-(-one.prompts // BLOCK))]


def read_part(connection: sqlite3.Connection, path: Path, part: str) -> list[Any]:
    """The rows of a part; refused if anything in them was changed."""
    rows = _select_part(connection, part).fetchall()
    if connection.execute(sql.GET_DIGEST, (part,)).fetchone() != (_digest_rows(rows),):
        raise IntegrityError(f"{path} was changed after it was written: {part}.")
    return rows


def _select_part(connection: sqlite3.Connection, part: str) -> sqlite3.Cursor:
    if part in sql.DIGESTED:
        return connection.execute(sql.DIGESTED[part])
    probe, _, number = part.removeprefix("prompts ").rpartition(" ")
    return connection.execute(sql.BLOCK, (probe, int(number) * BLOCK, (int(number) + 1) * BLOCK))


def _digest_rows(rows: Iterable[Any]) -> bytes:
    state = blake2b(digest_size=_DIGEST_BYTES)
    for row in rows:
        state.update(dumps(row, default=_encode_bytes) + b",")
    return state.digest()


def content_digest(connection: sqlite3.Connection) -> str:
    """One SHA-256 for all that a run holds: settings, probes, prompts, attempts, verdicts."""
    parts = [(part, digest.hex()) for part, digest in read_digests(connection).items()]
    return sha256(dumps(parts)).hexdigest()


def _check_digests(connection: sqlite3.Connection, path: Path, planned: Sequence[StoredPlan], *, whole: bool) -> None:
    """Refuse a file in which anything was changed, and name what; in the `whole`, or but for prompts and all attempts
    before the last one.

    The caller has begun a transaction.
    """
    stored, blocks = read_digests(connection), name_blocks(planned)
    if stored.keys() != {*sql.DIGESTED, START, END, *blocks}:
        raise IntegrityError(f"{path} was changed after it was written: digests.")
    for part in [*sql.DIGESTED, *blocks] if whole else sql.DIGESTED:
        read_part(connection, path, part)
    if problem := _find_break_in_chain(connection, stored, whole=whole):
        raise IntegrityError(f"{path} was changed after it was written: {problem}.")


def _find_break_in_chain(connection: sqlite3.Connection, stored: dict[str, bytes], *, whole: bool) -> str | None:
    """The first attempt or verdict that does not fit to the one before it; or whether the last one does not."""
    first = -(2**63) if whole else Chain.read(connection).length - 1
    chain = Chain(0, stored[START])
    rows = connection.execute(sql.CHAIN, {"first": first})
    if first >= 1:
        place, digest, *_ = next(rows)
        chain = Chain(place, digest)
    for place, digest, *content in rows:
        if chain.add(content)[:2] != (place, digest):
            return f"attempt number {chain.length}"
    return None if chain.digest == stored[END] else f"what came after attempt number {chain.length}"


def _encode_bytes(value: object) -> dict[str, str]:
    assert isinstance(value, bytes)
    return {"hex": value.hex()}
