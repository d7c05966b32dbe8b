"""How fast to ask: one pace shared by all workers, and how long to wait between tries."""

from __future__ import annotations

import asyncio
import contextlib
import random
import sys
from collections import deque

from equipoise.runs.policy import Policy

_SPARE_FILES = 64
"""Files that are not connections: the run file, its lock, standard streams, libraries."""


class Pace:
    """How many requests may be under way, and not before when.

    Too many requests halve the limit, once for all that were sent together; a limit's worth of answers raises it by
    one. `alone` lets one request at a time through: the first of a run, and those that try whether an outage is over.
    """

    def __init__(self, policy: Policy, concurrency: int) -> None:
        self._ceiling = self.limit = concurrency
        self.alone = True
        self._random = random.Random(policy.seed)
        self._policy = policy
        self._clock = asyncio.get_running_loop().time
        self._active = 0
        self._answers = 0
        self._cut_at = self._gate = self._clock()
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._stopped = asyncio.Event()

    async def enter(self) -> bool:
        """Wait for a turn; False when there will be none."""
        while not self._stopped.is_set():
            wait = self._gate - self._clock()
            if wait > 0:
                await self.sleep(wait * (1 + 0.1 * self._random.random()))
            elif self._active < self._allowed():
                self._active += 1
                return True
            else:
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.append(waiter)
                await waiter
        return False

    def leave(self) -> None:
        """Give the turn back."""
        self._active -= 1
        self._wake()

    def hold(self, seconds: float) -> None:
        """Let nobody go for so long."""
        self._gate = max(self._gate, self._clock() + seconds)

    def slow_down(self, sent: float) -> None:
        """Halve the limit for a request that was one too many, unless that was sent before the last halving."""
        if sent >= self._cut_at:
            self.limit = max(1, self.limit // 2)
            self._cut_at = self._clock()
            self._answers = 0

    def speed_up(self) -> None:
        """Count an answer towards a higher limit."""
        self._answers += 1
        if self._answers >= self.limit < self._ceiling:
            self.limit += 1
            self._answers = 0
            self._wake()

    def together(self) -> None:
        """Let as many go as the limit allows."""
        if self.alone:
            self.alone = False
            self._wake()

    def stop(self) -> None:
        """Let nobody go any more, and wake all who wait."""
        self._stopped.set()
        while self._waiters:
            _release(self._waiters.popleft())

    async def sleep(self, seconds: float) -> None:
        """Wait, but not longer than until everything stops."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()

    def backoff(self, tries: int) -> float:
        """How long to wait after so many tries: twice as long each time, up to a limit, jittered."""
        policy = self._policy
        return min(policy.longest_backoff, policy.first_backoff * 2.0 ** (tries - 1)) * self._random.uniform(0.5, 1.0)

    def _allowed(self) -> int:
        return 1 if self.alone else self.limit

    def _wake(self) -> None:
        free = self._allowed() - self._active
        while free > 0 and self._waiters:
            free -= _release(self._waiters.popleft())


def _release(waiter: asyncio.Future[None]) -> bool:
    if waiter.done():  # cancelled
        return False
    waiter.set_result(None)
    return True


def most_connections(wanted: int) -> int:
    """As many connections as wanted, or as the system's limit on open files allows."""
    if sys.platform == "win32":
        return wanted
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if limit == resource.RLIM_INFINITY else max(1, min(wanted, limit - _SPARE_FILES))
