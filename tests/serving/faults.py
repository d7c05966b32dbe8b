"""The faults of an endpoint (docs/faults.md, E1–E21 and S13) as bytes on the wire, in both protocols."""

from __future__ import annotations

import asyncio
import base64
import gzip
import itertools
import json
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from enum import StrEnum
from functools import cache
from typing import Any
from urllib.parse import quote

from aiohttp import web

RESPONSE_NUMBERS = itertools.count(1)


class Fault(StrEnum):
    """What a request meets instead of an answer. Each comment is the row of docs/faults.md for what follows it."""

    # E1: all ask to wait `Exchange.wait` seconds
    RATE_LIMIT_SECONDS = "rate_limit_seconds"
    RATE_LIMIT_MILLISECONDS = "rate_limit_milliseconds"
    RATE_LIMIT_DATE = "rate_limit_date"
    RATE_LIMIT_RESET = "rate_limit_reset"
    RATE_LIMIT_WORDS = "rate_limit_words"
    # E2
    RATE_LIMIT = "rate_limit"
    # E3
    QUOTA_402 = "quota_402"
    QUOTA_429 = "quota_429"
    # E4
    SERVER_500 = "server_500"
    UNAVAILABLE_503 = "unavailable_503"
    OVERLOADED_529 = "overloaded_529"
    REQUEST_TIMEOUT_408 = "request_timeout_408"
    # E5
    HTML_502 = "html_502"
    # E6, E7
    SLOW = "slow"
    SILENT = "silent"
    # E8
    RESET = "reset"
    HANG_UP = "hang_up"
    SHORT_BODY = "short_body"
    SHORT_GZIP = "short_gzip"
    BROKEN_CHUNK = "broken_chunk"
    # E9
    INVALID_JSON = "invalid_json"
    NOT_UTF8 = "not_utf8"
    NOT_AN_OBJECT = "not_an_object"
    DAMAGED_GZIP = "damaged_gzip"
    # E10
    ERROR_IN_200 = "error_in_200"
    RATE_LIMIT_IN_200 = "rate_limit_in_200"
    KEY_IN_200 = "key_in_200"
    NO_CHOICES = "no_choices"
    BROKEN_OFF = "broken_off"
    # E11
    NULL_CONTENT = "null_content"
    EMPTY_CONTENT = "empty_content"
    NULL_FILTERED = "null_filtered"
    # E12
    LENGTH = "length"
    LENGTH_IN_THOUGHT = "length_in_thought"
    LENGTH_WITHOUT_TEXT = "length_without_text"
    # E13
    ODD_FINISH = "odd_finish"
    # E14
    FILTERED_200 = "filtered_200"
    FILTERED_400 = "filtered_400"
    # E15
    HUGE = "huge"
    GZIP_BOMB = "gzip_bomb"
    HUGE_500 = "huge_500"
    # E16
    UNAUTHORIZED_401 = "unauthorized_401"
    FORBIDDEN_403 = "forbidden_403"
    # E17
    UNKNOWN_MODEL_404 = "unknown_model_404"
    HTML_404 = "html_404"
    UNEXPECTED_ENDPOINT = "unexpected_endpoint"
    # E18
    CONTEXT_LENGTH = "context_length"
    # E19
    TEAPOT_418 = "teapot_418"
    # E20
    OTHER_MODEL = "other_model"
    # E21
    REDIRECT = "redirect"
    # S13
    ECHO_401 = "echo_401"
    ECHO_500 = "echo_500"
    ECHO_MALFORMED = "echo_malformed"
    ECHO_ANSWER = "echo_answer"


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request, and the parts of a response to it."""

    request: web.Request
    body: Mapping[str, Any]
    prompt: str
    anthropic: bool
    wait: float

    @property
    def key(self) -> str:
        headers = self.request.headers
        bearer = headers.get("Authorization", "").removeprefix("Bearer ")
        return headers.get("x-api-key") or headers.get("api-key") or bearer

    def message(
        self, text: str | None, *, finish: str = "stop", reasoning: str | None = None, model: str | None = None
    ) -> dict[str, Any]:
        """A response with an answer. `finish` is a finish reason in OpenAI's words."""
        model = model or self.body["model"]
        prompt_tokens, completion_tokens = len(self.prompt.split()), len((text or "").split())
        if self.anthropic:
            thinking = [] if reasoning is None else [{"type": "thinking", "thinking": reasoning, "signature": "x"}]
            texts = [] if text is None else [{"type": "text", "text": text}]
            reasons = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
            return {
                "id": f"msg_{next(RESPONSE_NUMBERS)}",
                "type": "message",
                "role": "assistant",
                "model": model,
                "content": thinking + texts,
                "stop_reason": reasons.get(finish, finish),
                "stop_sequence": None,
                "usage": {"input_tokens": prompt_tokens, "output_tokens": completion_tokens},
            }
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        }
        message = {"role": "assistant", "content": text}
        if reasoning is not None:
            message["reasoning_content"] = reasoning
        return {
            "id": f"chatcmpl-{next(RESPONSE_NUMBERS)}",
            "object": "chat.completion",
            "model": model,
            "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": usage,
        }

    def error(self, message: str, kind: str, *, code: str | None = None, param: str | None = None) -> dict[str, Any]:
        if self.anthropic:
            return {"type": "error", "error": {"type": kind, "message": message}}
        return {"error": {"message": message, "type": kind, "param": param, "code": code}}

    def key_echo(self) -> str:
        """A message with the key in every form in which a careless endpoint may show it."""
        key = self.key.encode()
        forms = [
            self.key,
            self.key[:12],
            self.key[:20] + "...",
            f"{self.key[:6]}***{self.key[-4:]}",
            quote(self.key, safe=""),
            base64.b64encode(key).decode(),
            base64.urlsafe_b64encode(key).decode(),
        ]
        return "Your key was " + " or ".join(forms)


