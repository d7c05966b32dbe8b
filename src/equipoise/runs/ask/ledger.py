"""What the pump needs of what it fills: a run file, or the verdicts in it (`runs/verdicts.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from equipoise.runs.file.values import Attempt, Pending
from equipoise.runs.spec import RunRecord
from equipoise.schema import Status


class Ledger(Protocol):
    """What was asked and what is pending, in a file that this process owns."""

    @property
    def asked(self) -> str:
        """Who answers: "model" or "judge"."""
        ...

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def owned(self) -> bool:
        """Whether this process may write to it."""
        ...

    @property
    def settings(self) -> RunRecord:
        """How the answers are asked for, with the notes of earlier sessions."""
        ...

    def pending(self) -> Iterator[Pending]:
        """What has not ended yet."""
        ...

    def counts(self) -> dict[Status, int]:
        """How much is in each state."""
        ...

    def usage(self) -> tuple[int, int]:
        """Tokens of earlier sessions that `Policy.spent` does not hold."""
        ...

    def record(self, attempts: Iterable[Attempt]) -> object:
        """Store what has ended, durably."""
        ...

    def add_notes(self, notes: Iterable[str]) -> None:
        """Store what the user was told."""
        ...

    def short_of_space(self) -> str | None:
        """A message if the disk has too little left."""
        ...

    def answered(self) -> Iterator[Pending]:
        """What has an answer, to test whether an endpoint works again."""
        ...
