"""Models that reason until no token is left: recognised, said, and asked again with a larger limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise
from answering import answer_all
from calling import Command, output
from equipoise.errors import InputError
from equipoise.models.protocol import Reply
from equipoise.probes import get_probe
from equipoise.runs.ask.asker import is_spent_on_reasoning
from equipoise.runs.estimate import RunEstimate
from equipoise.runs.run import Run
from equipoise.schema import Status
from serving.asking import ask_faulty, ask_with_response
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
    where = [
        "--base-url",
        server.url,
        "--probe",
        "jobs_lum",
        "--sample",
        "12",
        "--out",
        "run.equipoise",
    ]
    return ["run", "vllm/test", *where]


def test_empty_answers_say_why(command: Command) -> None:
    with Thinker() as server:
        first = command(*words(server))
    assert first.code == 3
    told = "1 answers are empty because the token limit was reached before any text came."
    assert told in first.out
    assert "equipoise resume run.equipoise --retry empty --max-tokens 16384" in first.out
    assert "· complete ·" not in first.out
    assert "1 of 12 without an answer: 1 empty" in first.out
    assert "enable_thinking" in first.out, "what makes most models of this provider reason less"
    again = "again: equipoise resume run.equipoise --retry empty --max-tokens 16384\n"
    assert first.err.endswith(again)
    assert json.loads(output(command("show", "run.equipoise", "--json")))["complete"] is False
    attempts = Run.open("run.equipoise").attempts()
    detail = attempts.filter(pl.col("status") == Status.EMPTY)["detail"].item()
    assert detail.startswith("the token limit went into reasoning")


def test_empty_answers_are_asked_again_with_more_tokens(command: Command) -> None:
    with Thinker() as server:
        assert command(*words(server)).code == 3
        assert command("resume", "run.equipoise", "--retry", "empty").code == 3
        larger = ("--retry", "empty", "--max-tokens", "16384")
        again = command("resume", "run.equipoise", *larger)
        assert again.code == 0
        limits = {LIMIT, 512, 1024, 2048, 4096, 8192, 16384}
        assert server.limits() == {True: limits, False: {LIMIT}}
    assert "· complete ·" in again.out
    assert "1 attempts that were empty, and 0 that were pending, were asked with" in again.out
    assert "with up to 16,384 tokens." in again.out
    assert "The limit of the 11 answers before them was smaller." in again.out
    run = Run.open("run.equipoise")
    assert run.complete
    assert run.provenance.spent_on_reasoning == 0


@pytest.fixture
def raised(command: Command) -> Iterator[FaultyServer]:
    """A server of a run whose limit was raised to 500 for what was empty and what was pending."""
    with Thinker() as server:
        server.behaviour = lambda prompt, nth: Fault.LENGTH_WITHOUT_TEXT
        assert command(*words(server), "--max-requests", "3").code == 4
        server.behaviour = sealed
        server.received.clear()
        again = ("--retry", "empty", "--max-tokens", "500")
        assert command("resume", "run.equipoise", *again, "--max-requests", "5").code == 4
        yield server


def test_a_raised_limit_also_holds_for_what_was_never_asked_and_is_kept(
    command: Command,
    raised: FaultyServer,
) -> None:
    assert command("resume", "run.equipoise").code == 0
    assert [request.body["max_tokens"] for request in raised.received] == [500] * 12
    assert command("verify", "run.equipoise").code == 0


def test_a_run_whose_limit_was_raised_is_one_that_was_started_with_it(
    command: Command,
    raised: FaultyServer,
) -> None:
    assert command("resume", "run.equipoise").code == 0
    assert command(*words(raised), "--max-tokens", "500").code == 0
    refused = command(*words(raised))
    assert refused.code == 6
    assert "max_tokens: was 500, is not given" in refused.err


def test_the_report_of_a_raised_limit_says_it(command: Command, raised: FaultyServer) -> None:
    assert command("resume", "run.equipoise").code == 0
    equipoise.write_report(["run.equipoise"], "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert "--max-tokens 500" in page


@pytest.mark.fault("L6")
def test_a_prompt_that_is_thought_about_for_long_is_asked_again_by_itself(
    command: Command,
) -> None:
    with Thinker(needs=1_000) as server:
        assert command(*words(server)).code == 0
        assert server.limits() == {True: {LIMIT, 512, 1024}, False: {LIMIT}}
    run = Run.open("run.equipoise")
    [tries] = run.attempts().filter(pl.col("tries") > 1)["tries"]
    assert tries == 3
    assert run.complete
    assert run.record.spec.max_tokens is None
    assert run.record.limit_raised is False


@pytest.mark.fault("L6")
def test_the_limit_of_a_model_that_always_reasons_is_raised_by_the_first_prompt(
    command: Command,
) -> None:
    plan = "--probe jobs_lum --probe hiring_an --sample 30 --repeat 1"
    with Thinker(1_500, about="") as server:
        where = f"--base-url {server.url} --out run.equipoise"
        started = f"run custom/reason {plan} {where}".split()
        stopped = command(*started, "--max-requests", "20")
        assert stopped.code == 4
        assert command(*started).code == 0, "the same command goes on"
        limits = [request.body["max_tokens"] for request in server.received]
    assert limits[1:4] == [512, 1024, 2048]
    assert set(limits[4:]) == {4096}, "no other prompt is wasted"
    told = "custom/reason reasons before it answers. Its answers may have up to 4,096 tokens"
    assert told in stopped.err
    assert "reasoning_effort" in stopped.err
    run = Run.open("run.equipoise")
    assert run.complete
    assert run.record.spec.max_tokens == 4_096
    assert run.record.limit_raised is True
    assert command("verify", "run.equipoise").code == 0


@pytest.mark.fault("L6")
def test_a_model_that_never_stops_reasoning_ends_the_run_soon(command: Command) -> None:
    with Thinker(10**9, about="") as server:
        stopped = command(*words(server), "--concurrency", "1")
        assert (stopped.code, server.total) == (4, 3 * 6)
    assert "larger limit: add --retry empty --max-tokens " in stopped.err


@pytest.mark.fault("L6")
def test_a_run_that_turns_out_dearer_stops_and_to_resume_it_is_to_say_yes(
    command: Command,
) -> None:
    with Thinker(1_500, about="") as server:
        server.more = " Well." * 2_000
        stopped = command(*words(server), "--price", "1,50")
        assert (stopped.code, server.total) == (2, 4)
        assert "to go on is to say it" in stopped.err
        assert Run.open("run.equipoise").record.spec.max_tokens is None
        assert command("resume", "run.equipoise").code == 0


@pytest.mark.fault("L6")
def test_the_library_is_asked_again_when_a_run_turns_out_dearer(tmp_path: Path) -> None:
    told: list[int] = []

    def confirm(expected: RunEstimate) -> None:
        told.append(expected.total("completion_tokens"))
        if len(told) == 2:
            raise InputError("Too dear.")

    path = tmp_path / "run.equipoise"
    with Thinker(1_500, about="") as server:
        where: dict[str, Any] = {"base_url": server.url, "out": path, "confirm": confirm}
        session = equipoise.start("custom/reason", probes=["jobs_lum"], sample=30, **where)
        with pytest.raises(InputError, match="Too dear"):
            session.ask()
        assert server.total == 4
    assert len(told) == 2
    assert Run.open(path).record.spec.max_tokens is None


def test_a_raised_limit_leaves_imported_answers_imported(command: Command) -> None:
    keys = list(answer_all(sample=12))[:3]
    lines = [json.dumps({"id": key, "answer": "She is kind."}) for key in keys]
    Path("answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    plan = ("--probe", "jobs_lum", "--sample", "12", "--repeat", "1", "--model", "vllm/test")
    with Thinker() as server:
        imported = command("import", "answers.jsonl", *plan, "-o", "run.equipoise")
        assert imported.code == 3, "nine of twelve are missing"
        larger = ("--retry", "empty", "--max-tokens", "16384")
        resumed = command("resume", "run.equipoise", "--base-url", server.url, *larger)
        assert resumed.code == 0
        assert [request.body["max_tokens"] for request in server.received] == [16384] * 9
    assert Run.open("run.equipoise").record.origin == "imported"


NO_LIMITS = [
    (["--max-tokens", "500"], "Name them, too (--retry empty)"),
    (
        ["--retry", "empty", "--max-tokens", str(LIMIT)],
        f"larger than that of the run, {LIMIT} tokens",
    ),
    (["--retry", "empty", "--max-tokens", str(2**63)], "'max_tokens' must be `int` <= "),
]


@pytest.mark.parametrize(
    ("options", "message"),
    NO_LIMITS,
    ids=["nothing named", "not larger", "too large"],
)
def test_limits_that_make_no_sense_are_refused(
    options: list[str],
    message: str,
    command: Command,
) -> None:
    with Thinker() as server:
        assert command(*words(server)).code == 3
        asked = server.total
        outcome = command("resume", "run.equipoise", *options)
        assert (outcome.code, server.total) == (2, asked)
    assert message in outcome.err
    assert Run.open("run.equipoise").counts[Status.EMPTY] == 1


def test_the_report_says_that_answers_are_empty_and_why(command: Command) -> None:
    with Thinker() as server:
        command(*words(server))
    equipoise.write_report(["run.equipoise"], "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    told = "1 answers are empty because the token limit was reached before any text came."
    assert told in page


@pytest.mark.parametrize(("finish", "is_spent"), [("length", True), ("stop", False)])
def test_a_model_that_hides_its_thoughts_is_recognised_by_its_finish_reason(
    finish: str,
    is_spent: bool,
) -> None:
    message = {"role": "assistant", "content": ""}
    usage = {"completion_tokens": 96, "completion_tokens_details": {"reasoning_tokens": 96}}
    choice = {"message": message, "finish_reason": finish}
    reply = ask_with_response({"choices": [choice], "usage": usage})
    assert isinstance(reply, Reply)
    assert reply.status == Status.EMPTY
    assert reply.detail == "no visible text"
    assert is_spent_on_reasoning(reply) == is_spent


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_thoughts_without_an_answer_are_recognised(protocol: str) -> None:
    outcome, _ = ask_faulty(Fault.LENGTH_WITHOUT_TEXT, protocol)
    assert isinstance(outcome, Reply)
    assert outcome.detail == "the token limit went into reasoning"
    assert is_spent_on_reasoning(outcome)
