"""One owner per run: a lock of the operating system on a file beside the run file, which ends with the process."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

from equipoise.errors import StorageError

# On Windows others cannot read locked bytes, so the lock is on one byte far behind the content.
_LOCKED_BYTE = 2**30


class Lock:
    """The lock on a run file. The constructor takes it at once or raises StorageError.

    The lock file holds the process id of the owner and the identity of the run file. By that, the lock file that a
    killed owner left can be told from a copy. It is removed on release; a lock file left by a kill is taken over.
    """

    def __init__(self, path: Path) -> None:
        self._run_path = path
        self._path = lock_path(path)
        while True:
            self._fd = _open(self._path)
            try:
                _lock(self._fd)
            except OSError:
                owner = _read_content(self._fd).get("pid")
                os.close(self._fd)
                raise StorageError(
                    f"{path} is in use by another process{f' (pid {owner})' if owner else ''}. "
                    "A run has one owner: wait until it has finished, or stop it."
                ) from None
            if _is_same_file(self._fd, self._path):
                # An earlier owner's identity is kept until the run file has been checked.
                self._write(_read_content(self._fd).get("file"))
                return
            os.close(self._fd)  # the previous owner removed the file between opening and locking

    def write_identity(self) -> None:
        """Write down which run file is owned, once it is known to be whole."""
        stat = self._run_path.stat()
        self._write([stat.st_dev, stat.st_ino])

    def _write(self, identity: object) -> None:
        self._identity = identity
        content = json.dumps({"pid": os.getpid(), "file": identity})
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.write(self._fd, content.encode())

    def release(self, *, clean: bool = False) -> None:
        """Give the lock back. The lock file stays only if the run file was in use and is not left clean."""
        remove = clean or self._identity is None
        if remove and sys.platform != "win32":
            self._path.unlink(missing_ok=True)
        os.close(self._fd)
        if remove and sys.platform == "win32":
            with contextlib.suppress(OSError):  # another process may have taken it already
                self._path.unlink()


def lock_path(path: Path) -> Path:
    """The path of a run file's lock file."""
    return path.with_name(path.name + ".lock")


def has_lock_of_owner(path: Path) -> bool:
    """Whether the lock file beside the run file names this very file, so that it is not a copy."""
    try:
        fd = os.open(lock_path(path), os.O_RDONLY)
    except OSError:
        return False
    try:
        stat = path.stat()
        return _read_content(fd).get("file") == [stat.st_dev, stat.st_ino]
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        raise StorageError(f"{path.parent} cannot be written to: {error.strerror} ({path.name}).") from None


def _read_content(fd: int) -> dict[str, object]:
    os.lseek(fd, 0, os.SEEK_SET)
    try:
        content = json.loads(os.read(fd, 1000))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


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

else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
