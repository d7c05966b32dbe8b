"""Storing what came back: one task that commits small batches, and says so only afterwards."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from equipoise.runs.values import Attempt

FULL = 256
LINGER = 0.05
_HEAVY = 64 * 1024
"""Bytes that weigh as much as one more attempt, so that large answers do not pile up in memory."""


class Writer:
    """Attempts on their way into the run file, a bounded number of them.

    `commit` stores a batch durably; `failed` is told when it cannot, once. What could not be stored is kept and tried
    once more at the end.
    """

    def __init__(self, commit: Callable[[list[Attempt]], Awaitable[None]], failed: Callable[[Exception], None]) -> None:
        self._commit = commit
        self._failed = failed
        self._batch: list[Attempt] = []
        self._weight = 0
        self._came, self._full, self._room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._room.set()
        self._closing = False
        self._broken = False
        self._task = asyncio.create_task(self._write())

    async def put(self, attempt: Attempt) -> None:
        """Hand over an attempt; waits while too much is not yet stored."""
        self._batch.append(attempt)
        self._weight += 1 + _size(attempt) // _HEAVY
        self._came.set()
        if self._weight >= FULL and not self._broken:
            self._full.set()
            self._room.clear()
        await self._room.wait()

    async def close(self) -> int:
        """Store the rest; give how many attempts could not be stored."""
        self._closing = True
        self._came.set()
        self._full.set()
        await self._task
        if self._broken:
            await self._store(self._take())
        return len(self._batch)

    async def _write(self) -> None:
        while not self._broken and not (self._closing and not self._batch):
            await self._came.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LINGER):
                    await self._full.wait()
            if batch := self._take():
                await self._store(batch)

    def _take(self) -> list[Attempt]:
        batch, self._batch, self._weight = self._batch, [], 0
        if not self._closing:
            self._came.clear()
            self._full.clear()
        self._room.set()
        return batch

    async def _store(self, batch: list[Attempt]) -> None:
        try:
            await self._commit(batch)
        except Exception as error:
            self._batch = batch + self._batch
            self._room.set()
            if not self._broken:
                self._broken = True
                self._failed(error)


def _size(attempt: Attempt) -> int:
    reply = attempt.reply
    return len(reply.answer or "") + len(reply.reasoning or "") + len(reply.raw or b"")
