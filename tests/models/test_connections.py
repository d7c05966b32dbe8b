"""No prompt gets the answer to another one, whatever is sent on its connection (docs/faults.md, E25)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from equipoise.models.chat.model import make_chat_model
from equipoise.models.protocol import Reply
from serving.asking import outcome_of
from serving.faults import Responder, respond_raw
from serving.faulty import FaultyServer

PROMPTS = [f"Prompt {number}." for number in range(20)]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


BODY = json.dumps({"choices": [{"message": {"content": "The answer to PROMPT"}}]}).encode()
WHOLE = HEAD + b"Content-Length: LENGTH\r\n\r\n" + BODY
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\nHEX\r\n" + BODY + b"\r\n0\r\n\r\n"
RESPONSES: dict[str, Sequence[bytes | float]] = {
    "in order": [WHOLE],
    "doubled at once": [WHOLE * 2],
    # The connection is given back while the second response is still being parsed.
    "doubled with the end of the first": [WHOLE[:-5], 0.002, WHOLE[-5:] + WHOLE],
    "doubled in chunks": [CHUNKED * 2],
    "longer than its length": [WHOLE + b'{"choices": []}'],
    "junk after the last chunk": [CHUNKED[:-5], 0.002, CHUNKED[-5:] + b"junk"],
    "half a head too many": [WHOLE[:-5], 0.002, WHOLE[-5:] + WHOLE[:20]],
}


def respond(what: str, prompt: str) -> Responder:
    """A response and more, in pieces with pauses between them."""
    length = len(BODY.replace(b"PROMPT", prompt.encode()))
    words = {b"PROMPT": prompt.encode(), b"LENGTH": b"%d" % length, b"HEX": b"%x" % length}
    pieces = list(RESPONSES[what])
    for word, value in words.items():
        pieces = [piece.replace(word, value) if isinstance(piece, bytes) else piece for piece in pieces]
    return respond_raw(*pieces, keep=True)


@pytest.mark.fault("E25")
@pytest.mark.parametrize("what", RESPONSES)
def test_a_response_too_many_reaches_no_other_prompt(what: str) -> None:
    """A prompt whose connection breaks is asked again."""

    async def ask_in_turn() -> dict[str, str | None]:
        answers: dict[str, str | None] = {}
        async with make_chat_model("custom/m", base_url=server.url, environ={}) as model:
            for prompt in PROMPTS * 3:
                outcome = None if prompt in answers else await outcome_of(model, prompt)
                if isinstance(outcome, Reply):
                    answers[prompt] = outcome.answer
        return answers

    with FaultyServer(lambda prompt, nth: respond(what, prompt)) as server:
        answers = asyncio.run(ask_in_turn())
    assert {prompt for prompt, answer in answers.items() if answer != f"The answer to {prompt}"} == set()
    if what != "longer than its length":  # where the whole response is lost with what follows it
        assert answers.keys() == set(PROMPTS)
    if what == "in order":
        assert len({request.connection for request in server.received}) == 1, "it is used again"
