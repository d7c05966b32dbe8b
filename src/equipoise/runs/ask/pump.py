"""The pump: asks a model for everything that is pending in a run file, until nothing is left or it has to stop.

    pending ──► workers ──► Asker ──► Throttle ──► model
       ▲                      │ attempts that have ended
       └────── run file ◄─────┘ committed, then counted in `RunProgress`

All work on the file is done by one thread, so requests go on while it waits for the disk or for a reader of the file.
Whatever ends the pump, answers that came back are stored before it raises, and attempts without an end stay pending.
"""

from __future__ import annotations

import asyncio
import itertools
import resource
import shlex
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import FrameType
from typing import Any, TypeVar, cast

from equipoise.errors import EquipoiseError, Interrupted, StorageError
from equipoise.models.protocol import Model, NotServed, Reply
from equipoise.models.redact import excerpt
from equipoise.runs.ask.asker import Asker
from equipoise.runs.ask.events import Event, OnEvent, RunProgress
from equipoise.runs.ask.limits import Budget, Throttle
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt, Pending
from equipoise.runs.spec import RunSpec
from equipoise.runs.verdicts import Verdicts
from equipoise.schema import Counts, Status

T = TypeVar("T")
COMMIT_SECONDS = 0.2
"""What has ended is committed so often."""
PAGE = 1_000
"""So many prompts are read at a time. No more attempts than that are ever without a commit."""
DRAIN_SECONDS = 10.0
"""How long requests under way are waited for when nothing more is sent."""
EXIT_CODES: dict[int, int] = {signal.SIGINT: 130, signal.SIGTERM: 143}
FEWEST_FILES = 32
"""With a lower limit on open files, answers may come and find no file to be stored in."""
SPARE_FILES = 64
"""Open files that are not connections: the run file, its lock, standard streams, libraries."""


