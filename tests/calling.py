"""The command as a user types it, in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import pytest
from typer import main as typer_main
from typer.core import TyperCommand, TyperGroup

from equipoise.cli import app, main

typer_main.get_command = cache(typer_main.get_command)  # making all commands takes longer than many of them do


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


def all_commands(group: TyperGroup, *words: str) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    """The commands below a group, each with the words that call it."""
    for name, one in group.commands.items():
        if isinstance(one, TyperGroup):
            yield from all_commands(one, *words, name)
        else:
            assert isinstance(one, TyperCommand)
            yield (*words, name), one


def root() -> TyperGroup:
    """The command line as it is."""
    group = typer_main.get_command(app)
    assert isinstance(group, TyperGroup)
    return group
