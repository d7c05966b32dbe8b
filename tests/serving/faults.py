"""The faults of an endpoint (docs/faults.md, E1–E21 and S13) as bytes on the wire, in both protocols."""

from __future__ import annotations

import asyncio
import base64
import gzip
import itertools
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from enum import Enum, member
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from aiohttp import web

RESPONSE_NUMBERS = itertools.count(1)
WHOLE = b'{"choices": [{"message": {"content": "She said yes."}, "finish_reason": "stop"}], "content": []}'
HTML = b"<html><head><title>502 Bad Gateway</title></head><body><script>alert(1)</script><h1>Bad \x1b[31m</h1"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request, and the parts of a response to it."""

    request: web.Request
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    connection: object
    wait: float

    @property
    def prompt(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def anthropic(self) -> bool:
        return self.path.endswith("/messages")

    @property
    def key(self) -> str:
        return self.headers.get("x-api-key") or self.headers.get("Authorization", "").removeprefix("Bearer ")

    def message(
        self, text: str | None, *, finish: str = "stop", reasoning: str | None = None, model: str | None = None
    ) -> dict[str, Any]:
        """A response with an answer. `finish` is a finish reason in OpenAI's words."""
        common = {"id": f"response-{next(RESPONSE_NUMBERS)}", "model": model or self.body["model"]}
        prompt_tokens, completion_tokens = len(self.prompt.split()), len((text or "").split())
        if self.anthropic:
            thinking = [] if reasoning is None else [{"type": "thinking", "thinking": reasoning, "signature": "x"}]
            reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
            return {
                **common,
                "type": "message",
                "content": thinking + ([] if text is None else [{"type": "text", "text": text}]),
                "stop_reason": reasons.get(finish, finish),
                "usage": {"input_tokens": prompt_tokens, "output_tokens": completion_tokens},
            }
        message = {"role": "assistant", "content": text} | ({"reasoning_content": reasoning} if reasoning else {})
        return {
            **common,
            "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,  # which Inspect reads
            },
        }

    def error(self, message: str, kind: str, *, code: str | None = None, param: str | None = None) -> dict[str, Any]:
        if self.anthropic:
            return {"type": "error", "error": {"type": kind, "message": message}}
        return {"error": {"message": message, "type": kind, "param": param, "code": code}}

    def key_echo(self) -> str:
        """A message with the key in every form in which a careless endpoint may show it."""
        key = self.key.encode()
        cut = [self.key[:12], self.key[:20] + "..."]
        encoded = [quote(self.key, safe=""), base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode()]
        return "Your key was " + " or ".join([self.key, *cut, *encoded])


Responder = Callable[[Exchange], Awaitable[web.StreamResponse]]


class Raw(web.StreamResponse):
    """A response of exactly these bytes, with seconds to wait between them; then the connection is closed or kept."""

    def __init__(self, *pieces: bytes | float, keep: bool = False) -> None:
        super().__init__()
        self._pieces = pieces
        self._keep_alive = keep

    async def prepare(self, request: web.BaseRequest) -> None:
        for piece in self._pieces:
            if isinstance(piece, float):
                await asyncio.sleep(piece)
            elif request.transport is not None:
                request.transport.write(piece)

    async def write_eof(self, data: bytes = b"") -> None:
        pass


def respond_raw(*pieces: bytes | float, keep: bool = False) -> Responder:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        return Raw(*pieces, keep=keep)

    return respond


