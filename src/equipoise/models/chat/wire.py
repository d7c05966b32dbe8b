"""How requests are written in the two wire formats, OpenAI's chat completions and Anthropic's messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from equipoise.models.failures import ReportedError, find_rejected_parameter
from equipoise.models.protocol import Asking, Sampling

Body = dict[str, Any]
Continuing = Literal["message", "option", "prefix"]
"""How an endpoint is asked to go on with an answer: by a message of the assistant that comes last, with an option of
the request beside it (`continue_final_message`), or with a mark on that message (`prefix`)."""

TOP_LOGPROBS, FEWER_TOP_LOGPROBS = 20, 5
"""How many of the most probable first tokens are asked for: the most that endpoints give; fewer if one refuses."""


@dataclass(frozen=True, kw_only=True)
class WireFormat:
    """How requests are written."""

    path: str
    sampling: tuple[str, ...]
    """The fields of `Sampling` that the format has."""
    headers: Mapping[str, str] = field(default_factory=dict)
    system_field: bool = False
    """Whether the system part is a field of its own; otherwise it is the first message."""
    max_tokens: int | None = None
    """Not None: a limit of the answer is required, and this one is sent when the user gives none."""
    gives_probabilities: bool = False
    """Whether the probabilities of tokens can be asked for."""

    def parameters(self, model: str, sampling: Sampling, max_tokens: int | None = None) -> Body:
        """The fields of the request's body beside the prompt. `max_tokens` counts more than the limit of `sampling`."""
        body: Body = {"model": model}
        for name in self.sampling:
            value = getattr(sampling, name)
            if name == "max_tokens":
                value = max_tokens or value or self.max_tokens
            if value is not None:
                body[name] = value
        return {**body, **sampling.extra}

    def messages(self, prompt: str, system: str | None) -> Body:
        """The fields that carry a prompt and its system part."""
        question = {"role": "user", "content": prompt}
        if system is None:
            return {"messages": [question]}
        if self.system_field:
            return {"messages": [question], "system": system}
        return {"messages": [{"role": "system", "content": system}, question]}


OPENAI = WireFormat(
    path="/chat/completions",
    sampling=("temperature", "top_p", "max_tokens", "seed"),
    gives_probabilities=True,
)
ANTHROPIC = WireFormat(
    path="/messages",
    sampling=("temperature", "top_p", "max_tokens"),
    headers={"anthropic-version": "2023-06-01"},
    system_field=True,
    max_tokens=4096,
)


def continue_answer(messages: Body, opening: str, continuing: Continuing | None) -> Body:
    """The messages with an answer that is begun, in the way in which the endpoint is asked to go on with it."""
    begun = {"role": "assistant", "content": opening} | ({"prefix": True} if continuing == "prefix" else {})
    option = {"continue_final_message": True, "add_generation_prompt": False} if continuing == "option" else {}
    return {**messages, "messages": [*messages["messages"], begun], **option}


class Parameters:
    """What is sent with every prompt. A parameter that the endpoint rejects is dropped, or sent under another name."""

    def __init__(self, model: str, wire_format: WireFormat, sampling: Sampling) -> None:
        self._model = model
        self._format = wire_format
        self._sampling = sampling
        self.top_logprobs = TOP_LOGPROBS
        self.dropped: dict[str, str | None] = {}
        """Rejected parameters, each with the name it is sent under instead."""
        self.settled = False
        """Whether there are answers with the parameters as they are. They must stay comparable: none is dropped."""

    def body(self, asking: Asking) -> Body:
        """The fields for prompts that are asked in this way."""
        body = self._format.parameters(self._model, self._sampling, asking.max_tokens)
        if asking.probabilities:
            body |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        for name, new_name in self.dropped.items():
            value = body.pop(name, None)
            if new_name and value is not None:
                body[new_name] = value
        return body

    def drop(self, parameter: str) -> str:
        """Stop sending a parameter as it is, and say so."""
        is_renamed = parameter == "max_tokens" and "max_completion_tokens" not in self._sampling.extra
        self.dropped[parameter] = "max_completion_tokens" if is_renamed else None
        consequence = "sent as max_completion_tokens" if is_renamed else "no longer sent"
        return f"The endpoint rejects {parameter}: it is {consequence}."

    def drop_rejected(self, error: ReportedError, sent: Body) -> str | None:
        """Drop the parameter that an error rejects, if that may still be, and say so; None if there is none."""
        fixed = {"model"} if self._format.max_tokens is None else {"model", "max_tokens"}
        rejected = None if self.settled else find_rejected_parameter(error, set(sent) - fixed)
        return self.drop(rejected) if rejected else None