@dataclass(kw_only=True, eq=False)
class Pump:
    """One session of asking. While `run` is awaited, `stop` ends it: in order when called once, at once when twice."""

    file: RunFile | Verdicts
    model: Model
    spec: RunSpec
    budget: Budget
    on_event: OnEvent | None = None
    take_look: Callable[[], tuple[str, list[str]]] | None = None
    """When nothing is pending: looks at what was answered, and may plan more. Gives the name of the look that is asked
    for now, and what the user should know."""
    raise_limit: Callable[[int, int], None] | None = None
    """Takes a larger token limit for all that is asked from now on, and how many tokens the first answer took. Without
    it, an answer whose limit went into reasoning is not asked for again."""
    counts: Counts = field(default_factory=Counts)
    ended: int = 0
    look: str = ""
    unstored: list[Attempt] = field(default_factory=list)
    """Attempts that have ended and are not stored yet."""
    notes_stored: int = 0
    throttle: Throttle | None = None
    workers: list[asyncio.Task[None]] = field(default_factory=list)
    page: deque[Pending] = field(default_factory=deque)
    """The prompts that are asked next."""
    turning: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the next page is read."""
    failure: Exception | None = None

    async def run(self) -> RunProgress:
        """Ask until nothing is pending, and return how far the run is then. Opens and closes the model.

        In the main thread, SIGINT and SIGTERM stop it in order. Raises EndpointError, BudgetReached, StorageError or
        Interrupted, with a message that says how to go on.
        """
        self._loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[object]", asyncio.current_task())
        self._started_at = self._loop.time()
        try:
            with stop_on_signals(self.stop), ThreadPoolExecutor(1, thread_name_prefix="run file") as self._thread:
                if await self._find_pending() and not self.failure:
                    await self._ask_pending()
        except asyncio.CancelledError:
            if self.failure is None:
                raise
            self._task.uncancel()
        except EquipoiseError as error:
            self.failure = self.failure or error
        if self.failure is None:
            return self._progress()
        if isinstance(self.failure, EquipoiseError):
            self.failure.args = (*self.failure.args, self._how_to_go_on())
        raise self.failure

    def stop(self, exit_code: int = 130) -> None:
        """Send nothing more, and wait a while for requests under way. Called again, do not wait."""
        is_stopping = self.failure is not None
        self._halt(Interrupted("Stopped.", exit_code))
        if is_stopping or not self.workers:
            self._cancel_work()

    async def _find_pending(self) -> bool:
        """Find what is pending, after the look that is due if this run stops when its marks are certain.

        True if there is more to ask.
        """
        if self.take_look:
            self.look, notes = await self._in_thread(self.take_look)
            self.model.notes.extend(notes)
            await self._write()
        self.counts = self.file.counts()
        self._pending = self.file.pending()
        self._report(self._progress())
        return self.counts[Status.PENDING] > 0

    async def _ask_pending(self) -> None:
        model, wanted = self.model, self.spec.concurrency or self.model.concurrency
        concurrency = limit_connections(wanted)
        if concurrency < wanted:
            few = f"Only {concurrency} requests at a time: this process may not have more files open."
            model.notes.extend({few}.difference(model.notes))
        dropped = self.file.dropped
        if self.counts[Status.OK] and dropped is not None:
            model.continue_after(dropped)
        self.throttle = Throttle(concurrency, self.spec.rpm, lambda: self._report(self._progress()))
        await self._turn_page()
        asker = Asker(
            model=model,
            spec=self.spec,
            budget=self.budget,
            role=self.file.role,
            wanted=str(model.settings.get("model", "")),
            throttle=self.throttle,
            answered=self.file.answered() if self.counts.answered else None,
            others=list(self.page),
            raise_limit=partial(self._in_thread, self.raise_limit) if self.raise_limit else None,
        )
        async with model:
            is_more = True
            while is_more and not self.failure:
                self.workers = [asyncio.create_task(self._work(asker)) for _ in range(concurrency)]
                try:
                    working = set(self.workers)
                    while working:
                        _, working = await asyncio.wait(working, timeout=COMMIT_SECONDS)
                        await self._write()
                finally:
                    self._cancel_work()
                    await asyncio.wait(self.workers)
                    await self._write()
                    self._report(self._progress())
                is_more = bool(self.take_look) and not self.failure and await self._find_pending()

    async def _work(self, asker: Asker) -> None:
        """Ask for what is pending, one after the other; all workers take from the same page."""
        try:
            while pending := await self._take():
                attempt = None if self.failure else await asker.ask(pending)
                if attempt is None:
                    return
                self.unstored.append(attempt)
        except Exception as error:
            self._halt(error)

    async def _take(self) -> Pending | None:
        """The prompt that is asked next; None if nothing is pending."""
        async with self.turning:
            if not self.page:
                await self._turn_page()
            return self.page.popleft() if self.page else None

    async def _turn_page(self) -> None:
        self.page = await self._in_thread(lambda: deque(itertools.islice(self._pending, PAGE)))

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Work on the file in its thread, one thing after the other."""
        return await self._loop.run_in_executor(self._thread, work, *arguments)

    async def _write(self) -> None:
        """Commit what has ended, and notes; then report them. What cannot be stored is tried again at the end."""
        notes_before = self.notes_stored
        if not self.unstored and notes_before == len(self.model.notes):
            return
        try:
            await self._in_thread(self._commit)
        except Exception as error:
            self._halt(error)
        for note in self.model.notes[notes_before : self.notes_stored]:
            self._report(note)
        self._report(self._progress())

    def _commit(self) -> None:
        """Store what has ended by now, then notes, and count both. Attempts may end meanwhile."""
        batch, notes = self.unstored[:], self.model.notes[self.notes_stored :]
        stored = _store(self.file, batch) if batch else []
        del self.unstored[: len(batch)]
        self.ended += len(stored)
        counts = Counts(self.counts)
        for attempt in stored:
            counts[attempt.reply.status] += 1
            counts[Status.PENDING] -= 1
        self.counts = counts  # at once: progress may be reported meanwhile, and its states add up
        if notes:
            dropped = self.model.settings.get("dropped")
            self.file.add_notes(notes, dropped=list(dropped) if isinstance(dropped, dict) else [])
            self.notes_stored += len(notes)
        if shortage := self.file.short_of_space():
            raise StorageError(shortage)

    def _halt(self, error: Exception) -> None:
        """Send nothing more because of this error. Requests under way have a while to come back."""
        if self.failure is None:
            self.failure = error
            if self.throttle and self.workers:
                self.throttle.stop()
                self._loop.call_later(DRAIN_SECONDS, self._cancel_work)

    def _cancel_work(self) -> None:
        """Wait for nothing more."""
        for worker in self.workers:
            worker.cancel()
        if not self.workers:
            self._task.cancel()

    def _report(self, event: Event) -> None:
        try:
            if self.on_event:
                self.on_event(event)
        except Exception as error:
            self._halt(error)

    def _progress(self) -> RunProgress:
        return RunProgress(
            counts=self.counts,
            requests=self.budget.requests,
            ended=self.ended,
            prompt_tokens=self.budget.prompt_tokens,
            completion_tokens=self.budget.completion_tokens,
            cost=self.budget.cost,
            elapsed=self._loop.time() - self._started_at,
            look=self.look,
            role=self.file.role,
            wait=self.throttle.wait if self.throttle else 0.0,
            wait_reason=self.throttle.reason if self.throttle else "",
        )

    def _how_to_go_on(self) -> str:
        file, ended = self.file, self.counts.ended
        command = f"equipoise resume {shlex.quote(str(file.path))}"
        if "function" in self.model.settings:
            command = f"equipoise.resume({str(file.path)!r}, {file.role}=the_function).ask() in Python"
        # To resume at once would be to ask the same model at the same address.
        when = "Once that has changed" if isinstance(self.failure, NotServed) else "To go on"
        lost = f"{len(self.unstored):,} answers that came back could not be stored. " if self.unstored else ""
        what = "verdicts of the judge" if file.role == "judge" else "attempts"
        return f"{lost}{file.path} holds {ended:,} of {self.counts.planned:,} {what}. {when}: {command}"


def _store(file: RunFile | Verdicts, batch: list[Attempt]) -> list[Attempt]:
    """Store attempts; return what was stored. One that cannot be stored becomes `malformed`, and the others stay."""
    try:
        file.store(batch)
    except (TypeError, ValueError, OverflowError) as error:
        if len(batch) > 1:
            return [stored for attempt in batch for stored in _store(file, [attempt])]
        if batch[0].reply.status == Status.MALFORMED:
            raise
        reply = Reply(status=Status.MALFORMED, detail=excerpt(f"cannot be stored: {error}"))
        return _store(file, [replace(batch[0], reply=reply)])
    return batch


@contextmanager
def stop_on_signals(stop: Callable[[int], None]) -> Iterator[None]:
    """On each SIGINT (Ctrl-C) or SIGTERM, call `stop` in the running loop with the exit code to end with.

    Python delivers signals only to the main thread. In another thread, as in a notebook, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def handle(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop, EXIT_CODES[number])

    previous = {number: signal.signal(number, handle) for number in EXIT_CODES}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def limit_connections(wanted: int) -> int:
    """As many connections as wanted, or as the system's limit on open files allows."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return wanted
    if limit < FEWEST_FILES:
        raise StorageError(
            f"This process may have only {limit} files open, too few to store answers. Allow more: ulimit -n 256"
        )
    return max(1, min(wanted, limit - SPARE_FILES))
