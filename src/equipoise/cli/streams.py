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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


class Outlet(io.RawIOBase):
    """A stream of bytes that is silent from its first failure on."""

    problem: str | None = None
    """Why something of the output is lost, unless it is that nobody reads it."""

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
        if not self._silent:
            try:
                return int(self._raw.write(data) or 0)
            except OSError as failure:
                self._silent = True
                if failure.errno not in _NOBODY_READS:
                    self.problem = f"The output cannot be written: {failure.strerror or failure}."
        return memoryview(data).nbytes


@contextmanager
def robust_streams() -> Iterator[Callable[[], str | None]]:
    """Put an outlet below stdout and stderr for a while; gives a function that says what is lost of stdout."""
    before = sys.stdout, sys.stderr
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)  # otherwise a run file could become what libraries take for stderr
    os.close(descriptor)
    codecs.register_error(READABLE, _write_readably)
    sys.stdout, sys.stderr = _make_robust(sys.stdout), _make_robust(sys.stderr)

    def find_problem() -> str | None:
        sys.stdout.flush()
        return getattr(getattr(getattr(sys.stdout, "buffer", None), "raw", None), "problem", None)

    try:
        yield find_problem
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


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
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(LOOKALIKES.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing), error.end
