"""Digests that show what in a run file was changed since it was written, by a bad disk or by hand.

Each setting has a digest, and so has each probe with its prompts, and so have all labels together, and the exam of a
judge. Attempts, and the verdicts of a judge on them, form a chain in the order in which they were stored: the digest of
each covers its content and the digest before it, and the table `head` holds the last one. So what is changed, removed
or added is found. Anyone can compute these digests, so they show damage and mistakes, not forgery. `docs/run-file.md`
says how to compute them.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

from orjson import dumps

from equipoise.errors import IntegrityError
from equipoise.runs.file import sql

_DIGEST_BYTES = 16
_PAGE = 1000
_IN_USE = "setting in_use"
"""Says whether a process owns the run, and nothing about its content."""


class Chain:
    """The end of the chain of attempts and verdicts, to which more are added."""

    def __init__(self, length: int, digest: bytes) -> None:
        self.length = length
        self.digest = digest

    @classmethod
    def start(cls, run: str) -> Chain:
        """The chain of a run without attempts."""
        return cls(0, _digest(b"", run))

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Chain:
        """The chain as far as the file holds it."""
        _, length, digest = connection.execute(sql.HEAD).fetchone()
        return cls(length, digest)

    def add(self, content: tuple[Any, ...]) -> tuple[Any, ...]:
        """Add an attempt; return its place and digest, followed by its content."""
        self.length += 1
        self.digest = _digest(self.digest, content)
        return self.length, self.digest, *content

    def write(self, connection: sqlite3.Connection) -> None:
        """Store where the chain ends now."""
        connection.execute(sql.SET_HEAD, (self.length, self.digest))


def write_digests(connection: sqlite3.Connection, run: str) -> None:
    """Store every digest of a new file, which has no attempts. `run` is the id of the run."""
    chain = Chain.start(run)
    connection.execute(sql.ADD_HEAD, (run, chain.length, chain.digest))
    connection.executemany(sql.ADD_DIGEST, _part_digests(connection))


def write_setting(connection: sqlite3.Connection, key: str, value: str) -> None:
    """Store a setting, given as JSON, with its digest."""
    connection.execute(sql.SET_SETTING, (key, value))
    connection.execute(sql.ADD_DIGEST, _setting_digest(key, value))


def write_exam_digest(connection: sqlite3.Connection) -> None:
    """Store the digest of the judge's exam anew, after answers were added or removed."""
    connection.execute(sql.REMOVE_DIGEST, ("exam",))
    connection.executemany(sql.ADD_DIGEST, _exam_digest(connection))


def write_label_digest(connection: sqlite3.Connection) -> None:
    """Store the digest of the labels anew, after they were replaced."""
    connection.executemany(sql.ADD_DIGEST, _label_digest(connection))


def write_probe_digest(connection: sqlite3.Connection, name: str) -> None:
    """Store the digest of a probe and its prompts anew, after prompts were added."""
    probe = next(row for row in connection.execute(sql.PROBE_ROWS).fetchall() if row[0] == name)
    connection.execute(sql.ADD_DIGEST, _probe_digest(connection, probe))


def content_digest(connection: sqlite3.Connection) -> str:
    """One SHA-256 for all that a run holds: settings, probes, prompts, attempts, verdicts.

    To open and close the run does not change it.
    """
    run, length, last = connection.execute(sql.HEAD).fetchone()
    parts = sorted((part, digest.hex()) for part, digest in connection.execute(sql.DIGESTS) if part != _IN_USE)
    return sha256(_encode([parts, run, length, last.hex()])).hexdigest()


