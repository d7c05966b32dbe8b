"""Send requests to a server: `python -m benchmarks.asking_job pump|bare URL REQUESTS CONCURRENCY`.

`pump` measures the whole path, from a planned run file to one that is filled and closed. `bare` does the least that is
possible with the same HTTP library: post the bodies, read the answers, keep nothing.
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

from benchmarks.clock import measure_time, print_result
from benchmarks.fast_server import ANSWER, KEY, MODEL, QUESTION
from benchmarks.processes import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from equipoise.models import connect
from equipoise.runs.ask.policy import Policy
from equipoise.runs.ask.pump import pump
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from runs.fakes import SETTINGS, plan

PROBE = "alpha"


def ask_with_pump(url: str, requests: int, concurrency: int) -> dict[str, Any]:
    """Fill a new run file with the pump, then check that the file holds every answer."""
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "asking.db"
        run = RunFile.create(path, settings=SETTINGS, plans=[plan(PROBE, requests, text=QUESTION)])
        model = connect(f"openai/{MODEL}", base_url=url, key=KEY, environ={})
        with measure_time(result):
            asyncio.run(pump(run, model, Policy(concurrency=concurrency)))
            run.close()
        with RunReader.open(path) as reader:
            answers = [answer for frame in reader.attempts(PROBE) for answer in frame["answer"]]
    assert answers == [ANSWER] * requests
    return result


def ask_in_bare_loop(url: str, requests: int, concurrency: int) -> dict[str, Any]:
    """Post the same bodies in a plain aiohttp loop."""
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

    result: dict[str, Any] = {}
    with measure_time(result):
        asyncio.run(loop())
    return result


def main(client: str, url: str, requests: str, concurrency: str) -> None:
    print_result({"pump": ask_with_pump, "bare": ask_in_bare_loop}[client](url, int(requests), int(concurrency)))


if __name__ == "__main__":
    main(*sys.argv[1:])
