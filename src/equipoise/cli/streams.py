"""Standard output and standard error that never end a command halfway: a reader may leave, a disk may be full.

A verdict must not depend on who listens. When a stream fails, it is silent from then on, the work is done to its end,
and the exit code is that of the work. What was lost for another reason than that nobody reads is told at the end.
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

    def __init__(self, stream: Any, name: str) -> None:
        buffer = getattr(stream, "buffer", stream)
        self._raw = getattr(buffer, "raw", buffer)
        self._stream = stream
        self._name = name
        self._silent = False
        self.strict = False
        self.problem: str | None = None
        """Why something of the output is lost, unless it is that nobody reads it, or was raised as an error."""

    def write(self, data: Any) -> int:
        """Write bytes, or drop them if an earlier write has failed."""
        if not self._silent:
            try:
                return int(self._raw.write(data) or 0)
            except OSError as failure:
                self._silent = True
                self._tell(failure)
        return memoryview(data).nbytes

    def _tell(self, failure: OSError) -> None:
        """Raise the failure, or keep it to be told at the end."""
        nobody_reads = failure.errno in _NOBODY_READS
        problem = f"The {self._name} cannot be written: {failure.strerror or failure}."
        if self.strict:
            raise (ReaderGone if nobody_reads else StorageError(problem)) from None
        if not nobody_reads:
            self.problem = problem

    def writable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The file descriptor."""
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return bool(self._stream.isatty())


@contextmanager
def robust_streams() -> Iterator[Outlet | None]:
    """Make stdout and stderr robust for a while, also where they are closed; gives stdout, to ask it for problems."""
    before = sys.stdout, sys.stderr
    _fill_closed_descriptors()
    codecs.register_error(READABLE, _write_readably)
    sys.stdout, sys.stderr = _make_robust(sys.stdout, "output"), _make_robust(sys.stderr, "error output")
    try:
        yield find_outlet(sys.stdout)
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


@contextmanager
def strict_stdout() -> Iterator[IO[bytes]]:
    """Stdout for bytes, for a command whose whole work is to write them: it stops when they cannot be written."""
    outlet = find_outlet(sys.stdout)
    if outlet is not None:
        outlet.strict = True
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    finally:
        if outlet is not None:
            outlet.strict = False


def find_outlet(stream: Any) -> Outlet | None:
    """What a robust stream writes to; None for another stream."""
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw if isinstance(raw, Outlet) else None


def _make_robust(stream: Any, name: str) -> Any:
    """The stream with an outlet below it. One that is no file, as in a notebook, stays as it is."""
    if stream is None:  # closed
        stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lasts
    if not hasattr(stream, "buffer"):
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(Outlet(stream, name)),
        encoding=stream.encoding,
        errors=READABLE,
        line_buffering=getattr(stream, "line_buffering", False),
    )


def _fill_closed_descriptors() -> None:
    """Let no file that is opened later, such as a run file, become what others take for stdout or stderr."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _write_readably(error: UnicodeError) -> tuple[str | bytes, int]:
    """What is written for characters that an encoding lacks: something that looks alike, or else an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(LOOKALIKES.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing), error.end
