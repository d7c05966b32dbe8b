"""How fast to ask: one pace shared by all workers, and the pauses between tries."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
from collections import deque

from equipoise.errors import StorageError
from equipoise.runs.ask.events import Wait
from equipoise.runs.ask.policy import Policy

_SPARE_FILES = 64
"""Open files that are not connections: the run file, its lock, standard streams, libraries."""
_NEEDED_FILES = 16
"""Without so many more files, answers that were paid for could not be stored."""


class Pace:
    """How many requests may be under way, and when the next one may start.

    A rate limit halves the number, once for all requests that were sent together. As many answers as the number raise
    it by one. While `one_at_a_time` is set, only one request may be under way: the first of a run, and those that test
    whether an outage is over.
    """

    def __init__(self, policy: Policy, concurrency: int) -> None:
        self._ceiling = self.limit = concurrency
        self.one_at_a_time = True
        self._random = random.Random(policy.seed)
        self._policy = policy
        self._clock = asyncio.get_running_loop().time
        self._active = 0
        self._answers = 0
        self._halved_at = self._not_before = self._next_turn = self._clock()
        self._reason = ""
        per_minute = policy.requests_per_minute
        self._between_turns = 60.0 / per_minute if per_minute is not None else 0.0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._stopped = asyncio.Event()

    async def enter(self) -> bool:
        """Wait until a request may start. Returns False when everything stops."""
        while not self._stopped.is_set():
            wait = self._not_before - self._clock()
            if wait > 0:
                await self.sleep(wait * (1 + 0.1 * self._random.random()))
            elif self._active < self._allowed():
                self._active += 1
                if await self._take_turn():
                    return True
                self._active -= 1
            else:
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.append(waiter)
                await waiter
        return False

    async def _take_turn(self) -> bool:
        """Wait for the next turn, if the requests of a minute are limited; False if a pause has begun meanwhile."""
        if not self._between_turns:
            return True
        turn = max(self._clock(), self._next_turn)
        self._next_turn = turn + self._between_turns
        await self.sleep(turn - self._clock())
        return not self._stopped.is_set() and self._not_before <= self._clock()

    @property
    def wait(self) -> Wait | None:
        """The pause that lasts, if there is one."""
        seconds = self._not_before - self._clock()
        return Wait(seconds=seconds, reason=self._reason) if seconds > 0 else None

    def leave(self) -> None:
        """Let another request start in place of one that has ended."""
        self._active -= 1
        self._wake()

    def hold(self, seconds: float, reason: str) -> None:
        """Start no request for this long."""
        until = self._clock() + seconds
        if until > self._not_before:
            self._not_before, self._reason = until, reason

    def slow_down(self, sent: float) -> None:
        """Halve the limit after a rate limit, unless the request was sent before the last halving."""
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

    def allow_many(self) -> None:
        """Let as many requests start as the limit allows."""
        if self.one_at_a_time:
            self.one_at_a_time = False
            self._wake()

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
        policy = self._policy
        return min(policy.longest_backoff, policy.first_backoff * 2.0 ** min(tries - 1, 60)) * self._random.uniform(
            0.5, 1.0
        )

    def _allowed(self) -> int:
        return 1 if self.one_at_a_time else self.limit

    def _wake(self) -> None:
        free = self._allowed() - self._active
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
    return wanted if limit == resource.RLIM_INFINITY else max(1, min(wanted, limit - _SPARE_FILES))


def require_open_files() -> None:
    """Refuse to ask if this process cannot open the files that a run needs: StorageError, exit 5."""
    opened: list[int] = []
    try:
        for _ in range(_NEEDED_FILES):
            opened.append(os.open(os.devnull, os.O_RDONLY))  # noqa: PERF401 - those before an error must be closed
    except OSError as error:
        raise StorageError(
            f"This process can open only {len(opened)} more files, and a run needs {_NEEDED_FILES} ({error.strerror}). "
            "Nothing was sent. Raise the limit: ulimit -n 256"
        ) from error
    finally:
        for descriptor in opened:
            os.close(descriptor)
