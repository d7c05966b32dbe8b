"""A process that runs the pump on a run file, to be killed, signalled or starved: `python -m runs.child FILE URL …`.

It prints a line for each attempt after its commit has returned, and ends with the exit code of what ended it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import aiohttp

from equipoise.errors import EquipoiseError
from equipoise.frames import Status
from equipoise.models.protocol import Passing, Reply
from equipoise.runs import Attempt, Policy, RunFile, pump


class Loopback:
    """Asks a server on this machine: the body is the prompt, the response the answer."""

    name = "loopback"

    def __init__(self, url: str) -> None:
        self.settings: dict[str, object] = {"model": "loopback"}
        self.notes: list[str] = []
        self._url = url

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._session.close()

    async def answer(self, prompt: str) -> Reply:
        try:
            async with self._session.post(self._url, data=prompt.encode()) as response:
                text = await response.text()
        except aiohttp.ClientError as error:
            raise Passing(Reply(status=Status.HTTP_ERROR, detail=str(error)), kind="connection") from None
        if response.status != 200:
            raise Passing(Reply(status=Status.HTTP_ERROR, detail=text), kind="server")
        return Reply(status=Status.OK, answer=text)


class Telling(RunFile):
    """A run file that says what is stored, once it is."""

    def record(self, attempts: Iterable[Attempt]) -> int:
        attempts = list(attempts)
        new = super().record(attempts)
        for attempt in attempts:
            sys.stdout.write(f"{attempt.probe} {attempt.prompt} {attempt.repetition}\n")
        sys.stdout.flush()
        return new


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("url")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--drain", type=float, default=10.0)
    parser.add_argument("--reserve", type=int, default=0)
    parser.add_argument("--largest-file", type=int)
    given = parser.parse_args()
    if given.largest_file:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (given.largest_file, given.largest_file))
    policy = Policy(concurrency=given.concurrency, drain=given.drain, first_backoff=0.01)
    try:
        with Telling.open(given.path, reserve=given.reserve) as run:
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            asyncio.run(pump(run, Loopback(given.url), policy))
    except EquipoiseError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
