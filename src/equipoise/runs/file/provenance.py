"""Where the answers of a run come from: who gave them, when, what failed, and one digest for all of it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from equipoise.runs.file import sql
from equipoise.runs.file.columns import decode_text
from equipoise.runs.file.digests import content_digest


@dataclass(frozen=True, kw_only=True)
class Served:
    """The model that an endpoint said it served, its fingerprint, and how many attempts ended with them."""

    model: str | None
    fingerprint: str | None
    attempts: int


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A way in which attempts failed, and how many did."""

    status: str
    detail: str | None
    attempts: int


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What an auditor asks about a run."""

    digest: str
    """SHA-256 of the content."""
    served: tuple[Served, ...]
    first: str | None
    """When the first attempt ended, ISO 8601; None if none has."""
    last: str | None
    failures: tuple[Failure, ...]
    """The most frequent ones."""
    earlier_failures: int
    """Failures that were asked again."""


def read_provenance(connection: sqlite3.Connection) -> Provenance:
    """Read it from a file."""
    served = connection.execute(sql.SERVED).fetchall()
    ((earlier,),) = connection.execute(sql.COUNT_EARLIER_FAILURES)
    return Provenance(
        digest=content_digest(connection),
        served=tuple(
            Served(model=decode_text(model), fingerprint=decode_text(fingerprint), attempts=attempts)
            for model, fingerprint, attempts, _, _ in served
        ),
        first=min((first for *_, first, _ in served), default=None),
        last=max((last for *_, last in served), default=None),
        failures=tuple(
            Failure(status=status, detail=decode_text(detail), attempts=attempts)
            for status, detail, attempts in connection.execute(sql.COMMON_FAILURES).fetchall()
        ),
        earlier_failures=earlier,
    )
