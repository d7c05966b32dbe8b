"""How much a run file can still grow."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from equipoise.runs.file import checks

_LARGEST_FILE = 2**63 - 1


def describe_shortage(path: Path, reserve: int) -> str | None:
    """A message if the disk, or a limit on the size of files, leaves less than the reserve."""
    main, wal_file = path.stat().st_size, checks.wal_path(path)
    wal = wal_file.stat().st_size if wal_file.exists() else 0
    # The content of the -wal will need its space in the main file, too.
    free = min(shutil.disk_usage(path.parent).free, _size_limit() - main) - wal
    if free >= reserve:
        return None
    return (
        f"{path}: only {max(free, 0) / 2**20:.0f} MB can still be written there, and a run keeps "
        f"{reserve / 2**20:.0f} MB free so that no answer is lost. Make room first."
    )


def _size_limit() -> int:
    """How large a file of this process may become, in bytes."""
    if sys.platform == "win32":
        return _LARGEST_FILE
    import resource  # noqa: PLC0415 - not on Windows

    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return _LARGEST_FILE if limit == resource.RLIM_INFINITY else limit
