"""`ChatModel`: a chat endpoint over HTTP as a model. Each prompt is one POST.

answer ─► _ask ─► _post: one request ─► `Responses.interpret` ─► a reply, or what is raised
           ▲ └── again, with another key or without a parameter that was rejected
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, Self

import aiohttp
import orjson
from aiohttp.connector import Connection
from multidict import CIMultiDict
from yarl import URL

from equipoise.errors import InputError
from equipoise.models.chat.endpoint import Endpoint, find_proxy, resolve_endpoint
from equipoise.models.chat.providers import Body, Parameters, Provider, continue_answer, parse_model_name
from equipoise.models.chat.responses import PROXY_LOGIN_NEEDED, KeyRefused, Outcome, Responses
from equipoise.models.programs import is_sendable, parse_command, print_key
from equipoise.models.protocol import (
    AS_SAMPLED,
    Asking,
    Model,
    NoProbabilities,
    Refused,
    Reply,
    Sampling,
    TransientFault,
)
from equipoise.models.redact import REDACTED, Redactor, is_secret, looks_like_key, refuse_key_as_name
from equipoise.schema import Status

MAX_ANSWER_BYTES = 16 * 2**20
"""After decompression."""
MAX_ERROR_BYTES = 2**18
CONNECT_TIMEOUT = 4.0
DEFAULT_DEADLINE = 120.0
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
COUNTING = "Count from one to five in words, without commas."
COUNTED, COUNTED_NEXT = "one two three", "four"
"""Whoever goes on with this answer says this word, with most of the probability; who begins a new one says another."""


def make_chat_model(
    name: str,
    *,
    environ: Mapping[str, str],
    base_url: str | None = None,
    key: str | None = None,
    key_variable: str | None = None,
    key_command: str | None = None,
    headers: Mapping[str, str] | None = None,
    sampling: Sampling | None = None,
    allow_insecure: bool = False,
    allow_secret_url: bool = False,
    deadline: float = DEFAULT_DEADLINE,
) -> ChatModel:
    """Make the chat model of this name; nothing is sent yet. Without `key`, the key is taken from `environ`.

    `key_command` prints the key; it is run without a shell when the model is opened, and again when a key is refused.
    `headers` go with every request; their values count as secrets.
    """
    provider, model = parse_model_name(name)
    sampling, headers = sampling or Sampling(), dict(headers or {})
    _refuse_missing_secrets(sampling)
    _check_headers(headers)
    if key_variable is not None:
        refuse_key_as_name(key_variable)
        provider = replace(provider, key_variable=key_variable)
    endpoint = resolve_endpoint(provider, model, base_url, allow_secret_url=allow_secret_url)
    if sampling.max_tokens is None:
        sampling = replace(sampling, max_tokens=endpoint.provider.wire_format.max_tokens)
    if key_command is not None:
        chosen = Key(None, "the key command", parse_command(key_command, "The key command"))
    else:
        # A provider's name with another address: whether a key is needed there is not known, so none is demanded.
        is_needed = key_variable is not None or base_url is None or provider.base_url is None
        carries_key = any(given.lower() in ("authorization", provider.key_header.lower()) for given in headers)
        chosen = _find_key(name, provider, key, environ, needed=is_needed and not carries_key)
    if endpoint.is_exposed and not allow_insecure and (chosen.source or headers or endpoint.secrets):
        raise InputError(
            f"A key or another secret would cross the network unencrypted to {endpoint.url.host}: that in "
            f"{chosen.source or next(iter(headers), 'the base URL')}. Use https, or --allow-insecure if you trust the "
            "network."
        )
    proxy = find_proxy(endpoint.url, environ)
    return ChatModel(name, endpoint, sampling, chosen, headers, proxy, deadline)


class Key(NamedTuple):
    """A key and where it comes from: given, from a variable, or printed by a command when the model is opened."""

    value: str | None
    source: str | None
    command: Sequence[str] = ()


class ChatModel(Model):
    """One model behind one endpoint, opened with `async with`. The key is used in requests and nowhere else."""

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        sampling: Sampling,
        key: Key,
        headers: Mapping[str, str],
        proxy: URL | None,
        deadline: float,
    ) -> None:
        self._endpoint = endpoint
        self._sampling = sampling
        self._key = key.value
        self._key_command = key.command
        self._proxy = proxy
        self._deadline = deadline
        self._format = endpoint.provider.wire_format
        self._headers = CIMultiDict(
            {"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json"}
            | {"User-Agent": "equipoise", **self._format.headers}
        )
        self._headers.update({"Authorization": endpoint.basic_auth} if endpoint.basic_auth else {})
        self._headers.update(headers)
        self._redactor = redactor = Redactor()
        for header, value in headers.items():
            # What follows a word such as "Bearer" is a secret by itself.
            parts = (value, *value.split()[1:])
            if is_secret(header, value) or looks_like_key(value):
                redactor.add_keys(*parts)
            else:
                redactor.add(*parts)
        login = (proxy.password or proxy.user) if proxy else None
        redactor.add_keys(*filter(None, (key.value, login)), *endpoint.secrets)
        extra = redactor.redact_setting("", sampling.extra)
        settings = {"provider": endpoint.provider.name, "model": endpoint.model, "base_url": endpoint.base_url}
        settings |= {**asdict(sampling), "extra": extra}
        super().__init__(redactor.redact(name), redactor.redact_setting("", settings))
        self._parameters = Parameters(endpoint.model, self._format, sampling)
        self.settings["dropped"] = self._parameters.dropped
        self._responses = Responses(self.name, endpoint, key.source, self._parameters, redactor)
        self.notes = self._responses.notes
        self.gives_probabilities = self._format.gives_probabilities
        self.continues_answers = endpoint.provider.continuing is not None
        self._continues = False
        """Whether the endpoint has shown that it goes on with an answer that is begun for it."""
        self._checking = asyncio.Lock()
        self._renewing = asyncio.Lock()
        if sampling.seed is not None and "seed" not in self._format.sampling:
            self.notes.append(f"{endpoint.provider.name} has no parameter seed: it is not sent.")

    def continue_after(self, dropped: Collection[str]) -> None:
        """Go on with a run that has answers, without the parameters that were dropped before its first one."""
        for parameter in dropped:
            self._parameters.drop(parameter)
        self._parameters.settled = True

    async def __aenter__(self) -> Self:
        """Run the command that prints the key, if there is one; nothing is sent yet."""
        await self._renew_key(self._key)
        self._session = aiohttp.ClientSession(
            # The number of concurrent requests is limited by whoever calls `answer`.
            connector=CheckedConnector(limit=0, ttl_dns_cache=300),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self._deadline, sock_connect=min(CONNECT_TIMEOUT, self._deadline)),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        """Close all connections."""
        await self._session.close()

    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
        """Send one request; before the first answer, one more for each parameter that the endpoint rejects."""
        messages = self._format.messages(prompt, self._sampling.system_for(system))
        if asking.opening:
            await self._check_continuation()
            messages = continue_answer(messages, asking.opening, self._endpoint.provider.continuing)
        return await self._ask(messages, asking)

    async def _check_continuation(self) -> None:
        """Once, see whether the endpoint goes on with an answer that is begun: what comes next is certain."""
        async with self._checking:
            if self._continues:
                return
            question = self._format.messages(COUNTING, None)
            messages = continue_answer(question, COUNTED, self._endpoint.provider.continuing)
            reply = await self._ask(messages, Asking(max_tokens=1, opening=COUNTED))
            tokens = [entry for entry in reply.first_token or [] if COUNTED_NEXT in str(entry["token"]).lower()]
            self._continues = sum(float(entry["p"]) for entry in tokens) >= 0.5
        if not self._continues:
            raise NoProbabilities(
                f"{self.name} does not go on with an answer that is begun for it: asked to count to five, with "
                f"{COUNTED!r} said already, it does not say {COUNTED_NEXT!r}. Start a run without --probabilities, or "
                "only with probes that need no opening of the answer (docs/endpoints.md names them), or serve the "
                "model with what goes on with answers: llama.cpp, or vLLM as vllm/MODEL."
            )

    async def _ask(self, messages: Body, asking: Asking) -> Reply:
        may_renew = bool(self._key_command)
        while True:
            key = self._key
            outcome = await self._post(key, self._parameters.body(asking), messages, asking)
            if isinstance(outcome, Reply):
                return outcome
            if isinstance(outcome, KeyRefused) and may_renew:
                may_renew = False
                await self._renew_key(key)
            elif outcome is not None:
                # Raised here and not where the fault was caught, so that the traceback does not hold the request.
                raise outcome

    async def _renew_key(self, refused: str | None) -> None:
        """Run the command for another key than this one. Requests that were refused together share one run."""
        async with self._renewing:
            if self._key_command and self._key == refused:
                self._key = await print_key(self._key_command)
                self._redactor.add_keys(self._key)

    async def _post(self, key: str | None, parameters: Body, messages: Body, asking: Asking) -> Outcome:
        """Send one request and return its outcome."""
        key_header = self._endpoint.provider.key_header
        headers = {}
        if key and key_header not in self._headers:
            headers = {key_header: f"Bearer {key}" if key_header == "Authorization" else key}
        started = time.monotonic()
        try:
            async with self._session.post(
                self._endpoint.url,
                data=orjson.dumps({**parameters, **messages}),
                headers=headers,
                allow_redirects=False,
                proxy=self._proxy,
            ) as response:
                limit = MAX_ANSWER_BYTES if response.status < 300 else MAX_ERROR_BYTES
                data = await read_body(response, limit)
        except aiohttp.ConnectionTimeoutError:
            return self._responses.lose(f"no connection to {self._endpoint.url.host} in time")
        except TimeoutError:
            detail = f"no complete answer within {self._deadline:g} s"
            return TransientFault(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
        except (aiohttp.ClientError, OSError) as error:
            problem, is_lasting = describe_failure(error)
            return Refused(self._redactor.redact(problem)) if is_lasting else self._responses.lose(problem)
        latency = time.monotonic() - started
        if response.status < 300 and len(data) > limit:
            return Reply(status=Status.TOO_LARGE, detail=f"more than {limit:,} bytes", latency=latency)
        return self._responses.interpret(response, data[:limit], latency, parameters, asking)


class CheckedConnector(aiohttp.TCPConnector):
    """Reuses a connection only if nothing has arrived on it since its last response."""

    async def connect(self, *request: Any, **options: Any) -> Connection:
        """A connection on which no byte waits that belongs to an earlier response."""
        while True:
            connection = await super().connect(*request, **options)
            if connection.protocol is not None and not connection.protocol.should_close:
                return connection
            connection.close()


async def read_body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body, or a little more than `limit` bytes of it."""
    data = bytearray()
    while len(data) <= limit and (piece := await response.content.readany()):
        data += piece
    if len(data) > limit:
        response.close()
    return bytes(data)


