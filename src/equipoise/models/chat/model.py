"""`ChatModel`: a chat endpoint over HTTP as a model. Each prompt is one POST, and each kind of outcome has a name."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Self

import aiohttp
import orjson
from yarl import URL

from equipoise.errors import BadParameter, InputError
from equipoise.models.chat import anthropic
from equipoise.models.chat.classify import (
    Target,
    classify,
    find_rejected_parameter,
    is_about_probabilities,
    read_error,
)
from equipoise.models.chat.connections import REQUEST_ID_HEADER, CheckedConnector, TrackedResponse
from equipoise.models.chat.endpoint import Endpoint, resolve_endpoint
from equipoise.models.chat.first_token import FirstTokens
from equipoise.models.chat.parameters import Parameters
from equipoise.models.chat.providers import parse_model_name
from equipoise.models.chat.transport import ByteBudget, ResponseBody, describe_failure, parse_json
from equipoise.models.chat.wire import KNOWN_REASONS, Body, make_reply
from equipoise.models.protocol import AS_SAMPLED, Asking, Refused, Reply, TransientFault
from equipoise.models.redact import excerpt, find_secrets, make_redactor, refuse_key_as_name, without_secrets
from equipoise.models.sampling import Sampling, refuse_missing_secrets
from equipoise.schema import Status

MAX_ANSWER_BYTES = 16 * 2**20
"""After decompression."""
MAX_HELD_BYTES = 4 * MAX_ANSWER_BYTES
"""Of all large answers that are being read or not stored yet. Decoding one takes several times its size."""
MAX_ERROR_BYTES = 2**18
MAX_RAW_BYTES = 2**16
CONNECT_TIMEOUT = 4.0
DEFAULT_DEADLINE = 120.0
MIN_SECRET_IN_ANSWERS = 12
"""A shorter key is a placeholder such as `none`; blotting it out would change answers."""
MIN_SECRET_IN_ERRORS = 4


class ChatModel:
    """One model behind one endpoint, opened with `async with`. The key is used in requests and nowhere else."""

    def __init__(
        self,
        *,
        name: str,
        endpoint: Endpoint,
        sampling: Sampling,
        key: str | None = None,
        key_source: str | None = None,
        deadline: float = DEFAULT_DEADLINE,
    ) -> None:
        self.name = name
        self.notes: list[str] = []
        self._endpoint = endpoint
        self._sampling = sampling
        self._deadline = deadline
        self._format = endpoint.wire_format
        self._answered = False
        """Whether an answer has come with the parameters as they are. From then on none is dropped."""
        self._headers = _make_headers(endpoint, key)
        self._session: aiohttp.ClientSession | None = None
        secrets = [*([key] if key else []), *endpoint.secrets, *find_secrets("", sampling.extra)]
        self._redact_answer = make_redactor(secrets, min_length=MIN_SECRET_IN_ANSWERS, thorough=False)
        self._redact_error = make_redactor(secrets, min_length=MIN_SECRET_IN_ERRORS, thorough=True)
        self._target = Target(
            model=self._redact_answer(name),
            url=self._redact_answer(endpoint.base_url),
            key_source=key_source or (key and "the key given") or (endpoint.basic_auth and "the base URL"),
            key_variable=endpoint.provider.key_variable,
        )
        self._first_tokens = FirstTokens(self._target.model, self.notes, self._redact_answer)
        self._parameters = Parameters(
            endpoint.model, self._format, sampling, self._first_tokens, self.notes, self._redact_error
        )
        for parameter in self._format.unsupported:
            if getattr(sampling, parameter) is not None:
                self._parameters.dropped[parameter] = None
                self.notes.append(f"{endpoint.provider.name} has no parameter {parameter}: it is not sent.")
        if key and endpoint.basic_auth and endpoint.provider.key_header == "Authorization":
            self.notes.append("The user and password of the base URL are sent instead of the key.")

    def __repr__(self) -> str:
        return f"ChatModel({self._target.model!r}, {self._target.url!r})"

    @property
    def settings(self) -> dict[str, object]:
        """What shapes the answers. `dropped` holds rejected parameters, each with the name it is sent under instead."""
        sampling = self._sampling
        settings: dict[str, object] = {
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
        if self._parameters.dropped:
            settings["dropped"] = dict(self._parameters.dropped)
        return {name: without_secrets(name, value, self._redact_answer) for name, value in settings.items()}

    @property
    def gives_probabilities(self) -> bool:
        """Whether the format has a field for them; the endpoint may refuse them all the same."""
        return self._format.gives_probabilities

    def continue_after(self, notes: Collection[str]) -> None:
        """Go on with a run that has answers: drop only the parameters that were dropped before its first one."""
        self._parameters.earlier_notes = notes

    async def __aenter__(self) -> Self:
        """Open the HTTP session; nothing is sent yet."""
        # The number of concurrent requests is limited by whoever calls `answer`.
        self._budget = ByteBudget(MAX_HELD_BYTES)
        self._connector = CheckedConnector(limit=0, ttl_dns_cache=300)
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            response_class=TrackedResponse,
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self._deadline, sock_connect=min(CONNECT_TIMEOUT, self._deadline)),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
        """Send one request; before the first answer, one more for each parameter that the endpoint rejects."""
        messages = self._format.messages(prompt, self._sampling.system_for(system))
        while True:
            outcome = await self._post(self._parameters.body(asking), messages, asking)
            if isinstance(outcome, Reply):
                return outcome
            if not isinstance(outcome, str):
                # Raised here and not where the fault was caught, so that the traceback does not hold the request.
                raise outcome
            self._parameters.drop(outcome)

    async def _post(self, parameters: Body, messages: Body, asking: Asking) -> Reply | TransientFault | Refused | str:
        """Send one request and return its outcome; a str is the name of a parameter that was rejected."""
        assert self._session is not None, "a model is used inside `async with`"
        request, request_id = orjson.dumps({**parameters, **messages}), self._connector.ids.next_id()
        started = time.monotonic()
        body = ResponseBody(self._budget)
        try:
            async with self._session.post(
                self._endpoint.url, data=request, headers={REQUEST_ID_HEADER: request_id}, allow_redirects=False
            ) as response:
                assert isinstance(response, TrackedResponse)
                status, headers, connection = response.status, response.headers, response.protocol
                if 300 <= status < 400:
                    response.close()
                    return self._redirect_refused(status, headers.get("Location", ""))
                await body.read(response, MAX_ANSWER_BYTES if status < 300 else MAX_ERROR_BYTES)
            self._connector.note_end(connection)
            latency = time.monotonic() - started
            if status < 300 and not body.complete:
                return Reply(status=Status.TOO_LARGE, detail=f"more than {MAX_ANSWER_BYTES:,} bytes", latency=latency)
            data = bytes(body.data)
            document = parse_json(data)
            if self._connector.ids.is_foreign(request_id, headers, document, connection):
                connection.close()
                return self._connection_failed("the response belongs to another request")
            outcome = self._interpret(status, headers, document, data, parameters, asking, latency)
            if isinstance(outcome, Reply):
                body.hand_over(outcome)
        except zlib.error:
            return self._malformed(b"", "the compressed body is damaged")
        except aiohttp.ConnectionTimeoutError:
            return self._connection_failed(f"no connection to {self._target.url} in time")
        except TimeoutError:
            detail = f"no complete answer within {self._deadline:g} s"
            return TransientFault(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
        except (aiohttp.ClientError, OSError) as error:
            return self._connection_failed(describe_failure(error))
        else:
            return outcome
        finally:
            body.release()

    def _interpret(
        self,
        status: int,
        headers: Mapping[str, str],
        document: object,
        data: bytes,
        sent: Body,
        asking: Asking,
        latency: float,
    ) -> Reply | TransientFault | Refused | str:
        """The outcome of a response; a str is the name of a parameter that was rejected."""
        reported = read_error(status, document, data, self._redact_error)
        if reported is not None:
            if asking.probabilities and is_about_probabilities(reported):
                return self._first_tokens.ask_for_fewer(sent["top_logprobs"], reported.message) or "top_logprobs"
            # After the first answer, a request that was sent earlier may still learn what has been dropped by then.
            fixed = self._format.required | (self._parameters.body(asking).keys() if self._answered else set())
            droppable = {name for name in set(sent) - fixed if self._parameters.may_drop(name)}
            outcome = find_rejected_parameter(reported, droppable) or classify(reported, headers, self._target)
            return replace(outcome, latency=latency) if isinstance(outcome, Reply) else outcome
        completion = self._format.read(document) if isinstance(document, dict) else None
        if completion is None:
            problem = "not JSON" if document is None else "JSON without an answer"
            return self._malformed(data, f"HTTP {status}: {problem}")
        if completion.finish_reason and completion.finish_reason.lower() not in KNOWN_REASONS:
            self._note_unknown_reason(completion.finish_reason)
        reply = make_reply(completion, latency, self._redact_answer)
        if asking.probabilities and isinstance(reply, Reply) and reply.status != Status.FILTERED:
            tokens = self._first_tokens.read(completion)
            if isinstance(tokens, str):
                return self._malformed(data, tokens)
            if isinstance(tokens, Refused):
                return tokens
            # The text does not matter: it is only one of the tokens that could have come.
            text = self._redact_answer(completion.text)
            reply = replace(reply, status=Status.OK, answer=text, detail=None, first_token=tokens)
        self._answered = self._answered or (isinstance(reply, Reply) and reply.answer is not None)
        return reply

    def _note_unknown_reason(self, reason: str) -> None:
        start = "The endpoint gives finish reasons that are not known here"
        if not any(note.startswith(start) for note in self.notes):
            shown = excerpt(self._redact_error(reason), 60)
            self.notes.append(f"{start}, such as {shown!r}; they are stored as they come.")

    def _connection_failed(self, detail: str) -> TransientFault:
        reply = Reply(status=Status.HTTP_ERROR, detail=excerpt(self._redact_error(detail)))
        return TransientFault(reply, kind="connection")

    def _malformed(self, data: bytes, detail: str) -> TransientFault:
        # Redact a little more than is kept, because a secret that is cut in two would not be recognised.
        margin = 1000
        text = self._redact_error(data[: MAX_RAW_BYTES + margin].decode("utf-8", "surrogateescape"))
        kept = text if len(data) <= MAX_RAW_BYTES else text[:-margin]
        raw = kept.encode("utf-8", "surrogateescape")[:MAX_RAW_BYTES]
        return TransientFault(Reply(status=Status.MALFORMED, detail=detail, raw=raw), kind="malformed")

    def _redirect_refused(self, status: int, location: str) -> Refused:
        try:
            host = URL(location).host or "itself"
        except ValueError:
            host = "an address that cannot be read"
        return Refused(
            f"The endpoint {self._target.url} redirects to {excerpt(self._redact_error(host), 100)} (HTTP {status}). "
            "That was not followed, because the key would go there too. If it is right, give that address with "
            "--base-url."
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
    allow_secret_url: bool = False,
    deadline: float = DEFAULT_DEADLINE,
) -> ChatModel:
    """Make the chat model of this name; nothing is sent yet. Without `key`, the key is taken from `environ`."""
    provider, model = parse_model_name(name)
    sampling = (sampling or Sampling()).checked()
    if provider.protocol == "anthropic" and sampling.max_tokens is None:
        sampling = replace(sampling, max_tokens=anthropic.DEFAULT_MAX_TOKENS)
    if not (math.isfinite(deadline) and deadline > 0):
        raise BadParameter(f"The deadline of a request must be more than 0 seconds. Got {deadline} instead.")
    refuse_missing_secrets(sampling)
    if key_variable is not None:
        refuse_key_as_name(key_variable)
        provider = replace(provider, key_variable=key_variable)
    endpoint = resolve_endpoint(provider, model, base_url, allow_secret_url=allow_secret_url)
    source = "the key given" if key is not None else provider.key_variable
    if key is None and provider.key_variable is not None:
        key = environ.get(provider.key_variable)
    key = (key or "").strip() or None
    # A provider's name with another address: whether a key is needed there is not known, so none is demanded.
    is_key_needed = key_variable is not None or base_url is None or provider.base_url is None
    if key is None and provider.key_variable is not None and is_key_needed:
        raise InputError(
            f"The model {name!r} needs a key and {provider.key_variable} is not set. "
            "Put the key into that environment variable, or name another with --key-variable."
        )
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(f"The key from {source} cannot be sent: it must be ASCII without spaces.")
    if (key or endpoint.basic_auth or endpoint.secrets) and endpoint.is_exposed and not allow_insecure:
        secret = f"The key from {source}" if key else "The secret in the base URL"
        raise InputError(
            f"{secret} would cross the network unencrypted to {endpoint.url.host}. "
            "Use https, or --allow-insecure if you trust the network."
        )
    return ChatModel(
        name=name,
        endpoint=endpoint,
        sampling=sampling,
        key=key,
        key_source=key and source,
        deadline=deadline,
    )


def _make_headers(endpoint: Endpoint, key: str | None) -> dict[str, str]:
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "equipoise",
        **endpoint.wire_format.headers,
    }
    if key:
        header = endpoint.provider.key_header
        headers[header] = f"Bearer {key}" if header == "Authorization" else key
    if endpoint.basic_auth:
        headers["Authorization"] = endpoint.basic_auth
    return headers
