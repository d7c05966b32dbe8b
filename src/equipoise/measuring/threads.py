"""Work on all cores: polars and numpy let other threads go on while they compute."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, RLock
from typing import TypeVar

import polars as pl

TURN = 5e-5
"""For how many seconds a thread may keep Python for itself while another waits for it. Python's own 5 ms are what a
thread that computes with polars would wait after every call, while another one computes ids in Python."""

Task = TypeVar("Task")
Done = TypeVar("Done")


def count_threads() -> int:
    """How many threads may work: as many as those of polars, which `POLARS_MAX_THREADS` limits."""
    return pl.thread_pool_size()


def work_in_threads(work: Callable[[Task], Done], tasks: Iterable[Task]) -> list[Done]:
    """The results of the tasks, in their order. They are worked on at the same time."""
    tasks = list(tasks)
    threads = min(count_threads(), len(tasks))
    if threads < 2:
        return [work(task) for task in tasks]
    with _start_threads(threads) as pool:
        return list(pool.map(work, tasks))


def work_ahead(work: Callable[[Task], Done], tasks: Iterable[Task], threads: int = 1) -> Generator[Done, None, None]:
    """The results of the tasks, one after another: while the caller uses one, so many threads work on the next."""
    if count_threads() < 2:
        yield from map(work, tasks)
        return
    under_way: deque[Future[Done]] = deque()
    with _start_threads(threads) as pool:
        for task in tasks:
            under_way.append(pool.submit(work, task))
            if len(under_way) > threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def at_hand(result: Done) -> Future[Done]:
    """A future result that is there already."""
    future: Future[Done] = Future()
    future.set_result(result)
    return future


@contextmanager
def work_beside(work: Callable[[Iterable[Task]], Done], tasks: Iterable[Task] = ()) -> Iterator[Future[Done]]:
    """The future result of the work, which a thread does while the caller does something else.

    If there are tasks, the work takes them one by one, and is broken off at the next if the caller fails meanwhile.
    """
    if count_threads() < 2:
        yield at_hand(work(tasks))
        return
    is_over = Event()

    def go_on() -> Iterator[Task]:
        source = iter(tasks)
        try:
            for task in source:
                if is_over.is_set():
                    raise CancelledError
                yield task
        finally:
            if isinstance(source, Generator):
                source.close()  # at once, and with it the threads that it may use: an error can be kept for long

    with _start_threads(1) as pool:
        done = pool.submit(lambda: work(go_on()))
        try:
            yield done
        finally:
            is_over.set()


@contextmanager
def _start_threads(number: int) -> Iterator[ThreadPoolExecutor]:
    with _turns, ThreadPoolExecutor(number) as pool:
        yield pool


class _ShortTurns:
    """While any of our threads are at work, all threads of the process take turns more often; then as before."""

    def __init__(self) -> None:
        self._lock = RLock()  # what the garbage collector ends meanwhile leaves, too
        self._users = 0
        self._usual = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(TURN, self._usual))
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                sys.setswitchinterval(self._usual)


_turns = _ShortTurns()
