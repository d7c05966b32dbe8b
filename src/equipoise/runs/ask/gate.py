"""The gate that every request of a session passes: how many at a time, when the next one, and whether anybody answers.

    starting ── a response ──> open ── several attempts in a row fail ──> down ── a response ──> open
        └── not reached in time: the run ends                               └── for too long: the run ends

While the gate is not open, one request at a time passes: the first of a run, and those that test whether an endpoint
that was down works again. In every state, all requests wait while the endpoint asks them to.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
from collections import deque
from enum import Enum

from equipoise.errors import EndpointError, StorageError
from equipoise.models.protocol import TransientFault
from equipoise.runs.ask.events import Wait, describe_duration
from equipoise.runs.ask.policy import Policy

OUTAGE_KINDS = frozenset({"connection", "server", "timeout"})
"""Kinds of faults by which an endpoint that is down shows itself."""
LOST_CONNECTIONS_BEFORE_OUTAGE = 3
FAILED_ATTEMPTS_BEFORE_OUTAGE = 5
"""So many attempts that fail, without any response between them, are an outage."""
SPARE_FILES = 64
"""Open files that are not connections: the run file, its lock, standard streams, libraries."""
NEEDED_FILES = 16
"""Without so many more files, answers that were paid for could not be stored."""


class State(Enum):
    """What is known about the endpoint."""

    STARTING = "starting"
    OPEN = "open"
    DOWN = "down"


class Gate:
    """Lets requests pass. A rate limit halves how many may be under way at a time; as many answers raise it by one."""

    def __init__(self, policy: Policy, concurrency: int, name: str = "") -> None:
        self.state = State.STARTING
        self.limit = self._ceiling = concurrency
        self._policy = policy
        self._name = name
        self._random = random.Random(policy.seed)
        self._clock = asyncio.get_running_loop().time
        self._halved_at = self._not_before = self._next_turn = self._clock()
        self._reason = ""
        self._between_turns = 60.0 / policy.rpm if policy.rpm else 0.0
        self._active = self._answers = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._stopped = asyncio.Event()
        self._reached = False
        self._failed: set[object] = set()
        """Attempts that failed since the last response."""
        self._failures_alone = 0
        """Requests, one at a time, that failed since the endpoint was last known to work."""
        self._alone_since = self._last_pause = 0.0

    async def enter(self) -> bool:
        """Wait until a request may start. Returns False when everything stops."""
        while not self._stopped.is_set():
            wait = self._not_before - self._clock()
            if wait > 0:
                await self.sleep(wait * (1 + 0.1 * self._random.random()))
            elif self._active < self._allowed:
                self._active += 1
                if not self._between_turns or await self._take_turn():
                    return True
                self._active -= 1
            else:
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.append(waiter)
                await waiter
        return False

    async def _take_turn(self) -> bool:
        """Wait for the next turn, as the requests of a minute are limited; False if a pause has begun meanwhile."""
        turn = max(self._clock(), self._next_turn)
        self._next_turn = turn + self._between_turns
        await self.sleep(turn - self._clock())
        return not self._stopped.is_set() and self._not_before <= self._clock()

    def leave(self) -> None:
        """Let another request start in place of one that has ended."""
        self._active -= 1
        self._wake()

    @property
    def wait(self) -> Wait | None:
        """The pause that lasts, if there is one."""
        seconds = self._not_before - self._clock()
        return Wait(seconds=seconds, reason=self._reason) if seconds > 0 else None

    def hold(self, seconds: float, reason: str) -> None:
        """Start no request for this long."""
        until = self._clock() + seconds
        if until > self._not_before:
            self._not_before, self._reason = until, reason

    def slow_down(self, sent: float) -> None:
        """Halve the limit after a rate limit, unless the request was sent before the last halving."""
        self._reached = True
        if sent >= self._halved_at:
            self.limit = max(1, self.limit // 2)
            self._halved_at = self._clock()
            self._answers = 0

    def speed_up(self) -> None:
        """Count an answer towards a higher limit."""
        self._answers += 1
        if self._answers >= self.limit < self._ceiling:
            self.limit += 1
            self._answers = 0
            self._wake()

    def open(self) -> bool:
        """Note that the endpoint works; True if that ends an outage: failures from the start, or one after another."""
        failed = self._failures_alone > 1 if self.state is State.DOWN else bool(self._failed)
        was_down = failed and self.state is not State.OPEN
        self._reached = True
        self._failed.clear()
        self._failures_alone = 0
        if self.state is not State.OPEN:
            self.state = State.OPEN
            self._wake()
        return was_down

    def fail(self, fault: TransientFault, attempt: object, sent: float) -> bool:
        """Count a failure of an attempt; True if it is not its own, because the endpoint is down or not reached.

        Everything pauses then. Raises EndpointError when it is time to give up.
        """
        now, lost = self._clock(), fault.kind == "connection"
        self._reached = self._reached or not lost
        if self._reached:
            self._failed.add(attempt)
            if self.state is not State.DOWN:
                if len(self._failed) < (LOST_CONNECTIONS_BEFORE_OUTAGE if lost else FAILED_ATTEMPTS_BEFORE_OUTAGE):
                    return False
                self.state, self._alone_since, self._failures_alone = State.DOWN, now, 0
            elif sent < self._last_pause:
                return True  # it was sent before the last pause began, so it says nothing new
        elif not self._failures_alone:
            self._alone_since = sent
        self._failures_alone += 1
        pause = min(self._policy.longest_backoff, self._policy.first_backoff * 2.0 ** min(self._failures_alone, 60))
        self._give_up_in_time(fault, now, next_try=pause / 2 + now - sent)
        self._last_pause = now
        self.hold(pause if self._reached else pause / 2, "outage")
        return True

    def _give_up_in_time(self, fault: TransientFault, now: float, next_try: float) -> None:
        """Raise if the endpoint has been away for too long; soon at the start, where something is misconfigured."""
        detail, away = fault.reply.detail or "no connection", now - self._alone_since
        if self._reached and self._failures_alone > 1 and away > self._policy.outage_patience:
            problem = "could not be reached" if fault.kind == "connection" else "has only failed"
            raise EndpointError(f"{self._name} {problem} for {describe_duration(away)}: {detail}.")
        tries = self._failures_alone
        if not self._reached and (tries >= self._policy.tries or away + next_try > self._policy.start_patience):
            raise EndpointError(
                f"{self._name} cannot be reached: {detail} ({tries} {'try' if tries == 1 else 'tries'}). Check the "
                "address, the network and that the server runs."
            )

    def stop(self) -> None:
        """Start no request any more, and wake all who wait."""
        self._stopped.set()
        while self._waiters:
            _wake_waiter(self._waiters.popleft())

    async def sleep(self, seconds: float) -> None:
        """Wait this long, or until everything stops."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stopped.wait()

    def backoff(self, tries: int) -> float:
        """How long to wait after this many tries: twice as long each time, up to a limit, with jitter."""
        longest = min(self._policy.longest_backoff, self._policy.first_backoff * 2.0 ** min(tries - 1, 60))
        return longest * self._random.uniform(0.5, 1.0)

    @property
    def _allowed(self) -> int:
        return self.limit if self.state is State.OPEN else 1

    def _wake(self) -> None:
        free = self._allowed - self._active
        while free > 0 and self._waiters:
            free -= _wake_waiter(self._waiters.popleft())


def _wake_waiter(waiter: asyncio.Future[None]) -> bool:
    if waiter.done():  # cancelled
        return False
    waiter.set_result(None)
    return True


def limit_connections(wanted: int) -> int:
    """As many connections as wanted, or as the system's limit on open files allows."""
    if sys.platform == "win32":
        return wanted
    import resource  # noqa: PLC0415 - not on Windows

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if limit == resource.RLIM_INFINITY else max(1, min(wanted, limit - SPARE_FILES))


def require_open_files() -> None:
    """Refuse to ask if this process cannot open the files that a run needs: StorageError, exit 5."""
    opened: list[int] = []
    try:
        for _ in range(NEEDED_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401 - those before an error must be closed
    except OSError as error:
        raise StorageError(
            f"This process can open only {len(opened)} more files, and a run needs {NEEDED_FILES} ({error.strerror}). "
            "Nothing was sent. Raise the limit: ulimit -n 256"
        ) from error
    finally:
        for descriptor in opened:
            os.close(descriptor)
