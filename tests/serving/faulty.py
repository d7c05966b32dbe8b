"""A chat endpoint on this machine that speaks both protocols and fails as the test wants.

with FaultyServer(lambda prompt, nth: Fault.RESET if nth == 1 else "yes") as server:
    model = make_chat_model("openai/test", base_url=server.url, key=KEY, environ={})
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import threading
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable
from typing import Self

import orjson
from aiohttp import web

from serving.faults import Exchange, Fault, Responder

Behaviour = Callable[[str, int], "Fault | Responder | str"]
"""What the nth request (from 1) of a prompt gets: a fault, a response, or the text of an answer."""


def seal(prompt: str) -> str:
    """A keyed hash of a prompt. An answer that holds it is the answer to this prompt."""
    return hashlib.blake2b(prompt.encode(), key=b"equipoise", digest_size=12).hexdigest()


def sealed(prompt: str, nth: int = 1) -> str:
    """An answer with the seal of its prompt."""
    return f"Yes, she said. {seal(prompt)}"


class InThread(ABC):
    """A server with an event loop in a thread of its own, used with `with`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.start(), self._loop).result()
        return self

    def __exit__(self, *exc_info: object) -> None:
        asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @abstractmethod
    async def start(self) -> None: ...

    @abstractmethod
    async def stop(self) -> None: ...


class FaultyServer(InThread):
    """A server that counts its requests.

    `rejects` names parameters that it refuses with a 400, `wait` is the seconds that its rate limits ask for, and
    `delay` the seconds that an answer takes.
    """

    def __init__(
        self,
        behaviour: Behaviour = sealed,
        *,
        rejects: frozenset[str] = frozenset(),
        wait: float = 1.0,
        delay: float = 0.0,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__()
        self.behaviour = behaviour
        self.rejects = rejects
        self.wait = wait
        self.delay = delay
        self.port = port
        self.tls = tls
        self.requests: Counter[str] = Counter()
        """The number of requests for each prompt, without those that were rejected for a parameter."""
        self.total = 0
        """The number of all requests."""
        self.received: deque[Exchange] = deque(maxlen=1000)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def start(self) -> None:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=self.tls).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        exchange = Exchange(
            request=request,
            path=request.path,
            query=dict(request.query),
            headers=dict(request.headers),
            body=orjson.loads(await request.read()),
            connection=request.transport,
            wait=self.wait,
        )
        self.total += 1
        self.received.append(exchange)
        for name in sorted(self.rejects & exchange.body.keys()):
            words = f"Unsupported parameter: '{name}' is not supported with this model."
            error = exchange.error(words, "invalid_request_error", code="unsupported_parameter", param=name)
            return web.json_response(error, status=400)
        prompt = exchange.prompt
        self.requests[prompt] += 1
        outcome = self.behaviour(prompt, self.requests[prompt])
        if self.delay:
            await asyncio.sleep(self.delay)
        if isinstance(outcome, str):
            return web.json_response(exchange.message(outcome))
        responder: Responder = outcome.value if isinstance(outcome, Fault) else outcome
        return await responder(exchange)
