"""Charts drawn in a process of their own while this one goes on measuring: drawing is about a third of a report."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Self

from markupsafe import Markup

from equipoise.report.charts.canvas import Drawing

# Only what draws is imported there. One line of JSON in, one line of JSON out.
PROGRAM = """
import json, sys, vl_convert
for line in sys.stdin.buffer:
    svg = vl_convert.vega_to_svg(json.loads(line), allowed_base_urls=[])
    sys.stdout.buffer.write(json.dumps(svg).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""


class DrawingProcess:
    """Draws charts in the order in which they are given. Where no process can be started, they are drawn here."""

    def __init__(self) -> None:
        self._drawn: dict[int, tuple[Drawing, Future[str]]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="equipoise-charts")

    def __enter__(self) -> Self:
        with suppress(OSError):
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-c", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(cancel_futures=True)
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()
            # Killed, not waited for: the child holds no state.
            self._process.kill()
            self._process.wait()

    def start(self, drawings: Iterable[Drawing]) -> None:
        """Begin to draw. The results are kept until they are asked for."""
        if self._process is not None:
            for drawing in drawings:
                self._drawn[id(drawing)] = (drawing, self._thread.submit(self._draw, drawing))

    def inline(self, drawing: Drawing) -> Markup:
        """The chart as an element of a page: drawn before, or else now."""
        _, waiting = self._drawn.get(id(drawing), (drawing, None))
        if waiting is None:
            return drawing.inline()
        try:
            return drawing.inline(waiting.result())
        except (OSError, ValueError):
            # The process is gone, or was never able to draw.
            return drawing.inline()

    def _draw(self, drawing: Drawing) -> str:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(drawing.spec()).encode() + b"\n")
        self._process.stdin.flush()
        svg: str = json.loads(self._process.stdout.readline())
        return svg
