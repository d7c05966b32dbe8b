"""The help, in groups."""

from __future__ import annotations

import typer
from typer.core import TyperGroup

from calling import Command
from equipoise.cli import app
from equipoise.cli.groups import COMMANDS, MANY, OPTIONS


def test_every_command_stands_in_one_group(command: Command) -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    assert sorted(name for names in COMMANDS.values() for name in names) == sorted(root.commands)
    shown = command("--help").out
    assert [title for title in COMMANDS if f"{title}:\n" not in shown] == []


def test_the_options_of_run_stand_in_groups(command: Command) -> None:
    shown = command("run", "--help").out
    places = [shown.index(f"\n{title}:\n") for title in ("Arguments", *OPTIONS, "More")]
    assert places == sorted(places)
    assert shown.index("--judge-price") > shown.index("More: a judge:")
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    options = {name for parameter in root.commands["run"].params for name in parameter.opts if name.startswith("--")}
    assert len(options) > MANY
    assert [name for name in options if name not in shown] == []  # none is lost
    named = {name for names in OPTIONS.values() for name in names.split()}
    assert named - {"--no-judge"} <= options


def test_a_command_with_few_options_lists_them_plainly(command: Command) -> None:
    assert "Options:\n" in command("show", "--help").out
