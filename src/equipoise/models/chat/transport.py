"""HTTP: checked connections, bodies of a bounded size, the JSON in them, or the reason why there is none."""

from __future__ import annotations

import asyncio
import codecs
import json
from contextlib import ExitStack, suppress
from typing import Any

import aiohttp
import orjson
from aiohttp.connector import Connection
from yarl import URL

from equipoise.models.chat.classify import PROXY_LOGIN_NEEDED

SMALL_BODY = 2**18
"""Bytes of each response that are read at once."""
MAX_LARGE_BODIES = 4
"""So many larger responses are read or not stored yet at a time."""
PROXY_AUTHENTICATION_REQUIRED, FIRST_SERVER_ERROR = 407, 500


class CheckedConnector(aiohttp.TCPConnector):
    """Reuses a connection only if nothing has arrived on it since its last response."""

    async def connect(self, *request: Any, **options: Any) -> Connection:
        """A connection on which no byte waits that belongs to an earlier response."""
        while True:
            connection = await super().connect(*request, **options)
            if connection.protocol is not None and not connection.protocol.should_close:
                return connection
            connection.close()


class BodyReader:
    """Reads bodies up to a limit. Of the large ones only a few are held at a time, and the others wait unread."""

    def __init__(self) -> None:
        self._large = asyncio.Semaphore(MAX_LARGE_BODIES)
        self._loop = asyncio.get_running_loop()

    async def read(self, response: aiohttp.ClientResponse, limit: int, held: ExitStack) -> bytes:
        """The body, or a little more than `limit` bytes of it. A large one counts until `held` is closed."""
        data = bytearray()
        is_large = False
        while len(data) <= limit and (piece := await response.content.readany()):
            if not is_large and len(data) + len(piece) > SMALL_BODY:
                is_large = True
                await self._large.acquire()
                held.callback(self._release)
            data += piece
        if len(data) > limit:
            response.close()
        return bytes(data)

    def _release(self) -> None:
        """Let another large body be read. Called from any thread: that which stores a reply lets it go."""
        with suppress(RuntimeError):  # The loop is closed, and nobody waits.
            self._loop.call_soon_threadsafe(self._large.release)


def parse_json(data: bytes) -> Any:
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
