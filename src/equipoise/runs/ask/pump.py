"""The pump: asks a model for everything that is pending in a run file, until nothing is left or it has to stop.

An attempt is counted in `RunProgress` only after its commit has returned. Whatever ends the pump, answers that came
back are stored before it raises, and attempts without an end stay pending.
"""

from __future__ import annotations

import asyncio
import itertools
import shlex
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from equipoise.errors import EquipoiseError, Interrupted, StorageError
from equipoise.models.protocol import Model, NotServed, Reply
from equipoise.models.redact import excerpt
from equipoise.runs.ask.asker import Asker, SpentOnReasoning
from equipoise.runs.ask.events import Event, Look, Note, OnEvent, RunProgress
from equipoise.runs.ask.gate import limit_connections, require_open_files
from equipoise.runs.ask.policy import Policy, retry_options
from equipoise.runs.ask.signals import stop_on_signals
from equipoise.runs.ask.tally import Tally
from equipoise.runs.ask.writer import Writer
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import Attempt, Pending
from equipoise.runs.verdicts import Verdicts
from equipoise.schema import Status

T = TypeVar("T")
_PAGE = 1024
Ledger = RunFile | Verdicts
"""What is filled: a run file, or the verdicts in it."""
TakeLook = Callable[[], Look]
"""Looks at what has been answered, and plans more where that is not enough."""
RaiseLimit = Callable[[int, int], None]
"""Takes a larger token limit for all that is asked from now on, and how many tokens the first answer took."""


async def pump(
    run: Ledger,
    model: Model,
    policy: Policy | None = None,
    on_event: OnEvent | None = None,
    take_look: TakeLook | None = None,
    raise_limit: RaiseLimit | None = None,
) -> RunProgress:
    """Ask the model for everything that is pending; return how far the run is then. Opens and closes the model.

    When nothing is pending, `take_look` may plan more; it says what it found, and the asking goes on. With
    `raise_limit`, an answer whose token limit went into reasoning is asked for again with a larger one.
    In the main thread, SIGINT and SIGTERM stop it in order. Raises EndpointError, BudgetReached, StorageError or
    Interrupted, with a message that says how to go on.
    """
    work = Pump(run, model, policy or Policy(), on_event or (lambda _: None), take_look, raise_limit)
    with stop_on_signals(work.stop):
        return await work.run()


