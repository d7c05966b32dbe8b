"""What the APIs of models answer: the answer in a response of any API that is known, for endpoints and for files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.schema import ABORT_REASONS, FILTER_REASONS, LENGTH_REASONS, Status

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


@dataclass(frozen=True, kw_only=True)
class Completion:
    """The content of a response, the same for all APIs."""

    text: str | None
    reasoning: str | None = None
    refusal: str | None = None
    """What the model says instead of an answer."""
    finish_reason: str | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    logprobs: object = None
    """The log-probabilities of the answer's tokens, as they came."""

    @property
    def refused(self) -> bool:
        """Whether there is a refusal and nothing else."""
        return bool(self.refusal) and not (self.text or "").strip()

    @property
    def status(self) -> Status:
        """The state of the attempt, by the reason for which the answer ended; whether it is empty is not looked at."""
        reason = (self.finish_reason or "").lower()
        if reason in ABORT_REASONS:
            return Status.HTTP_ERROR
        if self.refused or reason in FILTER_REASONS:
            return Status.FILTERED
        return Status.TRUNCATED if reason in LENGTH_REASONS else Status.OK


def read_completion(body: Body) -> Completion | None:
    """The answer in a response, by the field in which it stands; None if there is no such field, or nothing in it.

    Raises one of `UNREADABLE` if something else stands where the answer should be.
    """
    read = next((read for field, read in READERS.items() if field in body), None)
    return read(body) if read else None


def join_texts(content: Any) -> Any:
    """The text of an answer or a prompt in parts; text and nothing stay what they are."""
    return _read_parts(content)["text"]


def _read_parts(content: Any) -> dict[str, Any]:
    """Text, reasoning and refusal of a message's content, which may be a text, null, or a list of parts."""
    if content is None or isinstance(content, str):
        return {"text": content}
    parts = [{"text": part} if isinstance(part, str) else part for part in content]
    thoughts = [join_texts(part.get("thinking")) for part in parts if part.get("type") == "thinking"]
    return {
        "text": "".join(part["text"] for part in parts if part.get("type") in _TEXTS and part.get("text") is not None),
        "reasoning": "".join(filter(None, thoughts)) or None,
        "refusal": "".join(part["refusal"] for part in parts if part.get("type") == "refusal") or None,
    }


def _read_chat(body: Body) -> Completion | None:
    if not body["choices"]:
        return None
    choice = body["choices"][0]
    reason = choice.get("finish_reason") or choice.get("stop_reason")  # the second on Bedrock
    if "text" in choice:
        return _complete(body, reason, text=choice["text"])
    message = choice["message"]
    found = _read_parts(message.get("content"))
    for name in ("reasoning_content", "reasoning"):
        if isinstance(message.get(name), str) and message[name]:
            found["reasoning"] = message[name]
    if isinstance(message.get("refusal"), str):
        found["refusal"] = message["refusal"]
    if found["text"] and (thought := _REASONING.match(found["text"])):
        found |= {"text": found["text"][thought.end() :], "reasoning": thought[0]}
    return _complete(body, reason, logprobs=choice.get("logprobs"), **found)


def _read_message(body: Body) -> Completion:
    """Anthropic."""
    return _complete(body, body.get("stop_reason"), **_read_parts(body["content"]))


def _read_output(body: Body) -> Completion:
    """The Responses API (a list of items), or Bedrock's Converse and Nova (one message)."""
    output = body["output"]
    if isinstance(output, Mapping):
        return _complete(body, body.get("stopReason"), **_read_parts(output["message"]["content"]))
    if body.get("status") == "failed":
        return _complete(body, "error", text=None)
    parts = [part for item in output if item.get("type") == "message" for part in item["content"]]
    return _complete(body, (body.get("incomplete_details") or {}).get("reason"), **_read_parts(parts))


def _read_candidates(body: Body) -> Completion:
    """Gemini. A response without candidates says at most why: the prompt was blocked."""
    if not body.get("candidates"):
        blocked = (body.get("promptFeedback") or {}).get("blockReason")
        return _complete(body, "content_filter" if blocked else None, text=None)
    candidate = body["candidates"][0]
    parts = (candidate.get("content") or {}).get("parts") or []
    reason = candidate.get("finishReason") or candidate.get("finish_reason")  # the second from Google's Python library
    return _complete(body, reason, text=join_texts([part for part in parts if not part.get("thought")]))


def _read_generation(body: Body) -> Completion:
    return _complete(body, body.get("stop_reason"), text=body["generation"])


def _read_outputs(body: Body) -> Completion:
    return _complete(body, body["outputs"][0].get("stop_reason"), text=body["outputs"][0]["text"])


def _read_results(body: Body) -> Completion:
    return _complete(body, body["results"][0].get("completionReason"), text=body["results"][0]["outputText"])


READERS = {
    "choices": _read_chat,
    "output": _read_output,
    "content": _read_message,
    "candidates": _read_candidates,
    "promptFeedback": _read_candidates,
    "usageMetadata": _read_candidates,
    "generation": _read_generation,
    "outputs": _read_outputs,
    "results": _read_results,
}


def _complete(body: Body, reason: object, *, text: object, **found: Any) -> Completion:
    """A completion with what the body says beside the answer, as far as it makes sense."""
    if text is not None and not isinstance(text, str):
        raise TypeError
    usage = body.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    return Completion(
        text=text,
        finish_reason=_name_or_none(reason),
        served_model=_name_or_none(body.get("model")),
        fingerprint=_name_or_none(body.get("system_fingerprint")),
        prompt_tokens=_count_prompt_tokens(usage),
        completion_tokens=_count_or_none(usage.get("completion_tokens", usage.get("output_tokens"))),
        **found,
    )


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
