"""The chat-completions format of OpenAI, which most endpoints speak."""

from __future__ import annotations

from equipoise.models.chat.wire import (
    Body,
    Completion,
    WireFormat,
    count_or_none,
    has_refusal,
    name_or_none,
    split_content,
)
from equipoise.models.sampling import Sampling


def parameters(model: str, sampling: Sampling) -> Body:
    """The model and its sampling parameters."""
    named = {name: getattr(sampling, name) for name in ("temperature", "top_p", "max_tokens", "seed")}
    return {"model": model, **{name: value for name, value in named.items() if value is not None}, **sampling.extra}


def messages(prompt: str, system: str | None) -> Body:
    """The system part is the first message."""
    first = [] if system is None else [{"role": "system", "content": system}]
    return {"messages": [*first, {"role": "user", "content": prompt}]}


def read(document: Body) -> Completion | None:
    """The first choice."""
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return None
    text, reasoning = split_content(message.get("content"))
    for name in ("reasoning_content", "reasoning"):
        separate = message.get(name)
        reasoning = separate if isinstance(separate, str) and separate else reasoning
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    parts = usage.get("completion_tokens_details")
    return Completion(
        text=text,
        reasoning=reasoning,
        finish_reason=name_or_none(choice.get("finish_reason")),
        refused=bool(message.get("refusal")) or has_refusal(message.get("content")),
        served_model=name_or_none(document.get("model")),
        fingerprint=name_or_none(document.get("system_fingerprint")),
        prompt_tokens=count_or_none(usage.get("prompt_tokens")),
        completion_tokens=count_or_none(usage.get("completion_tokens")),
        reasoning_tokens=count_or_none(parts.get("reasoning_tokens")) if isinstance(parts, dict) else None,
        logprobs=choice.get("logprobs"),
    )


FORMAT = WireFormat(
    path="/chat/completions",
    headers={},
    parameters=parameters,
    messages=messages,
    read=read,
    required=frozenset({"model"}),
    gives_probabilities=True,
)
