"""The contract of models: one prompt in, one reply or one named failure out.

A model sends each prompt once, but for a request whose key or parameter was rejected, which it sends again with another
key or without the parameter; budgets do not count these few. Retries, pauses, budgets and the order of prompts belong
to `runs/ask/`.

    Reply           what becomes of the attempt: an answer, or a failure that asking again would not change
    TransientFault  a failure that may go away (429, 5xx, a broken connection, broken JSON): may be asked again
    Refused         the endpoint will answer nothing (key, quota, unknown model, redirect): the run stops, exit 4
      NotServed     because of the model's name or the address: asking again in this way is of no use
        NoProbabilities   because it gives no probabilities of tokens, or of none that says anything
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from equipoise.errors import BadParameter, EndpointError
from equipoise.schema import Status

FirstToken = list[dict[str, str | float]]
"""The most probable first tokens of an answer: [{"token": "Yes", "p": 0.81}, …]."""
RESERVED_FIELDS = ("model", "messages", "system", "stream", "n")
"""Fields of a request's body that equipoise fills in itself."""


def _is_finite(value: Any) -> bool:
    """Whether all numbers in a value, at any depth, are finite."""
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a model is asked to answer. A parameter that is None is not sent: the endpoint uses its default."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """The longest that one answer may be."""
    seed: int | None = None
    system: str | None = None
    """Sent before the system part of every prompt."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request's body, sent unchanged."""

    def __post_init__(self) -> None:
        for name in RESERVED_FIELDS:
            if name in self.extra:
                raise BadParameter(f"The extra body must not hold {name!r}: equipoise fills that in.")
        if not _is_finite(self.extra):
            raise BadParameter("The extra body must hold no nan or infinity: JSON has no such numbers.")

    def system_for(self, prompt_system: str | None) -> str | None:
        """The system part to send with a prompt: the user's text, a blank line, the prompt's own; None if neither."""
        # An empty text is sent too: it switches off the default system text that some chat templates have.
        texts = [text for text in (self.system, prompt_system) if text is not None]
        return "\n\n".join(filter(None, texts)) if texts else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """How a prompt is asked, where that differs from probe to probe."""

    max_tokens: int | None = None
    """The limit of the answer; None: that of `Sampling`, which is the same for all."""
    opening: str | None = None
    """Not None: the probabilities of the first token are wanted, after this beginning of the answer. Then the answer
    has one token."""

    @property
    def probabilities(self) -> bool:
        """Whether the probabilities of the first token are wanted."""
        return self.opening is not None


CONCURRENCY = 16
"""Requests at a time, unless the model or the user says otherwise."""
AS_SAMPLED = Asking()
"""For answers, with the limit that `Sampling` sets."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The outcome of one request. `ok` and `truncated` have an `answer`; for the others `detail` gives the reason."""

    status: Status
    answer: str | None = None
    reasoning: str | None = None
    detail: str | None = None
    raw: bytes | None = None
    """The response body (at most 64 kB), kept only when it could not be parsed."""
    served_model: str | None = None
    finish_reason: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency: float | None = None
    first_token: FirstToken | None = None
    """There whenever it was asked for and the attempt is `ok`."""


class TransientFault(Exception):
    """A failure that may go away. When it does not, the attempt ends as `reply`."""

    def __init__(self, reply: Reply, *, kind: str, retry_after: float | None = None) -> None:
        super().__init__(reply.detail)
        self.reply = reply
        self.kind = kind
        """`rate_limit`, `server`, `connection`, `malformed`, `timeout`, or `client` (any other 4xx)."""
        self.retry_after = retry_after
        """Seconds the endpoint asks to wait."""


class Refused(EndpointError):
    """The endpoint will answer nothing more: a wrong key, an exhausted quota, an unknown model, a redirect."""


class NotServed(Refused):
    """The endpoint does not serve this model, or there is none at this address."""


class NoProbabilities(NotServed):
    """The endpoint gives no probabilities of tokens, or none that say anything about the answer."""


class Model(ABC):
    """Who answers. It is opened with `async with`; `answer` may be called many times at once."""

    concurrency = CONCURRENCY
    """How many prompts are sent at a time, unless the user says otherwise."""
    can_be_interrupted = True
    """Whether a request ends when it is cancelled. A Python function that runs in a thread does not."""
    gives_probabilities = False
    """Whether `Asking.probabilities` can be asked of it, as far as is known before anything is sent."""
    continues_answers = False
    """Whether it can go on with an answer that was begun for it, as far as is known before anything is sent."""

    def __init__(self, name: str, settings: dict[str, object]) -> None:
        self.name = name
        """The name that the user gave, as it is shown and stored."""
        self.settings = settings
        """Everything that shapes the answers (parameters, base URL, …), as stored in the run; never a secret."""
        self.notes: list[str] = []
        """What the user should know, one sentence each (for example a dropped parameter). Grows while asking."""

    def continue_after(self, dropped: Collection[str]) -> None:  # noqa: B027 - most models drop nothing
        """Go on with a run that has answers, for which these parameters were dropped: ask in the same way."""

    async def __aenter__(self) -> Self:
        """Make ready what is needed to answer."""
        return self

    async def __aexit__(self, *exc_info: object) -> None:  # noqa: B027 - most models have nothing to close
        """Close it."""

    @abstractmethod
    async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
        """Send one prompt, with its system part if it has one. Raises `TransientFault` or `Refused`."""
