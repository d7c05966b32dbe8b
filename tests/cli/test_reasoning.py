"""Models that reason until no token is left: recognised, said, and asked again with a larger limit."""

from __future__ import annotations

import json

import polars as pl
import pytest

from calling import Command
from equipoise.probes import get_probe
from equipoise.runs.run import Run
from equipoise.schema import Status
from serving.faults import Fault
from serving.faulty import FaultyServer, sealed

pytestmark = pytest.mark.fault("E12")
LIMIT = get_probe("jobs_lum").max_tokens


class Thinker(FaultyServer):
    """Thinks for long about prompts with a word: with fewer tokens than it `needs`, no text comes."""

    more = ""
    """Added to each answer."""

    def __init__(self, needs: int = 10_000, about: str = "babysitter") -> None:
        super().__init__(self._behave)
        self._needs, self._about = needs, about

    def _behave(self, prompt: str, nth: int) -> Fault | str:
        limit = self.received[-1].body["max_tokens"]
        is_silent = self._about in prompt and limit < self._needs
        return Fault.LENGTH_WITHOUT_TEXT if is_silent else sealed(prompt) + self.more

    def limits(self) -> dict[bool, set[int]]:
        """The limits that were sent, for babysitters and for the others."""
        found: dict[bool, set[int]] = {True: set(), False: set()}
        for request in self.received:
            found["babysitter" in request.body["messages"][-1]["content"]].add(request.body["max_tokens"])
        return found


def words(server: FaultyServer) -> list[str]:
    where = ["--base-url", server.url, "--probe", "jobs_lum", "--sample", "12", "--out", "run.equipoise"]
    return ["run", "vllm/test", *where]


def test_empty_answers_say_why_and_are_asked_again_with_more_tokens(command: Command) -> None:
    with Thinker() as server:
        first = command(*words(server))
        assert first.code == 3
        assert "1 answers are empty because the token limit was reached before any text came." in first.out
        assert "equipoise resume run.equipoise --retry empty --max-tokens 16384" in first.out
        assert json.loads(command("show", "run.equipoise", "--json").out)["complete"] is False
        detail = Run.open("run.equipoise").attempts().filter(pl.col("status") == Status.EMPTY)["detail"].item()
        assert detail.startswith("the token limit went into reasoning")
        assert first.err.endswith("again: equipoise resume run.equipoise --retry empty --max-tokens 16384\n")
        assert command("resume", "run.equipoise", "--retry", "empty").code == 3
        again = command("resume", "run.equipoise", "--retry", "empty", "--max-tokens", "16384")
        assert again.code == 0
        assert server.limits() == {True: {LIMIT, 512, 1024, 2048, 4096, 8192, 16384}, False: {LIMIT}}
    assert "· complete ·" in again.out
    assert "1 attempts that were empty, and 0 that were pending, were asked with up to 16,384 tokens." in again.out
    assert "The limit of the 11 answers before them was smaller." in again.out
    run = Run.open("run.equipoise")
    assert (run.complete, run.provenance.spent_on_reasoning) == (True, 0)


def test_a_raised_limit_also_holds_for_what_was_never_asked_and_is_kept(command: Command) -> None:
    with Thinker() as server:
        server.behaviour = lambda prompt, nth: Fault.LENGTH_WITHOUT_TEXT
        assert command(*words(server), "--max-requests", "3").code == 4
        server.behaviour = sealed
        server.received.clear()
        again = "--retry", "empty", "--max-tokens", "500"
        assert command("resume", "run.equipoise", *again, "--max-requests", "5").code == 4
        assert command("resume", "run.equipoise").code == 0
        assert [request.body["max_tokens"] for request in server.received] == [500] * 12
        # The settings say it, too: the same run is now one that was started with this limit.
        assert command(*words(server), "--max-tokens", "500").code == 0
        assert "max_tokens: was 500, is not given" in command(*words(server)).err


@pytest.mark.fault("L6")
def test_the_limit_of_a_model_that_always_reasons_is_raised_by_the_first_prompt(command: Command) -> None:
    probes = ["--probe", "jobs_lum", "--probe", "hiring_an", "--sample", "30", "--repeat", "1"]
    with Thinker(1_500, about="") as server:
        started = ["run", "custom/reason", *probes, "--base-url", server.url, "--out", "run.equipoise"]
        stopped = command(*started, "--max-requests", "20")
        assert stopped.code == 4
        assert command(*started).code == 0, "the same command goes on"
        limits = [request.body["max_tokens"] for request in server.received]
    assert limits[1:4] == [512, 1024, 2048]
    assert set(limits[4:]) == {4096}, "no other prompt is wasted"
    assert "custom/reason reasons before it answers. Its answers may have up to 4,096 tokens" in stopped.err
    assert "reasoning_effort" in stopped.err
    run = Run.open("run.equipoise")
    assert (run.complete, run.record.spec.max_tokens, run.record.limit_raised) == (True, 4_096, True)


@pytest.mark.fault("L6")
def test_a_model_that_never_stops_reasoning_ends_the_run_soon(command: Command) -> None:
    with Thinker(10**9, about="") as server:
        stopped = command(*words(server), "--concurrency", "1")
        assert (stopped.code, server.total) == (4, 3 * 6)
    assert "larger limit: add --retry empty --max-tokens " in stopped.err


@pytest.mark.fault("L6")
def test_a_run_that_turns_out_dearer_stops_and_to_resume_it_is_to_say_yes(command: Command) -> None:
    with Thinker(1_500, about="") as server:
        server.more = " Well." * 2_000
        stopped = command(*words(server), "--price", "1,50")
        assert (stopped.code, server.total) == (2, 4)
        assert "to go on is to say it" in stopped.err
        assert Run.open("run.equipoise").record.spec.max_tokens is None
        assert command("resume", "run.equipoise").code == 0


def test_limits_that_make_no_sense(command: Command) -> None:
    with Thinker() as server:
        assert command(*words(server)).code == 3
        asked = server.total
        for options, message in (
            (["--max-tokens", "500"], "Name them, too (--retry empty)"),
            (["--retry", "empty", "--max-tokens", str(LIMIT)], f"larger than that of the run, {LIMIT} tokens"),
        ):
            outcome = command("resume", "run.equipoise", *options)
            assert (outcome.code, server.total, message in outcome.err) == (2, asked, True), outcome.err
    assert Run.open("run.equipoise").counts[Status.EMPTY] == 1
