"""Digests that show what in a run file was changed since it was written, by a bad disk or by hand.

Each setting has a digest, and so have each probe with its prompts, the exam of a judge, and all labels together.
Attempts, and the verdicts of a judge on them, form a chain in the order in which they were stored: the digest of each
covers its content and the digest before it, and the table `head` holds the last one. So what is changed, removed or
added is found. Anyone can compute these digests, so they show damage and mistakes, not forgery. `docs/run-file.md` says
how to compute them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from orjson import dumps

from equipoise.errors import IntegrityError
from equipoise.runs.file import sql

_DIGEST_BYTES = 16


class Chain:
    """The end of the chain of attempts and verdicts, to which more are added."""

    def __init__(self, length: int, digest: bytes) -> None:
        self.length = length
        self.digest = digest

    @classmethod
    def start(cls, run: str) -> Chain:
        """The chain of a run without attempts. `run` is the id of the run."""
        return cls(0, blake2b(dumps(run), digest_size=_DIGEST_BYTES).digest())

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Chain:
        """The chain as far as the file holds it."""
        _, length, digest = connection.execute(sql.HEAD).fetchone()
        return cls(length, digest)

    def add(self, content: Sequence[Any]) -> tuple[Any, ...]:
        """Add an attempt with a null after it, or a verdict; return its place and digest, followed by its content."""
        self.length += 1
        content_bytes = dumps(content, default=_encode_bytes)
        self.digest = blake2b(self.digest + content_bytes, digest_size=_DIGEST_BYTES).digest()
        return self.length, self.digest, *content

    def write(self, connection: sqlite3.Connection) -> None:
        """Store where the chain ends now."""
        connection.execute(sql.SET_HEAD, (self.length, self.digest))


def write_digest(connection: sqlite3.Connection, part: str) -> None:
    """Store the digest of a part anew: of `setting NAME`, `probe NAME`, `exam` or `labels`."""
    connection.execute(sql.ADD_DIGEST, (part, _compute_digest(connection, part)))


def compute_digests(connection: sqlite3.Connection) -> dict[str, bytes]:
    """The digest of each part as it is now."""
    return {part: _compute_digest(connection, part) for (part,) in connection.execute(sql.PARTS).fetchall()}


def content_digest(connection: sqlite3.Connection) -> str:
    """One SHA-256 for all that a run holds: settings, probes, prompts, attempts, verdicts."""
    run, length, last = connection.execute(sql.HEAD).fetchone()
    parts = [(part, digest.hex()) for part, digest in connection.execute(sql.DIGESTS)]
    return sha256(dumps([parts, run, length, last.hex()])).hexdigest()


def check_digests(connection: sqlite3.Connection, path: Path, *, whole: bool) -> None:
    """Refuse a file in which anything was changed, and name what; of the chain the `whole`, or only its last link.

    The caller has begun a transaction.
    """
    stored, actual = dict(connection.execute(sql.DIGESTS)), compute_digests(connection)
    changed = sorted(part for part in stored.keys() | actual.keys() if stored.get(part) != actual.get(part))
    problem = f"{', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}" or _find_break_in_chain(
        connection, whole=whole
    )
    if problem:
        raise IntegrityError(f"{path} was changed after it was written: {problem}.")


def _find_break_in_chain(connection: sqlite3.Connection, *, whole: bool) -> str | None:
    """The first attempt or verdict that does not fit to the one before it; or whether the last one does not."""
    heads = connection.execute(sql.HEAD).fetchall()
    if len(heads) != 1:
        return "the table head must have one row"
    [(run, length, last)] = heads
    chain = Chain.start(run)
    first = 1 if whole else max(1, length - 1)
    rows = connection.execute(sql.CHAIN, {"first": first})
    if first > 1:
        place, digest, *_ = next(rows, (0, b""))
        chain = Chain(place, digest)
    for place, digest, *content in rows:
        if chain.add(content)[:2] != (place, digest):
            probe, prompt, repetition, *_ = content
            return (
                f"attempt number {chain.length} of {length} is not the one that was stored, but one of {probe} at the "
                f"prompt {prompt}, repetition {repetition}"
            )
    if (chain.length, chain.digest) != (length, last):
        return f"it holds {chain.length} attempts, and not the last of the {length} that were stored"
    return None


def _compute_digest(connection: sqlite3.Connection, part: str) -> bytes:
    kind, _, name = part.partition(" ")
    state = blake2b(digest_size=_DIGEST_BYTES)
    for statement in sql.ROWS[kind]:
        for row in connection.execute(statement, (name,) if "?" in statement else ()):
            state.update(dumps(row, default=_encode_bytes) + b",")
    return state.digest()


def _encode_bytes(value: object) -> dict[str, str]:
    assert isinstance(value, bytes)
    return {"hex": value.hex()}
