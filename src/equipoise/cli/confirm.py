"""The question before a large run: what it would take, and whether to start it."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import typer

from equipoise.cli.output import note
from equipoise.errors import InputError

if TYPE_CHECKING:
    from equipoise.runs.ask.policy import Policy
    from equipoise.runs.expected import RunEstimate

MOST_PROMPTS = 2_000
MOST_DOLLARS = 1.0
"""A run that sends more prompts, or costs more, is not started without a question."""
HOLDS_SECRETS = ("--header", "--allow-secret-url", "--extra")
"""Options beside which a command may hold a secret, so that it is not repeated in a message."""


def confirm_run(expected: RunEstimate, policy: Policy, *, yes: bool) -> None:
    """Ask before a large run, unless the user said yes or set a limit. Where nobody can answer, it is refused."""
    if expected.total("attempts") <= MOST_PROMPTS and (expected.cost or 0.0) <= MOST_DOLLARS:
        return
    note(describe_expected(expected))
    if yes or policy.has_budget:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"A run of more than {MOST_PROMPTS:,} prompts or ${MOST_DOLLARS:.2f} needs a yes, and nobody can be asked "
            f"here. Nothing was sent. To start it: {_repeat_command('--yes')} "
            "· To stop at a limit: --max-cost, --max-requests or --max-tokens-total. To ask less: --suite quick."
        )
    if not typer.confirm("Start it?", err=True):
        raise InputError(
            "Not started; nothing was sent. To ask less: --suite quick, --sample K or --until-certain. "
            "To stop at a limit: --max-cost D, --max-requests N."
        )


def describe_expected(expected: RunEstimate) -> str:
    """Prompts, tokens, money and time in one sentence."""
    tokens = expected.total("prompt_tokens") + expected.total("completion_tokens")
    money = "price not known (--price)" if expected.cost is None else f"about ${expected.cost:,.2f}"
    return (
        f"{expected.model}, {expected.suite} suite: {expected.total('attempts'):,} prompts, about {tokens:,} tokens, "
        f"{money}, {describe_time(expected)}"
    )


def describe_time(expected: RunEstimate) -> str:
    """How long a run would take."""
    from equipoise.runs.ask import events

    requests = "requests" if expected.concurrency > 1 else "request"
    at_once = f"{expected.concurrency} {requests} at a time"
    return f"about {events.describe_duration(expected.seconds)} at {at_once} (a guess from usual speeds)"


def _repeat_command(option: str) -> str:
    """The command that was typed, with one more option; not repeated where it may hold a secret."""
    words = sys.argv[1:]
    if any(word.partition("=")[0] in HOLDS_SECRETS for word in words):
        return f"the same command with {option}"
    return shlex.join(["equipoise", *words[:1], option, *words[1:]])  # before a "--", if there is one
