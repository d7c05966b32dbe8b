"""`Sampling`: the parameters that a user may give for a model's answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from equipoise.errors import BadParameter, InputError
from equipoise.models.redact import holds_redacted

RESERVED_FIELDS = ("model", "messages", "system", "stream", "n")
"""Fields of a request's body that equipoise fills in itself."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How a model is asked to answer. A parameter that is None is not sent: the endpoint uses its default.

    Upper limits are left to the endpoint, which knows them.
    """

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
        limits = (
            ("temperature", self.temperature, 0, math.inf, "0 or more"),
            ("top_p", self.top_p, 1e-12, 1, "more than 0 and at most 1"),
            ("max_tokens", self.max_tokens, 1, math.inf, "1 or more"),
        )
        for parameter, value, lowest, highest, allowed in limits:
            if value is not None and not (math.isfinite(value) and lowest <= value <= highest):
                raise BadParameter(f"The parameter {parameter!r} must be {allowed}. Got {value!r} instead.")
        for name in RESERVED_FIELDS:
            if name in self.extra:
                raise BadParameter(f"The extra body must not hold {name!r}: equipoise fills that in.")
        try:
            orjson.dumps(dict(self.extra))
        except TypeError as error:
            raise BadParameter(f"The extra body must be JSON: {error}.") from None

    def system_for(self, prompt_system: str | None) -> str | None:
        """The system part to send with a prompt: the user's text, a blank line, the prompt's own; None if neither."""
        # An empty text is sent too: it switches off the default system text that some chat templates have.
        texts = [text for text in (self.system, prompt_system) if text is not None]
        return "\n\n".join(filter(None, texts)) if texts else None


def refuse_missing_secrets(sampling: Sampling) -> None:
    """Refuse parameters from a run file that held a secret: run files keep none, and `[redacted]` must not be sent."""
    missing = [name for name in ("system", "extra") if holds_redacted(getattr(sampling, name))]
    if missing:
        options = " and ".join(f"--{name}" for name in missing)
        raise InputError(
            f"The run was started with a secret in {options}, and run files keep no secrets. To go on, give the "
            f"command again that started it: equipoise run … {options} … --out with this run file."
        )
