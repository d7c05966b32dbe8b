"""No prompt gets the answer to another one, whatever is sent on its connection (docs/faults.md, E25)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence

import pytest

from equipoise.models.chat.model import ChatModel, make_chat_model
from equipoise.models.protocol import Reply
from serving.asking import always, outcome_of
from serving.faults import Responder, respond_raw
from serving.faulty import FaultyServer

pytestmark = pytest.mark.fault("E25")

PROMPTS = [f"Prompt {number}." for number in range(20)]
MAX_TRIES = 10
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


BODY = json.dumps({"choices": [{"message": {"content": "The answer to PROMPT"}}]}).encode()
WHOLE = HEAD + b"Content-Length: LENGTH\r\n\r\n" + BODY
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\nHEX\r\n" + BODY + b"\r\n0\r\n\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
LONGER = "longer than its length"
RESPONSES: dict[str, Sequence[bytes | float]] = {
    "in order": [WHOLE],
    "doubled at once": [WHOLE * 2],
    # The connection is given back while the second response is still being parsed.
    "doubled with the end of the first": [WHOLE[:-5], 0.002, WHOLE[-5:] + WHOLE],
    "doubled in chunks": [CHUNKED * 2],
    LONGER: [WHOLE + b'{"choices": []}'],
    "junk after the last chunk": [CHUNKED[:-5], 0.002, CHUNKED[-5:] + b"junk"],
    "half a head too many": [WHOLE[:-5], 0.002, WHOLE[-5:] + WHOLE[:20]],
}


def fill(piece: bytes | float, words: dict[bytes, bytes]) -> bytes | float:
    """A piece of a response with the values of these words; a pause stays as it is."""
    if isinstance(piece, float):
        return piece
    for word, value in words.items():
        piece = piece.replace(word, value)
    return piece


def respond(prompt: str, *pieces: bytes | float) -> Responder:
    """A response to this prompt and more, in pieces with pauses between them."""
    length = len(BODY.replace(b"PROMPT", prompt.encode()))
    words = {b"PROMPT": prompt.encode(), b"LENGTH": b"%d" % length, b"HEX": b"%x" % length}
    return respond_raw(*(fill(piece, words) for piece in pieces), keep=True)


def ask_in_turn(server: FaultyServer, workers: int = 1) -> dict[str, str | None]:
    """The answer to each prompt. One whose connection breaks is asked again, a few times."""
    answers: dict[str, str | None] = {}

    async def work(model: ChatModel, prompts: Iterator[str]) -> None:
        for prompt in prompts:
            for _ in range(MAX_TRIES):
                outcome = await outcome_of(model, prompt)
                if isinstance(outcome, Reply):
                    answers[prompt] = outcome.answer
                    break

    async def ask() -> None:
        prompts = iter(PROMPTS)
        async with make_chat_model("custom/m", base_url=server.url, environ={}) as model:
            await asyncio.gather(*(work(model, prompts) for _ in range(workers)))

    asyncio.run(ask())
    return answers


def connections_of(server: FaultyServer) -> int:
    """How many connections the requests came on."""
    return len({request.connection for request in server.received})


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("what", RESPONSES)
def test_a_response_too_many_reaches_no_other_prompt(what: str, workers: int) -> None:
    with FaultyServer(lambda prompt, nth: respond(prompt, *RESPONSES[what])) as server:
        answers = ask_in_turn(server, workers)
    foreign = {prompt for prompt in answers if answers[prompt] != f"The answer to {prompt}"}
    assert foreign == set()
    if what != LONGER:  # where the whole response is lost with what follows it
        assert answers.keys() == set(PROMPTS)


def test_a_connection_in_order_is_used_again() -> None:
    with FaultyServer(lambda prompt, nth: respond(prompt, WHOLE)) as server:
        answers = ask_in_turn(server)
        assert connections_of(server) == 1
    assert answers.keys() == set(PROMPTS)


def test_a_connection_on_which_an_error_came_with_another_response_is_not_used_again() -> None:
    def error_first(prompt: str, nth: int) -> Responder:
        if prompt == PROMPTS[0] and nth == 1:
            return respond(prompt, BUSY + WHOLE)
        return respond(prompt, WHOLE)

    with FaultyServer(error_first) as server:
        answers = ask_in_turn(server)
        assert connections_of(server) == 2
    assert answers == {prompt: f"The answer to {prompt}" for prompt in PROMPTS}


def test_equal_answers_to_different_prompts_all_count_and_are_asked_for_once() -> None:
    with FaultyServer(always("Yes.")) as server:
        answers = ask_in_turn(server, workers=4)
        assert server.total == len(PROMPTS)
    assert answers == dict.fromkeys(PROMPTS, "Yes.")


def test_responses_that_all_have_the_same_id_belong_to_their_prompts() -> None:
    body = json.dumps({"id": "response-1", **json.loads(BODY)}).encode()
    extra = len(body) - len(BODY)

    def same_id(prompt: str, nth: int) -> Responder:
        length = len(BODY.replace(b"PROMPT", prompt.encode())) + extra
        head = HEAD + b"Content-Length: %d\r\n\r\n" % length
        return respond(prompt, head + body)

    with FaultyServer(same_id) as server:
        answers = ask_in_turn(server, workers=4)
        assert server.total == len(PROMPTS)
    assert answers == {prompt: f"The answer to {prompt}" for prompt in PROMPTS}
