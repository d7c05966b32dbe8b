"""Before a large run: what it would take is shown and a yes is needed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from calling import Command
from equipoise.probes import get_probe
from equipoise.runs.reaching import default_suite
from equipoise.runs.run import Run
from equipoise.runs.sizes import find_size
from equipoise.runs.spec import RunSpec
from serving.faulty import FaultyServer

COSTLY = ("--price", "100000,100000")
"""Dollars for a million tokens: twelve prompts cost more than a dollar."""


def words(server: FaultyServer, *more: str) -> list[str]:
    where = ["--base-url", server.url, "--probe", "jobs_lum", "--out", "run.equipoise"]
    return ["run", "openai/test", *where, *more]


def test_many_prompts_need_a_yes(command: Command) -> None:
    with FaultyServer() as server:
        outcome = command(*words(server))
        assert (outcome.code, server.total) == (2, 0)
    assert "openai/test, standard suite: 2,712 prompts, about " in outcome.err
    assert "price not known" in outcome.err
    assert "a guess from usual speeds" in outcome.err
    _, _, typed = outcome.err.partition("To start it: equipoise ")
    with FaultyServer(port=server.port) as server:
        again = shlex.split(typed.partition(" ·")[0])
        assert command(*again, "--max-requests", "3").code == 4
        assert server.total == 3
    Path("run.equipoise").unlink()
    assert not Path("run.equipoise").exists()


def test_money_needs_a_yes_too(command: Command) -> None:
    with FaultyServer() as server:
        refused = command(*words(server, "--sample", "12", *COSTLY))
        assert (refused.code, server.total) == (2, 0)
        assert "12 prompts" in refused.err
        assert "about $" in refused.err
        assert command(*words(server, "--sample", "12", *COSTLY, "--yes")).code == 0
        assert server.total == 12


@pytest.mark.parametrize("budget", [("--max-requests", "3"), ("--max-cost", "0.5"), ("--max-tokens-total", "40")])
def test_a_budget_is_a_yes_and_so_is_a_run_that_goes_on(budget: tuple[str, ...], command: Command) -> None:
    with FaultyServer() as server:
        outcome = command(*words(server, "--sample", "12", *COSTLY, *budget))
        assert outcome.code == 4
        assert 0 < server.total < 12
        assert command(*words(server, "--sample", "12", *COSTLY)).code == 0
    assert "12 prompts, about" in outcome.err


def test_a_secret_is_not_repeated(command: Command) -> None:
    with FaultyServer() as server:
        outcome = command(*words(server, "--extra", '{"api_key": "sk-canary-0123456789"}'))
    assert outcome.code == 2
    assert "the same command with --yes" in outcome.err
    assert "canary" not in outcome.err


@pytest.mark.skipif(os.name == "nt", reason="There are no terminals like these.")
@pytest.mark.parametrize(("answer", "code", "sent"), [("n", 2, 0), ("y", 0, 12)])
def test_on_a_terminal_it_is_asked(answer: str, code: int, sent: int, tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    with FaultyServer() as server:
        child = subprocess.Popen(
            [sys.executable, "-m", "equipoise", *words(server, "--sample", "12", *COSTLY)],
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.DEVNULL,
            cwd=tmp_path,
        )
        os.close(theirs)
        shown = b""
        while b"Start it?" not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, f"{answer}\n".encode())
        while child.poll() is None:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # the other side is closed
                child.wait()
        os.close(ours)
        assert (child.returncode, server.total) == (code, sent), shown
    assert b"12 prompts" in shown
    assert (b"Not started" in shown) == (answer == "n")


SUITES = [
    ("ollama/m", None, "quick"),
    ("vllm/m", "http://127.0.0.1:9999/v1", "quick"),
    ("vllm/m", "http://gpu.example.org/v1", "standard"),
    ("custom/m", "http://[::1]:8000/v1", "quick"),
    ("openai/m", "http://127.0.0.1:9999/v1", "standard"),
    ("litellm/m", None, "standard"),
    ("openai/m", None, "standard"),
    ("embedded", None, "quick"),
    ("simulated/stereotyping", None, "ci"),
]


@pytest.mark.parametrize(("model", "base_url", "suite"), SUITES)
def test_a_model_on_this_machine_gets_the_quick_suite(model: str, base_url: str | None, suite: str) -> None:
    assert default_suite(RunSpec(model=model, base_url=base_url)) == suite


def test_the_quick_suite_of_a_model_on_this_machine_needs_no_question(command: Command) -> None:
    with FaultyServer() as server:
        where = ("--base-url", server.url, "--probe", "jobs_lum", "--out", "run.equipoise")
        assert command("run", "vllm/test", *where).code == 0
        assert server.total == find_size(get_probe("jobs_lum"), "quick")["sample"]
    assert Run.open("run.equipoise").settings.spec.suite == "quick"
