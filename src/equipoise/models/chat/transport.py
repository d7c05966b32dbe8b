"""Reads HTTP responses: a bounded body, the JSON in it, or the reason why there is none."""

from __future__ import annotations

import codecs
import json
import zlib
from typing import Any

import aiohttp
import orjson

COMPRESSED = {"gzip", "x-gzip", "deflate"}
GZIP_OR_ZLIB = 47
"""The `wbits` with which zlib detects the header by itself."""


async def read_body(response: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bool]:
    """Read and decompress at most `limit` bytes; the second value says whether that was the whole body.

    aiohttp's own decompression is switched off, because it inflates a whole piece at once, however large it becomes.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    stream = zlib.decompressobj(wbits=GZIP_OR_ZLIB) if encoding in COMPRESSED else None
    body = bytearray()
    received = 0
    while piece := await response.content.readany():
        received += len(piece)
        if stream is None:
            body += piece
        else:
            while piece and len(body) <= limit:
                if stream.eof:
                    stream = zlib.decompressobj(wbits=GZIP_OR_ZLIB)
                body += stream.decompress(piece, limit + 1 - len(body))
                piece = stream.unconsumed_tail or stream.unused_data
        if len(body) > limit or received > limit:
            response.close()
            return bytes(body[:limit]), False
    if stream is not None and received and not stream.eof:
        raise aiohttp.ClientPayloadError("the compressed body is cut off")
    return bytes(body), True


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


def describe_failure(error: Exception) -> str:
    """Why there is no response, in words of our own: some of aiohttp's messages hold the request and its key."""
    if isinstance(error, aiohttp.ClientConnectorError):
        address = f"{error.host}:{error.port}"
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return f"unknown host {error.host}"
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return f"no TLS with {address}: {error.certificate_error}"
        if isinstance(error, aiohttp.ClientSSLError):
            return f"no TLS with {address}: {error.os_error}"
        return f"cannot connect to {address}: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the connection broke: the body was cut off"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "the connection broke: the server hung up"
    if isinstance(error, aiohttp.ClientResponseError):
        return f"the response is not HTTP: {error.message}"
    reason = error.strerror if isinstance(error, OSError) else None
    return f"the connection broke: {reason or type(error).__name__}"
