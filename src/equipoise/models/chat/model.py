"""`ChatModel`: a chat endpoint over HTTP as a model. Each prompt is one POST, and each kind of outcome has a name."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Self

import aiohttp
import orjson
from yarl import URL

from equipoise.bodies import UNREADABLE, read_completion
from equipoise.models.chat.classify import (
    Target,
    classify,
    find_rejected_parameter,
    is_about_probabilities,
    read_error,
)
from equipoise.models.chat.endpoint import Endpoint
from equipoise.models.chat.first_token import (
    COUNTED,
    COUNTED_NEXT,
    COUNTING,
    HOW_TO_CONTINUE,
    FirstTokens,
    is_continued,
)
from equipoise.models.chat.keys import Key
from equipoise.models.chat.transport import (
    SMALL_BODY,
    BodyReader,
    CheckedConnector,
    describe_failure,
    describe_lasting_failure,
    parse_json,
)
from equipoise.models.chat.wire import KNOWN_REASONS, Body, Parameters, continue_answer, make_reply
from equipoise.models.protocol import AS_SAMPLED, Asking, KeyRefused, NoContinuation, Refused, Reply, TransientFault
from equipoise.models.redact import Redactor, excerpt, find_secrets, without_secrets
from equipoise.models.sampling import Sampling
from equipoise.schema import Status

Outcome = Reply | TransientFault | Refused | str
"""What became of a request: a str is the name of a rejected parameter."""
MAX_ANSWER_BYTES = 16 * 2**20
"""After decompression."""
MAX_ERROR_BYTES = 2**18
MAX_RAW_BYTES = 2**16
CONNECT_TIMEOUT = 4.0
DEFAULT_DEADLINE = 120.0


class ChatModel:
    """One model behind one endpoint, opened with `async with`. The key is used in requests and nowhere else."""

    def __init__(
        self,
        *,
        name: str,
        endpoint: Endpoint,
        sampling: Sampling,
        key: Key,
        headers: Mapping[str, str] | None = None,
        proxy: URL | None = None,
        deadline: float = DEFAULT_DEADLINE,
    ) -> None:
        self.notes: list[str] = []
        self._endpoint = endpoint
        self._sampling = sampling
        self._deadline = deadline
        self._format = endpoint.wire_format
        self._checking = asyncio.Lock()
        self._continues = False
        """Whether the endpoint has shown that it goes on with an answer that is begun for it."""
        self._answered = False
        """Whether an answer has come with the parameters as they are. From then on none is dropped."""
        self._key = key
        self._given_headers = dict(headers or {})
        self._headers = _make_headers(endpoint, self._given_headers)
        self._key_header = endpoint.provider.key_header
        self._sends_key = self._key_header.lower() not in {name.lower() for name in self._headers}
        self._proxy = proxy
        secrets = [*endpoint.secrets, *find_secrets("", sampling.extra)]
        # The values of headers, and what follows a word such as "Bearer" in them.
        secrets += [part for value in self._given_headers.values() for part in (value, *value.split()[1:])]
        secrets += [secret for secret in (key.value, proxy and (proxy.password or proxy.user)) if secret]
        self._redactor = Redactor(secrets)
        self._redact_answer, self._redact_error = self._redactor.answer, self._redactor.error
        self.name = self._redact_answer(name)
        self._target = Target(
            model=self.name,
            url=self._redact_answer(endpoint.base_url),
            key_source=key.source or (endpoint.basic_auth and "the base URL"),
            key_variable=endpoint.provider.key_variable,
            suggestion=self._redact_answer(endpoint.suggestion),
        )
        self._parameters = Parameters(endpoint.model, self._format, sampling, self.notes, self._redact_error)
        self._first_tokens = FirstTokens(self.name, self._parameters, self.notes, self._redact_answer)
        if sampling.seed is not None and "seed" not in self._format.sampling:
            self._parameters.dropped["seed"] = None
            self.notes.append(f"{endpoint.provider.name} has no parameter seed: it is not sent.")
        if key.value and endpoint.basic_auth and self._key_header == "Authorization":
            self.notes.append("The user and password of the base URL are sent instead of the key.")

    def __repr__(self) -> str:
        return f"ChatModel({self.name!r}, {self._target.url!r})"

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
        if self._given_headers:
            settings["headers"] = sorted(self._given_headers)  # their values are secrets
        if self._parameters.dropped:
            settings["dropped"] = dict(self._parameters.dropped)
        return {name: without_secrets(name, value, self._redact_answer) for name, value in settings.items()}

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
        """Go on with a run that has answers: drop only the parameters that were dropped before its first one."""
        self._parameters.dropped_before = dropped

    async def __aenter__(self) -> Self:
        """Run the command that prints the key, if there is one; nothing is sent yet."""
        await self._key.open()
        if self._key.value:
            self._redactor.add(self._key.value)
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
            raise NoContinuation(f"{self.name} begins a new answer instead of going on with one. {HOW_TO_CONTINUE}")
        return continue_answer(messages, opening, continuing)

    async def _check_continuation(self) -> None:
        """Once, see whether the endpoint goes on with an answer that is begun: what comes next is certain."""
        if self._continues:
            return
        messages = self._begin_answer(self._format.messages(COUNTING, None), COUNTED)
        reply = await self._ask(messages, Asking(max_tokens=1, opening=COUNTED))
        if not is_continued(reply.first_token):
            raise NoContinuation(
                f"{self.name} does not go on with an answer that is begun for it: asked to count to five, "
                f"with {COUNTED!r} said already, it does not say {COUNTED_NEXT!r}. {HOW_TO_CONTINUE}"
            )
        self._continues = True

    async def _ask(self, messages: Body, asking: Asking) -> Reply:
        while True:
            key = self._key.value
            outcome = await self._post(self._parameters.body(asking), messages, asking)
            if isinstance(outcome, Reply):
                self._key.note_accepted()
                return outcome
            if isinstance(outcome, str):
                self._parameters.drop(outcome)
            elif not isinstance(outcome, KeyRefused) or not await self._renew_key(key):
                # Raised here and not where the fault was caught, so that the traceback does not hold the request.
                raise outcome

    async def _renew_key(self, refused: str | None) -> bool:
        """Whether there is another key to try, after this one was refused."""
        renewed = await self._key.renew(refused)
        if self._key.value:
            self._redactor.add(self._key.value)
        return renewed

    async def _post(self, parameters: Body, messages: Body, asking: Asking) -> Outcome:
        """Send one request and return its outcome."""
        request = orjson.dumps({**parameters, **messages})
        headers = None
        if self._sends_key and (key := self._key.value):
            headers = {self._key_header: f"Bearer {key}" if self._key_header == "Authorization" else key}
        started = time.monotonic()
        is_compressed = False
        with ExitStack() as held:
            try:
                async with self._session.post(
                    self._endpoint.url, data=request, headers=headers, allow_redirects=False, proxy=self._proxy
                ) as response:
                    status, is_compressed = response.status, "Content-Encoding" in response.headers
                    if 300 <= status < 400:
                        response.close()
                        return self._redirect_refused(status, response.headers.get("Location", ""))
                    limit = MAX_ANSWER_BYTES if status < 300 else MAX_ERROR_BYTES
                    data = await self._bodies.read(response, limit, held)
            except aiohttp.ConnectionTimeoutError:
                return self._connection_failed(f"no connection to {self._target.url} in time")
            except TimeoutError:
                detail = f"no complete answer within {self._deadline:g} s"
                return TransientFault(Reply(status=Status.TIMEOUT, detail=detail), kind="timeout")
            except (aiohttp.ClientError, OSError) as error:
                if is_compressed and isinstance(error, aiohttp.ClientPayloadError):
                    return self._malformed(b"", "the compressed body is damaged")
                if problem := describe_lasting_failure(error, self._proxy):
                    return Refused(self._redact_error(problem))
                return self._connection_failed(describe_failure(error))
            latency = time.monotonic() - started
            if status < 300 and len(data) > limit:
                return Reply(status=Status.TOO_LARGE, detail=f"more than {limit:,} bytes", latency=latency)
            outcome = self._interpret(status, response.headers, data[:limit], parameters, asking, latency)
            if isinstance(outcome, Reply) and len(data) > SMALL_BODY:
                weakref.finalize(outcome, held.pop_all().close).atexit = False
            return outcome

    def _interpret(
        self, status: int, headers: Mapping[str, str], data: bytes, sent: Body, asking: Asking, latency: float
    ) -> Reply | TransientFault | Refused | str:
        """The outcome of a response."""
        document = parse_json(data)
        reported = read_error(status, document, data, self._redact_error)
        if reported is not None:
            if asking.probabilities and is_about_probabilities(reported):
                return self._first_tokens.ask_for_fewer(sent["top_logprobs"], reported.message) or "top_logprobs"
            # After the first answer, a request that was sent earlier may still learn what has been dropped by then.
            fixed = self._format.required | (self._parameters.body(asking).keys() if self._answered else set())
            droppable = {name for name in set(sent) - fixed if self._parameters.may_drop(name)}
            outcome = find_rejected_parameter(reported, droppable) or classify(reported, headers, self._target)
            return replace(outcome, latency=latency) if isinstance(outcome, Reply) else outcome
        try:
            completion = read_completion(document) if isinstance(document, dict) else None
        except UNREADABLE:
            completion = None
        if completion is None:
            is_page = document is None and data.lstrip()[:1] == b"<"
            problem = "not JSON" if document is None else "JSON without an answer"
            problem = f"a web page{self._target.suggestion or ', not JSON'}" if is_page else problem
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
            text = self._redact_answer(completion.text or "")
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


def _make_headers(endpoint: Endpoint, given: Mapping[str, str]) -> dict[str, str]:
    """The headers that are the same for every request. What the user gives counts more."""
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "equipoise",
        **endpoint.wire_format.headers,
    }
    if endpoint.basic_auth:
        headers["Authorization"] = endpoint.basic_auth
    taken = {name.lower() for name in given}
    return {name: value for name, value in headers.items() if name.lower() not in taken} | dict(given)
