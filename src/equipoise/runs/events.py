"""What the pump tells while it works, as plain values. Only the command line draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from equipoise.frames import MEASURED, Status


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where the run stands. `counts` holds only what is stored durably; the states add up to `planned`."""

    planned: int
    counts: Mapping[Status, int]
    requests: int
    """Requests of this sitting, those that failed included."""
    prompt_tokens: int
    completion_tokens: int
    """Tokens of the whole run, as far as the endpoint counts them."""
    cost: float | None
    """Money of the whole run, if prices are known."""
    in_flight: int
    elapsed: float
    """Seconds of this sitting."""

    @property
    def answered(self) -> int:
        """Attempts with an answer to measure."""
        return sum(self.counts[status] for status in MEASURED)

    @property
    def failed(self) -> dict[Status, int]:
        """Attempts that ended without one, by state."""
        return {
            status: n for status, n in self.counts.items() if n and status not in MEASURED and status != Status.PENDING
        }


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something the user should know, said once."""

    text: str


Event = Progress | Note
OnEvent = Callable[[Event], None]