Responder = Callable[[Exchange], Awaitable[web.StreamResponse]]


def send_json(status: int, make: Callable[[Exchange], object]) -> Responder:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        return web.json_response(make(exchange), status=status)

    return respond


def send_bytes(
    body: bytes, status: int = 200, kind: str = "application/json", encoding: str | None = None
) -> Responder:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        headers = {"Content-Type": kind} | ({"Content-Encoding": encoding} if encoding else {})
        return web.Response(body=body, status=status, headers=headers)

    return respond


def send_error(status: int, message: str, kind: str, *, code: str | None = None) -> Responder:
    return send_json(status, lambda exchange: exchange.error(message, kind, code=code))


def send_rate_limit(header: Callable[[float], tuple[str, str]] | None, words: str = "Slow down.") -> Responder:
    async def respond(exchange: Exchange) -> web.StreamResponse:
        headers = dict([header(exchange.wait)]) if header else {}
        error = exchange.error(words.format(wait=exchange.wait), "rate_limit_error", code="rate_limit_exceeded")
        return web.json_response(error, status=429, headers=headers)

    return respond


async def rate_limit_date(exchange: Exchange) -> web.StreamResponse:
    """A date as the wait; the clocks of the two machines differ by a day."""
    headers = {"Date": formatdate(86400, usegmt=True), "Retry-After": formatdate(86400 + exchange.wait, usegmt=True)}
    return web.json_response(exchange.error("Slow down.", "rate_limit_error"), status=429, headers=headers)


async def slow(exchange: Exchange) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(exchange.request)
    for byte in json.dumps(exchange.message("She said yes.")).encode():
        await response.write(bytes([byte]))
        await asyncio.sleep(1)
    return response


async def silent(exchange: Exchange) -> web.StreamResponse:
    await asyncio.sleep(3600)
    raise AssertionError("the client should have given up")


def _transport(exchange: Exchange) -> asyncio.Transport:
    transport = exchange.request.transport
    assert isinstance(transport, asyncio.Transport)
    return transport


async def reset(exchange: Exchange) -> web.StreamResponse:
    transport = _transport(exchange)
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    return web.Response()


async def hang_up(exchange: Exchange) -> web.StreamResponse:
    _transport(exchange).close()
    return web.Response()


