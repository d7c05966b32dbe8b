"""Connections that never give an answer to the wrong prompt.

HTTP/1.1 matches responses to requests by their order only. If an endpoint, or a proxy before it, sends one response too
many, every later response on that connection would answer the request before.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import secrets
import time
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

REQUEST_ID_HEADER = "X-Request-Id"
REST_SECONDS = 0.005
"""How long a connection is not used after a response, so that a second response to the same request can show up.

That costs time and CPU. It is done only where responses have no ids by which a second one is recognised anyway.
"""


class CheckedConnector(aiohttp.TCPConnector):
    """Reuses a connection only if nothing has arrived on it since its last response."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.ids = ResponseIds()
        self._ended: WeakKeyDictionary[ResponseHandler, float] = WeakKeyDictionary()
        """When the last response on each connection ended; infinity if that is not noted yet."""

    def note_end(self, protocol: ResponseHandler) -> None:
        """Note that a response has been read to its end."""
        self._ended[protocol] = time.monotonic()

    async def connect(self, *request: Any, **options: Any) -> Connection:
        """A connection on which the next bytes to arrive belong to the next response."""
        while True:
            connection = await super().connect(*request, **options)
            protocol = connection.protocol
            assert protocol is not None
            ended = self._ended.get(protocol)
            self._ended[protocol] = math.inf
            if ended is None:
                return connection
            if not self.ids.vary:
                try:
                    await asyncio.sleep(max(0.0, min(REST_SECONDS, ended + REST_SECONDS - time.monotonic())))
                    await asyncio.sleep(0)  # Without a rest, the loop has to turn twice to see all that has arrived.
                except BaseException:
                    connection.close()
                    raise
            if protocol.is_connected() and not protocol.should_close:
                return connection
            connection.close()


class TrackedResponse(aiohttp.ClientResponse):
    """A response that knows which connection it came on, also after the connection was given back."""

    protocol: ResponseHandler

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Remember the connection, then read the head of the response."""
        assert connection.protocol is not None
        self.protocol = connection.protocol
        return await super().start(connection)


class ResponseIds:
    """Recognises responses that belong to another request, by ids, when no byte came at the wrong time.

    Two ids are used. Ours goes with each request; some servers (vLLM, many proxies) repeat it. The endpoint's own (`id`
    in the body) differs between responses, unless a response is sent twice.
    """

    def __init__(self) -> None:
        # As long as a UUID. Proxies replace shorter or longer ones.
        self._prefix = secrets.token_hex(12)
        self._numbers = itertools.count()
        self._last: WeakKeyDictionary[ResponseHandler, str] = WeakKeyDictionary()
        """The id of the last response on each connection."""
        self._latest = ""
        self._constant = False
        """Whether the endpoint gives every response the same id."""
        self.vary = False
        """Whether each response has an id of its own, as far as is known."""

    def next_id(self) -> str:
        """A new id to send."""
        return f"{self._prefix}{next(self._numbers):08x}"

    def is_foreign(self, sent: str, headers: Mapping[str, str], document: object, protocol: ResponseHandler) -> bool:
        """Whether a response answers another request than the one that was sent with this id."""
        given = document.get("id") if isinstance(document, dict) else None
        given = given if isinstance(given, str) else ""
        for echo in (headers.get(REQUEST_ID_HEADER, ""), given):
            if self._prefix in echo and sent not in echo:
                return True
        if not given:
            self.vary = False
            return False
        last = self._last.get(protocol)
        # Nothing can have been left over on a new connection: there, a repeated id says nothing about the request.
        self._constant = self._constant or (last is None and given == self._latest)
        self.vary = not self._constant and (self.vary or given != self._latest != "")
        self._latest = self._last[protocol] = given
        return last == given and not self._constant
