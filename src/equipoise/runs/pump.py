"""The pump: asks a model for everything that is pending in a run file, until it is done or has to stop.

An attempt is acknowledged (in `Progress`) only when its commit has returned. Whatever ends the pump, what came back is
stored before it raises, and what has no end stays pending.
"""

from __future__ import annotations

import asyncio
import itertools
import shlex
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from equipoise.errors import EquipoiseError, Interrupted, StorageError
from equipoise.frames import Status
from equipoise.models.protocol import Model
from equipoise.runs.asking import Asking
from equipoise.runs.events import Event, Note, OnEvent, Progress
from equipoise.runs.pacing import most_connections
from equipoise.runs.policy import Policy
from equipoise.runs.signals import interruptible
from equipoise.runs.store import RunFile
from equipoise.runs.tally import Tally
from equipoise.runs.values import Attempt, Pending
from equipoise.runs.writer import Writer

T = TypeVar("T")
_PAGE = 1024


async def pump(run: RunFile, model: Model, policy: Policy | None = None, on_event: OnEvent | None = None) -> Progress:
    """Ask the model, which is opened and closed here, for everything that is pending; give where the run stands then.

    In the main thread, SIGINT and SIGTERM end it in order. Raises EndpointError, BudgetReached, StorageError or
    Interrupted, with words that say how to go on.
    """
    work = Pump(run, model, policy or Policy(), on_event or _silent)
    with interruptible(work.stop):
        return await work.run()


def _silent(_: Event) -> None:
    """Tell nobody."""


class Pump:
    """One sitting. While `run` is awaited, `stop` ends it: called once, in order; called again, at once."""

    def __init__(self, run: RunFile, model: Model, policy: Policy, on_event: OnEvent) -> None:
        assert run.owned, "what comes back could not be stored"
        self._run = run
        self._model = model
        self._policy = policy
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        # SQLite waits for the disk, so all of it is done in one thread beside the loop.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="equipoise-run-file")
        self._tally = Tally(policy, dict.fromkeys(Status, 0))
        self._pending = run.pending()
        self._page: deque[Pending] = deque()
        self._turning = asyncio.Lock()
        self._notes: dict[str, bool] = {}
        """What was said, and whether it is stored."""
        self._forwarded = 0
        self._counted = False
        self._failure: Exception | None = None
        self._interrupted = False
        self._lost = 0
        self._task: asyncio.Task[object] | None = None
        self._workers: list[asyncio.Task[None]] = []

    async def run(self) -> Progress:
        """Ask until nothing is pending, or raise what ended it."""
        self._task = asyncio.current_task()
        try:
            self._tally = Tally(self._policy, await self._call(self._run.counts))
            limited = self._policy.max_tokens is not None or self._policy.max_cost is not None
            if limited or not self._tally.counts[Status.PENDING]:
                await self._count_tokens()
            self._tell(self._progress())
            if self._tally.counts[Status.PENDING] and not self._failure:
                await self._fill()
        except asyncio.CancelledError:
            if not self._interrupted or self._task is None:
                raise
            self._task.uncancel()
        except EquipoiseError as error:
            self._failure = self._failure or error
        finally:
            self._thread.shutdown()
        if self._failure is None:
            return self._progress()
        if isinstance(self._failure, EquipoiseError):
            self._failure.args = (f"{self._failure} {self._way_on()}",)
        raise self._failure

    def stop(self, exit_code: int = 130) -> None:
        """Send nothing more, and wait a while for what is under way; called again, do not wait."""
        self._halt(Interrupted("Stopped.", exit_code))
        if self._interrupted or not self._workers:
            self._abandon()
        self._interrupted = True

    async def _fill(self) -> None:
        concurrency = most_connections(self._policy.concurrency)
        if concurrency < self._policy.concurrency:
            self._note(f"Only {concurrency} requests at a time: this process may not have more files open.")
        async with self._model:
            self._asking = Asking(self._model, self._policy, self._tally, concurrency, self._note)
            self._writer = Writer(self._store, self._halt)
            self._workers = [asyncio.create_task(self._work()) for _ in range(concurrency)]
            # Nothing waits for it unless it is limited: in a large file it takes a second.
            counting = None if self._counted else asyncio.create_task(self._count_tokens())
            try:
                await asyncio.wait(self._workers)
            finally:
                self._abandon()
                await asyncio.gather(*self._workers, *([counting] if counting else []), return_exceptions=True)
                self._lost = await self._writer.close()
                self._forward_notes()
                self._tell(self._progress())

    async def _count_tokens(self) -> None:
        """Begin with the tokens of earlier sittings."""
        self._counted = True
        try:
            self._tally.before(*await self._call(self._run.usage))
        except Exception as error:
            self._halt(error)

    async def _work(self) -> None:
        try:
            while pending := await self._next():
                attempt = await self._asking.ask(pending)
                self._forward_notes()
                if attempt is None:
                    return
                await self._writer.put(attempt)
        except Exception as error:
            self._halt(error)

    async def _next(self) -> Pending | None:
        if not self._page:
            async with self._turning:
                if not self._page and not self._failure:
                    self._page += await self._call(lambda: list(itertools.islice(self._pending, _PAGE)))
        return self._page.popleft() if self._page and not self._failure else None

    async def _store(self, batch: list[Attempt]) -> None:
        """Commit, and only then say so."""
        notes = [text for text, stored in self._notes.items() if not stored]

        def commit() -> str | None:
            self._run.record(batch)
            if notes:
                self._run.add_notes(notes)
            return self._run.short_of_space()

        short = await self._call(commit)
        self._notes.update(dict.fromkeys(notes, True))
        self._tally.stored(batch)
        self._tell(self._progress())
        if short:
            self._halt(StorageError(short))

    def _halt(self, error: Exception) -> None:
        """Send nothing more because of this; what is under way has a while to come back."""
        if self._failure is None:
            self._failure = error
            if self._workers:
                self._asking.stop()
                self._loop.call_later(self._policy.drain, self._abandon)

    def _abandon(self) -> None:
        """Wait for nothing more."""
        for worker in self._workers:
            worker.cancel()
        if not self._workers and self._task:
            self._task.cancel()

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes[text] = False
            self._tell(Note(text=text))

    def _forward_notes(self) -> None:
        if len(self._model.notes) != self._forwarded:
            for text in self._model.notes[self._forwarded :]:
                self._note(text)
            self._forwarded = len(self._model.notes)

    def _tell(self, event: Event) -> None:
        try:
            self._on_event(event)
        except Exception as error:
            self._halt(error)

    def _progress(self) -> Progress:
        tally = self._tally
        return Progress(
            planned=sum(tally.counts.values()),
            counts=dict(tally.counts),
            requests=tally.requests,
            prompt_tokens=tally.prompt_tokens,
            completion_tokens=tally.completion_tokens,
            cost=tally.cost,
            in_flight=tally.in_flight,
            elapsed=self._loop.time() - self._began,
        )

    def _way_on(self) -> str:
        counts, path = self._tally.counts, self._run.path
        lost = f"{self._lost:,} answers that came back could not be stored. " if self._lost else ""
        done = sum(counts.values()) - counts[Status.PENDING]
        return (
            f"{lost}{path} holds {done:,} of {sum(counts.values()):,} attempts. "
            f"To go on: equipoise resume {shlex.quote(str(path))}"
        )

    async def _call(self, function: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._thread, function)