def check_digests(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file in which anything was changed, and name what. The caller has begun a transaction."""
    if len(connection.execute(sql.HEAD).fetchall()) != 1:
        raise IntegrityError(f"{path} is damaged: the table head must have one row.")
    stored, actual = dict(connection.execute(sql.DIGESTS)), dict(_part_digests(connection))
    changed = sorted(part for part in stored.keys() | actual.keys() if stored.get(part) != actual.get(part))
    if changed:
        more = " …" if len(changed) > 5 else ""
        raise IntegrityError(f"{path} was changed after it was written: {', '.join(changed[:5])}{more}.")
    if problem := _find_break_in_chain(connection):
        raise IntegrityError(f"{path} was changed after it was written: {problem}.")


def check_last_link(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file whose settings were changed, or whose chain does not end where the table `head` says.

    For whoever goes on with a run: what is read further is checked as it is read, all of it when results are made.
    """
    ends = connection.execute(sql.HEAD).fetchall()
    if len(ends) != 1:
        raise IntegrityError(f"{path} is damaged: the table head must have one row.")
    stored = dict(connection.execute(sql.DIGESTS))
    for key, value in connection.execute(sql.ALL_SETTINGS).fetchall():
        part, digest = _setting_digest(key, value)
        if stored.get(part) != digest:
            raise IntegrityError(f"{path} was changed after it was written: {part}.")
    [(run, length, last)] = ends
    links = sorted(row for statement in sql.LAST_LINKS for row in connection.execute(statement).fetchall())[-2:]
    place, digest = (links[-1][0], links[-1][1]) if links else (0, Chain.start(run).digest)
    before = links[0][1] if len(links) == 2 else Chain.start(run).digest
    follows = len(links) < 2 or links[0][0] != length - 1 or _digest(before, links[-1][2:]) == digest
    if (place, digest) != (length, last) or not follows:
        raise IntegrityError(f"{path} was changed after it was written: the last attempt.")


def _find_break_in_chain(connection: sqlite3.Connection) -> str | None:
    """What is wrong with the first attempt that does not fit to the one before."""
    run, length, last = connection.execute(sql.HEAD).fetchone()
    others = [connection.execute(statement).fetchall() for statement in (sql.FAILURE_CHAIN, sql.VERDICT_CHAIN)]
    rows: Iterable[Any] = connection.execute(sql.ATTEMPT_CHAIN)
    if any(others):
        rows = heapq.merge(rows, *others, key=lambda row: row[0])
    place, digest = 0, Chain.start(run).digest
    for row in rows:  # a million times, so `Chain.add` is spelled out
        place += 1
        if row[0] != place:
            missing = f"attempt number {place} of {length} is missing"
            return missing if place <= length else "it holds an attempt that equipoise did not store"
        digest = blake2b(digest + dumps(row[2:], default=_encode_bytes), digest_size=_DIGEST_BYTES).digest()
        if row[1] != digest:
            probe, prompt, repetition = row[2:5]
            return f"the attempt of {probe} at the prompt {prompt}, repetition {repetition}"
    if place != length:
        return f"it holds {place} of {length} attempts that were stored"
    return None if digest == last else "the last attempt"


def _part_digests(connection: sqlite3.Connection) -> Iterator[tuple[str, bytes]]:
    for key, value in connection.execute(sql.ALL_SETTINGS).fetchall():
        yield _setting_digest(key, value)
    for probe in connection.execute(sql.PROBE_ROWS).fetchall():
        yield _probe_digest(connection, probe)
    yield from _exam_digest(connection)
    yield from _label_digest(connection)


def _exam_digest(connection: sqlite3.Connection) -> Iterator[tuple[str, bytes]]:
    """The digest of the judge's exam, if there is one."""
    if rows := connection.execute(sql.EXAM_ROWS).fetchall():
        yield "exam", _digest(b"", rows)


def _label_digest(connection: sqlite3.Connection) -> Iterator[tuple[str, bytes]]:
    """The digest of all labels, if there are any."""
    readings = connection.execute(sql.READING_ROWS).fetchall()
    state = blake2b(_encode(readings), digest_size=_DIGEST_BYTES)
    labels, is_empty = connection.execute(sql.LABEL_ROWS), not readings
    while page := labels.fetchmany(_PAGE):
        state.update(b"," + _encode(page)[1:-1])
        is_empty = False
    if not is_empty:
        yield "labels", state.digest()


def _probe_digest(connection: sqlite3.Connection, probe: tuple[Any, ...]) -> tuple[str, bytes]:
    state = blake2b(_encode(probe), digest_size=_DIGEST_BYTES)
    prompts = connection.execute(sql.PROMPT_ROWS, (probe[0],))
    while page := prompts.fetchmany(_PAGE):
        state.update(b"," + _encode(page)[1:-1])
    return f"probe {probe[0]}", state.digest()


def _setting_digest(key: str, value: str) -> tuple[str, bytes]:
    return f"setting {key}", _digest(b"", [key, value])


def _digest(before: bytes, content: object) -> bytes:
    return blake2b(before + _encode(content), digest_size=_DIGEST_BYTES).digest()


def _encode(content: object) -> bytes:
    return dumps(content, default=_encode_bytes)


def _encode_bytes(value: object) -> dict[str, str]:
    assert isinstance(value, bytes)
    return {"hex": value.hex()}
