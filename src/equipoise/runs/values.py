"""What goes into a run file and comes out of it, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from equipoise.models.protocol import Reply


def now() -> datetime:
    """The time of day, to be written down. Durations are measured with clocks that do not jump."""
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A probe as the run asks it."""

    name: str
    version: int
    parameters: Mapping[str, Any]
    corpus: str | None
    corpus_sha256: str | None
    repetitions: int
    covariates: Mapping[str, str]
    """The type of each covariate, by its name in polars."""
    prompts: int


@dataclass(frozen=True, slots=True)
class Pending:
    """An attempt that has no end yet."""

    probe: str
    prompt: str
    repetition: int
    text: str
    place: float
    """Where it stands in its probe's order, between 0 and 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt that has its end."""

    probe: str
    prompt: str
    repetition: int
    reply: Reply
    tries: int = 1
    finished_at: datetime = field(default_factory=now)
