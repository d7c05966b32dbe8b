"""The messages format of Anthropic."""

from __future__ import annotations

from equipoise.models.chat.wire import Body, Completion, WireFormat, count_or_none, name_or_none, split_content
from equipoise.models.sampling import Sampling

DEFAULT_MAX_TOKENS = 4096
"""The format requires a limit; this one is sent when the user gives none."""


def parameters(model: str, sampling: Sampling) -> Body:
    """The model and its sampling parameters."""
    named = {name: getattr(sampling, name) for name in ("temperature", "top_p")}
    return {
        "model": model,
        "max_tokens": DEFAULT_MAX_TOKENS if sampling.max_tokens is None else sampling.max_tokens,
        **{name: value for name, value in named.items() if value is not None},
        **sampling.extra,
    }


def messages(prompt: str, system: str | None) -> Body:
    """The system part is a field of its own."""
    body: Body = {"messages": [{"role": "user", "content": prompt}]}
    return body if system is None else {**body, "system": system}


def read(document: Body) -> Completion | None:
    """The text blocks joined; the thinking blocks as reasoning."""
    content = document.get("content")
    if not isinstance(content, list):
        return None
    text, reasoning = split_content(content)
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    # Tokens that were read from a cache, or written to one, are not counted among the input tokens.
    uncached = count_or_none(usage.get("input_tokens"))
    cached = [count_or_none(usage.get(f"cache_{name}_input_tokens")) for name in ("creation", "read")]
    return Completion(
        text=text,
        reasoning=reasoning,
        finish_reason=name_or_none(document.get("stop_reason")),
        served_model=name_or_none(document.get("model")),
        prompt_tokens=None if uncached is None else uncached + sum(filter(None, cached)),
        completion_tokens=count_or_none(usage.get("output_tokens")),
    )


FORMAT = WireFormat(
    path="/messages",
    headers={"anthropic-version": "2023-06-01"},
    parameters=parameters,
    messages=messages,
    read=read,
    required=frozenset({"model", "max_tokens"}),
    unsupported=frozenset({"seed"}),
)
