"""Storing attempts: one task that commits small batches."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from equipoise.runs.file.values import Attempt

FULL_BATCH = 256
LINGER_SECONDS = 0.05
_BYTES_PER_ATTEMPT = 64 * 1024
"""A larger attempt counts as several, so that large answers do not pile up in memory."""


class Writer:
    """A bounded number of attempts on their way into the run file.

    `commit` stores a batch durably. The first time it fails, `on_failure` is called. Attempts that could not be stored
    are kept and tried once more at the end.
    """

    def __init__(
        self, commit: Callable[[list[Attempt]], Awaitable[None]], on_failure: Callable[[Exception], None]
    ) -> None:
        self._commit = commit
        self._on_failure = on_failure
        self._batch: list[Attempt] = []
        self._size = 0
        self._not_empty, self._full, self._has_room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._has_room.set()
        self._closing = False
        self._failed = False
        self._task = asyncio.create_task(self._write())

    async def put(self, attempt: Attempt) -> None:
        """Hand over an attempt. Waits while too much is not yet stored."""
        self._batch.append(attempt)
        self._size += _size(attempt)
        self._not_empty.set()
        if self._size >= FULL_BATCH and not self._failed:
            self._full.set()
            self._has_room.clear()
        await self._has_room.wait()

    async def close(self) -> int:
        """Store the rest. Returns how many attempts could not be stored."""
        self._closing = True
        self._not_empty.set()
        self._full.set()
        await self._task
        if self._failed:
            batch, self._batch = self._batch, []
            await self._store(batch)
        return len(self._batch)

    async def _write(self) -> None:
        while not self._failed and not (self._closing and not self._batch):
            await self._not_empty.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    await self._full.wait()
            if batch := self._take_batch():
                await self._store(batch)

    def _take_batch(self) -> list[Attempt]:
        """The first attempts, up to a full batch. Large ones are committed a few at a time."""
        size = count = 0
        while count < len(self._batch) and size < FULL_BATCH:
            size += _size(self._batch[count])
            count += 1
        batch, self._batch = self._batch[:count], self._batch[count:]
        self._size -= size
        if not self._batch and not self._closing:
            self._not_empty.clear()
        if self._size < FULL_BATCH:
            if not self._closing:
                self._full.clear()
            self._has_room.set()
        return batch

    async def _store(self, batch: list[Attempt]) -> None:
        try:
            await self._commit(batch)
        except Exception as error:
            self._batch = batch + self._batch
            self._has_room.set()
            if not self._failed:
                self._failed = True
                self._on_failure(error)


def _size(attempt: Attempt) -> int:
    reply = attempt.reply
    bytes_held = len(reply.answer or "") + len(reply.reasoning or "") + len(reply.raw or b"")
    return 1 + bytes_held // _BYTES_PER_ATTEMPT
