"""What the APIs of models answer: the reply in a response of any API that is known, for endpoints and for files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from equipoise.models.protocol import Reply
from equipoise.schema import ABORT_REASONS, FILTER_REASONS, LENGTH_REASONS, MEASURED, Status

Body = Mapping[str, Any]
UNREADABLE = (AttributeError, KeyError, IndexError, TypeError, ValueError)
"""What reading a response raises that has no answer where it should stand."""
KNOWN = (
    "chat completions, completions, responses (OpenAI and others); messages (Anthropic); Gemini; "
    "Converse, Nova, Llama, Mistral, Titan (Bedrock)"
)
MAX_NAME = 200
"""Characters that are kept of a name in a response."""
_REASONING = re.compile(r"\A\s*<reasoning>.*?(?:</reasoning>|\Z)", re.DOTALL)
"""How gpt-oss on Bedrock gives its reasoning: before the answer, or cut off without one."""
_TEXTS = ("text", "output_text", "input_text", None)
"""The types of parts that hold an answer or a prompt; others hold reasoning, tools or refusals."""
_DETAILS = {Status.HTTP_ERROR: "the endpoint broke off", Status.FILTERED: "a refusal, or withheld by a filter"}


def read_reply(body: Body) -> Reply | None:
    """The reply in a response, by the field in which it stands; None if there is no such field, or nothing in it.

    Raises one of `UNREADABLE` if something else stands where the answer should be.
    """
    read = next((read for field, read in READERS.items() if field in body), None)
    found = read(body) if read else None
    if found is None:
        return None
    usage = body.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    return make_reply(
        **found,
        served_model=_name_or_none(body.get("model")),
        fingerprint=_name_or_none(body.get("system_fingerprint")),
        prompt_tokens=_count_prompt_tokens(usage),
        completion_tokens=_count_or_none(usage.get("completion_tokens", usage.get("output_tokens"))),
    )


def make_reply(*, text: object, reason: object, refusal: str | None = None, **details: Any) -> Reply:
    """A reply in the state that the reason for its end gives it. Whether its text is empty is not looked at.

    What the model says instead of an answer (`refusal`) counts only if there is no other text.
    """
    if not isinstance(text, str | None):
        raise TypeError
    finish_reason = _name_or_none(reason)
    word = (finish_reason or "").lower()
    status = Status.TRUNCATED if word in LENGTH_REASONS else Status.OK
    if word in FILTER_REASONS or (refusal and not (text or "").strip()):
        status = Status.FILTERED
    if word in ABORT_REASONS:
        status = Status.HTTP_ERROR
    answer = text if status in MEASURED else None
    return Reply(status=status, answer=answer, detail=_DETAILS.get(status), finish_reason=finish_reason, **details)


def join_texts(content: Any) -> Any:
    """The text of an answer or a prompt in parts; text and nothing stay what they are."""
    return _read_parts(content)["text"]


def _read_parts(content: Any, reason: object = None) -> dict[str, Any]:
    """Text, reasoning and refusal of a message's content, which may be a text, null, or a list of parts."""
    if content is None or isinstance(content, str):
        return {"text": content, "reason": reason}
    parts = [{"text": part} if isinstance(part, str) else part for part in content]
    thoughts = [join_texts(part.get("thinking")) for part in parts if part.get("type") == "thinking"]
    return {
        "text": "".join(part["text"] for part in parts if part.get("type") in _TEXTS and part.get("text") is not None),
        "reason": reason,
        "reasoning": "".join(filter(None, thoughts)) or None,
        "refusal": "".join(part["refusal"] for part in parts if part.get("type") == "refusal") or None,
    }


def _read_chat(body: Body) -> dict[str, Any] | None:
    if not body["choices"]:
        return None
    choice = body["choices"][0]
    reason = choice.get("finish_reason") or choice.get("stop_reason")  # the second on Bedrock
    if "text" in choice:
        return {"text": choice["text"], "reason": reason}
    message = choice["message"]
    found = _read_parts(message.get("content"), reason)
    for field, name in (("reasoning_content", "reasoning"), ("reasoning", "reasoning"), ("refusal", "refusal")):
        if isinstance(message.get(field), str) and message[field]:
            found[name] = message[field]
    if found["text"] and (thought := _REASONING.match(found["text"])):
        found |= {"text": found["text"][thought.end() :], "reasoning": thought[0]}
    return found


def _read_output(body: Body) -> dict[str, Any]:
    """The Responses API (a list of items), or Bedrock's Converse and Nova (one message)."""
    output = body["output"]
    if isinstance(output, Mapping):
        return _read_parts(output["message"]["content"], body.get("stopReason"))
    if body.get("status") == "failed":
        return {"text": None, "reason": "error"}
    parts = [part for item in output if item.get("type") == "message" for part in item["content"]]
    return _read_parts(parts, (body.get("incomplete_details") or {}).get("reason"))


def _read_candidates(body: Body) -> dict[str, Any]:
    """Gemini. A response without candidates says at most why: the prompt was blocked."""
    if not body.get("candidates"):
        blocked = (body.get("promptFeedback") or {}).get("blockReason")
        return {"text": None, "reason": "content_filter" if blocked else None}
    candidate = body["candidates"][0]
    parts = (candidate.get("content") or {}).get("parts") or []
    reason = candidate.get("finishReason") or candidate.get("finish_reason")  # the second from Google's Python library
    return {"text": join_texts([part for part in parts if not part.get("thought")]), "reason": reason}


READERS: dict[str, Callable[[Body], dict[str, Any] | None]] = {
    "choices": _read_chat,
    "output": _read_output,
    "content": lambda body: _read_parts(body["content"], body.get("stop_reason")),
    "candidates": _read_candidates,
    "promptFeedback": _read_candidates,
    "usageMetadata": _read_candidates,
    "generation": lambda body: {"text": body["generation"], "reason": body.get("stop_reason")},
    "outputs": lambda body: {"text": body["outputs"][0]["text"], "reason": body["outputs"][0].get("stop_reason")},
    "results": lambda body: {
        "text": body["results"][0]["outputText"],
        "reason": body["results"][0].get("completionReason"),
    },
}


def _count_prompt_tokens(usage: Body) -> int | None:
    if "prompt_tokens" in usage:
        return _count_or_none(usage["prompt_tokens"])
    # Anthropic does not count tokens that were read from a cache, or written to one, among the input tokens.
    uncached = _count_or_none(usage.get("input_tokens"))
    cached = [_count_or_none(usage.get(f"cache_{name}_input_tokens")) for name in ("creation", "read")]
    return None if uncached is None else uncached + sum(filter(None, cached))


def _name_or_none(value: object) -> str | None:
    """A name from a response, cut to a sane length; None if the value is not a text."""
    return value[:MAX_NAME] if isinstance(value, str) and value else None


def _count_or_none(value: object) -> int | None:
    """A number of tokens from a response; None if the value is not one."""
    return value if type(value) is int and 0 <= value < 2**53 else None
