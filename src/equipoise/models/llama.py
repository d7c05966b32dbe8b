"""One child process that serves a GGUF file with llama.cpp: started, looked at, ended."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import aiohttp

from equipoise.errors import EndpointError
from equipoise.models import llama_child
from equipoise.models.redact import excerpt

LINES = 12
"""Lines of the log that are kept."""
LONGEST_LINE = 300
PROGRESS = re.compile(rb"^llamacpp:(requests_processing|n_decode_total) (\d+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """What is served and how: so many answers at a time, each with so many tokens of context."""

    weights: Path
    context: int
    slots: int


@dataclass(frozen=True, kw_only=True)
class Watch:
    """How closely a child is watched. Times are in seconds."""

    interval: float = 0.5
    """Between two looks."""
    patience: float = 60.0
    """It hangs when it has not gone on with its work for so long."""
    loading: float = 300.0
    restarts: int = 3


class Llama:
    """A child that runs. It ends with `stop`, and at the latest when this process does."""

    def __init__(self, process: subprocess.Popen[bytes], key: str, weights: Path) -> None:
        self.key = key
        self.address = ""
        self._process = process
        self._weights = weights
        self._log: deque[str] = deque(maxlen=LINES)
        self._reader = threading.Thread(target=self._read_log, args=(process.stderr,), daemon=True)
        self._reader.start()

    @classmethod
    async def start(cls, serving: Serving, watch: Watch) -> Llama:
        """Start a child and wait until it has loaded the weights; EndpointError if it does not."""
        key = secrets.token_urlsafe(24)
        try:
            llama = cls(_spawn(serving, key), key, serving.weights)
        except OSError as problem:
            raise EndpointError(f"The model {serving.weights} has no process to run in: {problem}.") from problem
        try:
            async with asyncio.timeout(watch.loading):
                llama.address = await asyncio.to_thread(llama._read_address)
        except TimeoutError:
            llama.stop()
            raise EndpointError(llama.report(f"was not loaded within {watch.loading:g} s")) from None
        except BaseException:
            llama.stop()
            raise
        if not llama.address:
            raise EndpointError(llama.report(f"could not be loaded: its process {llama.stop()}"))
        return llama

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    async def fault(self, session: aiohttp.ClientSession, watch: Watch) -> str:
        """Wait until the child is of no more use, and say why."""
        clock = asyncio.get_running_loop().time
        before: tuple[int, int] | None = None
        moved = clock()
        while True:
            if self._process.poll() is not None:
                return self.stop()
            now = await self._progress(session, watch.patience)
            if now is not None and (now != before or not now[0]):
                moved, before = clock(), now
            elif clock() - moved >= watch.patience:
                return f"did not go on for {watch.patience:g} s"
            await asyncio.sleep(watch.interval)

    def stop(self) -> str:
        """End the child, if it has not ended, and say how it did. There is nothing in it that is worth a farewell."""
        self._process.kill()
        code = self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def report(self, fault: str) -> str:
        """A message about this model, with the end of its log."""
        log = "".join(f"\n  {line}" for line in self._log) or " nothing"
        return f"The model {self._weights} {fault}.\nThe end of its log:{log}"

    async def _progress(self, session: aiohttp.ClientSession, patience: float) -> tuple[int, int] | None:
        """How many requests it works on and how many batches it has computed; None if it does not say."""
        # /health would be answered by a thread of its own, whatever became of the one that computes.
        try:
            async with session.get(
                f"{self.address}/metrics",
                headers={"Authorization": f"Bearer {self.key}"},
                timeout=aiohttp.ClientTimeout(total=patience),
            ) as response:
                found = {name: int(value) for name, value in PROGRESS.findall(await response.read())}
        except (aiohttp.ClientError, TimeoutError):
            return None
        return found.get(b"requests_processing", 0), found.get(b"n_decode_total", 0)

    def _read_address(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().strip()

    def _read_log(self, pipe: IO[bytes]) -> None:
        for line in iter(lambda: pipe.readline(LONGEST_LINE), b""):
            if shown := excerpt(line.decode(errors="replace"), LONGEST_LINE):
                self._log.append(shown)


def _spawn(serving: Serving, key: str) -> subprocess.Popen[bytes]:
    """Start the child with the key on its stdin, in a session of its own: Ctrl-C is not meant for it."""
    command = [
        *(sys.executable, "-P", llama_child.__file__, str(serving.weights), f"--alias={serving.weights.name}"),
        *("--context", str(serving.context), "--slots", str(serving.slots), "--threads", str(_usable_cores())),
    ]
    pipe = subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603 - no shell, and it is our own program
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same for Windows
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # It has ended already, which is found out where its address is read.
        os.write(process.stdin.fileno(), f"{key}\n".encode())
    return process


def _usable_cores() -> int:
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
