"""What the pump reports, as plain values that only the command line draws; and whether enough was answered."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import Incomplete
from equipoise.schema import ALLOW_MISSING, MEASURED, Counts, Status

FIRST_RAISED_LIMIT, LARGEST_LIMIT = 512, 8_192
"""If the token limit went into reasoning, the prompt is asked again with at least the first, then with twice as many
tokens, up to the largest."""


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """How far the run is. `counts` holds only what is durably stored."""

    counts: Counts
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
    role: str = "model"
    """Whom: the "model", or then the "judge", of whom verdicts are counted instead of attempts."""
    wait: float = 0.0
    """For how many seconds from now nothing is sent."""
    wait_reason: str = ""
    """Why: "rate limit" or "outage"."""


Event = RunProgress | str
"""How far the run is; or a note, something that the user should know, which is reported once."""
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


def retry_options(failures: Iterable[Status], limit: int | None) -> str:
    """The options of `resume` that ask these failures again, with more tokens than a limit that was too small."""
    larger = "" if limit is None else f" --max-tokens {max(2 * LARGEST_LIMIT, 4 * limit)}"
    return f"--retry {','.join(status.value for status in failures)}{larger}"


def describe_failures(counts: Mapping[Status, int]) -> str:
    """How many attempts are in each state in which there is no answer to measure."""
    return ", ".join(f"{n:,} {status}" for status, n in counts.items() if n and status not in MEASURED)


def check_complete(
    counts: Counts,
    path: Path | None,
    allow_missing: float = ALLOW_MISSING,
    *,
    small_limit: int | None = None,
) -> None:
    """Refuse a run, or answers without a run file, in which more is missing than allowed: Incomplete, exit 3.

    `small_limit` is the token limit of the run, if answers are empty because of it.
    """
    if counts.missing_share <= allow_missing:
        return
    resume = f"equipoise resume {shlex.quote(str(path))}"
    hint = f"\nTo ask for what is pending: {resume}" if path and counts[Status.PENDING] else ""
    if path and counts.failed:
        hint += f"\nTo ask for failures again: {resume} {retry_options(counts.failed, small_limit)}"
    where = f"in {path}" if path else "of the plan"
    raise Incomplete(
        f"{counts.missing_share:.1%} of the {counts.planned:,} attempts {where} have no answer to measure, "
        f"and at most {allow_missing:.1%} may be missing: {describe_failures(counts)}.{hint}"
    )
