"""Standard output and standard error that never end a command halfway: a reader may leave, a disk may be full.

A verdict must not depend on who reads it. When a stream fails, it is silent from then on, the work is done to its end,
and the exit code is that of the work.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from equipoise.errors import StorageError

READABLE = "equipoise-readable"
"""The name of the error handler for encodings that lack a character."""
LOOKALIKES = dict(zip("●─━╸╺·–—−×•│‘’“”\N{NO-BREAK SPACE}", "o----.---x*|''\"\" ", strict=True)) | {
    "…": "...",
    "→": "->",
}
"""What is written for the characters that we draw, where an encoding has none."""
_NOBODY_READS = {errno.EPIPE, errno.ESHUTDOWN, errno.ECONNRESET}
if sys.platform == "win32":
    _NOBODY_READS.add(errno.EINVAL)  # what Windows says when the reader of a pipe has gone


class ReaderGone(Exception):
    """Nobody reads what this command was only there to write."""


class Outlet(io.RawIOBase):
    """A stream of bytes that is silent from its first failure on.

    While `strict`, the failure is raised too: for commands whose whole work is what they write.
    """

    strict = False
    problem: str | None = None
    """Why something of the output is lost, unless it is that nobody reads it, or was raised as an error."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream  # it would close the raw stream if it were forgotten
        self._raw = getattr(stream.buffer, "raw", stream.buffer)
        self._silent = False

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The file descriptor."""
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return bool(self._stream.isatty())

    def write(self, data: Any) -> int:
        """Write bytes, or drop them if an earlier write has failed."""
        if self._silent:
            return memoryview(data).nbytes
        try:
            return int(self._raw.write(data) or 0)
        except OSError as failure:
            self._silent = True
            nobody_reads = failure.errno in _NOBODY_READS
            problem = f"The output cannot be written: {failure.strerror or failure}."
            if self.strict:
                raise (ReaderGone if nobody_reads else StorageError(problem)) from None
            self.problem = None if nobody_reads else problem
            return memoryview(data).nbytes


@contextmanager
def robust_streams() -> Iterator[Outlet | None]:
    """Put an outlet below stdout and stderr for a while, also where they are closed; gives that of stdout."""
    before = sys.stdout, sys.stderr
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)  # otherwise a run file could become what libraries take for stderr
    os.close(descriptor)
    codecs.register_error(READABLE, _write_readably)
    sys.stdout, sys.stderr = _make_robust(sys.stdout), _make_robust(sys.stderr)
    try:
        yield _find_outlet(sys.stdout)
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def _find_outlet(stream: Any) -> Outlet | None:
    """What a robust stream writes to; None for another stream."""
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw if isinstance(raw, Outlet) else None


@contextmanager
def strict_stdout() -> Iterator[IO[bytes]]:
    """Stdout for bytes, for a command whose whole work is to write them: it stops when they cannot be written."""
    if outlet := _find_outlet(sys.stdout):
        outlet.strict = True
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    finally:
        if outlet:
            outlet.strict = False


def _make_robust(stream: Any) -> Any:
    """The stream with an outlet below it. One that is no file, as in a notebook, stays as it is."""
    if stream is None:  # closed
        stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lasts
    if not hasattr(stream, "buffer"):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(Outlet(stream)),
        encoding=stream.encoding,
        errors=READABLE,
        line_buffering=getattr(stream, "line_buffering", False),
    )


def _write_readably(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is written for characters that an encoding lacks: something that looks alike, or else an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(LOOKALIKES.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing), error.end
