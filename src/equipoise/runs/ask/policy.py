"""How a model is asked, as one frozen value, and when a run counts as complete."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import BadParameter, Incomplete
from equipoise.schema import ALLOW_MISSING, MEASURED, Status, missing_share

FIRST_RAISED_LIMIT, LARGEST_LIMIT = 512, 8_192
"""If the token limit went into reasoning, the prompt is asked again with at least the first, then with twice as many
tokens, up to the largest."""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Requests of this session, and tokens and money of the whole run."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


PriceFunction = Callable[[int, int], float]
"""Takes the tokens of prompts and of answers; returns what they cost."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """How a model is asked. Times are in seconds."""

    concurrency: int = 16
    """The largest number of requests at a time. There are fewer while the endpoint says that it is too many."""
    deadline: float = 300.0
    """What one attempt may take in all: its requests and the pauses between them.

    Pauses that the endpoint asks for, and its outages, do not count.
    """
    tries: int = 4
    """Requests per attempt, when the server fails or the connection breaks."""
    first_backoff: float = 0.5
    longest_backoff: float = 30.0
    outage_patience: float = 300.0
    """How long to try when the endpoint has responded before."""
    drain: float = 10.0
    """How long to wait for requests under way when nothing more is sent."""
    rpm: float | None = None
    """The largest number of requests in a minute, spread evenly."""
    max_requests: int | None = None
    """Requests of this session."""
    max_tokens_total: int | None = None
    """Tokens of the whole run, prompts and answers. (The limit of one answer is `Sampling.max_tokens`.)"""
    max_cost: float | None = None
    """Money for the whole run, by `price`."""
    price: PriceFunction | None = None
    judge_price: PriceFunction | None = None
    """The price of the judge, if there is one: its verdicts count towards the same limits."""
    spent: Spent | None = None
    """What was spent before, on another model, and counts towards the limits."""

    def __post_init__(self) -> None:
        for name in ("concurrency", "tries", "deadline", "rpm"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise BadParameter(f"The {name!r} parameter of Policy must be more than 0. Got {value} instead.")
        for name in ("max_requests", "max_tokens_total", "max_cost"):
            if (limit := getattr(self, name)) is not None and not limit >= 0:
                raise BadParameter(f"The {name!r} parameter of Policy must be 0 or more. Got {limit} instead.")
        if self.max_cost is not None and self.price is None:
            raise BadParameter("A limit on the cost needs a price: what a token of this model costs is not known.")


def retry_options(failures: Iterable[Status], limit: int | None) -> str:
    """The options of `resume` that ask these failures again, with more tokens than a limit that was too small."""
    larger = "" if limit is None else f" --max-tokens {max(2 * LARGEST_LIMIT, 4 * limit)}"
    return f"--retry {','.join(status.value for status in failures)}{larger}"


def describe_failures(counts: Mapping[Status, int]) -> str:
    """How many attempts are in each state in which there is no answer to measure."""
    return ", ".join(f"{n:,} {status}" for status, n in counts.items() if n and status not in MEASURED)


def check_complete(
    counts: Mapping[Status, int],
    path: Path | None,
    allow_missing: float = ALLOW_MISSING,
    *,
    small_limit: int | None = None,
) -> None:
    """Refuse a run, or answers without a run file, in which more is missing than allowed: Incomplete, exit 3.

    `small_limit` is the token limit of the run, if answers are empty because of it.
    """
    share = missing_share(counts)
    if share <= allow_missing:
        return
    failed = [status for status, n in counts.items() if n and status not in (*MEASURED, Status.PENDING)]
    resume = f"equipoise resume {shlex.quote(str(path))}"
    hint = f"\nTo ask for what is pending: {resume}" if path and counts[Status.PENDING] else ""
    if path and failed:
        hint += f"\nTo ask for failures again: {resume} {retry_options(failed, small_limit)}"
    where = f"in {path}" if path else "of the plan"
    raise Incomplete(
        f"{share:.1%} of the {sum(counts.values()):,} attempts {where} have no answer to measure, "
        f"and at most {allow_missing:.1%} may be missing: {describe_failures(counts)}.{hint}"
    )
