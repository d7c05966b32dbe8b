"""One owner per run: a lock on a file beside the run file, which ends with the process."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from equipoise.errors import StorageError

# On Windows others cannot read locked bytes, and the process id of the owner stands in the first ones.
_LOCKED_BYTE = 1000


class Lock:
    """The lock of a run file's owner. The constructor takes it at once or raises StorageError.

    The lock file holds the process id of the owner. It is removed on release; one that a kill left is taken over.
    """

    def __init__(self, path: Path) -> None:
        self._path = lock_path(path)
        while True:
            self._fd = _open(self._path)
            try:
                _lock(self._fd)
            except OSError:
                owner = os.read(self._fd, 20).decode("ascii", "replace")
                os.close(self._fd)
                raise StorageError(
                    f"{path} is in use by another process{f' (pid {owner})' if owner else ''}. "
                    "A run has one owner: wait until it has finished, or stop it."
                ) from None
            if _is_same_file(self._fd, self._path):
                break
            os.close(self._fd)  # the previous owner removed the file between opening and locking
        os.ftruncate(self._fd, 0)
        os.write(self._fd, str(os.getpid()).encode())

    def release(self, *, remove: bool = True) -> None:
        """Give the lock back. A lock file that is not removed says that the run file was not left as one whole."""
        if remove and sys.platform != "win32":
            self._path.unlink(missing_ok=True)
        os.close(self._fd)
        if remove and sys.platform == "win32":
            with contextlib.suppress(OSError):  # another process may have taken it already
                self._path.unlink()


def lock_path(path: Path) -> Path:
    """The path of a run file's lock file."""
    return path.with_name(path.name + ".lock")


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise StorageError(f"{path.parent} cannot be written to: {error.strerror} ({path.name}).") from None


def _is_same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        os.lseek(fd, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        os.lseek(fd, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
