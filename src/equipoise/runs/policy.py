"""How a model is asked, as one frozen value, and what counts as enough answers in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import BadParameter, Incomplete
from equipoise.frames import MEASURED, Status

Price = Callable[[int, int], float]
"""Tokens of prompts and of answers -> money."""

ALLOW_MISSING = 0.05


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How a model is asked. Times are in seconds."""

    concurrency: int = 16
    """Requests under way at a time, at most; fewer while the endpoint says that it is too many."""
    deadline: float = 300.0
    """What one attempt may take in all: its requests and the waiting between them.

    Waiting that the endpoint asks for, and outages of it, are not the attempt's and do not count.
    """
    tries: int = 4
    """Requests an attempt, when the server fails or the connection breaks."""
    malformed_tries: int = 3
    """Requests an attempt, when what comes back cannot be read."""
    client_faults: int = 20
    """The same 4xx so many times in a row ends the run."""
    first_backoff: float = 0.5
    longest_backoff: float = 30.0
    longest_wait: float = 600.0
    """An endpoint that asks to wait longer, or that has only asked to wait for so long, ends the run."""
    start_patience: float = 10.0
    """How long to try when nothing can be reached from the start."""
    outage_patience: float = 300.0
    """How long to try when the endpoint has answered before."""
    drain: float = 10.0
    """How long to wait for what is under way when nothing more is sent."""
    max_requests: int | None = None
    """Requests of this sitting."""
    max_tokens: int | None = None
    """Tokens of the whole run, prompts and answers."""
    max_cost: float | None = None
    """Money of the whole run, by `price`."""
    price: Price | None = None
    allow_missing: float = ALLOW_MISSING
    """The share of the attempts that may end without an answer to measure (`check_complete`)."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("concurrency", "tries", "malformed_tries", "deadline"):
            if not (value := getattr(self, name)) > 0:
                raise BadParameter(f"The {name!r} parameter of Policy must be more than 0. Got {value} instead.")
        for name in ("max_requests", "max_tokens", "max_cost"):
            if (limit := getattr(self, name)) is not None and not limit >= 0:
                raise BadParameter(f"The {name!r} parameter of Policy must be 0 or more. Got {limit} instead.")
        if self.max_cost is not None and self.price is None:
            raise BadParameter("A limit on the cost needs a price: what a token of this model costs is not known.")


def missing_share(counts: Mapping[Status, int]) -> float:
    """The share of the planned attempts that have no answer to measure."""
    planned = sum(counts.values())
    return 1 - sum(counts[status] for status in MEASURED) / planned if planned else 0.0


def check_complete(counts: Mapping[Status, int], path: Path, allow_missing: float = ALLOW_MISSING) -> None:
    """Refuse a run in which more is missing than allowed: Incomplete, exit 3."""
    share = missing_share(counts)
    if share <= allow_missing:
        return
    states = ", ".join(f"{n:,} {status}" for status, n in counts.items() if n and status not in MEASURED)
    way_on = f" To ask for what is pending: equipoise resume {path}" if counts[Status.PENDING] else ""
    raise Incomplete(
        f"{share:.1%} of the {sum(counts.values()):,} attempts in {path} have no answer to measure, "
        f"and at most {allow_missing:.1%} may be missing: {states}.{way_on}"
    )
