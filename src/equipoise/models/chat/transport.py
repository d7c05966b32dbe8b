"""HTTP: checked connections, bodies of a bounded size, the JSON in them, waits that are asked for, and failures."""

from __future__ import annotations

import codecs
import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import orjson
from aiohttp.connector import Connection

PROXY_LOGIN_NEEDED = "The proxy wants a user and a password: put them into its address, as in HTTPS_PROXY=http://user:password@host:3128."

_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(ms|mil|[dhms])", re.IGNORECASE)
_UNIT_SECONDS = {"ms": 0.001, "mil": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_WAIT_IN_MESSAGE = re.compile(r"(?:try again|retry) in ((?:\d+(?:\.\d+)? ?[a-z]+)+)", re.IGNORECASE)
_MIN_TIMESTAMP, _MIN_MILLISECOND_TIMESTAMP = 1e9, 1e11
"""A number this large is a point in time in seconds, or in milliseconds, since 1970."""
_LONGEST_WAIT = 1e9
"""In seconds. Longer waits count as this long."""


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


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """Seconds to wait (finite, perhaps 0), from the headers or else from the error message; None when neither says."""
    now = _parse_date(headers.get("Date", "")) or time.time()
    said = _WAIT_IN_MESSAGE.search(message)
    resets = [_parse_wait(text, now) for name, text in headers.items() if name.lower().startswith("x-ratelimit-reset")]
    waits = (
        _parse_wait(f"{headers.get('retry-after-ms', '')}ms", now),
        _parse_wait(headers.get("Retry-After", ""), now),
        _parse_wait(said[1] if said else "", now),
        # The endpoint does not say which of its limits was reached. The shortest is right or costs one more 429; the
        # longest may be a day.
        min((reset for reset in resets if reset is not None), default=None),
    )
    wait = next((wait for wait in waits if wait is not None), None)
    return None if wait is None else min(max(wait, 0.0), _LONGEST_WAIT)


def _parse_wait(text: str, now: float) -> float | None:
    """Seconds from a number, a point in time or a duration such as `1m30s`."""
    try:
        number = float(text)
    except ValueError:
        if (moment := _parse_date(text)) is not None:
            return moment - now
        parts = _DURATION.findall(text)
        return sum(float(count) * _UNIT_SECONDS[unit.lower()] for count, unit in parts) if parts else None
    if math.isnan(number):
        return None
    if number < _MIN_TIMESTAMP:
        return number
    return (number if number < _MIN_MILLISECOND_TIMESTAMP else number / 1000) - now


def _parse_date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None
