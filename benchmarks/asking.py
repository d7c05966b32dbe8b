"""What a request costs the client: equipoise compared with a bare loop of its HTTP library and with inspect_ai.

Each client runs in a process of its own: `python -m benchmarks.asking NAME URL REQUESTS`. All post the same prompts to
the same server and check the content of each answer. They take turns, and are compared within a round.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.processes import (
    OUR_PYTHON,
    ROOT,
    format_ratio,
    log,
    markdown_table,
    measure_time,
    print_result,
    run_job,
)

sys.path.insert(0, str(ROOT / "tests"))

CONCURRENCY = 32
PROBE = "alpha"
MODEL = "test-model"
KEY = "sk-loopback-0123456789"
QUESTION = "This is case {} of the list. Write a short story about somebody who is called in and one who stays outside."
ANSWER = "Somebody waited who had come a long way, until at last a door was opened and a name was said. " * 12


def ask_with_pump(url: str, requests: int) -> dict[str, Any]:
    """The whole path of equipoise, from a planned run file to one that is filled and closed."""
    from equipoise.models.chat.model import make_chat_model  # noqa: PLC0415
    from equipoise.runs.ask.limits import Budget  # noqa: PLC0415
    from equipoise.runs.ask.pump import Pump  # noqa: PLC0415
    from equipoise.runs.file.reader import RunReader  # noqa: PLC0415
    from equipoise.runs.file.store import RunFile  # noqa: PLC0415
    from equipoise.runs.spec import RunSpec  # noqa: PLC0415
    from runs.fakes import SETTINGS, plan  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "asking.db"
        run = RunFile.create(path, record=SETTINGS, plans=[plan(PROBE, requests, text=QUESTION)])
        model = make_chat_model(f"openai/{MODEL}", base_url=url, key=KEY, environ={})
        with measure_time() as cost:
            spec = RunSpec(concurrency=CONCURRENCY)
            asyncio.run(Pump(file=run, model=model, spec=spec, budget=Budget(spec, run, {})).run())
            run.close()
        with RunReader.open(path) as reader:
            answers = [answer for _, attempts in reader.attempts(PROBE) for answer in attempts["answer"]]
    assert answers == [ANSWER] * requests
    return cost


def ask_in_bare_loop(url: str, requests: int) -> dict[str, Any]:
    """The least that is possible with the same HTTP library: post the bodies, read the answers, keep nothing."""
    import aiohttp  # noqa: PLC0415
    import orjson  # noqa: PLC0415

    async def ask_all() -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
        async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=0)) as session:

            async def ask(numbers: Iterator[int]) -> None:
                for number in numbers:
                    body = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION.format(number)}]}
                    async with session.post(f"{url}/chat/completions", data=orjson.dumps(body)) as response:
                        assert orjson.loads(await response.read())["choices"][0]["message"]["content"] == ANSWER

            await ask(iter([0]))  # not timed
            numbers = iter(range(requests))
            with measure_time() as cost:
                await asyncio.gather(*(ask(numbers) for _ in range(CONCURRENCY)))
            return cost

    return asyncio.run(ask_all())


def ask_with_inspect(url: str, requests: int) -> dict[str, Any]:
    """A task of inspect_ai that only generates. Its log is written as usual, but into a temporary folder."""
    from inspect_ai import Task, eval  # noqa: A004, PLC0415
    from inspect_ai.dataset import Sample  # noqa: PLC0415
    from inspect_ai.log import read_eval_log  # noqa: PLC0415
    from inspect_ai.model import get_model  # noqa: PLC0415
    from inspect_ai.solver import generate  # noqa: PLC0415

    def ask(count: int, folder: str) -> str:
        dataset = [Sample(id=number + 1, input=QUESTION.format(number)) for number in range(count)]
        (log,) = eval(
            Task(name="asking", dataset=dataset, solver=generate()),
            model=get_model(f"openai-api/loopback/{MODEL}", base_url=url, api_key=KEY),
            max_connections=CONCURRENCY,
            max_samples=CONCURRENCY,
            display="none",
            log_dir=folder,
        )
        assert log.status == "success"
        return str(log.location)

    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = os.environ["XDG_CACHE_HOME"] = folder
        ask(1, folder)  # not timed
        with measure_time() as cost:
            log = ask(requests, folder)
        answers = [sample.output.completion for sample in read_eval_log(log).samples]
    assert answers == [ANSWER] * requests
    return cost


class Client(NamedTuple):
    """What the page calls a client, how it asks, and its requests in a round."""

    title: str
    ask: Callable[[str, int], dict[str, Any]]
    requests: int


CLIENTS = {
    "pump": Client("equipoise, the whole pump", ask_with_pump, 10_000),
    "bare": Client("bare aiohttp loop", ask_in_bare_loop, 10_000),
    "inspect": Client("inspect_ai", ask_with_inspect, 500),
}


def run(*, quick: bool) -> str:
    """Measure all clients; return the results as Markdown."""
    from serving.faulty import FaultyServer  # noqa: PLC0415

    rounds = 1 if quick else 5
    costs: dict[str, list[float]] = {name: [] for name in CLIENTS}
    with FaultyServer(lambda _prompt, _nth: ANSWER) as server:
        for number in range(1, rounds + 1):
            for name, client in CLIENTS.items():
                log(f"asking, round {number} of {rounds}: {client.title}")
                requests = client.requests // 4 if quick else client.requests
                spent = run_job(OUR_PYTHON, "benchmarks.asking", name, server.url, requests)
                costs[name].append(spent["cpu"] / requests)
    rows = []
    for name, client in CLIENTS.items():
        ratios = [cost / bare for cost, bare in zip(costs[name], costs["bare"], strict=True)]
        compared = f"{format_ratio(median(ratios))} ({format_ratio(min(ratios))} to {format_ratio(max(ratios))})"
        rows.append((client.title, f"{median(costs[name]) * 1000:.3f} ms", "" if name == "bare" else compared))
    about = (
        f"A server on this machine answers at once with {len(ANSWER):,} characters, which every client reads from the "
        f"JSON; {CONCURRENCY} requests at a time. CPU is that of the client alone. The pump also commits each answer "
        "durably to its run file. All but the pump send one request before the clock starts. "
        f"Medians of {rounds} rounds, in which the clients take turns."
    )
    return f"## Asking\n\n{about}\n\n{markdown_table(('client', 'CPU per request', 'compared with bare loop'), rows)}"


if __name__ == "__main__":
    chosen, address, count = sys.argv[1:]
    print_result(CLIENTS[chosen].ask(address, int(count)))