def describe_failure(error: Exception) -> tuple[str, bool]:
    """Why there is no response, and whether there will be none either when asked again.

    In words of our own: some of aiohttp's messages hold the request and its key.
    """
    match error:
        case aiohttp.ClientHttpProxyError(status=407):
            return PROXY_LOGIN_NEEDED, True
        case aiohttp.ClientHttpProxyError(status=status):
            hint = "Hosts that need no proxy belong into NO_PROXY"
            return f"the proxy refuses to connect: HTTP {status}. {hint}", status < 500
        case aiohttp.ClientConnectorCertificateError():
            return (
                f"No TLS with {error.host}:{error.port}: {error.certificate_error}. The certificate is not trusted "
                "here. If your network or your server has a certificate authority of its own, put its certificate "
                "into a file and name that: SSL_CERT_FILE=ca.pem"
            ), True
        case aiohttp.ClientConnectorError(os_error=problem):
            proxy = "the proxy " if isinstance(error, aiohttp.ClientProxyConnectionError) else ""
            return f"cannot connect to {proxy}{error.host}:{error.port}: {problem.strerror or problem}", False
        case aiohttp.ClientResponseError(message=message):
            return f"the response is not HTTP: {message}", False
    return f"the connection broke: {getattr(error, 'strerror', None) or type(error).__name__}", False


