"""Events that the pump reports while it works, as plain values. Only the command line draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from equipoise.schema import MEASURED, Status


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A pause in which nothing is sent."""

    seconds: float
    """How long it lasts from now."""
    reason: str
    """"rate limit" or "outage"."""


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """How far the run is. `counts` holds only what is durably stored; the states add up to `planned`."""

    planned: int
    counts: Mapping[Status, int]
    requests: int
    """Requests of this session, including those that failed."""
    ended: int = 0
    """Attempts that ended in this session."""
    prompt_tokens: int
    completion_tokens: int
    """Tokens of the whole run, as far as the endpoint counts them."""
    cost: float | None
    """Money for the whole run, if the price is known."""
    elapsed: float
    """Seconds of this session."""
    look: str = ""
    """"look 2 of 5", in a run that stops when its marks are certain."""
    asked: str = "model"
    """Whom: the "model", or then the "judge", of whom verdicts are counted instead of attempts."""
    wait: Wait | None = None
    """The pause that lasts, if there is one."""

    @property
    def answered(self) -> int:
        """Attempts with an answer to measure."""
        return sum(self.counts[status] for status in MEASURED)

    @property
    def failed(self) -> dict[Status, int]:
        """Attempts that ended without an answer, by state."""
        return {
            status: n for status, n in self.counts.items() if n and status not in MEASURED and status != Status.PENDING
        }


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something the user should know. Each note is reported once."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Look:
    """What was found by looking at a run that stops when its marks are certain."""

    name: str
    """The look that is being asked for now: "look 2 of 5"."""
    notes: Sequence[str] = ()
    added: int = 0
    """Attempts that were planned by it."""


Event = RunProgress | Note
OnEvent = Callable[[Event], None]


def describe_duration(seconds: float) -> str:
    """A duration in words: "55 s", "10 min", "10 min 05 s", "1 h 03 min"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {rest:02d} s" if rest else f"{minutes} min"
    return f"{rest} s"
