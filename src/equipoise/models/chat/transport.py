"""HTTP: checked connections, responses with a bounded body, the JSON in it, or the reason why there is none."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import weakref
import zlib
from collections import deque
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
import orjson
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from yarl import URL

from equipoise.models.chat.classify import PROXY_LOGIN_NEEDED

COMPRESSED = {"gzip", "x-gzip", "deflate"}
FREE_BYTES = 2**18
"""Bytes of each response that are read without a reservation."""
PROXY_AUTHENTICATION_REQUIRED, FIRST_SERVER_ERROR = 407, 500
RESPONSES_COMPARED = 16
"""So many responses on a connection are compared with the next one."""
GZIP_OR_ZLIB = 47
"""The `wbits` with which zlib detects the header by itself."""


class CheckedConnector(aiohttp.TCPConnector):
    """Reuses a connection only if nothing has arrived on it since its last response."""

    async def connect(self, *request: Any, **options: Any) -> Connection:
        """A connection on which no byte waits that belongs to an earlier response."""
        while True:
            connection = await super().connect(*request, **options)
            if connection.protocol is not None and not connection.protocol.should_close:
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


class Copies:
    """Recognises a response that was sent twice.

    HTTP/1.1 matches responses to requests by their order only, so the copy of a response answers the wrong request. It
    is the same, byte for byte, as an earlier one on its connection; what is left of that connection is of no use then.
    """

    def __init__(self) -> None:
        self._seen: WeakKeyDictionary[ResponseHandler, deque[int]] = WeakKeyDictionary()

    def is_copy(self, data: bytes, protocol: ResponseHandler) -> bool:
        """Whether one of the last responses on this connection had the same body."""
        digest = hash(data)
        seen = self._seen.get(protocol)
        if seen is None:
            seen = self._seen[protocol] = deque(maxlen=RESPONSES_COMPARED)
        if digest in seen:
            return True
        seen.append(digest)
        return False


class ByteBudget:
    """Limits how many bytes of large responses are held at once. A response that does not fit waits unread.

    Small responses are read at once: only the part of a response beyond `FREE_BYTES` is counted.
    """

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def reserve(self, size: int) -> None:
        """Wait until so many bytes are free, in the order in which they are asked for."""
        if not self._waiters and size <= self._free:
            self._free -= size
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiters.append((size, granted))
        try:
            await granted
        except BaseException:
            if granted.done() and not granted.cancelled():
                self.release(size)
            raise

    def release(self, size: int) -> None:
        """Give bytes back."""
        self._free += size
        while self._waiters:
            needed, granted = self._waiters[0]
            if not granted.done():
                if needed > self._free:
                    return
                self._free -= needed
                granted.set_result(None)
            self._waiters.popleft()


class ResponseBody:
    """The body of a response, read and decompressed up to a limit. It holds its part of the budget until `release`."""

    def __init__(self, budget: ByteBudget) -> None:
        self.data = bytearray()
        self.complete = True
        """Whether `data` is the whole body."""
        self.reserved = 0
        self._budget = budget

    async def read(self, response: aiohttp.ClientResponse, limit: int) -> None:
        """Read at most `limit` bytes.

        aiohttp's own decompression is switched off: it inflates a whole piece at once, however large it becomes.
        """
        encoding = response.headers.get("Content-Encoding", "").strip().lower()
        stream = zlib.decompressobj(wbits=GZIP_OR_ZLIB) if encoding in COMPRESSED else None
        largest = min(limit, response.content_length or limit) if stream is None else limit
        received = 0
        while piece := await response.content.readany():
            received += len(piece)
            if stream is None:
                await self._add(piece, largest)
            while stream is not None and piece and len(self.data) <= limit:
                if stream.eof:
                    stream = zlib.decompressobj(wbits=GZIP_OR_ZLIB)
                await self._add(stream.decompress(piece, min(FREE_BYTES, limit + 1 - len(self.data))), largest)
                piece = stream.unconsumed_tail or stream.unused_data
            if len(self.data) > limit or received > limit:
                response.close()
                self.complete = False
                self.data = self.data[:limit]
                return
        if stream is not None and received and not stream.eof:
            raise aiohttp.ClientPayloadError("the compressed body is cut off")

    async def _add(self, piece: bytes, largest: int) -> None:
        if not self.reserved and len(self.data) + len(piece) > FREE_BYTES:
            await self._budget.reserve(largest)
            self.reserved = largest
        self.data += piece

    def release(self) -> None:
        """Give the reserved bytes back."""
        if self.reserved:
            self._budget.release(self.reserved)
            self.reserved = 0

    def hand_over(self, reply: object) -> None:
        """Keep as many bytes as a reply may hold reserved until it is gone, and give back the rest."""
        if self.reserved:
            held = min(self.reserved, len(self.data))
            self.reserved -= held
            finalizer = weakref.finalize(reply, _release_later, asyncio.get_running_loop(), self._budget, held)
            finalizer.atexit = False


def _release_later(loop: asyncio.AbstractEventLoop, budget: ByteBudget, size: int) -> None:
    """Give bytes back from any thread: a reply may be let go by the one that stores it."""
    with contextlib.suppress(RuntimeError):  # The loop is closed, and nobody waits.
        loop.call_soon_threadsafe(budget.release, size)


def parse_json(data: bytes | bytearray) -> Any:
    """The JSON document, or None if it is not JSON. A byte-order mark before it is left out."""
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        # orjson refuses lone surrogates, which JSON allows and models write.
        try:
            return json.loads(data.decode())
        except (ValueError, RecursionError):
            return None


def describe_lasting_failure(error: Exception, proxy: URL | None) -> str | None:
    """Why there will be no response either when asked again: a certificate, or a proxy that refuses; else None."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return (
            f"{describe_failure(error)}. The certificate is not trusted here. If your network or your server has a "
            "certificate authority of its own, put its certificate into a file and name that: SSL_CERT_FILE=ca.pem"
        )
    if isinstance(error, aiohttp.ClientHttpProxyError) and proxy is not None:
        address = f"{proxy.host}:{proxy.port}"
        if error.status == PROXY_AUTHENTICATION_REQUIRED:
            return f"{PROXY_LOGIN_NEEDED} ({address} says HTTP {error.status}.)"
        if error.status < FIRST_SERVER_ERROR:
            return (
                f"The proxy {address} refuses to connect: HTTP {error.status}. Hosts that need no proxy belong into "
                "NO_PROXY."
            )
    return None


def describe_failure(error: Exception) -> str:
    """Why there is no response, in words of our own: some of aiohttp's messages hold the request and its key."""
    if isinstance(error, aiohttp.ClientConnectorError):
        address = f"{error.host}:{error.port}"
        if isinstance(error, aiohttp.ClientProxyConnectionError):
            return f"cannot connect to the proxy {address}: {error.os_error.strerror or error.os_error}"
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return f"unknown host {error.host}"
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return f"no TLS with {address}: {error.certificate_error}"
        if isinstance(error, aiohttp.ClientSSLError):
            return f"no TLS with {address}: {error.os_error}"
        return f"cannot connect to {address}: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy cannot connect: HTTP {error.status}"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the connection broke: the body was cut off"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the connection broke: the server hung up"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"the response is not HTTP: {error.message}"
    reason = error.strerror if isinstance(error, OSError) else None
    return f"the connection broke: {reason or type(error).__name__}"
