"""What goes into a run file and what comes out of it, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct

from equipoise.authoring import Probe
from equipoise.models.protocol import AS_SAMPLED, Asking, Reply
from equipoise.schema import PROBABILITIES


def asking_of(probe: Probe, max_tokens: int | None) -> Asking:
    """How a probe is asked: with the user's limit on the length of answers, or else its own; or for one token only."""
    if probe.reading == PROBABILITIES:
        return Asking(max_tokens=1, opening=probe.opening)
    return Asking(max_tokens=max_tokens or probe.max_tokens)


class Planned(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A probe as it is planned in the run."""

    name: str
    version: int
    parameters: dict[str, Any]
    corpus: str | None
    corpus_sha256: str | None
    repetitions: Annotated[int, Meta(ge=1)]
    covariates: dict[str, Literal["String", "Int64", "Float64", "Boolean"]]
    """The polars type of each column of the prompts beside id, item and text, by name."""
    prompts: int
    """How many there are."""
    max_tokens: int | None
    """The limit of an answer."""
    opening: str | None
    """How the answer is begun whose first token's probabilities are asked for; None if answers are asked for."""

    @property
    def asking(self) -> Asking:
        """How its prompts are asked, where that differs from probe to probe."""
        return Asking(max_tokens=self.max_tokens, opening=self.opening)


@dataclass(frozen=True, slots=True)
class Pending:
    """A prompt to send: its key, its texts and how it is asked."""

    probe: str
    prompt: str
    repetition: int
    text: str
    system: str | None = None
    """The system part of the prompt, if it has one."""
    place: float = 0.0
    """The attempt's place in the order of its probe, between 0 and 1."""
    asking: Asking = AS_SAMPLED


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt that has ended."""

    probe: str
    prompt: str
    repetition: int
    reply: Reply
    text: str = ""
    """What was asked."""
    tries: int = 1
    finished_at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Served(NamedTuple):
    """The model that an endpoint said it served, its fingerprint, and how many attempts ended with them."""

    model: str | None
    fingerprint: str | None
    attempts: int


class Failure(NamedTuple):
    """A way in which attempts failed, and how many did."""

    status: str
    detail: str | None
    attempts: int


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the answers of a run come from, and what they took: what an auditor asks."""

    digest: str
    """SHA-256 of the content."""
    served: tuple[Served, ...]
    first: str | None
    """When the first attempt ended, ISO 8601; None if none has."""
    last: str | None
    failures: tuple[Failure, ...]
    """The most frequent ones."""
    earlier_failures: int
    """Failures that were asked again."""
    spent_on_reasoning: int
    """Attempts that are empty because the token limit was reached before any text came."""
    usage: tuple[int, int]
    """Tokens of all prompts and of all answers, as far as the endpoint counted them."""
    judge_usage: tuple[int, int]
    """The same for questions to judges and their verdicts."""
