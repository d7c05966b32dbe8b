"""One owner per run: locks on the run file and on a file beside it, which end with the process."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import sys
from pathlib import Path

from equipoise.errors import StorageError

# On Windows others cannot read locked bytes. SQLite leaves the page at 2**30 empty; its own locks are in the first 512.
_LOCKED_BYTE = 2**30 + 1000
_OWNED_HERE: set[tuple[int, int]] = set()
"""Device and inode of each run file that this process owns."""


class Lock:
    """The lock on a run file. The constructor takes the lock file at once or raises StorageError; so does `take_file`.

    The lock file holds the process id of the owner and the identity of the run file. By that, the lock file that a
    killed owner left can be told from a copy. It is removed on release; a lock file left by a kill is taken over.
    """

    def __init__(self, path: Path) -> None:
        self._run_path = path
        self._file: int | None = None
        self._path = lock_path(path)
        while True:
            self._fd = _open(self._path)
            try:
                _lock(self._fd)
            except OSError:
                owner = _read_content(self._fd).get("pid")
                os.close(self._fd)
                raise _in_use(path, owner) from None
            if _is_same_file(self._fd, self._path):
                # An earlier owner's identity is kept until the run file has been checked.
                self._write(_read_content(self._fd).get("file"))
                return
            os.close(self._fd)  # the previous owner removed the file between opening and locking

    def take_file(self) -> None:
        """Lock the run file itself: a lock file can be removed, and a run file can have several names."""
        if is_owned_here(self._run_path):
            raise _in_use(self._run_path, os.getpid())
        try:
            file = os.open(self._run_path, os.O_RDWR)
        except OSError as error:
            raise StorageError(f"{self._run_path} cannot be written to: {error.strerror}.") from None
        try:
            _lock_byte(file)
        except OSError:
            os.close(file)
            raise _in_use(self._run_path, None) from None
        self._file = file
        _OWNED_HERE.add(_identity(os.fstat(file)))

    def is_file_in_place(self) -> bool:
        """Whether the run file that is owned is still the one at its path."""
        assert self._file is not None
        return _is_same_file(self._file, self._run_path)

    def write_identity(self) -> None:
        """Write down which run file is owned, once it is known to be whole."""
        self._write(list(_identity(self._run_path.stat())))

    def _write(self, identity: object) -> None:
        self._identity = identity
        content = json.dumps({"pid": os.getpid(), "file": identity})
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.write(self._fd, content.encode())

    def release(self, *, clean: bool = False) -> None:
        """Give the lock back. The lock file stays only if the run file was in use and is not left clean.

        SQLite's connection must be closed: closing a file ends all locks that this process has on it.
        """
        if self._file is not None:
            _OWNED_HERE.discard(_identity(os.fstat(self._file)))
            os.close(self._file)
            self._file = None
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
        return _read_content(fd).get("file") == list(_identity(path.stat()))
    finally:
        os.close(fd)


def is_owned_here(path: Path) -> bool:
    """Whether this process owns the run file at this path."""
    try:
        return bool(_OWNED_HERE) and _identity(path.stat()) in _OWNED_HERE
    except OSError:
        return False


def _identity(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_dev, stat.st_ino


def _in_use(path: Path, pid: object) -> StorageError:
    return StorageError(
        f"{path} is in use by another process{f' (pid {pid})' if pid else ''}. "
        "A run has one owner: wait until it has finished, or stop it."
    )


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
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

    _lock_byte = _lock

else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock_byte(fd: int) -> None:
        """Lock one byte of the run file that SQLite does not use. Where the system has no such locks, nothing is done.

        A lock of the whole file would keep SQLite's readers out on some systems, and an ordinary lock of a byte ends
        when any part of this process closes the file.
        """
        command = getattr(fcntl, "F_OFD_SETLK", None)
        if command is not None:
            fcntl.fcntl(fd, command, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, _LOCKED_BYTE, 1, 0))
