"""`ChatModel`: a chat endpoint over HTTP as a model. Each prompt is one POST.

answer ─► _ask ─► _post: one request ─► `Responses.interpret` ─► a reply, or what is raised
           ▲ └── again, with another key or without a parameter that was rejected
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from typing import Self

import aiohttp
import orjson
from multidict import CIMultiDict
from yarl import URL

from equipoise.models.chat.endpoint import Endpoint
from equipoise.models.chat.first_token import COUNTED, COUNTED_NEXT, COUNTING, is_continued
from equipoise.models.chat.keys import Key
from equipoise.models.chat.responses import KeyRefused, Outcome, Response, Responses
from equipoise.models.chat.transport import SMALL_BODY, BodyReader, CheckedConnector, describe_failure
from equipoise.models.chat.wire import Body, Parameters, continue_answer
from equipoise.models.protocol import (
    AS_SAMPLED,
    CONCURRENCY,
    Asking,
    NoProbabilities,
    Refused,
    Reply,
    Sampling,
    TransientFault,
)
from equipoise.models.redact import Redactor, find_secrets
from equipoise.schema import Status

MAX_ANSWER_BYTES = 16 * 2**20
"""After decompression."""
MAX_ERROR_BYTES = 2**18
CONNECT_TIMEOUT = 4.0
DEFAULT_DEADLINE = 120.0
HOW_TO_CONTINUE = (
    "Start a run without --probabilities, or only with probes that need no opening of the answer (docs/endpoints.md "
    "names them), or serve the model with what goes on with answers: llama.cpp, or vLLM as vllm/MODEL."
)


class ChatModel:
    """One model behind one endpoint, opened with `async with`. The key is used in requests and nowhere else."""

    concurrency = CONCURRENCY

    def __init__(
        self,
        *,
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
        self._key = key
        self._given_headers = headers
        self._proxy = proxy
        self._deadline = deadline
        self._format = endpoint.wire_format
        self._headers = CIMultiDict(
            {"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json"}
            | {"User-Agent": "equipoise", **self._format.headers}
        )
        self._headers.update({"Authorization": endpoint.basic_auth} if endpoint.basic_auth else {})
        self._headers.update(headers)
        secrets = [*endpoint.secrets, *find_secrets("", sampling.extra)]
        # The values of headers, and what follows a word such as "Bearer" in them.
        secrets += [part for value in headers.values() for part in (value, *value.split()[1:])]
        secrets += [secret for secret in (key.value, proxy and (proxy.password or proxy.user)) if secret]
        self._redactor = Redactor(secrets)
        self.name = self._redactor.answer(name)
        self._parameters = Parameters(endpoint.model, self._format, sampling)
        self._responses = Responses(self.name, endpoint, key, self._parameters, self._redactor)
        self.notes = self._responses.notes
        self._continues = False
        """Whether the endpoint has shown that it goes on with an answer that is begun for it."""
        self._checking = asyncio.Lock()
        if sampling.seed is not None and "seed" not in self._format.sampling:
            self.notes.append(f"{endpoint.provider.name} has no parameter seed: it is not sent.")
        if key.value and endpoint.basic_auth and endpoint.provider.key_header == "Authorization":
            self.notes.append("The user and password of the base URL are sent instead of the key.")

    def __repr__(self) -> str:
        return f"ChatModel({self.name!r}, {self.settings['base_url']!r})"

    @property
    def settings(self) -> dict[str, object]:
        """What shapes the answers. `dropped` holds rejected parameters, each with the name it is sent under instead."""
        endpoint = self._endpoint
        settings = {
            "provider": endpoint.provider.name,
            "model": endpoint.model,
            "base_url": endpoint.base_url,
            **asdict(self._sampling),
        }
        if self._given_headers:
            settings["headers"] = sorted(self._given_headers)  # their values are secrets
        if self._parameters.dropped:
            settings["dropped"] = self._parameters.dropped
        return {name: self._redactor.setting(name, value) for name, value in settings.items()}

    @property
    def given_again(self) -> list[str]:
        """The options that must be given again to go on with a run, because no file keeps them."""
        headers = [word for name in sorted(self._given_headers) for word in ("--header", f"{name}=…")]
        return headers + (["--key-command", "…"] if self._key.command else [])

    @property
    def gives_probabilities(self) -> bool:
        """Whether the format has a field for them; the endpoint may refuse them all the same."""
        return self._format.gives_probabilities

    @property
    def continues_answers(self) -> bool:
        """Whether the provider is not known to begin new answers; `_check_continuation` shows whether it is so."""
        return self._endpoint.provider.continuing is not None

    def continue_after(self, dropped: Collection[str]) -> None:
        """Go on with a run that has answers, without the parameters that were dropped before its first one."""
        for parameter in dropped:
            self._parameters.drop(parameter)
        self._parameters.settled = True

    async def __aenter__(self) -> Self:
        """Run the command that prints the key, if there is one; nothing is sent yet."""
        await self._renew_key(None)
        self._bodies = BodyReader()
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
            async with self._checking:
                await self._check_continuation()
            messages = self._begin_answer(messages, asking.opening)
        return await self._ask(messages, asking)

    def _begin_answer(self, messages: Body, opening: str) -> Body:
        continuing = self._endpoint.provider.continuing
        if continuing is None:
            raise NoProbabilities(f"{self.name} begins a new answer instead of going on with one. {HOW_TO_CONTINUE}")
        return continue_answer(messages, opening, continuing)

    async def _check_continuation(self) -> None:
        """Once, see whether the endpoint goes on with an answer that is begun: what comes next is certain."""
        if self._continues:
            return
        messages = self._begin_answer(self._format.messages(COUNTING, None), COUNTED)
        reply = await self._ask(messages, Asking(max_tokens=1, opening=COUNTED))
        if not is_continued(reply.first_token):
            raise NoProbabilities(
                f"{self.name} does not go on with an answer that is begun for it: asked to count to five, "
                f"with {COUNTED!r} said already, it does not say {COUNTED_NEXT!r}. {HOW_TO_CONTINUE}"
            )
        self._continues = True

    async def _ask(self, messages: Body, asking: Asking) -> Reply:
        may_renew = bool(self._key.command)
        while True:
            key = self._key.value
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
        await self._key.renew(refused)
        if self._key.value:
            self._redactor.add(self._key.value)

    async def _post(self, key: str | None, parameters: Body, messages: Body, asking: Asking) -> Outcome:
        """Send one request and return its outcome."""
        key_header = self._endpoint.provider.key_header
        headers = {}
        if key and key_header not in self._headers:
            headers = {key_header: f"Bearer {key}" if key_header == "Authorization" else key}
        started = time.monotonic()
        is_compressed = False
        with ExitStack() as held:
            try:
                async with self._session.post(
                    self._endpoint.url,
                    data=orjson.dumps({**parameters, **messages}),
                    headers=headers,
                    allow_redirects=False,
                    proxy=self._proxy,
                ) as response:
                    status, is_compressed = response.status, "Content-Encoding" in response.headers
                    limit = MAX_ANSWER_BYTES if status < 300 else MAX_ERROR_BYTES
                    data = await self._bodies.read(response, limit, held)
            except aiohttp.ConnectionTimeoutError:
                return self._responses.lose(f"no connection to {self._endpoint.url.host} in time")
            except TimeoutError:
                detail = f"no complete answer within {self._deadline:g} s"
                return TransientFault(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
            except (aiohttp.ClientError, OSError) as error:
                if is_compressed and isinstance(error, aiohttp.ClientPayloadError):
                    return self._responses.reject(b"", "the compressed body is damaged")
                problem, is_lasting = describe_failure(error)
                return Refused(self._redactor.error(problem)) if is_lasting else self._responses.lose(problem)
            latency = time.monotonic() - started
            if status < 300 and len(data) > limit:
                return Reply(status=Status.TOO_LARGE, detail=f"more than {limit:,} bytes", latency=latency)
            came = Response(status, response.headers, data[:limit], latency)
            outcome = self._responses.interpret(came, parameters, asking)
            if isinstance(outcome, Reply) and len(data) > SMALL_BODY:
                # The body counts as held until its reply is stored.
                weakref.finalize(outcome, held.pop_all().close).atexit = False
            return outcome
