"""Digests that show what in a run file was changed since it was written, by a bad disk or by hand.

The settings, the plans of the probes and each block of 1,000 prompts have a digest. Attempts, and the verdicts of a
judge, form a chain in the order in which they were stored: the digest of each covers its content and the digest before
it, from a random one, `start`, to the last one, `attempts`. So what is changed, removed or added is found. Anyone can
compute these digests, so they show damage and mistakes, not forgery. `docs/run-file.md` says how to compute them.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from orjson import dumps

from equipoise.errors import IntegrityError
from equipoise.runs.file import sql
from equipoise.runs.file.values import Planned

START, END = "start", "attempts"
BLOCK = 1_000
"""So many prompts of a probe have a digest, and are read together to be asked."""
_DIGEST_BYTES = 16


class Chain:
    """The end of the chain of attempts and verdicts, to which more are added."""

    def __init__(self, length: int, digest: bytes) -> None:
        self.length = length
        self.digest = digest

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Chain:
        """The chain as far as the file holds it."""
        ((length,),) = connection.execute(sql.LAST_PLACE)
        return cls(length, read_digests(connection)[END])

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


def name_blocks(planned: Iterable[Planned]) -> list[str]:
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


def check_digests(connection: sqlite3.Connection, path: Path, planned: Sequence[Planned], *, whole: bool) -> None:
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
