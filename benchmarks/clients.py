"""The clients that are compared: `python -m benchmarks.clients NAME URL REQUESTS CONCURRENCY`.

All post the same prompts to the same server and check the content of each answer. Each imports its own libraries.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.fast_server import ANSWER, KEY, MODEL, QUESTION
from benchmarks.processes import ROOT, measure_time, print_result

PROBE = "alpha"


def ask_with_pump(url: str, requests: int, concurrency: int) -> dict[str, Any]:
    """The whole path of equipoise, from a planned run file to one that is filled and closed."""
    sys.path.insert(0, str(ROOT / "tests"))
    from equipoise.models import connect  # noqa: PLC0415
    from equipoise.runs.ask.policy import Policy  # noqa: PLC0415
    from equipoise.runs.ask.pump import pump  # noqa: PLC0415
    from equipoise.runs.file.reader import RunReader  # noqa: PLC0415
    from equipoise.runs.file.store import RunFile  # noqa: PLC0415
    from runs.fakes import SETTINGS, plan  # noqa: PLC0415

    cost: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "asking.db"
        run = RunFile.create(path, settings=SETTINGS, plans=[plan(PROBE, requests, text=QUESTION)])
        model = connect(f"openai/{MODEL}", base_url=url, key=KEY, environ={})
        with measure_time(cost):
            asyncio.run(pump(run, model, Policy(concurrency=concurrency)))
            run.close()
        with RunReader.open(path) as reader:
            answers = [answer for frame in reader.attempts(PROBE) for answer in frame["answer"]]
    assert answers == [ANSWER] * requests
    return cost


def ask_in_bare_loop(url: str, requests: int, concurrency: int) -> dict[str, Any]:
    """The least that is possible with the same HTTP library: post the bodies, read the answers, keep nothing."""
    import aiohttp  # noqa: PLC0415
    import orjson  # noqa: PLC0415

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

    cost: dict[str, Any] = {}
    with measure_time(cost):
        asyncio.run(loop())
    return cost


def ask_with_openai(url: str, requests: int, concurrency: int, *, aiohttp: bool = False) -> dict[str, Any]:
    """The openai SDK with its default client, or with that of its extra `openai[aiohttp]`."""
    from openai import AsyncOpenAI, DefaultAioHttpClient  # noqa: PLC0415

    async def worker(client: AsyncOpenAI, numbers: Iterator[int]) -> None:
        for number in numbers:
            completion = await client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": QUESTION.format(number)}]
            )
            assert completion.choices[0].message.content == ANSWER

    async def loop() -> dict[str, Any]:
        cost: dict[str, Any] = {}
        http_client = DefaultAioHttpClient() if aiohttp else None
        async with AsyncOpenAI(base_url=url, api_key=KEY, http_client=http_client) as client:
            await worker(client, iter([0]))  # not timed: what it imports and builds for its first request
            numbers = iter(range(requests))
            with measure_time(cost):
                await asyncio.gather(*(worker(client, numbers) for _ in range(concurrency)))
        return cost

    return asyncio.run(loop())


def ask_with_inspect(url: str, requests: int, concurrency: int) -> dict[str, Any]:
    """A task of inspect_ai that only generates. Its log is written as usual, but into a temporary folder."""
    from inspect_ai import Task, eval  # noqa: A004, PLC0415
    from inspect_ai.dataset import Sample  # noqa: PLC0415
    from inspect_ai.log import read_eval_log  # noqa: PLC0415
    from inspect_ai.model import get_model  # noqa: PLC0415
    from inspect_ai.solver import generate  # noqa: PLC0415

    def ask(count: int, at_a_time: int, folder: str) -> str:
        dataset = [Sample(id=number + 1, input=QUESTION.format(number)) for number in range(count)]
        (log,) = eval(
            Task(name="asking", dataset=dataset, solver=generate()),
            model=get_model(f"openai-api/loopback/{MODEL}", base_url=url, api_key=KEY),
            max_connections=at_a_time,
            max_samples=at_a_time,
            display="none",
            log_dir=folder,
        )
        assert log.status == "success"
        return str(log.location)

    cost: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_CACHE_HOME"] = folder
        ask(1, 1, folder)  # not timed: what it imports and builds for its first sample
        with measure_time(cost):
            log = ask(requests, concurrency, folder)
        answers = [sample.output.completion for sample in read_eval_log(log).samples]
    assert answers == [ANSWER] * requests
    return cost


CLIENTS: dict[str, Callable[[str, int, int], dict[str, Any]]] = {
    "pump": ask_with_pump,
    "bare": ask_in_bare_loop,
    "openai": ask_with_openai,
    "openai-aiohttp": lambda *given: ask_with_openai(*given, aiohttp=True),
    "inspect": ask_with_inspect,
}

if __name__ == "__main__":
    name, base_url, *numbers = sys.argv[1:]
    print_result(CLIENTS[name](base_url, *map(int, numbers)))
