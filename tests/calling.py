"""The command as a user types it, in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from equipoise.cli import main


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def output(outcome: Outcome) -> str:
    """What a command printed that succeeded."""
    assert outcome.code == 0, outcome.err
    return outcome.out


def exit_code(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run `equipoise` with these words and give its exit code."""
    monkeypatch.setattr(sys, "argv", ["equipoise", *words])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0
