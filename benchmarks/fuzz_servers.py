"""Servers that answer with random status lines, headers and bodies, over loopback."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from equipoise.models.chat.model import ChatModel
from equipoise.models.protocol import Asking, Refused, TransientFault
from equipoise.runs.file.values import Attempt, attempt_row
from serving.asking import connect_to
from serving.faults import respond_raw
from serving.faulty import FaultyServer, seal, sealed

PROMPTS_PER_CASE = 4
STATUSES = [b"200 OK"] * 6 + [b"204 No", b"301 Moved", b"400 Bad", b"401 No", b"408 Late", b"418 Tea", b"429 Many"]
STATUSES += [b"500 Oh", b"503 Busy", b"529 Full", b"999 ?", b"000 ?", b"-1 x", b"\xff\xff", b"200"]
HEADERS = [b"Retry-After: 0", b"Retry-After: -5", b"Retry-After: 1e9", b"Retry-After: soon", b"Content-Encoding: gzip"]
HEADERS += [b"Content-Encoding: br, gzip", b"Transfer-Encoding: chunked", b"Content-Length: -1", b"Content-Length: 7"]
HEADERS += [b"X: " + b"y" * 9000, b"Bad header", b"Location: http://192.0.2.1/", b"Set-Cookie: a=b", b"\xff: \xfe"]
HEADERS += [b"Content-Type: text/html; charset=klingon", b"Connection: close", b"Content-Type: \x00"]
NODES: list[Any] = [None, [], {}, "", 0, -1, 1e300, True, "x" * 100, [[]], {"a": {}}, "\x1b[31m", "length", 2**70]
NODES += [0.5, -(10**400), 10**400, float("nan"), float("-inf"), "\ud800", "\x00", "x" * 100_000, "<think>", "\u202e"]
TOKENS = [{"token": "Yes", "logprob": -0.4}, {"token": " no", "logprob": -1.6}]
FIRST_TOKEN = {"token": "Yes", "logprob": -0.4, "top_logprobs": TOKENS}


def mutate_json(dice: random.Random, value: Any) -> Any:
    """The value with one random part replaced, removed or doubled."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        name = dice.choice(list(value))
        if dice.random() < 0.2:
            return {key: inner for key, inner in value.items() if key != name}
        return {**value, name: mutate_json(dice, value[name])}
    if isinstance(value, list) and value and dice.random() < 0.85:
        return [mutate_json(dice, value[0]), *value[1:]] if dice.random() < 0.8 else value * 2
    return dice.choice(NODES)


def make_response(dice: random.Random, prompt: str) -> bytes:
    """A response to a prompt, whole or in some way not."""
    message = {"role": "assistant", "content": sealed(prompt)}
    choice = {"message": message, "finish_reason": "stop", "logprobs": {"content": [FIRST_TOKEN]}}
    document: Any = {"choices": [choice], "model": "test", "usage": {}}
    kind = dice.randrange(6)
    if kind == 1:
        document = mutate_json(dice, document)
    body = json.dumps(document).encode()
    if kind == 2:
        place = dice.randrange(len(body))
        body = body[:place] + dice.randbytes(dice.randint(0, 4)) + body[place + dice.randint(0, 4) :]
    headers = [b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
    status = b"200 OK"
    if kind == 3:
        status = dice.choice(STATUSES)
        headers += dice.sample(HEADERS, dice.randint(0, 3))
    if kind == 4:
        headers[1] = b"Content-Length: %d" % (len(body) + dice.choice((-5, -1, 1, 50)))
    response = b"HTTP/1.1 %s\r\n%s\r\n\r\n%s" % (status, b"\r\n".join(headers), body)
    if kind == 5:
        doubled = response + (response if dice.random() < 0.5 else dice.randbytes(20))
        response = dice.choice((doubled, response[: dice.randrange(len(response))], dice.randbytes(60)))
    return response


def make_logprobs(dice: random.Random, prompt: str) -> bytes:
    """A response whose log-probabilities are in some way odd."""
    logprobs = {"content": [mutate_json(dice, FIRST_TOKEN)]}
    choice = {"message": {"content": sealed(prompt)}, "finish_reason": "length", "logprobs": logprobs}
    body = json.dumps({"choices": [choice], "model": "test"}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def ask_server(
    make: Callable[[random.Random, str], bytes], asking: Asking, dice: random.Random, count: int, _folder: Path
) -> Iterator[str]:
    """A few prompts at a time, asked of a server with such responses: each gets its own answer or a fault with a name.

    What is kept of an answer can be stored.
    """
    with FaultyServer(lambda prompt, _: respond_raw(make(dice, prompt), keep=dice.random() > 0.2)) as server:
        for _ in range(-(-count // PROMPTS_PER_CASE)):
            prompts = [f"prompt {number} of {dice.random()}" for number in range(PROMPTS_PER_CASE)]
            yield from asyncio.run(_name_outcomes(connect_to(server, deadline=0.5), prompts, asking))


async def _name_outcomes(model: ChatModel, prompts: Sequence[str], asking: Asking) -> list[str]:
    async with model:
        return [await _name_outcome(model, prompt, prompts, asking) for prompt in prompts]


async def _name_outcome(model: ChatModel, prompt: str, prompts: Sequence[str], asking: Asking) -> str:
    try:
        reply = await model.answer(prompt, None, asking)
        attempt_row(Attempt(probe="fuzz", prompt_id="id", repetition=1, reply=reply))
    except TransientFault:
        return "asked again later"
    except Refused:
        return "ends the run"
    except Exception as error:
        return f"crashed: {type(error).__name__}: {str(error)[:100]}"
    if any(seal(other) in (reply.answer or "") for other in prompts if other != prompt):
        return "crashed: the answer to another prompt"
    return "answered" if seal(prompt) in (reply.answer or "") else f"stored as {reply.status.value}"


misbehave = partial(ask_server, make_response, Asking())
give_odd_logprobs = partial(ask_server, make_logprobs, Asking(max_tokens=1, opening=""))