def send_raw(head: str, body: bytes) -> Responder:
    """Send these bytes, then close the connection."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        transport = _transport(exchange)
        transport.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{head}\r\n\r\n".encode() + body)
        transport.close()
        return web.Response()

    return respond


WHOLE = b'{"choices": [{"message": {"content": "She said yes."}, "finish_reason": "stop"}], "content": []}'


async def huge(exchange: Exchange, status: int = 200) -> web.StreamResponse:
    """An answer that never ends."""
    response = web.StreamResponse(status=status)
    await response.prepare(exchange.request)
    await response.write(b'{"choices": [{"message": {"content": "')
    while True:
        await response.write(b"a" * 65536)


async def huge_500(exchange: Exchange) -> web.StreamResponse:
    return await huge(exchange, 500)


@cache
def make_gzip_bomb(size: int = 128 * 2**20) -> bytes:
    """An answer and 128 MB of spaces, in an eighth of a megabyte."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [compressor.compress(WHOLE), *(compressor.compress(b" " * 2**20) for _ in range(size // 2**20))]
    return b"".join(pieces) + compressor.flush()


async def gzip_bomb(exchange: Exchange) -> web.StreamResponse:
    return await send_bytes(make_gzip_bomb(), encoding="gzip")(exchange)


async def redirect(exchange: Exchange) -> web.StreamResponse:
    where = str(exchange.request.url.with_path("/elsewhere").with_query(key=exchange.key))
    return web.Response(status=307, headers={"Location": where})


async def no_choices(exchange: Exchange) -> web.StreamResponse:
    message = exchange.message("She said yes.")
    return web.json_response({name: value for name, value in message.items() if name not in ("choices", "content")})


async def filtered_400(exchange: Exchange) -> web.StreamResponse:
    if exchange.anthropic:
        error = exchange.error("Output blocked by content filtering policy", "invalid_request_error")
        return web.json_response(error, status=400)
    words = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}}
    error = {"error": {"message": words, "code": "content_filter", "status": 400, "innererror": inner}}
    return web.json_response(error, status=400)


async def context_length(exchange: Exchange) -> web.StreamResponse:
    if exchange.anthropic:
        error = exchange.error("prompt is too long: 250000 tokens > 200000 maximum", "invalid_request_error")
    else:
        words = "This model's maximum context length is 4096 tokens. Please reduce the length of the messages."
        error = exchange.error(words, "invalid_request_error", code="context_length_exceeded", param="messages")
    return web.json_response(error, status=400)


async def quota_429(exchange: Exchange) -> web.StreamResponse:
    words = "You exceeded your current quota, please check your plan and billing details."
    if exchange.anthropic:
        error = exchange.error(words, "billing_error")
    else:
        error = exchange.error(words, "insufficient_quota", code="insufficient_quota")
    return web.json_response(error, status=429)


def send_key_echo(status: int) -> Responder:
    return send_json(status, lambda exchange: exchange.error(exchange.key_echo(), "server_error"))


