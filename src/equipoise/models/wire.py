"""What both wire forms share: how a request is shaped, what a reply says, and what becomes of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from equipoise.detect.visible import has_visible
from equipoise.errors import BadParameter
from equipoise.frames import Status
from equipoise.models.protocol import Passing, Reply
from equipoise.models.redact import Redact, excerpt

Body = dict[str, Any]

LENGTH = {"length", "max_tokens", "model_length", "model_context_window_exceeded"}
FILTER = {"content_filter", "refusal", "safety"}
BROKEN_OFF = {"error", "abort", "insufficient_system_resource"}
KNOWN = {
    *("stop", "eos", "end_turn", "stop_sequence", "tool_calls", "function_call", "tool_use", "pause_turn"),
    *LENGTH,
    *FILTER,
    *BROKEN_OFF,
}

SHORT = 200
OURS = ("model", "messages", "stream", "n")
"""Fields of the body that are not for the user to give."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a model is asked to answer; what is None is left to the endpoint."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    system: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request's body, as they are."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a reply says, whatever its wire form."""

    text: str
    reasoning: str | None = None
    finish: str | None = None
    refused: bool = False
    served_model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class Wire:
    """A wire form: the body that goes out (the prompt is added to its messages), the document that comes in."""

    path: str
    headers: Mapping[str, str]
    body: Callable[[str, Sampling], Body]
    read: Callable[[Body], Said | None]
    """None when the document holds no answer."""
    needed: frozenset[str]
    """Fields that cannot be dropped."""
    lacks: frozenset[str] = frozenset()
    """Parameters that the form has no field for."""


def checked(sampling: Sampling) -> Sampling:
    """The same, or `BadParameter`. Upper limits are for the endpoint to know."""
    limits = (
        ("temperature", sampling.temperature, 0, math.inf, "0 or more"),
        ("top_p", sampling.top_p, 1e-12, 1, "more than 0 and at most 1"),
        ("max_tokens", sampling.max_tokens, 1, math.inf, "1 or more"),
    )
    for parameter, value, least, most, allowed in limits:
        if value is not None and not (math.isfinite(value) and least <= value <= most):
            raise BadParameter(f"The parameter {parameter!r} must be {allowed}. Got {value!r} instead.")
    taken = [name for name in sampling.extra if name in OURS]
    if taken:
        raise BadParameter(f"The extra body must not hold {taken[0]!r}: equipoise fills that in.")
    try:
        orjson.dumps(dict(sampling.extra))
    except TypeError as problem:
        raise BadParameter(f"The extra body must be JSON: {problem}.") from None
    return sampling


def conclude(said: Said, latency: float, redact: Redact) -> Reply | Passing:
    """The state of the attempt. Text that is only reasoning, cut off or not, is no answer."""
    finish = (said.finish or "").lower()
    seen: dict[str, Any] = {
        "reasoning": said.reasoning and redact(said.reasoning),
        "served_model": said.served_model and redact(said.served_model),
        "finish_reason": said.finish and redact(said.finish),
        "fingerprint": said.fingerprint and redact(said.fingerprint),
        "prompt_tokens": said.prompt_tokens,
        "completion_tokens": said.completion_tokens,
        "latency": latency,
    }
    if finish in BROKEN_OFF:
        detail = f"the endpoint broke off: finish reason {finish!r}"
        return Passing(Reply(status=Status.HTTP_ERROR, detail=detail, **seen), kind="server")
    if finish in FILTER or (said.refused and not said.text):
        return Reply(status=Status.FILTERED, detail=f"finish reason {finish or 'refusal'!r}", **seen)
    if not has_visible(said.text):
        seen["reasoning"] = seen["reasoning"] or (redact(said.text) if said.text.strip() else None)
        detail = f"no visible text, finish reason {excerpt(redact(finish), SHORT)!r}"
        return Reply(status=Status.EMPTY, detail=detail, **seen)
    status = Status.TRUNCATED if finish in LENGTH else Status.OK
    return Reply(status=status, answer=redact(said.text), **seen)


def short(value: object) -> str | None:
    """A name out of a document, if it is one."""
    return value[:SHORT] if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A number of tokens out of a document, if it is one."""
    return value if type(value) is int and 0 <= value < 2**53 else None


def parts(content: object) -> tuple[str, str | None]:
    """Text and reasoning of a content that is a text, nothing, or a list of parts."""
    if not isinstance(content, list):
        return (content if isinstance(content, str) else ""), None
    blocks = [block for block in content if isinstance(block, dict)]
    texts = [block.get("text") for block in blocks if block.get("type") in ("text", "output_text", None)]
    thoughts = [block.get("thinking") for block in blocks if block.get("type") == "thinking"]
    reasoning = "".join(parts(thought)[0] for thought in thoughts)
    return "".join(text for text in texts if isinstance(text, str)), reasoning or None
