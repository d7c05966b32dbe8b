"""`equipoise estimate`: what a run would take; and `run`, which asks before a large one."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from calling import Command, output
from equipoise.cli.output import Outlet
from equipoise.runs.reaching import default_suite
from equipoise.runs.spec import RunSpec
from serving.faulty import FaultyServer

COSTLY = ("--sample", "12", "--price", "100000,100000")
"""Dollars for a million tokens: twelve prompts cost more than a dollar."""
DECISIONS = ("--probe", "discrimination_tamkin", "--set", "corpus=scenarios", "--sample", 12)


def estimate(command: Command, *words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(command("estimate", *words, "--json")))
    return found


def test_an_estimate_counts_what_would_be_sent(command: Command) -> None:
    words = ["openai/gpt-4o-mini", "--probe", "jobs_lum", "--probe", "hiring_an", "--suite", "quick", "--repeat", "3"]
    found = estimate(command, *words, "--price", "1,10")
    assert found["attempts"] == 3 * found["prompts"] == sum(row["attempts"] for row in found["probes"])
    assert found["cost"] == pytest.approx((found["prompt_tokens"] + 10 * found["completion_tokens"]) / 1e6)
    assert "in all" in output(command("estimate", *words))
    simulated = estimate(command, "simulated/unbiased", "--probe", "jobs_lum")
    assert (simulated["cost"], simulated["seconds"] < 1) == (0, True)
    unknown = command("estimate", "opnai/x")
    assert (unknown.code, "openai" in unknown.err) == (2, True)


def test_an_estimate_counts_one_token_for_a_decision(command: Command) -> None:
    assert estimate(command, "openai/gpt-4o-mini", *DECISIONS)["completion_tokens"] > 3 * 12
    assert estimate(command, "openai/gpt-4o-mini", *DECISIONS, "--probabilities")["completion_tokens"] == 3 * 12
    once = estimate(command, "openai/gpt-4o-mini", "--probe", "jobs_lum", "--probabilities")
    assert once["completion_tokens"] == 339, "once, in standard, too"
    assert command("estimate", "--probe", "hiring_an", "--probabilities").code == 2
    both = command("estimate", "openai/gpt-4o-mini", *DECISIONS).out
    assert "With --probabilities: " in both
    assert "36 tokens of answers, one for each prompt of discrimination_tamkin" in " ".join(both.split())
    translations = ("estimate", "openai/gpt-4o-mini", "--probe", "gest_translation", "--suite", "ci")
    assert "With --probabilities" not in output(command(*translations)), "as it is asked there, no one word decides"
    assert "With --probabilities" in output(command(*translations, "--set", "gest_translation.design=choose"))


def test_the_standard_suite_has_the_sizes_of_the_cards(command: Command, corpora: Path) -> None:
    founding = ["business_vocabulary", "discrimination_tamkin", "gest_creative", "hiring_an", "jobs_lum"]
    chosen = [word for name in founding for word in ("--probe", name)]
    assert estimate(command, "openai/gpt-4o-mini", *chosen)["prompts"] == 25_556


def words(server: FaultyServer, *more: str) -> list[str]:
    where = ["--base-url", server.url, "--probe", "jobs_lum", "--out", "run.equipoise"]
    return ["run", "openai/test", *where, *more]


def test_many_prompts_need_a_yes(command: Command) -> None:
    with FaultyServer() as server:
        outcome = command(*words(server, "--extra", '{"api_key": "sk-canary-0123456789"}'))
        assert (outcome.code, server.total) == (2, 0)
    assert "openai/test, standard suite: 2,712 prompts, about " in outcome.err
    assert "price not known" in outcome.err
    assert "a guess from usual speeds" in outcome.err
    assert "give the same command with --yes" in outcome.err
    assert "canary" not in outcome.err
    assert not Path("run.equipoise").exists()


def test_a_budget_is_a_yes_and_so_is_a_run_that_goes_on(command: Command) -> None:
    with FaultyServer() as server:
        assert command(*words(server, *COSTLY, "--max-cost", "0.5")).code == 4
        assert 0 < server.total < 12
        assert command(*words(server, *COSTLY)).code == 0
        Path("run.equipoise").unlink()
        assert command(*words(server, *COSTLY, "--yes")).code == 0


def test_on_a_terminal_it_is_asked(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outlet, "isatty", lambda _: True)
    with FaultyServer() as server:
        for typed, code, sent in (("n", 2, 0), ("y", 0, 12)):
            answers = io.StringIO(f"{typed}\n")
            answers.isatty = lambda: True  # type: ignore[method-assign]
            monkeypatch.setattr("sys.stdin", answers)
            outcome = command(*words(server, *COSTLY))
            assert (outcome.code, server.total, "Start it?" in outcome.err) == (code, sent, True)


SUITES = [
    ("ollama/m", None, "quick"),
    ("vllm/m", "http://gpu.example.org/v1", "standard"),
    ("custom/m", "http://[::1]:8000/v1", "quick"),
    ("openai/m", "http://127.0.0.1:9999/v1", "standard"),
    ("embedded", None, "quick"),
    ("simulated/stereotyping", None, "ci"),
]


@pytest.mark.parametrize(("model", "base_url", "suite"), SUITES)
def test_a_model_on_this_machine_gets_the_quick_suite(model: str, base_url: str | None, suite: str) -> None:
    assert default_suite(RunSpec(model=model, base_url=base_url)) == suite
