"""`equipoise estimate`: what a run would take; and `run`, which asks before a large one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calling import Command, output
from equipoise.cli.output import Outlet
from equipoise.probes import get_probe
from equipoise.runs.reaching import default_suite
from equipoise.runs.run import Run
from equipoise.runs.spec import RunSpec
from equipoise.runs.suites import find_size
from equipoise.settings import environment
from serving.asking import KEY
from serving.faulty import FaultyServer

COSTLY = ("--sample", "12", "--price", "100000,100000")
"""Dollars for a million tokens: twelve prompts cost more than a dollar."""
DECISIONS = ("--probe", "discrimination_tamkin", "--set", "corpus=scenarios", "--sample", 12)


def estimate(command: Command, *words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(command("estimate", *words, "--json")))
    return found


def test_an_estimate_counts_what_would_be_sent(command: Command) -> None:
    probes = ["--probe", "jobs_lum", "--probe", "hiring_an"]
    words = ["openai/gpt-4o-mini", *probes, "--suite", "quick", "--repeat", "3"]
    found = estimate(command, *words)
    assert found["attempts"] == 3 * found["prompts"]
    assert found["attempts"] == sum(row["attempts"] for row in found["probes"])
    assert "in all" in output(command("estimate", *words))


def test_an_estimate_has_its_price_from_the_tokens(command: Command) -> None:
    found = estimate(command, "openai/gpt-4o-mini", "--probe", "jobs_lum", "--price", "1,10")
    dollars = (found["prompt_tokens"] + 10 * found["completion_tokens"]) / 1e6
    assert found["cost"] == pytest.approx(dollars)


def test_a_simulated_model_is_free_and_fast(command: Command) -> None:
    simulated = estimate(command, "simulated/unbiased", "--probe", "jobs_lum")
    assert simulated["cost"] == 0
    assert simulated["seconds"] < 1


def test_an_estimate_needs_a_provider_that_is_known(command: Command) -> None:
    unknown = command("estimate", "opnai/x")
    assert unknown.code == 2
    assert "openai" in unknown.err


def test_an_estimate_counts_one_token_for_a_decision(command: Command) -> None:
    assert estimate(command, "openai/gpt-4o-mini", *DECISIONS)["completion_tokens"] > 3 * 12
    once = estimate(command, "openai/gpt-4o-mini", *DECISIONS, "--probabilities")
    assert once["completion_tokens"] == 3 * 12


def test_probabilities_are_asked_once_in_the_standard_suite_too(command: Command) -> None:
    words = ("openai/gpt-4o-mini", "--probe", "jobs_lum", "--probabilities")
    assert estimate(command, *words)["completion_tokens"] == 339


def test_a_probe_without_one_deciding_word_has_no_probabilities(command: Command) -> None:
    assert command("estimate", "--probe", "hiring_an", "--probabilities").code == 2


def test_an_estimate_says_what_probabilities_would_take(command: Command) -> None:
    both = command("estimate", "openai/gpt-4o-mini", *DECISIONS).out
    assert "With --probabilities: " in both
    told = "36 tokens of answers, one for each prompt of discrimination_tamkin"
    assert told in " ".join(both.split())


def test_probabilities_are_offered_only_where_one_word_decides(command: Command) -> None:
    words = ("estimate", "openai/gpt-4o-mini", "--probe", "gest_translation", "--suite", "ci")
    assert "With --probabilities" not in output(command(*words))
    chosen = (*words, "--set", "gest_translation.design=choose")
    assert "With --probabilities" in output(command(*chosen))


def test_the_standard_suite_has_the_sizes_of_the_cards(command: Command, corpora: Path) -> None:
    founding = [
        "business_vocabulary",
        "discrimination_tamkin",
        "gest_creative",
        "hiring_an",
        "jobs_lum",
    ]
    chosen = [word for name in founding for word in ("--probe", name)]
    assert estimate(command, "openai/gpt-4o-mini", *chosen)["prompts"] == 25_556


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
    assert "give the same command with --yes" in outcome.err
    assert not Path("run.equipoise").exists()


def test_a_secret_is_not_repeated_in_the_question(command: Command) -> None:
    with FaultyServer() as server:
        outcome = command(*words(server, "--extra", '{"api_key": "sk-canary-0123456789"}'))
        assert (outcome.code, server.total) == (2, 0)
    assert "give the same command with --yes" in outcome.err
    assert "canary" not in outcome.err


def test_money_needs_a_yes_too(command: Command) -> None:
    with FaultyServer() as server:
        refused = command(*words(server, *COSTLY))
        assert (refused.code, server.total) == (2, 0)
        assert "12 prompts" in refused.err
        assert "about $" in refused.err
        assert command(*words(server, *COSTLY, "--yes")).code == 0
        assert server.total == 12


BUDGETS = [("--max-requests", "3"), ("--max-cost", "0.5"), ("--max-tokens-total", "40")]


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget[0])
def test_a_budget_is_a_yes(budget: tuple[str, str], command: Command) -> None:
    with FaultyServer() as server:
        outcome = command(*words(server, *COSTLY, *budget))
        assert outcome.code == 4
        assert 0 < server.total < 12
    assert "12 prompts, about" in outcome.err


def test_a_run_that_goes_on_was_agreed_to(command: Command) -> None:
    with FaultyServer() as server:
        assert command(*words(server, *COSTLY, "--max-requests", "3")).code == 4
        assert command(*words(server, *COSTLY)).code == 0
        assert server.total == 12


@pytest.mark.parametrize(("typed", "code", "sent"), [("n", 2, 0), ("y", 0, 12)])
def test_on_a_terminal_it_is_asked(
    typed: str,
    code: int,
    sent: int,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Outlet, "isatty", lambda _: True)
    answers = io.StringIO(f"{typed}\n")
    answers.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", answers)
    with FaultyServer() as server:
        outcome = command(*words(server, *COSTLY))
        assert (outcome.code, server.total) == (code, sent)
    assert "Start it?" in outcome.err
    assert ("Nothing was sent" in outcome.err) == (typed == "n")


@pytest.mark.skipif(os.name == "nt", reason="There are no terminals like these.")
@pytest.mark.parametrize(("typed", "code", "sent"), [("n", 2, 0), ("y", 0, 12)])
def test_a_real_terminal_shows_the_question_and_takes_the_answer(
    typed: str,
    code: int,
    sent: int,
    tmp_path: Path,
) -> None:
    import pty

    ours, theirs = pty.openpty()
    with FaultyServer() as server:
        child = subprocess.Popen(
            [sys.executable, "-m", "equipoise", *words(server, *COSTLY)],
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.DEVNULL,
            cwd=tmp_path,
            env={**environment(), "OPENAI_API_KEY": KEY},
        )
        os.close(theirs)
        shown = b""
        while b"Start it?" not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, f"{typed}\n".encode())
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:  # the other side is closed
                break
            if not more:
                break
            shown += more
        child.wait()
        os.close(ours)
        assert (child.returncode, server.total) == (code, sent), shown
    assert b"12 prompts" in shown


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
def test_a_model_on_this_machine_gets_the_quick_suite(
    model: str,
    base_url: str | None,
    suite: str,
) -> None:
    assert default_suite(RunSpec(model=model, base_url=base_url)) == suite


def test_the_quick_suite_of_a_model_on_this_machine_needs_no_question(command: Command) -> None:
    with FaultyServer() as server:
        where = ("--base-url", server.url, "--probe", "jobs_lum", "--out", "run.equipoise")
        assert command("run", "vllm/test", *where).code == 0
        assert server.total == find_size(get_probe("jobs_lum"), "quick")["sample"]
    assert Run.open("run.equipoise").record.spec.suite == "quick"
