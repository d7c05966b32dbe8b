"""The chat-completions form, which most endpoints speak."""

from __future__ import annotations

from equipoise.models.wire import Body, Said, Sampling, Wire, count, parts, short


def body(model: str, sampling: Sampling) -> Body:
    """The request without its prompt."""
    named = {name: getattr(sampling, name) for name in ("temperature", "top_p", "max_tokens", "seed")}
    return {
        "model": model,
        "messages": [] if sampling.system is None else [{"role": "system", "content": sampling.system}],
        **{name: value for name, value in named.items() if value is not None},
        **sampling.extra,
    }


def read(document: Body) -> Said | None:
    """The first choice."""
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return None
    text, reasoning = parts(message.get("content"))
    for name in ("reasoning_content", "reasoning"):
        apart = message.get(name)
        reasoning = apart if isinstance(apart, str) and apart else reasoning
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Said(
        text=text,
        reasoning=reasoning,
        finish=short(choice.get("finish_reason")),
        refused=bool(message.get("refusal")),
        served_model=short(document.get("model")),
        fingerprint=short(document.get("system_fingerprint")),
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
    )


WIRE = Wire(
    path="/chat/completions",
    headers={},
    body=body,
    read=read,
    needed=frozenset({"model", "messages"}),
)
