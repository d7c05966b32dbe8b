"""Matrix products and other work on all cores, in pieces of which each stays in one thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import polars as pl

from equipoise.authoring import Array

MAX_PRODUCTS, MAX_CELLS = 2**18, 256
"""Up to this many products, and this many cells at a time, BLAS works in one thread."""

Task = TypeVar("Task")
Done = TypeVar("Done")


def multiply(weights: Array, columns: Array) -> Array:
    """The matrix product in pieces so small that BLAS does not split them over threads.

    Its threads would wait for each other longer than they work: fifty times as long on a busy machine.
    """
    if len(columns) <= MAX_CELLS and weights.size * columns.shape[1] <= MAX_PRODUCTS:
        return weights @ columns
    result = np.zeros((len(weights), columns.shape[1]))
    height = max(1, MAX_PRODUCTS // (MAX_CELLS * columns.shape[1]))
    for left in range(0, len(columns), MAX_CELLS):
        right = slice(left, left + MAX_CELLS)
        for top in range(0, len(weights), height):
            rows = slice(top, top + height)
            result[rows] += weights[rows, right] @ columns[right]
    return result


def count_threads() -> int:
    """How many threads may work: as many as those of polars, which `POLARS_MAX_THREADS` limits."""
    return pl.thread_pool_size()


def work_ahead(work: Callable[[Task], Done], tasks: Iterable[Task]) -> Generator[Done, None, None]:
    """The results of the tasks, one after another: while the caller uses one, a thread works on the next."""
    tasks = list(tasks)
    if count_threads() < 2 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(work, tasks[0])
        for task in tasks[1:]:
            done = following.result()
            following = pool.submit(work, task)
            yield done
        yield following.result()


def work_in_threads(work: Callable[[Task], Done], tasks: Iterable[Task]) -> list[Done]:
    """The results of the tasks, in their order. They are worked on at the same time: numpy and polars let other threads
    go on."""
    tasks = list(tasks)
    threads = min(count_threads(), len(tasks))
    if threads < 2:
        return [work(task) for task in tasks]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, tasks))