async def echo_malformed(exchange: Exchange) -> web.StreamResponse:
    # The last key lies across the byte at which the kept bytes are cut.
    padding = " " * (65536 - len(exchange.key) // 2)
    return web.Response(text="{" + exchange.key_echo() + padding + exchange.key, content_type="application/json")


async def echo_answer(exchange: Exchange) -> web.StreamResponse:
    return web.json_response(exchange.message(exchange.key_echo(), reasoning=exchange.key_echo(), model=exchange.key))


def send_answer(text: str | None, **options: Any) -> Responder:
    return send_json(200, lambda exchange: exchange.message(text, **options))


HTML = b"<html><head><title>502 Bad Gateway</title></head><body><script>alert(1)</script><h1>Bad \x1b[31m</h1"

RESPONDERS: Mapping[Fault, Responder] = {
    Fault.RATE_LIMIT_SECONDS: send_rate_limit(lambda wait: ("Retry-After", f"{wait:g}")),
    Fault.RATE_LIMIT_MILLISECONDS: send_rate_limit(lambda wait: ("retry-after-ms", f"{wait * 1000:g}")),
    Fault.RATE_LIMIT_DATE: rate_limit_date,
    Fault.RATE_LIMIT_RESET: send_rate_limit(lambda wait: ("x-ratelimit-reset-requests", f"{wait * 1000:.0f}ms")),
    Fault.RATE_LIMIT_WORDS: send_rate_limit(None, "Rate limit reached. Please try again in {wait:g}s. See billing."),
    Fault.RATE_LIMIT: send_rate_limit(None),
    Fault.QUOTA_402: send_error(402, "Insufficient Balance", "billing_error"),
    Fault.QUOTA_429: quota_429,
    Fault.SERVER_500: send_error(500, "The server had an error.", "api_error"),
    Fault.UNAVAILABLE_503: send_bytes(b"", status=503),
    Fault.OVERLOADED_529: send_error(529, "Overloaded", "overloaded_error"),
    Fault.REQUEST_TIMEOUT_408: send_error(408, "Timed out", "timeout_error"),
    Fault.HTML_502: send_bytes(HTML, status=502, kind="text/html"),
    Fault.SLOW: slow,
    Fault.SILENT: silent,
    Fault.RESET: reset,
    Fault.HANG_UP: hang_up,
    Fault.SHORT_BODY: send_raw(f"Content-Length: {len(WHOLE) + 100}", WHOLE),
    Fault.SHORT_GZIP: send_bytes(zlib.compress(WHOLE)[:-6], encoding="deflate"),
    Fault.BROKEN_CHUNK: send_raw("Transfer-Encoding: chunked", f"{len(WHOLE):x}\r\n".encode() + WHOLE + b"\r\n"),
    Fault.INVALID_JSON: send_bytes(WHOLE[:-10]),
    Fault.NOT_UTF8: send_bytes(WHOLE.replace(b"She", b"\xff\xfe")),
    Fault.NOT_AN_OBJECT: send_bytes(b'"She said yes."'),
    Fault.DAMAGED_GZIP: send_bytes(gzip.compress(WHOLE)[:10] + b"\xff" * 40, encoding="gzip"),
    Fault.ERROR_IN_200: send_json(200, lambda exchange: {"error": {"message": "Provider down", "code": 502}}),
    Fault.RATE_LIMIT_IN_200: send_error(200, "Slow down.", "rate_limit_error"),
    Fault.KEY_IN_200: send_error(200, "No.", "authentication_error", code="invalid_api_key"),
    Fault.NO_CHOICES: no_choices,
    Fault.BROKEN_OFF: send_answer("She sa", finish="error"),
    Fault.NULL_CONTENT: send_answer(None),
    Fault.EMPTY_CONTENT: send_answer(" \n"),
    Fault.NULL_FILTERED: send_answer(None, finish="content_filter"),
    Fault.LENGTH: send_answer("She said yes and", finish="length"),
    Fault.LENGTH_IN_THOUGHT: send_answer("<think>She may say yes, but", finish="length"),
    Fault.LENGTH_WITHOUT_TEXT: send_answer(None, reasoning="She may say yes, but", finish="length"),
    Fault.ODD_FINISH: send_answer("She said yes.", finish="moonrise"),
    Fault.FILTERED_200: send_answer("She sa", finish="content_filter"),
    Fault.FILTERED_400: filtered_400,
    Fault.HUGE: huge,
    Fault.GZIP_BOMB: gzip_bomb,
    Fault.HUGE_500: huge_500,
    Fault.UNAUTHORIZED_401: send_error(401, "Invalid key.", "authentication_error", code="invalid_api_key"),
    Fault.FORBIDDEN_403: send_error(403, "Not in your region.", "permission_error"),
    Fault.UNKNOWN_MODEL_404: send_error(404, "No such model.", "not_found_error", code="model_not_found"),
    Fault.HTML_404: send_bytes(b"<html><h1>404 page not found</h1></html>", status=404, kind="text/html"),
    Fault.UNEXPECTED_ENDPOINT: send_json(
        200, lambda exchange: {"error": f"Unexpected endpoint or method. (POST {exchange.request.path})"}
    ),
    Fault.CONTEXT_LENGTH: context_length,
    Fault.TEAPOT_418: send_error(418, "I am a teapot.", "invalid_request_error"),
    Fault.OTHER_MODEL: send_answer("She said yes.", model="another-model"),
    Fault.REDIRECT: redirect,
    Fault.ECHO_401: send_key_echo(401),
    Fault.ECHO_500: send_key_echo(500),
    Fault.ECHO_MALFORMED: echo_malformed,
    Fault.ECHO_ANSWER: echo_answer,
}
