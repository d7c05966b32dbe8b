"""Asks a model on a test server, returns what became of it, and looks for traces of the key."""

from __future__ import annotations

import asyncio
import base64
import traceback
from collections.abc import Iterator
from dataclasses import fields
from typing import Any
from urllib.parse import quote

from equipoise.models import ChatModel, Refused, Reply, TransientFault, connect
from serving.faults import Fault, send_json
from serving.faulty import Behaviour, FaultyServer

KEY = "sk-canary/0123456789+abcdefghijklmnop"
PROTOCOLS = ("openai", "anthropic")

Outcome = Reply | TransientFault | Refused


def connect_to(server: FaultyServer, protocol: str = "openai", **options: Any) -> ChatModel:
    defaults: dict[str, Any] = {
        "base_url": server.url,
        "environ": {f"{protocol.upper()}_API_KEY": KEY},
        "deadline": 20.0,
    }
    return connect(f"{protocol}/test-model", **defaults | options)


async def outcome_of(model: ChatModel, prompt: str = "Who?", system: str | None = None) -> Outcome:
    """The reply, or the fault that was raised."""
    try:
        return await model.answer(prompt, system)
    except (TransientFault, Refused) as fault:
        return fault


def ask(model: ChatModel, *prompts: str, system: str | None = None) -> list[Outcome]:
    """The outcomes of all prompts, asked at once."""

    async def ask_all() -> list[Outcome]:
        async with model:
            return await asyncio.gather(*(outcome_of(model, prompt, system) for prompt in prompts or ("Who?",)))

    return asyncio.run(ask_all())


def always(answer: Fault | str) -> Behaviour:
    return lambda prompt, nth: answer


def ask_faulty(fault: Fault, protocol: str, **options: Any) -> tuple[Outcome, ChatModel]:
    """The outcome of one prompt that meets a fault, and the model that was asked."""
    with FaultyServer(always(fault), wait=7.0) as server:
        model = connect_to(server, protocol, **options)
        [outcome] = ask(model)
    return outcome, model


def ask_with_response(document: object, protocol: str = "openai", status: int = 200) -> Outcome:
    """The outcome of one prompt whose response is this JSON document."""
    with FaultyServer(lambda prompt, nth: send_json(status, lambda exchange: document)) as server:
        [outcome] = ask(connect_to(server, protocol))
    return outcome


def _key_forms(secret: str) -> Iterator[str]:
    """Every twelve characters of the key in a row, as they are and in the usual encodings."""
    for start in range(len(secret) - 11):
        part = secret[start : start + 12]
        yield from (part, quote(part, safe=""), part.encode().hex(), part.replace("/", "\\/"))
    for shift in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(bytes(shift) + secret.encode()).decode()
            yield from (encoded[start : start + 16] for start in range(4, len(encoded) - 20))


KEY_FORMS = [*sorted(set(_key_forms(KEY))), f"**{KEY[-4:]}"]


def find_key(text: str) -> list[str]:
    """The forms of the key that are in a text."""
    return [form for form in KEY_FORMS if form in text]


def find_leaks(outcome: Outcome, model: ChatModel) -> list[str]:
    """All texts that a request leaves behind and that hold the key."""
    places: list[object] = [repr(model), str(model), model.settings, model.notes, model.name, repr(outcome)]
    if isinstance(outcome, Exception):
        places += [str(outcome), outcome.args, "".join(traceback.format_exception(outcome))]
        places += [repr(outcome.__cause__), repr(outcome.__context__)]
    reply = outcome.reply if isinstance(outcome, TransientFault) else outcome
    if isinstance(reply, Reply):
        places += [getattr(reply, field.name) for field in fields(reply)]
    texts = [place.decode("latin-1") if isinstance(place, bytes) else str(place) for place in places]
    return [text for text in texts if find_key(text)]
