"""Digests that show what in a run file was changed since it was written, by a bad disk or by hand.

Each setting has a digest, and so have each probe with its prompts, the exam of a judge, and all labels together.
Attempts, and the verdicts of a judge on them, form a chain in the order in which they were stored: the digest of each
covers its content and the digest before it, and the table `head` holds the last one. So what is changed, removed or
added is found. Anyone can compute these digests, so they show damage and mistakes, not forgery. `docs/run-file.md` says
how to compute them.
"""

from __future__ import annotations

import heapq
import sqlite3
from hashlib import blake2b, sha256
from operator import itemgetter
from pathlib import Path
from typing import Any

from orjson import dumps

from equipoise.errors import IntegrityError
from equipoise.runs.file import sql

_DIGEST_BYTES = 16
_PAGE = 1000
_ROWS = {
    "setting": (sql.SETTING_ROW,),
    "probe": (sql.PROBE_ROW, sql.PROMPT_ROWS),
    "exam": (sql.EXAM_ROWS,),
    "labels": (sql.READING_ROWS, sql.LABEL_ROWS),
}
"""The rows that the digest of a part covers."""


class Chain:
    """The end of the chain of attempts and verdicts, to which more are added."""

    def __init__(self, length: int, digest: bytes) -> None:
        self.length = length
        self.digest = digest

    @classmethod
    def start(cls, run: str) -> Chain:
        """The chain of a run without attempts."""
        return cls(0, blake2b(dumps(run), digest_size=_DIGEST_BYTES).digest())

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Chain:
        """The chain as far as the file holds it."""
        _, length, digest = connection.execute(sql.HEAD).fetchone()
        return cls(length, digest)

    def add(self, content: tuple[Any, ...]) -> tuple[Any, ...]:
        """Add an attempt; return its place and digest, followed by its content."""
        self.length += 1
        content_bytes = dumps(content, default=_encode_bytes)
        self.digest = blake2b(self.digest + content_bytes, digest_size=_DIGEST_BYTES).digest()
        return self.length, self.digest, *content

    def write(self, connection: sqlite3.Connection) -> None:
        """Store where the chain ends now."""
        connection.execute(sql.SET_HEAD, (self.length, self.digest))


def write_digests(connection: sqlite3.Connection, run: str) -> None:
    """Store every digest of a new file, which has no attempts. `run` is the id of the run."""
    chain = Chain.start(run)
    connection.execute(sql.ADD_HEAD, (run, chain.length, chain.digest))
    for part, digest in compute_digests(connection).items():
        connection.execute(sql.ADD_DIGEST, (part, digest))


def write_digest(connection: sqlite3.Connection, part: str) -> None:
    """Store the digest of a part anew: of `setting NAME`, `probe NAME`, `exam` or `labels`."""
    connection.execute(sql.ADD_DIGEST, (part, _compute_digest(connection, part)))


def content_digest(connection: sqlite3.Connection) -> str:
    """One SHA-256 for all that a run holds: settings, probes, prompts, attempts, verdicts."""
    run, length, last = connection.execute(sql.HEAD).fetchone()
    parts = sorted((part, digest.hex()) for part, digest in connection.execute(sql.DIGESTS))
    return sha256(dumps([parts, run, length, last.hex()])).hexdigest()


def check_digests(connection: sqlite3.Connection, path: Path, *, whole: bool) -> None:
    """Refuse a file in which anything was changed, and name what. The caller has begun a transaction.

    If not the `whole` chain is wanted, because that takes long, only its last link is checked.
    """
    ends = connection.execute(sql.HEAD).fetchall()
    if len(ends) != 1:
        raise IntegrityError(f"{path} is damaged: the table head must have one row.")
    stored, actual = dict(connection.execute(sql.DIGESTS)), compute_digests(connection)
    changed = sorted(part for part in stored.keys() | actual.keys() if stored.get(part) != actual.get(part))
    problem = f"{', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}"
    if not changed:
        [(_, length, _)] = ends
        problem = _find_break_in_chain(connection, after=0 if whole else max(0, length - 1)) or ""
    if problem:
        raise IntegrityError(f"{path} was changed after it was written: {problem}.")


def _find_break_in_chain(connection: sqlite3.Connection, after: int) -> str | None:
    """What is wrong with the first attempt after this place that does not fit to the one before."""
    run, length, last = connection.execute(sql.HEAD).fetchone()
    [digest] = connection.execute(sql.LINK, (after,)).fetchone() or [Chain.start(run).digest]
    rows = heapq.merge(*(connection.execute(chain, (after,)) for chain in sql.CHAINS), key=itemgetter(0))
    place = after
    for row in rows:  # a million times, so `Chain.add` is spelled out
        place += 1
        if place > length:
            return "it holds an attempt that equipoise did not store"
        if row[0] != place:
            return f"attempt number {place} of {length} is missing"
        digest = blake2b(digest + dumps(row[2:], default=_encode_bytes), digest_size=_DIGEST_BYTES).digest()
        if row[1] != digest:
            probe, prompt, repetition = row[2:5]
            return f"the attempt of {probe} at the prompt {prompt}, repetition {repetition}"
    if place != length:
        return f"it holds {place} of {length} attempts that were stored"
    return None if digest == last else "the last attempt"


def compute_digests(connection: sqlite3.Connection) -> dict[str, bytes]:
    """The digest of each part as it is now."""
    return {part: _compute_digest(connection, part) for (part,) in connection.execute(sql.PARTS).fetchall()}


def _compute_digest(connection: sqlite3.Connection, part: str) -> bytes:
    kind, _, name = part.partition(" ")
    state = blake2b(digest_size=_DIGEST_BYTES)
    for statement in _ROWS[kind]:
        rows = connection.execute(statement, (name,) if "?" in statement else ())
        while page := rows.fetchmany(_PAGE):
            state.update(dumps(page, default=_encode_bytes)[1:-1] + b",")
    return state.digest()


def _encode_bytes(value: object) -> dict[str, str]:
    assert isinstance(value, bytes)
    return {"hex": value.hex()}
