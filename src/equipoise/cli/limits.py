"""Limits of the process that libraries answer by ending it, or by waiting for ever: refused here, with a sentence."""

from __future__ import annotations

import sys

from equipoise.errors import StorageError

TABLES = 1.5e9
"""Bytes of address space that tables need; with less, polars cannot start its threads."""
CHARTS = 130e9
"""The same for charts: the engine that draws them reserves that much, and uses little of it."""

CHART_FILES = 64
"""Files that the same engine must be able to open; with fewer it ends in a panic at one of several places."""


def check_address_space(needed: float) -> None:
    """Refuse to start with less address space (`ulimit -v`) than this many bytes."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise StorageError(
            f"This needs {needed / 1e9:,.1f} GB of address space, and {limit / 1e9:,.1f} GB are allowed. "
            "Raise the limit: ulimit -v unlimited"
        )


def check_open_files(needed: int) -> None:
    """Refuse to start where fewer files may be open (`ulimit -n`) than this."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise StorageError(
            f"This needs {needed} open files, and {limit} are allowed. Raise the limit: ulimit -n {needed}"
        )
