"""The fields of a request that are the same for all prompts asked in one way, without what an endpoint rejects."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from equipoise.models.chat.first_token import FirstTokens
from equipoise.models.chat.wire import Body, WireFormat
from equipoise.models.protocol import Asking
from equipoise.models.redact import Redact
from equipoise.models.sampling import Sampling


class Parameters:
    """What is sent with every prompt. A parameter that the endpoint rejects is dropped, or sent under another name."""

    def __init__(
        self,
        model: str,
        wire_format: WireFormat,
        sampling: Sampling,
        first_tokens: FirstTokens,
        notes: list[str],
        redact: Redact,
    ) -> None:
        self._model = model
        self._format = wire_format
        self._sampling = sampling
        self._first_tokens = first_tokens
        self._notes = notes
        self._redact = redact
        self._bodies: dict[Asking, Body] = {}
        self.dropped: dict[str, str | None] = {}
        """Rejected parameters, each with the name it is sent under instead."""
        self.earlier_notes: Collection[str] | None = None
        """The notes of a run that has answers: only what was dropped before its first one may be dropped again."""

    def body(self, asking: Asking) -> Body:
        """The fields for prompts that are asked in this way."""
        if asking not in self._bodies:
            limit = self._sampling.max_tokens if asking.max_tokens is None else asking.max_tokens
            body = self._format.parameters(self._model, replace(self._sampling, max_tokens=limit))
            if asking.probabilities:
                body |= {"logprobs": True, "top_logprobs": self._first_tokens.count}
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
        return self.earlier_notes is None or self._describe_drop(parameter) in self.earlier_notes

    def _find_new_name(self, parameter: str) -> str | None:
        renamed = parameter == "max_tokens" and "max_completion_tokens" not in self._sampling.extra
        return "max_completion_tokens" if renamed else None

    def _describe_drop(self, parameter: str) -> str:
        new_name = self._find_new_name(parameter)
        consequence = f"it is sent as {new_name}" if new_name else "it is no longer sent"
        return f"The endpoint rejects {self._redact(parameter)}: {consequence}."
