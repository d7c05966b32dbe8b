"""Ask with the openai SDK: `python -m benchmarks.peers.openai_loop httpx|aiohttp URL REQUESTS CONCURRENCY`.

`httpx` is the client it makes by default, `aiohttp` the one of its extra.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

from openai import AsyncOpenAI, DefaultAioHttpClient  # type: ignore[import-not-found]

from benchmarks.clock import clocked, report
from benchmarks.fast_server import ANSWER, KEY, MODEL, QUESTION


async def worker(client: AsyncOpenAI, numbers: Iterator[int]) -> None:
    for number in numbers:
        completion = await client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": QUESTION.format(number)}]
        )
        assert completion.choices[0].message.content == ANSWER


async def loop(transport: str, url: str, requests: int, concurrency: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    http_client = DefaultAioHttpClient() if transport == "aiohttp" else None
    async with AsyncOpenAI(base_url=url, api_key=KEY, http_client=http_client) as client:
        await worker(client, iter([0]))  # what it imports and builds at the first request is not the request's cost
        numbers = iter(range(requests))
        with clocked(found):
            await asyncio.gather(*(worker(client, numbers) for _ in range(concurrency)))
    return found


def main(transport: str, url: str, requests: str, concurrency: str) -> None:
    report(asyncio.run(loop(transport, url, int(requests), int(concurrency))))


if __name__ == "__main__":
    main(*sys.argv[1:])
