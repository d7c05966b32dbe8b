"""Asks a model on a test server, returns what became of it, and looks for traces of the key."""

from __future__ import annotations

import asyncio
import base64
import traceback
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from equipoise.models.chat.model import ChatModel, make_chat_model
from equipoise.models.protocol import AS_SAMPLED, Asking, Refused, Reply, TransientFault
from serving.faults import Fault, Responder, send_json
from serving.faulty import Behaviour, FaultyServer

KEY = "sk-canary/0123456789+abcdefghijklmnop"
PROTOCOLS = ("openai", "anthropic")

Outcome = Reply | TransientFault | Refused


def connect_to(server: FaultyServer, protocol: str = "openai", **options: Any) -> ChatModel:
    environ = {f"{protocol.upper()}_API_KEY": KEY}
    return make_chat_model(
        f"{protocol}/test-model", **{"base_url": server.url, "environ": environ, "deadline": 20.0, **options}
    )


async def outcome_of(
    model: ChatModel, prompt: str = "Who?", system: str | None = None, asking: Asking = AS_SAMPLED
) -> Outcome:
    """The reply, or the fault that was raised."""
    try:
        return await model.answer(prompt, system, asking)
    except (TransientFault, Refused) as fault:
        return fault


def ask(model: ChatModel, *prompts: str, system: str | None = None) -> list[Outcome]:
    """The outcomes of all prompts, asked at once."""

    async def ask_all() -> list[Outcome]:
        async with model:
            return await asyncio.gather(*(outcome_of(model, prompt, system) for prompt in prompts or ("Who?",)))

    return asyncio.run(ask_all())


def always(answer: Fault | Responder | str) -> Behaviour:
    return lambda prompt, nth: answer


def ask_faulty(fault: Fault, protocol: str = "openai", **options: Any) -> tuple[Outcome, ChatModel]:
    """The outcome of one prompt that meets a fault, and the model that was asked."""
    with FaultyServer(always(fault), wait=7.0) as server:
        model = connect_to(server, protocol, **options)
        [outcome] = ask(model)
        assert server.total == 1
    return outcome, model


def ask_with_response(document: object, protocol: str = "openai", status: int = 200) -> Outcome:
    """The outcome of one prompt whose response is this JSON document."""
    with FaultyServer(lambda prompt, nth: send_json(status, document)) as server:
        [outcome] = ask(connect_to(server, protocol))
    return outcome


def _key_forms(secret: str) -> Iterator[str]:
    """Every twelve characters of a secret in a row, as they are and in the usual encodings."""
    for start in range(len(secret) - 11):
        part = secret[start : start + 12]
        yield part
        yield quote(part, safe="")
        yield part.replace("/", "\\/")
        yield part.encode().hex()
    # Where a secret begins in the encoded text decides what it looks like in base64.
    for shift in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(bytes(shift) + secret.encode()).decode()
            for start in range(4 if shift else 0, len(encoded) - 20):
                yield encoded[start : start + 16]


KEY_FORMS = sorted(set(_key_forms(KEY)))


def find_key(text: str) -> list[str]:
    """The forms of the key that are in a text."""
    return [form for form in KEY_FORMS if form in text]


def find_leaks(outcome: Outcome, model: ChatModel) -> list[str]:
    """All texts that a request leaves behind and that hold the key."""
    reply = outcome.reply if isinstance(outcome, TransientFault) else outcome
    places: list[object] = [model, model.settings, model.notes, model.name, outcome]
    places += vars(reply).values() if isinstance(reply, Reply) else []
    if isinstance(outcome, Exception):
        places += [str(outcome), "".join(traceback.format_exception(outcome)), outcome.__cause__, outcome.__context__]
    texts = [place.decode("latin-1") if isinstance(place, bytes) else repr(place) for place in places]
    return [text for text in texts if find_key(text)]
