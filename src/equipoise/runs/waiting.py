"""Coroutines for callers that have no event loop: run to their end, also in a notebook, which has one."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from equipoise.runs.ask.gate import require_open_files

T = TypeVar("T")
P = ParamSpec("P")


def blocking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The same function for callers without an event loop."""

    @functools.wraps(function)
    def call(*arguments: P.args, **keywords: P.kwargs) -> T:
        return run_to_end(function(*arguments, **keywords))

    call.__name__ = call.__qualname__ = function.__name__.removesuffix("_async")
    return call


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where a loop is already running, as in a notebook."""
    try:
        require_open_files()  # an event loop needs some, too
    except BaseException:
        work.close()
        raise
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run, name="equipoise-audit")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
