"""The question before a large run: what it would take, and whether to start it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from equipoise.cli.output import note
from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.runs.estimate import RunEstimate

MOST_PROMPTS = 2_000
MOST_DOLLARS = 1.0
"""A run that sends more prompts, or costs more, is not started without a question."""


def confirm_run(expected: RunEstimate, *, yes: bool, under_way: bool = False) -> None:
    """Ask before a large run, unless the user said yes or set a limit. Where nobody can answer, it is refused.

    Of a run that is `under_way` nobody is asked, because its progress is being drawn: it stops, and to resume it is to
    say yes.
    """
    spec, prompts = expected.spec, expected.total("attempts")
    if prompts <= MOST_PROMPTS and (expected.cost or 0.0) <= MOST_DOLLARS:
        return
    tokens = expected.total("prompt_tokens") + expected.total("completion_tokens")
    asked = f"{spec.model}, {spec.suite} suite: {prompts:,} prompts, about {tokens:,} tokens"
    note(f"{asked}, {describe_price(expected)}")
    if yes or any(limit is not None for limit in (spec.max_cost, spec.max_requests, spec.max_tokens_total)):
        return
    if under_way:
        raise InputError(
            "The model reasons before it answers, so the run is larger than it seemed, as said above. It needs a yes: "
            "to go on is to say it."
        )
    can_ask = sys.stdin.isatty() and sys.stderr.isatty()
    if not (can_ask and typer.confirm("Start it?", err=True)):
        raise InputError(
            f"A run of more than {MOST_PROMPTS:,} prompts or ${MOST_DOLLARS:.2f} needs a yes. Nothing was sent. "
            "To start it, give the same command with --yes. To stop at a limit: --max-cost, --max-requests or "
            "--max-tokens-total. To ask less: --suite quick, --sample or --until-certain."
        )


def describe_price(expected: RunEstimate) -> str:
    """The money and the time that a run would take."""
    from equipoise.runs.ask import events

    money = "price not known (--price)" if expected.cost is None else f"about ${expected.cost:,.2f}"
    requests = "requests" if expected.concurrency > 1 else "request"
    time = f"about {events.describe_duration(expected.seconds)} at {expected.concurrency} {requests} at a time"
    return f"{money}, {time} (a guess from usual speeds)"
