"""Results to stdout, notes to stderr; and streams that never end a command halfway: a reader may leave, a disk be full.

A verdict must not depend on who reads it. When a stream fails, it is silent from then on, the work is done to its end,
and the exit code is that of the work.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from equipoise.errors import InputError
from equipoise.report.files import writing
from equipoise.safe_text import printable

if TYPE_CHECKING:
    from rich.console import Console

FILE_WIDTH = 200
STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
_NOBODY_READS = {errno.EPIPE, errno.ESHUTDOWN, errno.ECONNRESET}
if sys.platform == "win32":
    _NOBODY_READS.add(errno.EINVAL)  # what Windows says when the reader of a pipe has gone


def open_console() -> Console:
    """Where results are drawn: plain and wide when it is not a terminal."""
    from rich import console

    terminal = console.Console(highlight=False, markup=False)
    return terminal if terminal.is_terminal else console.Console(highlight=False, markup=False, width=FILE_WIDTH)


def note(text: str) -> None:
    """Say something beside the results."""
    sys.stderr.write(f"{printable(text)}\n")


def print_json(kind: str, value: Mapping[str, Any], *, indent: int | None = 2) -> None:
    """Print one JSON object that names its schema and version, which rises when a field goes or changes: docs/schemas/.

    All but ASCII is escaped, so nothing in it can steer a terminal.
    """
    plain = orjson.loads(orjson.dumps({"schema": f"equipoise/{kind}", **value}))
    text = json.dumps(plain, indent=indent).replace("\x7f", "\\u007f")
    sys.stdout.write(f"{text}\n")


def choose_format(form: str | None, out: Path | None, tables: Sequence[str], *, default: str) -> str:
    """The format of a file: the one that was named, or that of the file's ending; InputError if they disagree."""
    ending = out.suffix.lower().removeprefix(".") if out else ""
    if form is None:
        return ending if ending in tables else default
    if form in tables and ending in tables and form != ending:
        raise InputError(f"{out} ends in .{ending}, and the format is {form}. Give --format {ending}, or another name.")
    return form


def open_output(path: Path | None) -> AbstractContextManager[IO[bytes]]:
    """A file to write, or stdout."""
    return nullcontext(sys.stdout.buffer) if path is None or str(path) in STDOUT else writing(path)


class Outlet(io.FileIO):
    """A file that is silent from its first failure on."""

    problem: str | None = None
    """Why something of the output is lost, unless it is that nobody reads it."""

    def write(self, data: Any) -> int:
        """Write bytes; what comes after a failure goes nowhere."""
        try:
            return super().write(data) or 0
        except OSError as failure:
            if failure.errno not in _NOBODY_READS:
                self.problem = f"The output cannot be written: {failure.strerror or failure}."
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
        return memoryview(data).nbytes


@contextmanager
def robust_streams() -> Iterator[Outlet]:
    """Let stdout and stderr write to outlets for a while; gives that of stdout."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)  # otherwise a run file could become what libraries take for stderr
    os.close(descriptor)
    before = sys.stdout, sys.stderr
    outlets = [
        Outlet(stream.fileno() if stream else number, "w", closefd=False) for number, stream in enumerate(before, 1)
    ]
    sys.stdout, sys.stderr = map(_open_text, outlets, before)
    try:
        yield outlets[0]
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdout, sys.stderr = before


def _open_text(outlet: Outlet, before: Any) -> Any:
    """The outlet as a stream of text like the one before, which is None if it was closed."""
    if sys.platform == "win32" and outlet.isatty():
        return before  # a console there takes text, not bytes
    encoding, by_lines = (before.encoding, before.line_buffering) if before else ("utf-8", False)
    errors = "backslashreplace"  # characters that the encoding lacks
    return io.TextIOWrapper(io.BufferedWriter(outlet), encoding=encoding, errors=errors, line_buffering=by_lines)
