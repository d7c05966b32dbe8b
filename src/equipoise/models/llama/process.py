"""`ServerProcess`: one child process that serves a GGUF file with llama.cpp, started and stopped."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import EndpointError
from equipoise.models.llama import server
from equipoise.models.processes import kill_group
from equipoise.models.redact import excerpt

KEPT_LOG_LINES = 12
MAX_LOG_LINE = 300


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """What a child serves: the weights, with so many answers at a time and so many tokens of context for each."""

    weights: Path
    context: int
    slots: int
    load_timeout: float = 300.0
    """In seconds."""


class ServerProcess:
    """A running child. It ends with `stop`, and at the latest when this process ends."""

    def __init__(self, process: asyncio.subprocess.Process, key: str, weights: Path) -> None:
        self.key = key
        self.address = ""
        self._process = process
        self._weights = weights
        self._log: deque[str] = deque(maxlen=KEPT_LOG_LINES)
        self._log_reader = asyncio.create_task(self._read_log())

    @classmethod
    async def start(cls, options: ServerOptions) -> ServerProcess:
        """Start a child and wait until it has loaded the weights; raises `EndpointError` if it does not."""
        key, weights = secrets.token_urlsafe(24), options.weights
        words = [sys.executable, "-P", server.__file__, str(weights), f"--alias={weights.name}"]
        words += ["--context", str(options.context), "--slots", str(options.slots)]
        try:
            process = await asyncio.create_subprocess_exec(
                *(*words, "--threads", str(_count_usable_cores())),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that Ctrl-C does not reach it
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same for Windows
            )
        except OSError as error:
            raise EndpointError(f"No process can be started for the model {weights}: {error}.") from error
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{key}\n".encode())
        child = cls(process, key, weights)
        try:
            async with asyncio.timeout(options.load_timeout):
                child.address = (await process.stdout.readline()).decode().strip()
                if not child.address:
                    await process.wait()
        except TimeoutError:
            await child.stop()
            raise EndpointError(child.describe(f"was not loaded within {options.load_timeout:g} s")) from None
        except BaseException:
            await child.stop()
            raise
        if not child.address:
            raise EndpointError(child.describe(f"could not be loaded: its process {await child.stop()}"))
        return child

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the child is gone."""
        return self._process.returncode is not None

    async def stop(self) -> str:
        """End the child if it still runs, and return how it ended. It is killed at once: it holds no state."""
        if self._process.returncode is None:
            kill_group(self._process)
        code = await self._process.wait()
        await self._log_reader
        if self._process.stdin is not None:
            self._process.stdin.close()
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def describe(self, fault: str) -> str:
        """A message about a fault of this model, with the end of its log."""
        log = "".join(f"\n  {line}" for line in self._log) or " nothing"
        return f"The model {self._weights} {fault}.\nThe end of its log:{log}"

    async def _read_log(self) -> None:
        assert self._process.stderr is not None
        while True:
            try:
                line = await self._process.stderr.readline()
            except ValueError:  # a line that is longer than the stream's buffer
                continue
            if not line:
                return
            if shown := excerpt(line.decode(errors="replace"), MAX_LOG_LINE):
                self._log.append(shown)


def _count_usable_cores() -> int:
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