class Pump:
    """One session of asking. While `run` is awaited, `stop` ends it: in order when called once, at once when twice."""

    def __init__(
        self,
        run: Ledger,
        model: Model,
        policy: Policy,
        on_event: OnEvent,
        take_look: TakeLook | None = None,
        raise_limit: RaiseLimit | None = None,
    ) -> None:
        assert run.owned, "answers could not be stored"
        self._run = run
        self._model = model
        self._policy = policy
        self._on_event = on_event
        self._take_look = take_look
        self._raise_limit = raise_limit
        self._look = ""
        self._loop = asyncio.get_running_loop()
        self._started_at = self._loop.time()
        # SQLite waits for the disk, so everything with the file is done in one thread beside the loop.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="equipoise-run-file")
        self._tally = Tally(policy, dict.fromkeys(Status, 0))
        self._pending: Iterator[Pending] = iter(())
        self._page: deque[Pending] = deque()
        self._page_lock = asyncio.Lock()
        self._notes: dict[str, bool] = {}
        """Each note that was reported, and whether it is stored."""
        self._forwarded_notes = 0
        self._counting_started = False
        self._failure: Exception | None = None
        self._interrupted = False
        self._unstored = 0
        self._task: asyncio.Task[object] | None = None
        self._workers: list[asyncio.Task[None]] = []

    async def run(self) -> RunProgress:
        """Ask until nothing is pending, or raise the error that ended it."""
        self._task = asyncio.current_task()
        try:
            await self._look_for_more()
            self._tally = Tally(self._policy, await self._in_thread(self._run.counts))
            if self._policy.limits_tokens or not self._tally.counts[Status.PENDING]:
                await self._count_earlier_tokens()
            self._report(self._progress())
            if self._tally.counts[Status.PENDING] and not self._failure:
                await self._ask_pending()
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
            self._failure.args = (f"{self._failure}\n{self._how_to_go_on()}",)
        raise self._failure

    def stop(self, exit_code: int = 130) -> None:
        """Send nothing more, and wait a while for requests under way. Called again, do not wait."""
        self._halt(Interrupted("Stopped.", exit_code))
        if self._interrupted or not self._workers:
            self._cancel_work()
        self._interrupted = True

    async def _ask_pending(self) -> None:
        require_open_files()
        concurrency = limit_connections(self._policy.concurrency)
        if concurrency < self._policy.concurrency:
            self._note(f"Only {concurrency} requests at a time: this process may not have more files open.")
        dropped = self._run.dropped
        if self._tally.counts[Status.OK] and dropped is not None:
            self._model.continue_after(dropped)
        async with self._model:
            await self._ask_planned(concurrency)
            while not self._failure and await self._look_for_more():
                await self._ask_planned(concurrency)

    async def _ask_planned(self, concurrency: int) -> None:
        self._asker = Asker(
            self._model,
            self._policy,
            self._tally,
            concurrency,
            self._note,
            self._find_answered,
            lambda: self._report(self._progress()),
            self._store_limit if self._raise_limit else None,
        )
        self._writer = Writer(self._store, self._halt)
        self._workers = [asyncio.create_task(self._work()) for _ in range(concurrency)]
        # In a large file counting takes a second, and without a limit nothing needs to wait for it.
        counting = None if self._counting_started else asyncio.create_task(self._count_earlier_tokens())
        try:
            await asyncio.wait(self._workers)
        finally:
            self._cancel_work()
            await asyncio.gather(*self._workers, *([counting] if counting else []), return_exceptions=True)
            for attempt in self._asker.take_undecided():
                if not self._failure:
                    await self._writer.put(attempt)
            self._unstored = await self._writer.close()
            self._forward_notes()
            self._report(self._progress())

    async def _look_for_more(self) -> bool:
        """Take the look that is due, if this run stops when its marks are certain; True if there is more to ask."""
        added = 0
        if self._take_look is not None:
            look = await self._in_thread(self._take_look)
            self._look, added = look.name, look.added
            self._tally.counts[Status.PENDING] += added
            for text in look.notes:
                self._notes.setdefault(text, True)
                self._report(Note(text=text))
        self._pending = self._run.pending()
        return added > 0

    async def _find_answered(self) -> Pending | None:
        """A prompt that has an answer in the run file."""
        return await self._in_thread(lambda: next(self._run.answered(), None))

    async def _store_limit(self, limit: int, tokens: int) -> None:
        raise_limit = self._raise_limit
        assert raise_limit is not None
        await self._in_thread(lambda: raise_limit(limit, tokens))

    async def _count_earlier_tokens(self) -> None:
        self._counting_started = True
        try:
            self._tally.add_earlier_usage(*await self._in_thread(self._run.usage))
        except Exception as error:
            self._halt(error)

    async def _work(self) -> None:
        try:
            while pending := await self._next_pending():
                attempts = await self._asker.ask(pending)
                self._forward_notes()
                if attempts is None:
                    return
                for attempt in attempts:
                    await self._writer.put(attempt)
        except Exception as error:
            self._halt(error)

    async def _next_pending(self) -> Pending | None:
        if self._asker.asked_again and not self._failure:
            return self._asker.asked_again.popleft()
        if not self._page:
            async with self._page_lock:
                if not self._page and not self._failure:
                    self._page += await self._in_thread(lambda: list(itertools.islice(self._pending, _PAGE)))
        return self._page.popleft() if self._page and not self._failure else None

    async def _store(self, batch: list[Attempt]) -> None:
        """Commit attempts, and only then report them."""
        notes = [text for text, stored in self._notes.items() if not stored]

        def commit() -> str | None:
            batch[:] = _record(self._run, batch)
            if notes:
                dropped = self._model.settings.get("dropped")
                self._run.add_notes(notes, dropped=list(dropped) if isinstance(dropped, dict) else [])
            return self._run.short_of_space()

        short_of_space = await self._in_thread(commit)
        self._notes.update(dict.fromkeys(notes, True))
        self._tally.count_stored(batch)
        self._report(self._progress())
        if short_of_space:
            self._halt(StorageError(short_of_space))

    def _halt(self, error: Exception) -> None:
        """Send nothing more because of this error. Requests under way have a while to come back."""
        if self._failure is None:
            self._failure = error
            if self._workers:
                self._asker.stop()
                self._loop.call_later(self._policy.drain, self._cancel_work)

    def _cancel_work(self) -> None:
        """Wait for nothing more."""
        for worker in self._workers:
            worker.cancel()
        if not self._workers and self._task:
            self._task.cancel()

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes[text] = False
            self._report(Note(text=text))

    def _forward_notes(self) -> None:
        if len(self._model.notes) != self._forwarded_notes:
            for text in self._model.notes[self._forwarded_notes :]:
                self._note(text)
            self._forwarded_notes = len(self._model.notes)

    def _report(self, event: Event) -> None:
        try:
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
            in_flight=tally.in_flight,
            elapsed=self._loop.time() - self._started_at,
            look=self._look,
            asked=self._run.asked,
            wait=self._asker.gate.wait if self._workers else None,
        )

    def _how_to_go_on(self) -> str:
        counts, path = self._tally.counts, self._run.path
        unstored = f"{self._unstored:,} answers that came back could not be stored. " if self._unstored else ""
        ended = sum(counts.values()) - counts[Status.PENDING]
        what = "verdicts of the judge" if self._run.asked == "judge" else "attempts"
        holds = f"{unstored}{path} holds {ended:,} of {sum(counts.values()):,} {what}."
        if isinstance(self._failure, NotServed):
            # To resume would be to ask the same model at the same address.
            failure = self._failure
            return f"{holds} {f'{failure.later}: {self._resume_command()}' if ended else failure.instead}"
        if isinstance(self._failure, SpentOnReasoning) and self._run.asked == "model":
            options = retry_options([Status.EMPTY], self._failure.limit or 0)
            return f"{holds} To go on with a larger limit: {self._resume_command()} {options}"
        return f"{holds} To go on: {self._resume_command()}"

    def _resume_command(self) -> str:
        if "function" in self._model.settings:
            return f"equipoise.resume({str(self._run.path)!r}, {self._run.asked}=the_function).ask() in Python"
        # What no file keeps must be given again.
        again = self._model.given_again if self._run.asked == "model" else []
        return " ".join([f"equipoise resume {shlex.quote(str(self._run.path))}", *again])

    async def _in_thread(self, function: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._thread, function)


def _record(run: Ledger, batch: list[Attempt]) -> list[Attempt]:
    """Store attempts; return what was stored. One that cannot be stored becomes `malformed`, and the others stay."""
    try:
        run.record(batch)
    except (TypeError, ValueError, OverflowError) as error:
        if len(batch) > 1:
            return [stored for attempt in batch for stored in _record(run, [attempt])]
        if batch[0].reply.status == Status.MALFORMED:
            raise
        reply = Reply(status=Status.MALFORMED, detail=excerpt(f"cannot be stored: {error}"))
        return _record(run, [replace(batch[0], reply=reply)])
    return batch
