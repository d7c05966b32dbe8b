"""No prompt gets the answer to another one, whatever is sent on its connection (docs/faults.md, E25)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from equipoise.models import ChatModel, TransientFault, connect
from serving.raw import Piece, RawServer, Respond, chunked, completion, with_length

PROMPTS = [f"Prompt {number}." for number in range(40)]


def answer_of(prompt: str) -> str:
    return f"The answer to {prompt}"


def doubled_at_once(prompt: str) -> Iterable[Piece]:
    yield with_length(completion(answer_of(prompt))) * 2


def doubled_with_the_end_of_the_first(prompt: str) -> Iterable[Piece]:
    """The connection is given back while the second response is still being parsed."""
    response = with_length(completion(answer_of(prompt)))
    yield from (response[:-10], 0.002, response[-10:] + response)


def doubled_in_chunks(prompt: str) -> Iterable[Piece]:
    yield chunked(completion(answer_of(prompt))) * 2


def longer_than_its_length(prompt: str) -> Iterable[Piece]:
    yield with_length(completion(answer_of(prompt))) + b'{"choices": []}'


def junk_after_the_last_chunk(prompt: str) -> Iterable[Piece]:
    response = chunked(completion(answer_of(prompt)))
    yield from (response[:-5], 0.002, response[-5:] + b"junk")


def half_a_head_too_many(prompt: str) -> Iterable[Piece]:
    response = with_length(completion(answer_of(prompt)))
    yield from (response[:-10], 0.002, response[-10:] + response[:20])


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
@pytest.mark.parametrize(
    "respond",
    [
        doubled_at_once,
        doubled_with_the_end_of_the_first,
        doubled_in_chunks,
        longer_than_its_length,
        junk_after_the_last_chunk,
        half_a_head_too_many,
    ],
)
def test_a_response_too_many_reaches_no_other_prompt(respond: Respond, workers: int) -> None:
    with RawServer(respond) as server:
        answers = ask_in_turn(server.url, workers)
    foreign = {prompt for prompt, answer in answers.items() if answer != answer_of(prompt)}
    assert not foreign
    if respond is not longer_than_its_length:  # where the whole response is lost with what follows it
        assert answers.keys() == set(PROMPTS)


@pytest.mark.fault("E25")
def test_a_connection_in_order_is_reused() -> None:
    with RawServer(lambda prompt: [with_length(completion(answer_of(prompt)))]) as server:
        ask_in_turn(server.url, 1)
    assert server.connections == 1
