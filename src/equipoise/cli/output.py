"""Results to stdout, notes and progress to stderr, files in one piece."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from equipoise.errors import StorageError

if TYPE_CHECKING:
    from rich.console import Console


def stdout() -> Console:
    """Where results are drawn: plain and wide when it is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=200)


def note(text: str) -> None:
    """Say something beside the results."""
    from equipoise.report.terminal import printable

    sys.stderr.write(f"{printable(text)}\n")


def print_json(value: Any) -> None:
    """Print one JSON value."""
    import orjson

    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


@contextmanager
def writing(path: Path | None) -> Iterator[IO[bytes]]:
    """The file that is written, or stdout. A file appears whole or not at all."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            try:
                yield file
                file.flush()
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.") from None
