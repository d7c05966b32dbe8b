"""Ctrl-C and SIGTERM while a run is under way: end in order, and at once when asked twice."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@contextmanager
def interruptible(stop: Callable[[int], None]) -> Iterator[None]:
    """Call `stop` in the running loop, with the exit code to end with, on each SIGINT or SIGTERM.

    Only the main thread can be told of signals; elsewhere (a notebook's run in a thread of its own) nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def told(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop, CODES[signal.Signals(number)])

    before = {number: signal.signal(number, told) for number in CODES}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
