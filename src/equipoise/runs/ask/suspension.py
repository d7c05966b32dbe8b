"""Noticing that this process was stopped for a while (SIGSTOP, a closed laptop), so that deadlines passed unused."""

from __future__ import annotations

import asyncio

_LONGEST_TICK = 1.0
_TICKS_PER_DEADLINE = 8
_LATE_TICKS = 3
"""A tick that is later than so many ticks means that the process stood still."""


class SuspensionWatch:
    """A timer that ticks while the process runs. `count` is how often it found that the process had stood still."""

    def __init__(self, deadline: float) -> None:
        self.count = 0
        self._tick = min(_LONGEST_TICK, deadline / _TICKS_PER_DEADLINE)
        self._loop = asyncio.get_running_loop()
        self._schedule()

    def stop(self) -> None:
        """Tick no more."""
        self._timer.cancel()

    def _schedule(self) -> None:
        self._due = self._loop.time() + self._tick
        self._timer = self._loop.call_at(self._due, self._check)

    def _check(self) -> None:
        self.count += self._loop.time() - self._due > _LATE_TICKS * self._tick
        self._schedule()
