"""`ServerProcess`: one child process that serves a GGUF file with llama.cpp, started, watched and stopped."""

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
from equipoise.models.llama import server
from equipoise.models.redact import excerpt

KEPT_LOG_LINES = 12
MAX_LOG_LINE = 300
MAX_SERVERS = 4
"""Each has buffers of its own, of about 300 MB for the packaged weights."""
PROGRESS_METRIC = re.compile(rb"^llamacpp:(requests_processing|n_decode_total) (\d+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """What a child serves: the weights, with so many answers at a time and so many tokens of context for each.

    All cores compute one batch together, or each has a server of its own (`per_core`), as is faster for small weights.
    """

    weights: Path
    context: int
    slots: int
    """Of each server."""
    per_core: bool = False

    @property
    def servers(self) -> int:
        """How many of them the child has."""
        return min(_count_usable_cores(), MAX_SERVERS) if self.per_core else 1

    @property
    def threads(self) -> int:
        """How many cores each uses."""
        return 1 if self.per_core else _count_usable_cores()

    @property
    def eight_bit(self) -> bool:
        """Whether weights of four bits are computed with as ones of eight, as is faster for small ones."""
        return self.per_core and sys.platform == "linux"


@dataclass(frozen=True, kw_only=True)
class WatchLimits:
    """When a child counts as hanging, and how often it is restarted. Times are in seconds."""

    interval: float = 0.5
    """Between two checks."""
    stall_timeout: float = 60.0
    """A child that has made no progress for so long hangs."""
    load_timeout: float = 300.0
    restarts: int = 3


class ServerProcess:
    """A running child. It ends with `stop`, and at the latest when this process ends."""

    def __init__(self, process: subprocess.Popen[bytes], key: str, weights: Path) -> None:
        self.key = key
        self.addresses: list[str] = []
        self._process = process
        self._weights = weights
        self._log: deque[str] = deque(maxlen=KEPT_LOG_LINES)
        self._log_reader = threading.Thread(target=self._read_log, args=(process.stderr,), daemon=True)
        self._log_reader.start()

    @classmethod
    async def start(cls, options: ServerOptions, limits: WatchLimits) -> ServerProcess:
        """Start a child and wait until it has loaded the weights; raises `EndpointError` if it does not."""
        key = secrets.token_urlsafe(24)
        try:
            child = cls(_spawn(options, key), key, options.weights)
        except OSError as error:
            raise EndpointError(f"No process can be started for the model {options.weights}: {error}.") from error
        try:
            async with asyncio.timeout(limits.load_timeout):
                child.addresses = await asyncio.to_thread(child._read_addresses)
        except TimeoutError:
            child.stop()
            raise EndpointError(child.describe(f"was not loaded within {limits.load_timeout:g} s")) from None
        except BaseException:
            child.stop()
            raise
        if not child.addresses:
            raise EndpointError(child.describe(f"could not be loaded: its process {child.stop()}"))
        return child

    @property
    def pid(self) -> int:
        """The process id of the child."""
        return self._process.pid

    async def wait_for_fault(self, session: aiohttp.ClientSession, limits: WatchLimits) -> str:
        """Wait until the child has died or hangs, and return a description of that."""
        watchers = [asyncio.create_task(self._wait_for_stall(each, session, limits)) for each in self.addresses]
        try:
            while not any(watcher.done() for watcher in watchers):
                if self._process.poll() is not None:
                    return self.stop()
                await asyncio.sleep(limits.interval)
            return f"made no progress for {limits.stall_timeout:g} s"
        finally:
            for watcher in watchers:
                watcher.cancel()

    async def _wait_for_stall(self, address: str, session: aiohttp.ClientSession, limits: WatchLimits) -> None:
        """Wait until the server at this address has had work, and done nothing, for too long."""
        clock = asyncio.get_running_loop().time
        last_progress: tuple[int, int] | None = None
        last_change = clock()
        while clock() - last_change < limits.stall_timeout:
            await asyncio.sleep(limits.interval)
            progress = await self._read_progress(address, session, limits.stall_timeout)
            is_idle = progress is not None and progress[0] == 0
            if progress is not None and (is_idle or progress != last_progress):
                last_change, last_progress = clock(), progress

    def stop(self) -> str:
        """End the child if it still runs, and return how it ended. It is killed at once: it holds no state."""
        self._process.kill()
        code = self._process.wait()
        self._log_reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def describe(self, fault: str) -> str:
        """A message about a fault of this model, with the end of its log."""
        log = "".join(f"\n  {line}" for line in self._log) or " nothing"
        return f"The model {self._weights} {fault}.\nThe end of its log:{log}"

    async def _read_progress(
        self, address: str, session: aiohttp.ClientSession, timeout: float
    ) -> tuple[int, int] | None:
        """The number of requests in work and of batches computed so far; None if the server does not answer."""
        # Not /health: another thread answers that, even when the one that computes hangs.
        try:
            async with session.get(
                f"{address}/metrics",
                headers={"Authorization": f"Bearer {self.key}"},
                timeout=aiohttp.ClientTimeout(total=timeout),
            ) as response:
                metrics = {name: int(value) for name, value in PROGRESS_METRIC.findall(await response.read())}
        except (aiohttp.ClientError, TimeoutError):
            return None
        return metrics.get(b"requests_processing", 0), metrics.get(b"n_decode_total", 0)

    def _read_addresses(self) -> list[str]:
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().split()

    def _read_log(self, pipe: IO[bytes]) -> None:
        for line in iter(lambda: pipe.readline(MAX_LOG_LINE), b""):
            if shown := excerpt(line.decode(errors="replace"), MAX_LOG_LINE):
                self._log.append(shown)


def _spawn(options: ServerOptions, key: str) -> subprocess.Popen[bytes]:
    """Start the child with the key on its stdin, in its own session, so that Ctrl-C does not reach it."""
    command = [
        *(sys.executable, "-P", server.__file__, str(options.weights), f"--alias={options.weights.name}"),
        *("--context", str(options.context), "--slots", str(options.slots)),
        *("--servers", str(options.servers), "--threads", str(options.threads)),
        *(["--eight-bit"] if options.eight_bit else []),
    ]
    pipe = subprocess.PIPE
    process = subprocess.Popen(  # noqa: S603 - no shell, and the program is our own
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same for Windows
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # The child has ended already; reading its address will show that.
        os.write(process.stdin.fileno(), f"{key}\n".encode())
    return process


def _count_usable_cores() -> int:
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
