"""The throttle that every request of a session passes: how many at a time, and when the next one."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import deque
from collections.abc import Callable

from equipoise.runs.ask.events import Wait
from equipoise.runs.ask.policy import Policy


class Throttle:
    """Lets requests start. A rate limit halves how many may be under way; as many answers raise that by one."""

    def __init__(self, policy: Policy, concurrency: int, on_pause: Callable[[], None] = lambda: None) -> None:
        self.one_at_a_time = True
        self.stopped = asyncio.Event()
        self._limit = self._most = concurrency
        self._pace = 60.0 / policy.rpm if policy.rpm else 0.0
        self._on_pause = on_pause
        self._random = random.Random(0)
        self._clock = asyncio.get_running_loop().time
        self._pause_ends = self._next_turn = self._halved_at = self._clock()
        self._reason = ""
        self._active = self._answers = 0
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def wait(self) -> Wait | None:
        """The pause that lasts, if there is one."""
        seconds = self._pause_ends - self._clock()
        return Wait(seconds=seconds, reason=self._reason) if seconds > 0 else None

    async def enter(self) -> bool:
        """Wait until a request may start. Returns False when everything stops."""
        while not self.stopped.is_set():
            now = self._clock()
            if now < self._pause_ends:
                await self.sleep((self._pause_ends - now) * self._random.uniform(1.0, 1.1))
            elif self._free <= 0:
                waiter = asyncio.get_running_loop().create_future()
                self._waiters.append(waiter)
                await waiter
            elif now < self._next_turn:
                await self.sleep(self._next_turn - now)
            else:
                self._next_turn = now + self._pace
                self._active += 1
                return True
        return False

    def leave(self) -> None:
        """Let another request start in place of one that has ended."""
        self._active -= 1
        self.wake()

    def hold(self, seconds: float, reason: str) -> None:
        """Start no request for this long."""
        until = self._clock() + seconds
        if until > self._pause_ends:
            self._pause_ends, self._reason = until, reason
        self._on_pause()

    def slow_down(self, sent: float) -> bool:
        """Halve the limit after a rate limit; False if the request was sent before the last halving."""
        if sent < self._halved_at:
            return False
        self._limit = max(1, self._limit // 2)
        self._halved_at, self._answers = self._clock(), 0
        return True

    def speed_up(self) -> None:
        """Count an answer towards a higher limit."""
        self._answers += 1
        if self._answers >= self._limit < self._most:
            self._limit += 1
            self._answers = 0
            self.wake()

    def stop(self) -> None:
        """Start no request any more, and wake all who wait."""
        self.stopped.set()
        self.wake()

    async def sleep(self, seconds: float) -> None:
        """Wait this long, or until everything stops."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.stopped.wait()

    def wake(self) -> None:
        """Wake as many as may start now; all of them when everything stops."""
        free = len(self._waiters) if self.stopped.is_set() else self._free
        while free > 0 and self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():  # not cancelled
                waiter.set_result(None)
                free -= 1

    @property
    def _free(self) -> int:
        return (1 if self.one_at_a_time else self._limit) - self._active
