"""One sitting of the pump on a run file, and what became of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from equipoise.errors import EquipoiseError
from equipoise.frames import Status
from equipoise.runs import Event, Note, Policy, Progress, RunFile, pump
from runs.fakes import QUICK, Fake, create, plan


@dataclass(frozen=True)
class Sitting:
    """What became of a run."""

    error: Exception | None
    events: list[Event]
    counts: dict[Status, int]
    attempts: pl.DataFrame
    notes: list[str]

    @property
    def states(self) -> dict[Status, int]:
        return {status: n for status, n in self.counts.items() if n}

    @property
    def progress(self) -> list[Progress]:
        return [event for event in self.events if isinstance(event, Progress)]

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Note)]


def sit(path: Path, model: Fake, size: int = 10, *, policy: Policy = QUICK, **planned: Any) -> Sitting:
    """Run the pump once on a run file, a new one if there is none."""
    events: list[Event] = []
    error: Exception | None = None
    with RunFile.open(path) if path.exists() else create(path, plan(size=size, **planned)) as run:
        try:
            asyncio.run(pump(run, model, policy, events.append))
        except Exception as caught:
            error = caught
        assert model.opened == 0
        return Sitting(error, events, run.counts(), pl.concat(run.attempts("alpha")), run.settings["notes"])


def assert_fatal(sitting: Sitting, kind: type[EquipoiseError], code: int, words: str, path: Path) -> None:
    assert type(sitting.error) is kind
    assert isinstance(sitting.error, EquipoiseError)
    assert sitting.error.exit_code == code
    message = str(sitting.error)
    assert words in message
    assert f"To go on: equipoise resume {path}" in message
    assert "\n" not in message