def send_json(status: int, document: object) -> Responder:
    """A JSON document, or what a function makes of the exchange."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        return web.json_response(document(exchange) if callable(document) else document, status=status)

    return respond


def send_bytes(
    body: bytes | Callable[[], bytes], status: int = 200, kind: str = "application/json", encoding: str | None = None
) -> Responder:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        headers = {"Content-Type": kind} | ({"Content-Encoding": encoding} if encoding else {})
        return web.Response(body=body() if callable(body) else body, status=status, headers=headers)

    return respond


def send_answer(text: str | None, **options: Any) -> Responder:
    return send_json(200, lambda exchange: exchange.message(text, **options))


def send_error(status: int, message: str, kind: str, **fields: str) -> Responder:
    return send_json(status, lambda exchange: exchange.error(message, kind, **fields))


def send_rate_limit(header: Callable[[float], dict[str, str]], words: str = "Slow down.") -> Responder:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        error = exchange.error(words.format(wait=exchange.wait), "rate_limit_error", code="rate_limit_exceeded")
        return web.json_response(error, status=429, headers=header(exchange.wait))

    return respond


def milliseconds_header(wait: float) -> dict[str, str]:
    """The wait in milliseconds."""
    return {"retry-after-ms": f"{wait * 1000:g}"}


def reset_header(wait: float) -> dict[str, str]:
    """The wait as the time until the limit is reset."""
    return {"x-ratelimit-reset-requests": f"{wait * 1000:.0f}ms"}


def date_header(wait: float) -> dict[str, str]:
    """A date as the wait; the clocks of the two machines differ by a day."""
    return {"Date": formatdate(86400, usegmt=True), "Retry-After": formatdate(86400 + wait, usegmt=True)}


async def reset(exchange: Exchange) -> web.StreamResponse:
    transport = exchange.request.transport
    assert isinstance(transport, asyncio.Transport)
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    return web.Response()


async def huge(exchange: Exchange, status: int = 200) -> web.StreamResponse:
    """An answer that never ends."""
    response = web.StreamResponse(status=status)
    await response.prepare(exchange.request)
    await response.write(b'{"choices": [{"message": {"content": "')
    while True:
        await response.write(b"a" * 65536)


@cache
def make_gzip_bomb() -> bytes:
    """An answer and 64 MB of spaces, in an eighth of a megabyte."""
    return gzip.compress(WHOLE + b" " * 2**26)


async def redirect(exchange: Exchange) -> web.StreamResponse:
    where = str(exchange.request.url.with_path("/elsewhere").with_query(key=exchange.key))
    return web.Response(status=307, headers={"Location": where})


async def echo_malformed(exchange: Exchange) -> web.StreamResponse:
    # The last key lies across the byte at which the kept bytes are cut.
    padding = " " * (65536 - len(exchange.key) // 2)
    return web.Response(text="{" + exchange.key_echo() + padding + exchange.key, content_type="application/json")


def make_echo(exchange: Exchange) -> object:
    return exchange.message(exchange.key_echo(), reasoning=exchange.key_echo(), model=exchange.key)


class Fault(Enum):
    """What a request meets instead of an answer. Each comment is the row of docs/faults.md for what follows it."""

    # E1: all ask to wait `Exchange.wait` seconds
    RATE_LIMIT_SECONDS = member(send_rate_limit(lambda wait: {"Retry-After": f"{wait:g}"}))
    RATE_LIMIT_MILLISECONDS = member(send_rate_limit(milliseconds_header))
    RATE_LIMIT_DATE = member(send_rate_limit(date_header))
    RATE_LIMIT_RESET = member(send_rate_limit(reset_header))
    RATE_LIMIT_WORDS = member(
        send_rate_limit(lambda wait: {}, "Limit reached. Please try again in {wait:g}s. See billing.")
    )
    # E2
    RATE_LIMIT = member(send_rate_limit(lambda wait: {}))
    # E3
    QUOTA_402 = member(send_error(402, "Insufficient Balance", "billing_error"))
    QUOTA_429 = member(send_error(429, "You exceeded your current quota.", "insufficient_quota"))
    # E4
    SERVER_500 = member(send_error(500, "The server had an error.", "api_error"))
    UNAVAILABLE_503 = member(send_bytes(b"", status=503))
    OVERLOADED_529 = member(send_error(529, "Overloaded", "overloaded_error"))
    REQUEST_TIMEOUT_408 = member(send_error(408, "Timed out", "timeout_error"))
    # E5
    HTML_502 = member(send_bytes(HTML, status=502, kind="text/html"))
    # E6, E7
    SLOW = member(respond_raw(b"HTTP/1.1 200 OK\r\n\r\n", *(piece for byte in WHOLE for piece in (bytes([byte]), 1.0))))
    SILENT = member(respond_raw(3600.0))
    # E8
    RESET = member(reset)
    HANG_UP = member(respond_raw())
    NOT_HTTP = member(respond_raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"))
    SHORT_BODY = member(respond_raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (len(WHOLE) + 100), WHOLE))
    SHORT_GZIP = member(send_bytes(zlib.compress(WHOLE)[:-6], encoding="deflate"))
    BROKEN_CHUNK = member(
        respond_raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(WHOLE), WHOLE))
    )
    # E9
    INVALID_JSON = member(send_bytes(WHOLE[:-10]))
    NOT_UTF8 = member(send_bytes(WHOLE.replace(b"She", b"\xff\xfe")))
    BYTE_ORDER_MARK = member(send_bytes(b"\xef\xbb\xbf" + WHOLE))
    NOT_AN_OBJECT = member(send_bytes(b'"She said yes."'))
    DAMAGED_GZIP = member(send_bytes(gzip.compress(WHOLE)[:10] + b"\xff" * 40, encoding="gzip"))
    # E10
    ERROR_IN_200 = member(send_json(200, {"error": {"message": "Provider down", "code": 502}}))
    RATE_LIMIT_IN_200 = member(send_error(200, "Slow down.", "rate_limit_error"))
    KEY_IN_200 = member(send_error(200, "No.", "authentication_error", code="invalid_api_key"))
    NO_CHOICES = member(send_json(200, {"id": "response-1", "model": "test-model"}))
    BROKEN_OFF = member(send_answer("She sa", finish="error"))
    # E11
    NULL_CONTENT = member(send_answer(None))
    EMPTY_CONTENT = member(send_answer(" \n"))
    NULL_FILTERED = member(send_answer(None, finish="content_filter"))
    # E12
    LENGTH = member(send_answer("She said yes and", finish="length"))
    LENGTH_IN_THOUGHT = member(send_answer("<think>She may say yes, but", finish="length"))
    LENGTH_WITHOUT_TEXT = member(send_answer(None, reasoning="She may say yes, but", finish="length"))
    # E13
    ODD_FINISH = member(send_answer("She said yes.", finish="moonrise"))
    # E14
    FILTERED_200 = member(send_answer("She sa", finish="content_filter"))
    FILTERED_400 = member(send_error(400, "Output blocked by content filtering policy", "invalid_request_error"))
    # E15
    HUGE = member(huge)
    GZIP_BOMB = member(send_bytes(make_gzip_bomb, encoding="gzip"))
    HUGE_500 = member(partial(huge, status=500))
    # E16
    UNAUTHORIZED_401 = member(send_error(401, "Invalid key.", "authentication_error", code="invalid_api_key"))
    FORBIDDEN_403 = member(send_error(403, "Not in your region.", "permission_error"))
    # E17
    UNKNOWN_MODEL_404 = member(send_error(404, "No such model.", "not_found_error", code="model_not_found"))
    HTML_404 = member(send_bytes(b"<html><h1>404 page not found</h1></html>", status=404, kind="text/html"))
    UNEXPECTED_ENDPOINT = member(send_json(200, {"error": "Unexpected endpoint or method. (POST /)"}))
    # E18
    CONTEXT_LENGTH = member(
        send_error(400, "prompt is too long: 250000 tokens > 200000 maximum", "invalid_request_error")
    )
    # E19
    TEAPOT_418 = member(send_error(418, "I am a teapot.", "invalid_request_error"))
    # E20
    OTHER_MODEL = member(send_answer("She said yes.", model="another-model"))
    # E21
    REDIRECT = member(redirect)
    # S13
    ECHO_401 = member(send_json(401, lambda exchange: exchange.error(exchange.key_echo(), "server_error")))
    ECHO_500 = member(send_json(500, lambda exchange: exchange.error(exchange.key_echo(), "server_error")))
    ECHO_MALFORMED = member(echo_malformed)
    ECHO_ANSWER = member(send_json(200, make_echo))
