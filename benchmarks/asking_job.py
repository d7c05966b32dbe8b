"""Ask a server as often as told: `python -m benchmarks.asking_job pump|bare URL REQUESTS CONCURRENCY`.

`pump` is the whole path, from a run file that is planned to one that is filled and closed. `bare` is the least that
can be done with the same library: post the bodies, read the answers, keep nothing.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from benchmarks.clock import clocked, report
from benchmarks.fast_server import ANSWER, KEY, MODEL, QUESTION
from benchmarks.harness import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from equipoise.models import connect
from equipoise.runs import Policy, RunFile, pump
from runs.fakes import SETTINGS, plan

PROBE = "alpha"


def whole(url: str, requests: int, concurrency: int) -> dict[str, Any]:
    """Fill a new run file with the pump, and read it again to see that each answer is there."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "asking.db"
        run = RunFile.create(path, settings=SETTINGS, plans=[plan(PROBE, requests, text=QUESTION)])
        model = connect(f"openai/{MODEL}", base_url=url, key=KEY, environ={})
        with clocked(found):
            asyncio.run(pump(run, model, Policy(concurrency=concurrency)))
            run.close()
        with RunFile.read(path) as run:
            answers = [answer for frame in run.attempts(PROBE) for answer in frame["answer"]]
    assert answers == [ANSWER] * requests
    return found


def bare(url: str, requests: int, concurrency: int) -> dict[str, Any]:
    """Post the same bodies in a plain loop."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}

    async def worker(session: aiohttp.ClientSession, numbers: Iterator[int]) -> None:
        for number in numbers:
            body = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION.format(number)}]}
            async with session.post(f"{url}/chat/completions", data=orjson.dumps(body)) as response:
                assert orjson.loads(await response.read())["choices"][0]["message"]["content"] == ANSWER

    async def loop() -> None:
        async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=0)) as session:
            numbers = iter(range(requests))
            await asyncio.gather(*(worker(session, numbers) for _ in range(concurrency)))

    found: dict[str, Any] = {}
    with clocked(found):
        asyncio.run(loop())
    return found


def main(client: str, url: str, requests: str, concurrency: str) -> None:
    report({"pump": whole, "bare": bare}[client](url, int(requests), int(concurrency)))


if __name__ == "__main__":
    main(*sys.argv[1:])
