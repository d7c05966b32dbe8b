"""A program of this machine, run once without a shell: given a text, it writes another, within a time and a size."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

MAX_ERROR_BYTES = 64 * 2**10


@dataclass(frozen=True, kw_only=True)
class Finished:
    """How a program ended, and what it wrote: of its output one byte above the limit at most."""

    code: int
    output: bytes
    errors: bytes


async def run_program(words: Sequence[str], text: str, *, most: int, seconds: float) -> Finished:
    """Run a program to its end. One that writes more than `most` bytes is ended; TimeoutError after the seconds."""
    # In a session of its own, so that what it starts ends with it.
    process = await asyncio.create_subprocess_exec(
        *words, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=sys.platform != "win32"
    )
    assert process.stdout
    assert process.stderr
    try:
        async with asyncio.timeout(seconds):
            output, errors, _ = await asyncio.gather(
                _read(process.stdout, most, lambda: kill_group(process)),
                _read(process.stderr, MAX_ERROR_BYTES),
                _write(process, text),
            )
            await process.wait()
    finally:
        if process.returncode is None:
            kill_group(process)
        code = await process.wait()
    return Finished(code=code, output=output, errors=errors)


async def _read(stream: asyncio.StreamReader, most: int, on_excess: Callable[[], None] = lambda: None) -> bytes:
    """What the stream holds, one byte above the limit at most; what comes after it is thrown away."""
    kept = bytearray()
    while part := await stream.read(2**16):
        kept += part[: max(0, most + 1 - len(kept))]
        if len(kept) > most:
            on_excess()
    return bytes(kept)


async def _write(process: Process, text: str) -> None:
    assert process.stdin
    with suppress(BrokenPipeError, ConnectionResetError):  # a program need not read its text
        process.stdin.write(text.encode("utf-8", "surrogatepass"))
        await process.stdin.drain()
        process.stdin.close()


def kill_group(process: Process) -> None:
    """End the program and all that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
