"""One owner per run: a lock on a file beside the run file, which ends with the process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from equipoise.errors import StorageError


def beside(path: Path, suffix: str) -> Path:
    """What stands beside a run file: its .lock, and the -journal of SQLite while a change is written."""
    return path.with_name(path.name + suffix)


class Lock:
    """The lock of a run file's owner. The constructor takes it at once or raises StorageError.

    The lock file holds the process id of the owner. It is removed on release; one that a kill left is taken over.
    """

    def __init__(self, path: Path) -> None:
        self._path = beside(path, ".lock")
        while True:
            self._fd = _open(self._path)
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                owner = os.read(self._fd, 20).decode("ascii", "replace")
                os.close(self._fd)
                raise StorageError(
                    f"{path} is in use by another process{f' (pid {owner})' if owner else ''}. "
                    "A run has one owner: wait until it has finished, or stop it."
                ) from None
            if is_same_file(os.fstat(self._fd), self._path):
                break
            os.close(self._fd)  # the previous owner removed the file between opening and locking
        os.ftruncate(self._fd, 0)
        os.write(self._fd, str(os.getpid()).encode())

    def release(self) -> None:
        """Give the lock back."""
        self._path.unlink(missing_ok=True)
        os.close(self._fd)


def is_same_file(known: os.stat_result, path: Path) -> bool:
    """Whether this file is the one that has the path now."""
    try:
        return os.path.samestat(known, path.stat())
    except FileNotFoundError:
        return False


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StorageError(f"{path.parent} cannot be written to: {error.strerror} ({path.name}).") from None
