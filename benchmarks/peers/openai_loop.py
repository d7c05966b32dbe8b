"""Ask with the openai SDK: `python -m benchmarks.peers.openai_loop httpx|aiohttp URL REQUESTS CONCURRENCY`.

`httpx` is its default client, `aiohttp` the client of its extra `openai[aiohttp]`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

from openai import AsyncOpenAI, DefaultAioHttpClient

from benchmarks.clock import measure_time, print_result
from benchmarks.fast_server import ANSWER, KEY, MODEL, QUESTION


async def worker(client: AsyncOpenAI, numbers: Iterator[int]) -> None:
    for number in numbers:
        completion = await client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": QUESTION.format(number)}]
        )
        assert completion.choices[0].message.content == ANSWER


async def loop(transport: str, url: str, requests: int, concurrency: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    http_client = DefaultAioHttpClient() if transport == "aiohttp" else None
    async with AsyncOpenAI(base_url=url, api_key=KEY, http_client=http_client) as client:
        await worker(client, iter([0]))  # not timed: what it imports and builds for its first request
        numbers = iter(range(requests))
        with measure_time(result):
            await asyncio.gather(*(worker(client, numbers) for _ in range(concurrency)))
    return result


def main(transport: str, url: str, requests: str, concurrency: str) -> None:
    print_result(asyncio.run(loop(transport, url, int(requests), int(concurrency))))


if __name__ == "__main__":
    main(*sys.argv[1:])
