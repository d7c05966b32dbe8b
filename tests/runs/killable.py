"""A server on this machine that answers each prompt with its seal, and child processes that ask it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from equipoise.runs.file.reader import RunReader
from equipoise.schema import ANSWER, ID, PROMPT, REPETITION
from runs.fakes import attempts_of, prompts_of, seal

TESTS = Path(__file__).parents[1]
Answer = Callable[[str, int], str]


class Server:
    """A server in a thread of its own. `requests` counts the requests for each prompt.

    While `may_answer` is cleared, answers are held back and counted in `held`.
    """

    def __init__(self, answer: Answer = lambda prompt, nth: seal(prompt), *, delay: float = 0.0) -> None:
        self.requests: Counter[str] = Counter()
        self.held = 0
        self.url = ""
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._answer = answer
        self._delay = delay
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.may_answer.set()
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        application = web.Application()
        application.router.add_post("/", self._respond)
        runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        self._ready.set()
        await self._end.wait()
        await runner.cleanup()

    async def _respond(self, request: web.Request) -> web.Response:
        prompt = (await request.read()).decode()
        self.requests[prompt] += 1
        nth = self.requests[prompt]
        if self._delay:
            await asyncio.sleep(self._delay)
        if not self.may_answer.is_set():
            self.held += 1
            while not self.may_answer.is_set():
                await asyncio.sleep(0.005)
        return web.Response(text=self._answer(prompt, nth))


def start(path: Path, server: Server, *options: str) -> subprocess.Popen[str]:
    """Start a child process that asks the server for what is pending."""
    return subprocess.Popen(
        [sys.executable, "-m", "runs.child", str(path), server.url, *options],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def acknowledged(output: str) -> set[tuple[str, str, int]]:
    """The attempts that a child printed as stored. A line that a kill cut short does not count."""
    lines = [line.split() for line in output.split("\n")[:-1]]
    return {
        (probe, prompt, int(repetition)) for probe, prompt, repetition in (line for line in lines if len(line) == 3)
    }


def stored(run: RunReader) -> dict[tuple[str, str, int], Any]:
    """Each stored attempt with its answer."""
    answers: dict[tuple[str, str, int], Any] = {}
    for probe in run.probes():
        frame = attempts_of(run, probe.name)
        keys = [(probe.name, prompt, repetition) for prompt, repetition in frame.select(ID, REPETITION).iter_rows()]
        assert len(set(keys)) == len(keys)
        answers |= dict(zip(keys, frame[ANSWER], strict=True))
    return answers


def texts(run: RunReader) -> dict[tuple[str, str], str]:
    """Each prompt's text."""
    return {
        (probe.name, prompt): text
        for probe in run.probes()
        for prompt, text in prompts_of(run, probe.name).select(ID, PROMPT).iter_rows()
    }
