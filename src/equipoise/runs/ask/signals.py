"""SIGINT (Ctrl-C) and SIGTERM while the pump runs: stop in order, and at once on the second signal."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@contextmanager
def stop_on_signals(stop: Callable[[int], None]) -> Iterator[None]:
    """On each SIGINT or SIGTERM, call `stop` in the running loop with the exit code to end with.

    Python delivers signals only to the main thread. In another thread, as in a notebook, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def handle(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop, EXIT_CODES[signal.Signals(number)])

    previous = {number: signal.signal(number, handle) for number in EXIT_CODES}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
