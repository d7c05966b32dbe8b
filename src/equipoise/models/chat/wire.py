"""The two wire formats, OpenAI's chat completions and Anthropic's messages: how requests are written, and what a
response becomes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from equipoise.bodies import MAX_NAME, Completion
from equipoise.detect.visible import has_visible_text
from equipoise.models.chat.providers import Continuing
from equipoise.models.protocol import Asking, Reply, TransientFault
from equipoise.models.redact import Redact, excerpt
from equipoise.models.sampling import Sampling
from equipoise.schema import ABORT_REASONS, FILTER_REASONS, LENGTH_REASONS, Status

Body = dict[str, Any]

STOP_REASONS = frozenset(
    {"stop", "eos", "end_turn", "stop_sequence", "tool_calls", "function_call", "tool_use", "pause_turn"}
)
KNOWN_REASONS = STOP_REASONS | LENGTH_REASONS | FILTER_REASONS | ABORT_REASONS
TOP_LOGPROBS, FEWER_TOP_LOGPROBS = 20, 5
"""How many of the most probable first tokens are asked for: the most that endpoints give; fewer if one refuses."""
ANTHROPIC_MAX_TOKENS = 4096
"""The format of Anthropic requires a limit; this one is sent when the user gives none."""


@dataclass(frozen=True, kw_only=True)
class WireFormat:
    """How requests are written."""

    path: str
    messages: Callable[[str, str | None], Body]
    """The fields that carry a prompt and its system part."""
    sampling: frozenset[str]
    """The fields of `Sampling` that the format has."""
    headers: Mapping[str, str] = field(default_factory=dict)
    max_tokens: int | None = None
    """The limit of an answer that is sent when the user gives none."""
    gives_probabilities: bool = False
    """Whether the probabilities of tokens can be asked for."""

    @property
    def required(self) -> frozenset[str]:
        """Parameters that cannot be dropped."""
        return frozenset({"model"} if self.max_tokens is None else {"model", "max_tokens"})

    def parameters(self, model: str, sampling: Sampling) -> Body:
        """The fields of the request's body that are the same for every prompt."""
        named = {name: getattr(sampling, name) for name in ("temperature", "top_p", "max_tokens", "seed")}
        named["max_tokens"] = self.max_tokens if sampling.max_tokens is None else sampling.max_tokens
        sent = {name: value for name, value in named.items() if name in self.sampling and value is not None}
        return {"model": model, **sent, **sampling.extra}


def _openai_messages(prompt: str, system: str | None) -> Body:
    """The system part is the first message."""
    first = [] if system is None else [{"role": "system", "content": system}]
    return {"messages": [*first, {"role": "user", "content": prompt}]}


def _anthropic_messages(prompt: str, system: str | None) -> Body:
    """The system part is a field of its own."""
    body: Body = {"messages": [{"role": "user", "content": prompt}]}
    return body if system is None else {**body, "system": system}


def continue_answer(messages: Body, opening: str, continuing: Continuing) -> Body:
    """The messages with an answer that is begun, in the way in which the endpoint is asked to go on with it."""
    begun: Body = {"role": "assistant", "content": opening}
    if continuing == "prefix":
        begun["prefix"] = True
    body = {**messages, "messages": [*messages["messages"], begun]}
    if continuing == "option":
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    return body


OPENAI = WireFormat(
    path="/chat/completions",
    messages=_openai_messages,
    sampling=frozenset({"temperature", "top_p", "max_tokens", "seed"}),
    gives_probabilities=True,
)
ANTHROPIC = WireFormat(
    path="/messages",
    messages=_anthropic_messages,
    sampling=frozenset({"temperature", "top_p", "max_tokens"}),
    headers={"anthropic-version": "2023-06-01"},
    max_tokens=ANTHROPIC_MAX_TOKENS,
)
WIRE_FORMATS = {"openai": OPENAI, "anthropic": ANTHROPIC}


