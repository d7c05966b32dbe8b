"""A chat endpoint over HTTP as a model: one prompt is one POST, and whatever comes back has a name."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import aiohttp
import orjson
from yarl import URL

from equipoise.errors import BadParameter, InputError
from equipoise.frames import Status
from equipoise.models import anthropic
from equipoise.models.classify import Asked, complaint, rejected, verdict
from equipoise.models.endpoint import Endpoint, locate
from equipoise.models.protocol import Passing, Refused, Reply
from equipoise.models.providers import parse
from equipoise.models.redact import REDACTED, Redact, excerpt, is_secret, redactor
from equipoise.models.transport import description, document, received
from equipoise.models.wire import KNOWN, Body, Sampling, checked, conclude

LIMIT = 16 * 2**20
"""Decoded bytes of an answer."""
ERROR_LIMIT = 2**18
"""Decoded bytes of an error."""
RAW_LIMIT = 2**16
CONNECT = 4.0
DEADLINE = 120.0
SHORTEST_IN_ANSWERS = 12
"""A shorter key is a placeholder such as `none`, and to blot that out would change answers."""
SHORTEST_IN_ERRORS = 4


class ChatModel:
    """One model behind one endpoint. Opened with `async with`; the key is kept for the requests only."""

    def __init__(
        self,
        *,
        name: str,
        endpoint: Endpoint,
        sampling: Sampling,
        key: str | None = None,
        key_source: str | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        self.name = name
        self.notes: list[str] = []
        self._endpoint = endpoint
        self._sampling = sampling
        self._deadline = deadline
        self._wire = endpoint.wire
        self._body = self._wire.body(endpoint.model, sampling)
        self._dropped: dict[str, str | None] = {}
        self._headers = _headers(endpoint, key)
        self._session: aiohttp.ClientSession | None = None
        hidden = [value for field, value in sampling.extra.items() if is_secret(field, value)]
        secrets = [*([key] if key else []), *endpoint.secrets, *hidden]
        self._redact_answer = redactor(secrets, shortest=SHORTEST_IN_ANSWERS, thorough=False)
        self._redact = redactor(secrets, shortest=SHORTEST_IN_ERRORS, thorough=True)
        self._asked = Asked(
            model=self._redact_answer(name),
            url=self._redact_answer(endpoint.base_url),
            key_source=key_source or (key and "the key given") or (endpoint.basic and "the base URL"),
            key_variable=endpoint.provider.key_variable,
        )
        for parameter in self._wire.lacks:
            if getattr(sampling, parameter) is not None:
                self._dropped[parameter] = None
                self.notes.append(f"{endpoint.provider.name} knows no {parameter}: it is not sent.")
        if key and endpoint.basic and endpoint.provider.key_header == "Authorization":
            self.notes.append("The user and password of the base URL are sent instead of the key.")

    def __repr__(self) -> str:
        return f"ChatModel({self._asked.model!r}, {self._asked.url!r})"

    @property
    def settings(self) -> dict[str, object]:
        """What shapes the answers. Once a parameter was rejected, `dropped` says so, and what is sent instead."""
        sampling = self._sampling
        stored: dict[str, object] = {
            "provider": self._endpoint.provider.name,
            "model": self._endpoint.model,
            "base_url": self._endpoint.base_url,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
            "seed": sampling.seed,
            "system": sampling.system,
            "extra": dict(sampling.extra),
        }
        if self._dropped:
            stored["dropped"] = dict(self._dropped)
        return {name: _clean(name, value, self._redact_answer) for name, value in stored.items()}

    async def __aenter__(self) -> Self:
        """Open the session; nothing is sent yet."""
        self._session = aiohttp.ClientSession(
            # How many requests are under way is for the pump to say.
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self._deadline, sock_connect=min(CONNECT, self._deadline)),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def answer(self, prompt: str) -> Reply:
        """One request, and one more for each parameter that the endpoint is found to reject."""
        while True:
            sent = self._body
            outcome = await self._ask(sent, prompt)
            if isinstance(outcome, Reply):
                return outcome
            if not isinstance(outcome, str):
                # Raised here and not where the fault was caught, so that no traceback leads to the request.
                raise outcome
            self._drop(outcome)

    async def _ask(self, sent: Body, prompt: str) -> Reply | Passing | Refused | str:
        """What became of the request; a text is the name of a parameter that was rejected."""
        assert self._session is not None, "a model is used inside `async with`"
        messages = [*sent["messages"], {"role": "user", "content": prompt}]
        request = orjson.dumps({**sent, "messages": messages})
        started = time.monotonic()
        try:
            async with self._session.post(self._endpoint.url, data=request, allow_redirects=False) as response:
                status, headers = response.status, response.headers
                if 300 <= status < 400:
                    response.close()
                    return self._redirected(status, headers.get("Location", ""))
                data, complete = await received(response, LIMIT if status < 300 else ERROR_LIMIT)
        except zlib.error:
            return self._malformed(b"", "the compressed body is damaged")
        except aiohttp.ConnectionTimeoutError:
            return self._broken(f"no connection to {self._asked.url} in time")
        except TimeoutError:
            detail = f"no complete answer within {self._deadline:g} s"
            return Passing(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
        except (aiohttp.ClientError, OSError) as problem:
            return self._broken(description(problem))
        latency = time.monotonic() - started
        if status < 300 and not complete:
            detail = f"more than {LIMIT:,} bytes"
            return Reply(status=Status.TOO_LARGE, detail=detail, latency=latency)

        parsed = document(data)
        said = complaint(status, parsed, data, self._redact)
        if said is not None:
            droppable = sent.keys() - self._wire.needed
            judged = rejected(said, droppable) or verdict(said, headers, self._asked)
            return replace(judged, latency=latency) if isinstance(judged, Reply) else judged
        answer = self._wire.read(parsed) if isinstance(parsed, dict) else None
        if answer is None:
            what = "not JSON" if parsed is None else "JSON without an answer"
            return self._malformed(data, f"HTTP {status}: {what}")
        if answer.finish and answer.finish.lower() not in KNOWN:
            self._note_finish(answer.finish)
        return conclude(answer, latency, self._redact_answer)

    def _drop(self, parameter: str) -> None:
        """Stop sending a parameter; requests that were under way find it gone."""
        if parameter not in self._body:
            return
        # A new body, because requests under way keep the one they were sent with.
        changed = {name: value for name, value in self._body.items() if name != parameter}
        instead = None
        if parameter == "max_tokens" and "max_completion_tokens" not in changed:
            instead = "max_completion_tokens"
            changed[instead] = self._body[parameter]
        self._body = changed
        self._dropped[parameter] = instead
        what = f"it is sent as {instead}" if instead else "it is no longer sent"
        self.notes.append(f"The endpoint rejects {self._redact(parameter)}: {what}.")

    def _note_finish(self, reason: str) -> None:
        start = "The endpoint gives finish reasons that are not known here"
        if not any(note.startswith(start) for note in self.notes):
            self.notes.append(f"{start}, such as {excerpt(self._redact(reason), 60)!r}; they are stored as they come.")

    def _broken(self, detail: str) -> Passing:
        return Passing(Reply(status=Status.HTTP_ERROR, detail=excerpt(self._redact(detail))), kind="connection")

    def _malformed(self, data: bytes, detail: str) -> Passing:
        # A little more is read than is kept, so that no part of a secret stands where it is cut.
        text = self._redact(data[: RAW_LIMIT + 1000].decode("utf-8", "surrogateescape"))
        kept = text if len(data) <= RAW_LIMIT else text[:-1000]
        reply = Reply(status=Status.MALFORMED, detail=detail, raw=kept.encode("utf-8", "surrogateescape")[:RAW_LIMIT])
        return Passing(reply, kind="malformed")

    def _redirected(self, status: int, location: str) -> Refused:
        try:
            host = URL(location).host or "itself"
        except ValueError:
            host = "an address that cannot be read"
        return Refused(
            f"The endpoint {self._asked.url} redirects to {excerpt(self._redact(host), 100)} (HTTP {status}). That was "
            "not followed, because the key would go there too. If it is right, give that address with --base-url."
        )


def connect(
    name: str,
    *,
    environ: Mapping[str, str],
    base_url: str | None = None,
    key: str | None = None,
    key_variable: str | None = None,
    sampling: Sampling | None = None,
    allow_insecure: bool = False,
    deadline: float = DEADLINE,
) -> ChatModel:
    """The model of this name. The key is the one given, or else that of its variable in `environ`."""
    provider, model = parse(name)
    sampling = checked(sampling or Sampling())
    if provider.protocol == "anthropic" and sampling.max_tokens is None:
        sampling = replace(sampling, max_tokens=anthropic.MAX_TOKENS)
    if not (math.isfinite(deadline) and deadline > 0):
        raise BadParameter(f"The deadline of a request must be more than 0 seconds. Got {deadline} instead.")
    if key_variable is not None:
        provider = replace(provider, key_variable=key_variable)
    endpoint = locate(provider, model, base_url)
    source = "the key given" if key is not None else provider.key_variable
    if key is None and provider.key_variable is not None:
        key = environ.get(provider.key_variable)
    key = (key or "").strip() or None
    # Under a provider's name, but at another address, it is not known whether a key is needed.
    needed = key_variable is not None or base_url is None or provider.base_url is None
    if key is None and provider.key_variable is not None and needed:
        raise InputError(
            f"The model {name!r} needs a key and {provider.key_variable} is not set. "
            "Put the key into that environment variable, or name another with --key-variable."
        )
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(f"The key from {source} cannot be sent: it must be ASCII without spaces.")
    if (key or endpoint.basic or endpoint.secrets) and endpoint.exposed and not allow_insecure:
        what = f"The key from {source}" if key else "The secret in the base URL"
        raise InputError(
            f"{what} would cross the network unencrypted to {endpoint.url.host}. Use https, or --allow-insecure if "
            "the network is to be trusted."
        )
    return ChatModel(
        name=name,
        endpoint=endpoint,
        sampling=sampling,
        key=key,
        key_source=key and source,
        deadline=deadline,
    )


def _headers(endpoint: Endpoint, key: str | None) -> dict[str, str]:
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "equipoise",
        **endpoint.wire.headers,
    }
    if key:
        header = endpoint.provider.key_header
        headers[header] = f"Bearer {key}" if header == "Authorization" else key
    if endpoint.basic:
        headers["Authorization"] = endpoint.basic
    return headers


def _clean(name: str, value: Any, redact: Redact) -> Any:
    """A value as it may be stored."""
    if isinstance(value, str):
        return REDACTED if is_secret(name, value) else redact(value)
    if isinstance(value, Mapping):
        return {redact(str(inner)): _clean(str(inner), held, redact) for inner, held in value.items()}
    if isinstance(value, list | tuple):
        return [_clean("", held, redact) for held in value]
    return value
