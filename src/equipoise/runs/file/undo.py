"""Undoing what was begun, where what follows fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_error(undo: Callable[[], object]) -> Iterator[None]:
    """Close a file or release a lock if the body fails: the caller will not get it."""
    try:
        yield
    except BaseException:
        undo()
        raise
