"""What comes over the wire: the bytes of a response, its document, or why there is none."""

from __future__ import annotations

import json
import zlib
from typing import Any

import aiohttp
import orjson

COMPRESSED = {"gzip", "x-gzip", "deflate"}


async def received(response: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bool]:
    """The decoded body and whether that is all; when it passes the limit, the connection is closed.

    aiohttp would inflate a whole piece at once, however large it becomes; here nothing passes the limit.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    stream = zlib.decompressobj(wbits=47) if encoding in COMPRESSED else None  # 47: gzip or zlib, as it comes
    whole = bytearray()
    encoded = 0
    while piece := await response.content.readany():
        encoded += len(piece)
        if stream is None:
            whole += piece
        else:
            while piece and len(whole) <= limit:
                if stream.eof:
                    stream = zlib.decompressobj(wbits=47)
                whole += stream.decompress(piece, limit + 1 - len(whole))
                piece = stream.unconsumed_tail or stream.unused_data
        if len(whole) > limit or encoded > limit:
            response.close()
            return bytes(whole[:limit]), False
    if stream is not None and encoded and not stream.eof:
        raise aiohttp.ClientPayloadError("the compressed body is cut off")
    return bytes(whole), True


def document(data: bytes) -> Any:
    """The JSON document, or None. orjson refuses lone surrogates, which JSON allows and models write."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data.decode())
        except (ValueError, RecursionError):
            return None


def description(problem: Exception) -> str:
    """Why there is no response. Built from parts, because some of aiohttp's own texts hold the request."""
    if isinstance(problem, aiohttp.ClientConnectorError):
        where = f"{problem.host}:{problem.port}"
        if isinstance(problem, aiohttp.ClientConnectorDNSError):
            return f"unknown host {problem.host}"
        if isinstance(problem, aiohttp.ClientConnectorCertificateError):
            return f"no TLS with {where}: {problem.certificate_error}"
        if isinstance(problem, aiohttp.ClientSSLError):
            return f"no TLS with {where}: {problem.os_error}"
        return f"cannot connect to {where}: {problem.os_error.strerror or problem.os_error}"
    if isinstance(problem, aiohttp.ClientPayloadError):
        return "the connection broke: the body was cut off"
    if isinstance(problem, aiohttp.ServerDisconnectedError):
        return "the connection broke: the server hung up"
    if isinstance(problem, aiohttp.ClientResponseError):
        return f"the response is not HTTP: {problem.message}"
    reason = problem.strerror if isinstance(problem, OSError) else None
    return f"the connection broke: {reason or type(problem).__name__}"
