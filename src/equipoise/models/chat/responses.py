"""What a response of an endpoint means: a reply, a fault that may go away, a refusal, or a request in another way."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from aiohttp import ClientResponse

from equipoise.detect.visible import has_visible_text
from equipoise.models.bodies import UNREADABLE, read_reply
from equipoise.models.chat.endpoint import Endpoint
from equipoise.models.chat.providers import FEWER_TOP_LOGPROBS, Body, Parameters
from equipoise.models.failures import ReportedError, classify, read_reported, retry_after
from equipoise.models.protocol import Asking, FirstToken, NoProbabilities, NotServed, Refused, Reply, TransientFault
from equipoise.models.redact import Redactor, excerpt
from equipoise.schema import ABORT_REASONS, FILTER_REASONS, LENGTH_REASONS, Status

MAX_RAW_BYTES = 2**16
PROXY_LOGIN_NEEDED = "The proxy wants a user and a password: put them into its address, as in HTTPS_PROXY=http://user:password@host:3128."
KNOWN_REASONS = (
    {"stop", "eos", "end_turn", "stop_sequence", "tool_calls", "function_call", "tool_use", "pause_turn"}
    | LENGTH_REASONS
    | FILTER_REASONS
    | ABORT_REASONS
)
"""Reasons for which answers end."""
Outcome = Reply | TransientFault | Refused | None
"""What became of a request. None: it is to be sent again in another way."""

_MAX_TOKEN = 40
"""Characters that are kept of a token."""
_MOST = 1e9
"""A number beyond this is no log-probability that a model computes."""
_ROUNDING = 1e-3
"""By so much a log-probability may be above 0, which stands for certainty."""
_THINKING = re.compile(r"\s*(?:<\|?|\[|◁)\s*(?:think|thought|reason|channel|scratchpad)", re.IGNORECASE)


class KeyRefused(Refused):
    """The key was refused, or none was sent. Another one may be taken."""


class Responses:
    """Interprets the responses of one endpoint. All that it gives is free of secrets."""

    def __init__(
        self, name: str, endpoint: Endpoint, key_source: str | None, parameters: Parameters, redactor: Redactor
    ) -> None:
        self.notes: list[str] = []
        self._name = name
        self._endpoint = endpoint
        self._url = redactor.redact(endpoint.base_url)
        self._suggestion = redactor.redact(endpoint.suggestion)
        self._key_source = key_source
        self._parameters = parameters
        self._redactor = redactor
        self._gave_probabilities = False

    def interpret(self, response: ClientResponse, data: bytes, latency: float, sent: Body, asking: Asking) -> Outcome:
        """The outcome of a request with these parameters, given the body of its response up to a limit."""
        if 300 <= response.status < 400:
            where = excerpt(self._redactor.redact(response.headers.get("Location", "itself")), 100)
            return Refused(
                f"The endpoint {self._url} redirects to {where} (HTTP {response.status}). That was not followed, "
                "because the key would go there too. If it is right, give that address with --base-url."
            )
        document = parse_json(data)
        error = read_reported(document, response.status, data)
        if error is not None:
            error = replace(error, message=self._redactor.redact(error.message))
            return self._interpret_error(error, response.headers, sent, asking)
        try:
            reply = read_reply(document) if isinstance(document, dict) else None
        except UNREADABLE:
            reply = None
        if reply is None:
            problem = "not JSON" if document is None else "JSON without an answer"
            if document is None and data.lstrip()[:1] == b"<":
                problem = f"a web page{self._suggestion or ', not JSON'}"
            return self.reject(data, f"HTTP {response.status}: {problem}")
        reply = self._protect(reply, latency)
        if reply.status == Status.KEY_IN_ANSWER:
            return reply
        if reply.status == Status.HTTP_ERROR:
            return TransientFault(reply, kind="server")
        if reply.finish_reason and reply.finish_reason.lower() not in KNOWN_REASONS:
            reason = excerpt(reply.finish_reason, 60)
            self._note_once(f"The finish reason {reason!r} is not known here. It is stored as it comes.")
        if reply.status == Status.FILTERED:
            return reply
        if asking.probabilities:
            tokens = self._read_probabilities(reply, document, data)
            if not isinstance(tokens, list):
                return tokens
            # The text does not matter: it is only one of the tokens that could have come.
            reply = replace(reply, status=Status.OK, answer=reply.answer or "", first_token=tokens)
        elif not has_visible_text(reply.answer or ""):
            return _without_answer(reply)
        self._parameters.settled = True
        return reply

    def lose(self, detail: str) -> TransientFault:
        """The outcome of a request whose connection broke."""
        reply = Reply(status=Status.HTTP_ERROR, detail=excerpt(self._redactor.redact(detail)))
        return TransientFault(reply, kind="connection")

    def reject(self, data: bytes, detail: str) -> TransientFault:
        """The outcome of a request whose response cannot be read. The bytes are kept, up to a limit."""
        # Redact a little more than is kept, because a secret that is cut in two would not be recognised.
        margin = 1000
        text = self._redactor.redact(data[: MAX_RAW_BYTES + margin].decode("utf-8", "surrogateescape"))
        kept = text if len(data) <= MAX_RAW_BYTES else text[:-margin]
        raw = kept.encode("utf-8", "surrogateescape")[:MAX_RAW_BYTES]
        return TransientFault(Reply(status=Status.MALFORMED, detail=detail, raw=raw), kind="malformed")

    def _protect(self, reply: Reply, latency: float) -> Reply:
        """The reply with its answer as it came; or without it, if it holds the key.

        Answers are data: nothing in them is replaced. Names and details are not, and lose all secrets.
        """
        names = ("detail", "served_model", "finish_reason", "fingerprint")
        known = {name: getattr(reply, name) for name in names if getattr(reply, name)}
        redacted: dict[str, Any] = {name: self._redactor.redact(text) for name, text in known.items()}
        reply = replace(reply, latency=latency, **redacted)
        if any(self._redactor.holds_key(text) for text in (reply.answer or "", reply.reasoning or "")):
            return _without_key(reply)
        return reply

    def _interpret_error(self, error: ReportedError, headers: Mapping[str, str], sent: Body, asking: Asking) -> Outcome:
        """The outcome of an error. A parameter that is rejected is dropped, and the request is sent again."""
        if asking.probabilities and "logprob" in error.message.lower() and error.status in (400, 422, 501):
            if "top_logprobs" not in error.message or sent["top_logprobs"] <= FEWER_TOP_LOGPROBS:
                return self._refuse_probabilities(f"it says: {excerpt(error.message)}")
            self._parameters.top_logprobs = FEWER_TOP_LOGPROBS
            return None
        if note := self._parameters.drop_rejected(error, sent):
            self._note_once(self._redactor.redact(note))
            return None
        wait = retry_after(headers, error.message, is_rate_limit=error.status == 429)
        detail = f"HTTP {error.status}: {excerpt(error.message) or 'no message'}"
        if error.status == 407:
            return Refused(f"{PROXY_LOGIN_NEEDED} It says: {detail}")
        match meaning := classify(error, says_when=wait is not None):
            case "filtered" | "context_length":
                return Reply(status=Status(meaning), detail=detail)
            case "quota":
                return Refused(
                    f"The quota of {self._name} is exhausted (quota, not rate limit). The endpoint says: {detail}"
                )
            case "key":
                return KeyRefused(f"{self._explain_key()} The endpoint {self._url} says: {detail}")
            case "not_served":
                return NotServed(
                    f"The endpoint {self._url} does not serve {self._name}, or is no chat endpoint{self._suggestion}. "
                    f"Check the base URL and the model's name. The endpoint says: {detail}"
                )
        fault = Reply(status=Status.HTTP_ERROR, detail=detail)
        return TransientFault(fault, kind=meaning, retry_after=None if meaning == "client" else wait)

    def _explain_key(self) -> str:
        if source := self._key_source or (self._endpoint.basic_auth and "the base URL"):
            return f"The key was refused; it came from {source}."
        variable = self._endpoint.provider.key_variable or "a variable named with --key-variable"
        return f"A key is needed and none was sent. It is looked for in {variable}."

    def _read_probabilities(
        self, reply: Reply, document: Any, data: bytes
    ) -> FirstToken | Reply | TransientFault | Refused:
        """The first tokens. An endpoint that gives none with its first answer is refused: it will not do so later."""
        asked = self._parameters.top_logprobs
        found = read_first_token(document, asked)
        if isinstance(found, str):
            return self.reject(data, found) if self._gave_probabilities else self._refuse_probabilities(found)
        if not self._gave_probabilities and (reply.reasoning or _THINKING.match(str(found[0]["token"]))):
            return NoProbabilities(
                f"{self._name} begins its answers with reasoning, so that their first token says nothing. Switch its "
                "reasoning off (--extra), or start a run without --probabilities."
            )
        self._gave_probabilities = True
        if len(found) < asked * 3 // 4:  # some may look alike, as halves of characters, and are added up
            self._note_once(
                f"The endpoint gives the probabilities of fewer first tokens than the {asked} that are asked for. "
                "What it does not give counts as neither."
            )
        if any(self._redactor.holds_key(str(entry["token"])) for entry in found):
            return _without_key(reply)
        return found

    def _refuse_probabilities(self, problem: str) -> NoProbabilities:
        return NoProbabilities(
            f"{self._name} gives no probabilities of tokens: {problem.rstrip('.')}. Start a run without "
            "--probabilities, or serve the model with what gives them: llama.cpp, vLLM and others."
        )

    def _note_once(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


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


def _without_key(reply: Reply) -> Reply:
    """An answer that holds the key is a failure, and nothing of it is kept."""
    return replace(
        reply,
        status=Status.KEY_IN_ANSWER,
        answer=None,
        reasoning=None,
        first_token=None,
        detail="the answer holds the key that was sent; it is not stored",
    )


def _without_answer(reply: Reply) -> Reply:
    """A text that holds nothing but reasoning, cut off or not, is no answer."""
    text = reply.answer or ""
    reasoning = reply.reasoning or (text if text.strip() else None)
    is_spent = reply.status == Status.TRUNCATED and reasoning
    detail = "the token limit went into reasoning" if is_spent else "no visible text"
    return replace(reply, status=Status.EMPTY, answer=None, reasoning=reasoning, detail=detail)


def read_first_token(document: Any, most: int) -> FirstToken | str:
    """The most probable first tokens with their probabilities, most probable first; or what is wrong with them."""
    try:
        first = document["choices"][0]["logprobs"]["content"][0]
        listed = [(entry["token"], entry["logprob"]) for entry in first["top_logprobs"]]
    except (KeyError, IndexError, TypeError):
        listed = []
    if not listed:
        return "the response has no log-probabilities"
    found: dict[str, float] = {}
    for token, value in listed:
        if not isinstance(token, str) or type(value) not in (int, float) or not -_MOST < value <= _ROUNDING:
            return "its log-probabilities have an entry that is none: no token, no number, or one above 0"
        # A token is a piece of bytes, so that it may hold half of a character: U+FFFD then, as JSON cannot hold it.
        kept = token[:_MAX_TOKEN].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        found[kept] = found.get(kept, 0.0) + math.exp(min(value, 0.0))
    if sum(found.values()) > 1 + 20 * _ROUNDING:
        return f"the probabilities of the first token add up to {sum(found.values()):.2f}"
    by_probability = sorted(found.items(), key=lambda entry: -entry[1])[:most]
    return [{"token": token, "p": float(f"{probability:.6g}")} for token, probability in by_probability]
