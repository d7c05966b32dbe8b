"""The pump: asks a model for everything that is pending in a run file, until nothing is left or it has to stop.

An attempt is counted in `RunProgress` only after its commit has returned. Whatever ends the pump, answers that came
back are stored before it raises, and attempts without an end stay pending.
"""

from __future__ import annotations

import asyncio
import itertools
import shlex
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import TypeVar

from equipoise.errors import EquipoiseError, Interrupted, StorageError
from equipoise.models.protocol import Model, NotServed, Reply
from equipoise.models.redact import excerpt
from equipoise.runs.ask.asker import Asker, SpentOnReasoning
from equipoise.runs.ask.events import Event, Look, Note, OnEvent, RunProgress
from equipoise.runs.ask.policy import Policy, retry_options
from equipoise.runs.ask.tally import Tally
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt, Pending
from equipoise.runs.verdicts import Verdicts
from equipoise.schema import MEASURED, Status

T = TypeVar("T")
_PAGE = 1024
FULL_BATCH, LINGER_SECONDS = 256, 0.05
"""Attempts are committed when so many have ended, or so long after the first of them."""
EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
SPARE_FILES = 64
"""Open files that are not connections: the run file, its lock, standard streams, libraries."""


class Pump:
    """One session of asking. While `run` is awaited, `stop` ends it: in order when called once, at once when twice."""

    def __init__(
        self,
        file: RunFile | Verdicts,
        model: Model,
        policy: Policy | None = None,
        on_event: OnEvent | None = None,
        take_look: Callable[[], Look] | None = None,
        raise_limit: Callable[[int, int], None] | None = None,
    ) -> None:
        """Fill a run file, or the verdicts in it.

        `take_look` looks at what was answered when nothing is pending, and may plan more. `raise_limit` takes a larger
        token limit for all that is asked from now on, and how many tokens the first answer took; without it, an answer
        whose limit went into reasoning is not asked for again.
        """
        assert file.owned, "answers could not be stored"
        self._file = file
        self._model = model
        self._policy = policy or Policy()
        self._on_event = on_event
        self._take_look = take_look
        self._raise_limit = raise_limit
        self._look = ""
        """The look that is taken, if the run stops when its marks are certain."""
        # SQLite waits for the disk, so everything with the file is done in one thread beside the loop.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="equipoise-run-file")
        self._tally = Tally(self._policy, dict.fromkeys(Status, 0))
        self._asker: Asker | None = None
        self._pending: Iterator[Pending] = iter(())
        self._page: deque[Pending] = deque()
        self._page_lock = asyncio.Lock()
        self._unstored: list[Attempt] = []
        """Attempts that have ended and are not stored yet."""
        self._writer: asyncio.Task[None] | None = None
        self._notes_stored = 0
        self._failure: Exception | None = None
        self._cancelled = False
        """Whether the pump was cancelled by itself."""
        self._task: asyncio.Task[object] | None = None
        self._workers: list[asyncio.Task[None]] = []

    async def run(self) -> RunProgress:
        """Ask until nothing is pending, and return how far the run is then. Opens and closes the model.

        In the main thread, SIGINT and SIGTERM stop it in order. Raises EndpointError, BudgetReached, StorageError or
        Interrupted, with a message that says how to go on.
        """
        self._task, self._loop = asyncio.current_task(), asyncio.get_running_loop()
        self._started_at = self._loop.time()
        try:
            with stop_on_signals(self.stop):
                await self._look_for_more()
                counts, used = await self._in_thread(self._file.counts), await self._in_thread(self._file.usage)
                self._tally = Tally(self._policy, counts, used)
                self._report(self._progress())
                if counts[Status.PENDING] and not self._failure:
                    await self._ask_pending()
        except asyncio.CancelledError:
            if not self._cancelled or self._task is None:
                raise
            self._task.uncancel()
        except EquipoiseError as error:
            self._failure = self._failure or error
        finally:
            self._thread.shutdown()
        if self._failure is None:
            return self._progress()
        if isinstance(self._failure, EquipoiseError):
            self._failure.args = (f"{self._failure}\n{self._how_to_go_on()}",)
        raise self._failure

    def stop(self, exit_code: int = 130) -> None:
        """Send nothing more, and wait a while for requests under way. Called again, do not wait."""
        is_stopping = self._failure is not None
        self._halt(Interrupted("Stopped.", exit_code))
        if is_stopping or not self._workers:
            self._cancel_work()

    async def _ask_pending(self) -> None:
        concurrency = limit_connections(self._policy.concurrency)
        if concurrency < self._policy.concurrency:
            few = f"Only {concurrency} requests at a time: this process may not have more files open."
            self._model.notes.extend({few}.difference(self._model.notes))
        dropped = self._file.dropped
        if self._tally.counts[Status.OK] and dropped is not None:
            self._model.continue_after(dropped)
        answered = None
        if any(self._tally.counts[status] for status in MEASURED):
            answered = await self._in_thread(self._file.answered)
        raise_limit = partial(self._in_thread, self._raise_limit) if self._raise_limit else None
        self._page += await self._in_thread(list, itertools.islice(self._pending, _PAGE))
        self._asker = Asker(
            self._model,
            self._policy,
            self._tally,
            concurrency,
            self._report_progress,
            answered,
            list(self._page),
            raise_limit,
        )
        async with self._model:
            await self._ask_planned(self._asker, concurrency)
            while not self._failure and await self._look_for_more():
                await self._ask_planned(self._asker, concurrency)

    async def _ask_planned(self, asker: Asker, concurrency: int) -> None:
        self._workers = [asyncio.create_task(self._work(asker)) for _ in range(concurrency)]
        try:
            await asyncio.wait(self._workers)
        finally:
            self._cancel_work()
            await asyncio.gather(*self._workers, return_exceptions=True)
            if self._writer:
                await self._writer
            await self._write()
            self._report_progress()

    async def _look_for_more(self) -> bool:
        """Take the look that is due, if this run stops when its marks are certain; True if there is more to ask."""
        added = 0
        if self._take_look is not None:
            look = await self._in_thread(self._take_look)
            self._look, added = look.name, look.added
            self._tally.counts[Status.PENDING] += added
            for text in look.notes:
                self._report(Note(text=text))
        self._pending = self._file.pending()
        return added > 0

    async def _work(self, asker: Asker) -> None:
        try:
            while pending := await self._next_pending():
                attempt = await asker.ask(pending)
                if attempt is None:
                    return
                self._unstored.append(attempt)
                if self._writer is None or self._writer.done():
                    self._writer = asyncio.create_task(self._write_soon())
                if len(self._unstored) >= FULL_BATCH:
                    await asyncio.wait([self._writer])
        except Exception as error:
            self._halt(error)

    async def _next_pending(self) -> Pending | None:
        if not self._page:
            async with self._page_lock:
                if not self._page and not self._failure:
                    self._page += await self._in_thread(list, itertools.islice(self._pending, _PAGE))
        return self._page.popleft() if self._page and not self._failure else None

    async def _write_soon(self) -> None:
        await asyncio.wait(self._workers, timeout=LINGER_SECONDS)
        await self._write()

    async def _write(self) -> None:
        """Commit what has ended, and notes; then report them. What cannot be stored is tried again at the end."""
        while self._unstored or self._notes_stored < len(self._model.notes):
            batch, self._unstored = self._unstored[:FULL_BATCH], self._unstored[FULL_BATCH:]
            notes = self._model.notes[self._notes_stored :]
            try:
                stored, shortage = await self._in_thread(self._commit, batch, notes)
            except Exception as error:
                self._unstored = batch + self._unstored
                self._halt(error)
                return
            self._notes_stored += len(notes)
            for text in notes:
                self._report(Note(text=text))
            self._tally.count_stored(stored)
            self._report_progress()
            if shortage:
                self._halt(StorageError(shortage))

    def _commit(self, batch: list[Attempt], notes: list[str]) -> tuple[list[Attempt], str | None]:
        """Store attempts and notes durably; what was stored, and a message if there is too little space for more."""
        stored = _record(self._file, batch) if batch else []
        if notes:
            dropped = self._model.settings.get("dropped")
            self._file.add_notes(notes, dropped=list(dropped) if isinstance(dropped, dict) else [])
        return stored, self._file.short_of_space()

    def _halt(self, error: Exception) -> None:
        """Send nothing more because of this error. Requests under way have a while to come back."""
        if self._failure is None:
            self._failure = error
            if self._asker and self._workers:
                self._asker.throttle.stop()
                self._loop.call_later(self._policy.drain, self._cancel_work)

    def _cancel_work(self) -> None:
        """Wait for nothing more."""
        for worker in self._workers:
            worker.cancel()
        if not self._workers and self._task:
            self._cancelled = True
            self._task.cancel()

    def _report_progress(self) -> None:
        self._report(self._progress())

    def _report(self, event: Event) -> None:
        try:
            if self._on_event:
                self._on_event(event)
        except Exception as error:
            self._halt(error)

    def _progress(self) -> RunProgress:
        tally = self._tally
        return RunProgress(
            planned=sum(tally.counts.values()),
            counts=dict(tally.counts),
            requests=tally.requests,
            ended=tally.ended,
            prompt_tokens=tally.prompt_tokens,
            completion_tokens=tally.completion_tokens,
            cost=tally.cost,
            elapsed=self._loop.time() - self._started_at,
            look=self._look,
            asked=self._file.asked,
            wait=self._asker.throttle.wait if self._asker else None,
        )

    def _how_to_go_on(self) -> str:
        counts, unstored, failure = self._tally.counts, len(self._unstored), self._failure
        planned, command = sum(counts.values()), self._resume_command()
        ended = planned - counts[Status.PENDING]
        lost = f"{unstored:,} answers that came back could not be stored. " if unstored else ""
        what = "verdicts of the judge" if self._file.asked == "judge" else "attempts"
        advice = f"To go on: {command}"
        if isinstance(failure, NotServed):  # to resume would be to ask the same model at the same address
            advice = f"{failure.later}: {command}" if ended else failure.instead
        elif isinstance(failure, SpentOnReasoning) and self._file.asked == "model":
            advice = f"To go on with a larger limit: {command} {retry_options([Status.EMPTY], failure.limit)}"
        return f"{lost}{self._file.path} holds {ended:,} of {planned:,} {what}. {advice}"

    def _resume_command(self) -> str:
        if "function" in self._model.settings:
            return f"equipoise.resume({str(self._file.path)!r}, {self._file.asked}=the_function).ask() in Python"
        # What no file keeps must be given again.
        again = self._model.given_again if self._file.asked == "model" else []
        return " ".join([f"equipoise resume {shlex.quote(str(self._file.path))}", *again])

    async def _in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        return await self._loop.run_in_executor(self._thread, function, *arguments)


def _record(file: RunFile | Verdicts, batch: list[Attempt]) -> list[Attempt]:
    """Store attempts; return what was stored. One that cannot be stored becomes `malformed`, and the others stay."""
    try:
        file.record(batch)
    except (TypeError, ValueError, OverflowError) as error:
        if len(batch) > 1:
            return [stored for attempt in batch for stored in _record(file, [attempt])]
        if batch[0].reply.status == Status.MALFORMED:
            raise
        reply = Reply(status=Status.MALFORMED, detail=excerpt(f"cannot be stored: {error}"))
        return _record(file, [replace(batch[0], reply=reply)])
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
        loop.call_soon_threadsafe(stop, EXIT_CODES[signal.Signals(number)])

    previous = {number: signal.signal(number, handle) for number in EXIT_CODES}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def limit_connections(wanted: int) -> int:
    """As many connections as wanted, or as the system's limit on open files allows."""
    if sys.platform == "win32":
        return wanted
    import resource  # noqa: PLC0415 - not on Windows

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if limit == resource.RLIM_INFINITY else max(1, min(wanted, limit - SPARE_FILES))
