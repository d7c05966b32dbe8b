"""What the two wire formats share: the shape of a request, the parsed completion, and the reply it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.detect.visible import has_visible_text
from equipoise.models.protocol import Reply, TransientFault
from equipoise.models.redact import Redact, excerpt
from equipoise.models.sampling import Sampling
from equipoise.schema import ABORT_REASONS, FILTER_REASONS, LENGTH_REASONS, Status

Body = dict[str, Any]

STOP_REASONS = frozenset(
    {"stop", "eos", "end_turn", "stop_sequence", "tool_calls", "function_call", "tool_use", "pause_turn"}
)
KNOWN_REASONS = STOP_REASONS | LENGTH_REASONS | FILTER_REASONS | ABORT_REASONS

MAX_NAME = 200
"""Characters that are kept of a name in a response."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """The parsed content of a response, the same for both wire formats."""

    text: str
    reasoning: str | None = None
    finish_reason: str | None = None
    refused: bool = False
    served_model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    """Those of the completion tokens that went into reasoning, where the endpoint counts them."""
    logprobs: object = None
    """The log-probabilities of the answer's tokens, as they came."""


@dataclass(frozen=True, kw_only=True)
class WireFormat:
    """How requests are written and responses are read."""

    path: str
    headers: Mapping[str, str]
    parameters: Callable[[str, Sampling], Body]
    """The fields of the request's body that are the same for every prompt."""
    messages: Callable[[str, str | None], Body]
    """The fields that carry a prompt and its system part."""
    read: Callable[[Body], Completion | None]
    """Parses the response; None when there is no answer in it."""
    required: frozenset[str]
    """Parameters that cannot be dropped."""
    unsupported: frozenset[str] = frozenset()
    """Fields of `Sampling` that the format has no field for."""
    gives_probabilities: bool = False
    """Whether the probabilities of tokens can be asked for."""


def make_reply(completion: Completion, latency: float, redact: Redact) -> Reply | TransientFault:
    """Decide the status of the attempt. A text that holds nothing but reasoning, cut off or not, is no answer."""
    reason = (completion.finish_reason or "").lower()
    details: dict[str, Any] = {
        "reasoning": completion.reasoning and redact(completion.reasoning),
        "served_model": completion.served_model and redact(completion.served_model),
        "finish_reason": completion.finish_reason and redact(completion.finish_reason),
        "fingerprint": completion.fingerprint and redact(completion.fingerprint),
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "latency": latency,
    }
    if reason in ABORT_REASONS:
        detail = f"the endpoint broke off: finish reason {reason!r}"
        return TransientFault(Reply(status=Status.HTTP_ERROR, detail=detail, **details), kind="server")
    if reason in FILTER_REASONS or (completion.refused and not has_visible_text(completion.text)):
        return Reply(status=Status.FILTERED, detail=f"finish reason {reason or 'refusal'!r}", **details)
    if not has_visible_text(completion.text):
        if not details["reasoning"] and completion.text.strip():
            details["reasoning"] = redact(completion.text)
        detail = f"no visible text, finish reason {excerpt(redact(reason), MAX_NAME)!r}"
        if reason in LENGTH_REASONS:
            detail = f"{_explain_limit(completion, bool(details['reasoning']))}: {detail}"
        return Reply(status=Status.EMPTY, detail=detail, **details)
    status = Status.TRUNCATED if reason in LENGTH_REASONS else Status.OK
    return Reply(status=status, answer=redact(completion.text), **details)


def _explain_limit(completion: Completion, reasoned: bool) -> str:
    """Why there is no text in an answer that ended at the token limit."""
    if completion.reasoning_tokens:
        return f"the token limit went into reasoning ({completion.reasoning_tokens:,} tokens)"
    return "the token limit went into reasoning" if reasoned else "the token limit was reached before any text"


def name_or_none(value: object) -> str | None:
    """A name from a response, cut to a sane length; None if the value is not a text."""
    return value[:MAX_NAME] if isinstance(value, str) and value else None


def count_or_none(value: object) -> int | None:
    """A number of tokens from a response; None if the value is not one."""
    return value if type(value) is int and 0 <= value < 2**53 else None


def has_refusal(content: object) -> bool:
    """Whether one of the parts of a message's content is a refusal."""
    blocks = content if isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "refusal" for block in blocks)


def split_content(content: object) -> tuple[str, str | None]:
    """Text and reasoning of a message's content, which may be a text, null, or a list of parts."""
    if not isinstance(content, list):
        return (content if isinstance(content, str) else ""), None
    blocks = [block for block in content if isinstance(block, dict)]
    texts = [block.get("text") for block in blocks if block.get("type") in ("text", "output_text", None)]
    thoughts = [block.get("thinking") for block in blocks if block.get("type") == "thinking"]
    reasoning = "".join(split_content(thought)[0] for thought in thoughts)
    return "".join(text for text in texts if isinstance(text, str)), reasoning or None