# What is checked before anything is sent


def _refuse_missing_secrets(sampling: Sampling) -> None:
    """Refuse parameters from a run file that held a secret: run files keep none, and `[redacted]` must not be sent."""
    missing = [f"--{name}" for name in ("system", "extra") if REDACTED in str(getattr(sampling, name))]
    if missing:
        options = " and ".join(missing)
        raise InputError(
            f"The run was started with a secret in {options}, and run files keep no secrets. To go on, give the "
            f"command again that started it: equipoise run … {options} … --out with this run file."
        )


def _check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that cannot be sent. They are not shown: they may be secrets."""
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
            raise InputError(
                "A header cannot be sent. Names are as in X-Organisation=42, values are printable ASCII on one line."
            )


def _find_key(name: str, provider: Provider, given: str | None, environ: Mapping[str, str], *, needed: bool) -> Key:
    """The key that was given, or that of the environment."""
    source = "the key given" if given is not None else provider.key_variable
    key = (environ.get(provider.key_variable or "", "") if given is None else given).strip()
    if key and not is_sendable(key):
        raise InputError(f"The key from {source} cannot be sent: it must be ASCII without spaces.")
    if not key and provider.key_variable is not None and needed:
        raise InputError(
            f"The model {name!r} needs a key and {provider.key_variable} is not set. Put the key into that environment "
            "variable, name another with --key-variable, or give a command that prints it with --key-command."
        )
    return Key(key, source) if key else Key(None, None)
