"""One owner a run: a lock of the operating system on a file beside it, which vanishes with the process."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

from equipoise.errors import StorageError

# Windows does not let others read what is locked, so the lock is on a byte far behind the words.
_FAR = 2**30


class Lock:
    """The lock on a run file, taken at once or refused.

    The file holds the owner's process and which file is owned, so that what a killed owner left can be told from a
    copy of it. It is removed on release; left by a kill, it is simply taken over.
    """

    def __init__(self, path: Path) -> None:
        self._run = path
        self._path = beside(path)
        while True:
            self._fd = _open(self._path)
            try:
                _lock(self._fd)
            except OSError:
                owner = _words(self._fd).get("pid")
                os.close(self._fd)
                raise StorageError(
                    f"{path} is in use by another process{f' (pid {owner})' if owner else ''}. "
                    "A run has one owner: wait until it has finished, or stop it."
                ) from None
            if _same(self._fd, self._path):
                self._write(_words(self._fd).get("file"))  # until the file is known to be whole
                return
            os.close(self._fd)  # the owner before has removed the file in the meantime

    def sign(self) -> None:
        """Write down which file is owned, once it is known to be whole."""
        place = self._run.stat()
        self._write([place.st_dev, place.st_ino])

    def _write(self, file: object) -> None:
        self._file = file
        words = json.dumps({"pid": os.getpid(), "file": file})
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.write(self._fd, words.encode())

    def release(self, *, clean: bool = False) -> None:
        """Give it back, and leave nothing behind unless the file was not left clean."""
        remove = clean or self._file is None
        if remove and sys.platform != "win32":
            self._path.unlink(missing_ok=True)
        os.close(self._fd)
        if remove and sys.platform == "win32":
            with contextlib.suppress(OSError):  # another one may have it already
                self._path.unlink()


def beside(path: Path) -> Path:
    """Where the lock of a run file stands."""
    return path.with_name(path.name + ".lock")


def left_by_owner(path: Path) -> bool:
    """Whether a lock stands beside this very file, so that it was not copied here."""
    try:
        fd = os.open(beside(path), os.O_RDONLY)
    except OSError:
        return False
    try:
        place = path.stat()
        return _words(fd).get("file") == [place.st_dev, place.st_ino]
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError as error:
        raise StorageError(f"{path.parent} cannot be written to: {error.strerror} ({path.name}).") from None


def _words(fd: int) -> dict[str, object]:
    os.lseek(fd, 0, os.SEEK_SET)
    try:
        words = json.loads(os.read(fd, 1000))
    except ValueError:
        return {}
    return words if isinstance(words, dict) else {}


def _same(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        os.lseek(fd, _FAR, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
