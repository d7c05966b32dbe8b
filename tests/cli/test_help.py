"""The help: every command in its group, with an example, at once; a command imports only what it needs."""

from __future__ import annotations

import subprocess
import sys

import equipoise
from calling import Command, all_commands, output, root
from equipoise.cli import COMMANDS, MANY, OPTIONS

HEAVY = {"polars", "numpy", "rich", "aiohttp", "jinja2", "sqlite3", "scipy", "xllamacpp", "vl_convert", "ray"}
CODE = """
import atexit, sys
atexit.register(lambda: print({{name.partition(".")[0] for name in sys.modules}} & {heavy}, file=sys.stderr))
sys.argv = ["equipoise", *{words}]
from equipoise.cli import main
main()
"""


def test_every_command_has_help_with_an_example(command: Command) -> None:
    for words, _ in all_commands(root()):
        shown = output(command(*words, "--help"))
        assert f"equipoise {' '.join(words)}" in " ".join(shown.split("Example")[-1].split()), words


def test_every_command_stands_in_one_group(command: Command) -> None:
    assert len(root().commands) == 1 + sum(map(len, COMMANDS.values()))
    shown = output(command("--help"))
    assert [title for title in COMMANDS if f"{title}:\n" not in shown] == []
    assert [name for name in root().commands if f"\n  {name} " not in shown] == []


def test_the_options_of_run_stand_in_groups(command: Command) -> None:
    shown = output(command("run", "--help"))
    places = [shown.index(f"\n{title}:\n") for title in ("Arguments", *OPTIONS, "More")]
    assert places == sorted(places)
    options = {name for parameter in root().commands["run"].params for name in parameter.opts if name.startswith("--")}
    assert len(options) > MANY
    assert [name for name in options if name not in shown] == []  # none is lost
    known = {name for _, one in all_commands(root()) for parameter in one.params for name in parameter.opts}
    assert {name for names in OPTIONS.values() for name in names.split()} <= known
    assert {"-m", "-p", "-q", "-o", "-y"} <= known
    assert "Options:\n" in command("show", "--help").out  # few options are listed plainly


def test_the_version(command: Command) -> None:
    assert output(command("--version")) == f"{equipoise.__version__}\n"


def test_the_help_imports_nothing_heavy() -> None:
    code = CODE.format(heavy=HEAVY, words=["run", "--help"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
    assert eval(done.stderr.splitlines()[-1]) <= {"sqlite3"}
