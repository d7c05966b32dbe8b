"""Run the pump once on a run file, and collect what happened."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from equipoise.errors import EquipoiseError
from equipoise.runs.ask.events import Event, RunProgress
from equipoise.runs.ask.limits import Budget, PriceFunction
from equipoise.runs.ask.pump import Pump
from equipoise.runs.file.store import RunFile
from equipoise.runs.spec import RunSpec
from equipoise.schema import Status
from runs.fakes import Fake, attempts_of, create, plan

T = TypeVar("T")


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop in which nobody waits: if nothing is ready and no thread at work, it is time for the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._in_threads: set[asyncio.Future[Any]] = set()

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Let time pass in which nothing happens, as while a process is stopped."""
        self._now += seconds

    def run_in_executor(self, *arguments: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        work = super().run_in_executor(*arguments)
        self._in_threads.add(work)
        work.add_done_callback(self._in_threads.discard)
        return work

    def _run_once(self) -> None:
        # Always a little later: a sleep shorter than the last digit of the clock would never end.
        self._now = math.nextafter(self._now, math.inf)
        if not self._in_threads and not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._now = max(self._now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def run(work: Coroutine[Any, Any, T]) -> T:
    """What the work returns, on a clock that jumps from one timer to the next."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(work)


@dataclass(frozen=True)
class Outcome:
    """What happened in one session, and what the run file holds after it."""

    error: Exception | None
    events: list[Event]
    counts: dict[Status, int]
    attempts: pl.DataFrame
    stored_notes: list[str]

    @property
    def states(self) -> dict[Status, int]:
        return {status: n for status, n in self.counts.items() if n}

    @property
    def progress(self) -> list[RunProgress]:
        return [event for event in self.events if isinstance(event, RunProgress)]

    @property
    def notes(self) -> list[str]:
        return [event for event in self.events if isinstance(event, str)]


def make_pump(file: RunFile, model: Fake, price: PriceFunction | None = None, **fields: Any) -> Pump:
    """A pump that asks four prompts at a time, unless a field of the specification says otherwise."""
    on_event = fields.pop("on_event", None)
    spec = RunSpec(**{"concurrency": 4, **fields})
    return Pump(file=file, model=model, spec=spec, budget=Budget(spec, file, {"model": price}), on_event=on_event)


def run_pump(path: Path, model: Fake, size: int = 10, *, planned: Any = None, **options: Any) -> Outcome:
    """Run the pump on the run file, or on a new one with `size` prompts if there is none."""
    events: list[Event] = []
    error: Exception | None = None
    with RunFile.open(path) if path.exists() else create(path, plan(size=size, **planned or {})) as file:
        try:
            run(make_pump(file, model, on_event=events.append, **options).run())
        except Exception as caught:
            error = caught
        assert model.open_count == 0
        return Outcome(error, events, file.counts(), attempts_of(file), list(file.record.notes))


def assert_fatal(outcome: Outcome, kind: type[EquipoiseError], code: int, words: str, path: Path) -> None:
    """The session ended with this error, whose second line says how to go on."""
    assert isinstance(outcome.error, kind)
    assert outcome.error.exit_code == code
    message = str(outcome.error)
    assert words in message
    assert f"To go on: equipoise resume {path}" in message
    assert message.count("\n") == 1
