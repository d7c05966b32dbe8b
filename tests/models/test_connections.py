"""No prompt gets the answer to another one, whatever is sent on its connection (docs/faults.md, E25)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

import pytest

from equipoise.models import ChatModel, TransientFault, connect
from serving.raw import Piece, RawServer, chunked, completion, with_length

PROMPTS = [f"Prompt {number}." for number in range(40)]

TOO_MUCH: dict[str, Callable[[bytes], Sequence[Piece]]] = {
    "doubled at once": lambda body: [with_length(body) * 2],
    # The connection is given back while the second response is still being parsed.
    "doubled with the end of the first": lambda body: _late(with_length(body), with_length(body)),
    "doubled in chunks": lambda body: [chunked(body) * 2],
    "longer than its length": lambda body: [with_length(body) + b'{"choices": []}'],
    "junk after the last chunk": lambda body: _late(chunked(body), b"junk"),
    "half a head too many": lambda body: _late(with_length(body), with_length(body)[:20]),
}


def _late(response: bytes, more: bytes) -> list[Piece]:
    return [response[:-5], 0.002, response[-5:] + more]


def ask_in_turn(url: str, workers: int) -> dict[str, str]:
    """The answer to each prompt. A prompt whose connection breaks is asked again."""
    answers: dict[str, str] = {}

    async def work(model: ChatModel, prompts: Iterable[str]) -> None:
        for prompt in prompts:
            for _ in range(10):
                try:
                    reply = await model.answer(prompt)
                except TransientFault:
                    continue
                answers[prompt] = reply.answer or ""
                break

    async def ask() -> None:
        queue = iter(PROMPTS)
        async with connect("custom/m", base_url=url, environ={}) as model:
            await asyncio.gather(*(work(model, queue) for _ in range(workers)))

    asyncio.run(ask())
    return answers


@pytest.mark.fault("E25")
@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("what", TOO_MUCH)
def test_a_response_too_many_reaches_no_other_prompt(what: str, workers: int) -> None:
    with RawServer(lambda prompt: TOO_MUCH[what](completion(f"The answer to {prompt}"))) as server:
        answers = ask_in_turn(server.url, workers)
    assert {prompt for prompt, answer in answers.items() if answer != f"The answer to {prompt}"} == set()
    if what != "longer than its length":  # where the whole response is lost with what follows it
        assert answers.keys() == set(PROMPTS)


@pytest.mark.fault("E25")
def test_a_connection_in_order_is_reused() -> None:
    with RawServer(lambda prompt: [with_length(completion(prompt))]) as server:
        ask_in_turn(server.url, 1)
    assert server.connections == 1
