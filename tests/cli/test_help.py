"""The help: every command in its group, with an example, at once; a command imports only what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import equipoise
from calling import Command, all_commands, output, root
from equipoise.cli import COMMANDS, MANY, OPTIONS

HEAVY = {
    "polars",
    "numpy",
    "rich",
    "aiohttp",
    "jinja2",
    "sqlite3",
    "scipy",
    "xllamacpp",
    "vl_convert",
    "ray",
}
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
    assert shown.index("--judge-price") > shown.index("More: a judge:")


def known_options() -> set[str]:
    """The options of all commands."""
    known: set[str] = set()
    for _, one in all_commands(root()):
        for parameter in one.params:
            known |= set(parameter.opts)
    return known


def test_every_option_that_has_a_group_is_one() -> None:
    grouped = {name for names in OPTIONS.values() for name in names.split()}
    assert grouped - known_options() == set()


def test_usual_options_have_a_letter() -> None:
    assert {"-m", "-p", "-q", "-o", "-y"} <= known_options()


def test_a_command_with_few_options_lists_them_plainly(command: Command) -> None:
    assert "Options:\n" in output(command("show", "--help"))


def test_the_version(command: Command) -> None:
    assert output(command("--version")) == f"{equipoise.__version__}\n"


def run_counting_imports(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that says at its end which heavy modules it imported."""
    code = CODE.format(heavy=HEAVY, words=list(words))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def find_heavy(done: subprocess.CompletedProcess[str]) -> set[str]:
    """The heavy modules that a command imported."""
    found: set[str] = eval(done.stderr.splitlines()[-1])
    return found


HELP = [["--help"], ["run", "--help"], ["gate", "--help"], ["data", "--help"], ["--version"]]


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_the_help_imports_nothing_heavy(words: list[str]) -> None:
    done = run_counting_imports(*words)
    assert done.returncode == 0
    assert done.stdout
    assert find_heavy(done) <= {"sqlite3"}


def test_a_command_that_works_imports_what_it_needs_and_no_more() -> None:
    """This also shows that the test above can see an import."""
    done = run_counting_imports("prompts", "jobs_lum", "--sample", "1")
    assert done.stdout
    found = find_heavy(done)
    assert "polars" in found
    assert found & {"aiohttp", "jinja2", "scipy", "xllamacpp", "vl_convert", "ray"} == set()


def test_scoring_imports_ray_only_if_it_is_asked_to(tmp_path: Path) -> None:
    for number in (1, 2):
        line = json.dumps({"id": str(number), "answer": "He."})
        (tmp_path / f"{number}.jsonl").write_text(line)
    done = run_counting_imports("score", str(tmp_path), "--probe", "jobs_lum")
    assert "None of the 2 answers belongs to a planned prompt." in done.stderr
    found = find_heavy(done)
    assert "polars" in found
    assert "ray" not in found
