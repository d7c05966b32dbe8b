"""One question to one model, what became of it, and whether it left the key behind."""

from __future__ import annotations

import asyncio
import base64
import traceback
from collections.abc import Iterator
from dataclasses import fields
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import web

from equipoise.models import ChatModel, Passing, Refused, Reply, connect
from serving.faults import ACTS, Act, Exchange, Fault
from serving.faulty import Behaviour, FaultyServer

KEY = "sk-canary/0123456789+abcdefghijklmnop"
PROTOCOLS = ("openai", "anthropic")

Outcome = Reply | Passing | Refused


def opened(server: FaultyServer, protocol: str = "openai", **options: Any) -> ChatModel:
    given: dict[str, Any] = {"base_url": server.url, "environ": {f"{protocol.upper()}_API_KEY": KEY}, "deadline": 20.0}
    return connect(f"{protocol}/test-model", **given | options)


async def outcome(model: ChatModel, prompt: str = "Who?") -> Outcome:
    try:
        return await model.answer(prompt)
    except (Passing, Refused) as caught:
        return caught


def ask(model: ChatModel, *prompts: str) -> list[Outcome]:
    async def all_at_once() -> list[Outcome]:
        async with model:
            return await asyncio.gather(*(outcome(model, prompt) for prompt in prompts or ("Who?",)))

    return asyncio.run(all_at_once())


def always(fault: Fault | str) -> Behaviour:
    return lambda prompt, nth: fault


def met(fault: Fault, protocol: str, **options: Any) -> tuple[Outcome, ChatModel]:
    with FaultyServer(always(fault), wait=7.0) as server:
        model = opened(server, protocol, **options)
        [result] = ask(model)
    return result, model


def shaped(document: object, monkeypatch: pytest.MonkeyPatch, protocol: str = "openai", status: int = 200) -> Outcome:
    """What becomes of a document, whatever its shape."""

    async def act(exchange: Exchange) -> web.StreamResponse:
        return web.json_response(document, status=status)

    acts: dict[Fault, Act] = dict(ACTS)
    acts[Fault.NO_CHOICES] = act
    monkeypatch.setattr("serving.faulty.ACTS", acts)
    return met(Fault.NO_CHOICES, protocol)[0]


def forms(secret: str) -> Iterator[str]:
    """Twelve characters of the key, wherever in it, as they are and as encodings show them."""
    for start in range(len(secret) - 11):
        part = secret[start : start + 12]
        yield from (part, quote(part, safe=""), part.encode().hex(), part.replace("/", "\\/"))
    for shift in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(bytes(shift) + secret.encode()).decode()
            yield from (encoded[start : start + 16] for start in range(4, len(encoded) - 20))


FORMS = sorted(set(forms(KEY)))


def found(text: str) -> list[str]:
    return [form for form in FORMS if form in text] + [end for end in (f"**{KEY[-4:]}",) if end in text]


def leaks(result: Outcome, model: ChatModel) -> list[str]:
    """Where the key is found in what a call leaves behind."""
    places: list[object] = [repr(model), str(model), model.settings, model.notes, model.name, repr(result)]
    if isinstance(result, Exception):
        places += [str(result), result.args, "".join(traceback.format_exception(result))]
        chain: list[BaseException | None] = [result.__cause__, result.__context__]
        places += [repr(link) for link in chain]
    reply = result.reply if isinstance(result, Passing) else result
    if isinstance(reply, Reply):
        places += [getattr(reply, item.name) for item in fields(reply)]
    texts = [place.decode("latin-1") if isinstance(place, bytes) else str(place) for place in places]
    return [text for text in texts if found(text)]