class Parameters:
    """What is sent with every prompt. A parameter that the endpoint rejects is dropped, or sent under another name."""

    def __init__(
        self,
        model: str,
        wire_format: WireFormat,
        sampling: Sampling,
        notes: list[str],
        redact: Redact,
    ) -> None:
        self._model = model
        self._format = wire_format
        self._sampling = sampling
        self.top_logprobs = TOP_LOGPROBS
        """How many of the most probable first tokens are asked for."""
        self._notes = notes
        self._redact = redact
        self._bodies: dict[Asking, Body] = {}
        self.dropped: dict[str, str | None] = {}
        """Rejected parameters, each with the name it is sent under instead."""
        self.dropped_before: Collection[str] | None = None
        """Of a run that has answers: only what was dropped before its first one may be dropped again."""

    def body(self, asking: Asking) -> Body:
        """The fields for prompts that are asked in this way."""
        if asking not in self._bodies:
            limit = self._sampling.max_tokens if asking.max_tokens is None else asking.max_tokens
            body = self._format.parameters(self._model, replace(self._sampling, max_tokens=limit))
            if asking.probabilities:
                body |= {"logprobs": True, "top_logprobs": self.top_logprobs}
            for name, new_name in self.dropped.items():
                if name in body and new_name:
                    body[new_name] = body[name]
                body.pop(name, None)
            self._bodies[asking] = body
        return self._bodies[asking]

    def drop(self, parameter: str) -> None:
        """Stop sending a parameter as it is, unless another request has already had it dropped."""
        self._bodies = {}  # new ones are made; requests under way keep those they were sent with
        if parameter in self.dropped or parameter == "top_logprobs":
            return
        self._notes.append(self._describe_drop(parameter))
        self.dropped[parameter] = self._find_new_name(parameter)

    def may_drop(self, parameter: str) -> bool:
        """Whether answers stay comparable with earlier ones of the run if this is dropped."""
        return self.dropped_before is None or parameter in self.dropped_before

    def _find_new_name(self, parameter: str) -> str | None:
        renamed = parameter == "max_tokens" and "max_completion_tokens" not in self._sampling.extra
        return "max_completion_tokens" if renamed else None

    def _describe_drop(self, parameter: str) -> str:
        new_name = self._find_new_name(parameter)
        consequence = f"it is sent as {new_name}" if new_name else "it is no longer sent"
        return f"The endpoint rejects {self._redact(parameter)}: {consequence}."


def make_reply(completion: Completion, latency: float, redact: Redact) -> Reply | TransientFault:
    """Decide the status of the attempt. A text that holds nothing but reasoning, cut off or not, is no answer."""
    text, reason = completion.text or "", (completion.finish_reason or "").lower()
    details: dict[str, Any] = {
        "reasoning": completion.reasoning and redact(completion.reasoning),
        "served_model": completion.served_model and redact(completion.served_model),
        "finish_reason": completion.finish_reason and redact(completion.finish_reason),
        "fingerprint": completion.fingerprint and redact(completion.fingerprint),
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "latency": latency,
    }
    status = completion.status
    if status == Status.HTTP_ERROR:
        detail = f"the endpoint broke off: finish reason {reason!r}"
        return TransientFault(Reply(status=status, detail=detail, **details), kind="server")
    if status == Status.FILTERED:
        return Reply(status=status, detail=f"finish reason {reason or 'refusal'!r}", **details)
    if has_visible_text(text):
        return Reply(status=status, answer=redact(text), **details)
    if not details["reasoning"] and text.strip():
        details["reasoning"] = redact(text)
    detail = f"no visible text, finish reason {excerpt(redact(reason), MAX_NAME)!r}"
    if status == Status.TRUNCATED:
        detail = f"{_explain_limit(completion, bool(details['reasoning']))}: {detail}"
    return Reply(status=Status.EMPTY, detail=detail, **details)


def _explain_limit(completion: Completion, reasoned: bool) -> str:
    """Why there is no text in an answer that ended at the token limit."""
    if completion.reasoning_tokens:
        return f"the token limit went into reasoning ({completion.reasoning_tokens:,} tokens)"
    return "the token limit went into reasoning" if reasoned else "the token limit was reached before any text"
