"""The throttle that every request of a session passes: how many at a time, and when the next one."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable


class Throttle:
    """Lets requests start. A rate limit halves how many may be under way; as many answers raise that by one."""

    def __init__(self, concurrency: int, rpm: float | None = None, on_pause: Callable[[], None] = lambda: None) -> None:
        self.one_at_a_time = True
        self.stopped = asyncio.Event()
        self._limit = self._most = concurrency
        self._pace = 60.0 / rpm if rpm else 0.0
        self._on_pause = on_pause
        self._random = random.Random(0)
        self._clock = asyncio.get_running_loop().time
        self._pause_ends = self._next_turn = self._halved_at = self._clock()
        self.reason = ""
        """Why there is a pause, or was one."""
        self._active = self._answers = 0
        self._changed = asyncio.Event()

    @property
    def wait(self) -> float:
        """For how many seconds from now nothing is sent."""
        return max(0.0, self._pause_ends - self._clock())

    async def enter(self) -> bool:
        """Wait until a request may start. Returns False when everything stops."""
        while not self.stopped.is_set():
            now = self._clock()
            if now < self._pause_ends:
                await self.sleep((self._pause_ends - now) * self._random.uniform(1.0, 1.1))
            elif self._active >= (1 if self.one_at_a_time else self._limit):
                await self._changed.wait()
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
        self._wake()

    def allow_many(self) -> None:
        """Let requests start beside each other: the endpoint works."""
        if self.one_at_a_time:
            self.one_at_a_time = False
            self._wake()

    def hold(self, seconds: float, reason: str) -> None:
        """Start no request for this long."""
        until = self._clock() + seconds
        if until > self._pause_ends:
            self._pause_ends, self.reason = until, reason
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
            self._wake()

    def stop(self) -> None:
        """Start no request any more, and wake all who wait."""
        self.stopped.set()
        self._wake()

    async def sleep(self, seconds: float) -> None:
        """Wait this long, or until everything stops."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.stopped.wait()

    def _wake(self) -> None:
        """Let all who wait look again whether they may start."""
        self._changed.set()
        self._changed = asyncio.Event()
