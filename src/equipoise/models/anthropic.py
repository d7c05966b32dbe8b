"""The Anthropic messages form."""

from __future__ import annotations

from equipoise.models.wire import Body, Said, Sampling, Wire, count, parts, short

MAX_TOKENS = 4096
"""The form demands a limit; this one is sent when none is given."""


def body(model: str, sampling: Sampling) -> Body:
    """The request without its prompt."""
    named = {name: getattr(sampling, name) for name in ("system", "temperature", "top_p")}
    return {
        "model": model,
        "messages": [],
        "max_tokens": MAX_TOKENS if sampling.max_tokens is None else sampling.max_tokens,
        **{name: value for name, value in named.items() if value is not None},
        **sampling.extra,
    }


def read(document: Body) -> Said | None:
    """The text blocks joined, the thinking blocks apart."""
    content = document.get("content")
    if not isinstance(content, list):
        return None
    text, reasoning = parts(content)
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    asked = [
        count(usage.get(name)) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    ]
    return Said(
        text=text,
        reasoning=reasoning,
        finish=short(document.get("stop_reason")),
        served_model=short(document.get("model")),
        prompt_tokens=None if asked[0] is None else sum(filter(None, asked)),
        completion_tokens=count(usage.get("output_tokens")),
    )


WIRE = Wire(
    path="/messages",
    headers={"anthropic-version": "2023-06-01"},
    body=body,
    read=read,
    needed=frozenset({"model", "messages", "max_tokens"}),
    lacks=frozenset({"seed"}),
)
