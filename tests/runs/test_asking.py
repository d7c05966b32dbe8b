"""What is asked again, what ends an attempt, and what ends the run: the rows of the endpoint."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from equipoise.errors import BadParameter, BudgetReached, EndpointError
from equipoise.frames import ANSWER, Status
from equipoise.models.protocol import Refused, Reply
from equipoise.runs import Policy
from equipoise.runs.asking import LONGEST_ANSWER, same_model
from runs.fakes import QUICK, Fake, Script, answering, ok, passing, refusing
from runs.sittings import assert_fatal, sit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


@dataclass(frozen=True)
class Row:
    """What the one attempt of a run meets, how it ends, and after how many requests."""

    id: str
    script: Script
    status: Status
    tries: int
    policy: Policy = QUICK


def by_turns(*outcomes: Callable[[str], Reply | Exception] | Exception) -> Script:
    """These outcomes one after another, the last for ever."""

    def script(prompt: str, nth: int) -> Reply | Exception:
        outcome = outcomes[min(nth, len(outcomes)) - 1]
        return outcome if isinstance(outcome, Exception) else outcome(prompt)

    return script


def ends_as(status: Status) -> Callable[[str], Reply]:
    return lambda prompt: Reply(status=status, detail="why")


SERVER, BROKEN = passing("server"), passing("connection")
GARBLED = passing("malformed", Status.MALFORMED, raw=b"{\xff")
SLOW, TOO_MANY = passing("timeout", Status.TIMEOUT), passing("rate_limit")
ROWS = [
    Row("E1 waits as told, then asks again", by_turns(passing("rate_limit", retry_after=0.01), ok), Status.OK, 2),
    Row("E1 does not end by tries", by_turns(*[passing("rate_limit", retry_after=0.0)] * 9, ok), Status.OK, 10),
    Row("E1 also for a server that says when", by_turns(passing("server", retry_after=0.01), ok), Status.OK, 2),
    Row("E2 backs off", by_turns(*[TOO_MANY] * 9, ok), Status.OK, 10),
    Row("E4 fails a few times", by_turns(SERVER), Status.HTTP_ERROR, 4),
    Row("E4 recovers", by_turns(SERVER, SERVER, SERVER, ok), Status.OK, 4),
    Row("E4 with a time to come back ends too", by_turns(passing("server", retry_after=0.0)), Status.HTTP_ERROR, 4),
    Row("E6 a model's own timeout", by_turns(SLOW), Status.TIMEOUT, 4),
    Row("E8 a broken connection", by_turns(SERVER, BROKEN, BROKEN, ok), Status.OK, 4),
    Row("E8 for ever", by_turns(SERVER, BROKEN), Status.HTTP_ERROR, 4),
    Row("E9 twice more, then malformed", by_turns(GARBLED), Status.MALFORMED, 3),
    Row("E9 recovers", by_turns(GARBLED, GARBLED, ok), Status.OK, 3),
    Row("E11 empty is not asked again", by_turns(ends_as(Status.EMPTY)), Status.EMPTY, 1),
    Row("E12 truncated is an answer", by_turns(ends_as(Status.TRUNCATED)), Status.TRUNCATED, 1),
    Row("E14 filtered is not asked again", by_turns(ends_as(Status.FILTERED)), Status.FILTERED, 1),
    Row("E15 too large is not asked again", by_turns(ends_as(Status.TOO_LARGE)), Status.TOO_LARGE, 1),
    Row("E18 too long is not asked again", by_turns(ends_as(Status.CONTEXT_LENGTH)), Status.CONTEXT_LENGTH, 1),
    Row("E19 a 4xx is not asked again", by_turns(passing("client", detail="HTTP 400: no")), Status.HTTP_ERROR, 1),
    Row("E23 tries of the policy", by_turns(SERVER), Status.HTTP_ERROR, 2, replace(QUICK, tries=2)),
]


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in ROWS])
def test_an_attempt_has_one_end(path: Path, row: Row) -> None:
    model = Fake(row.script)
    sitting = sit(path, model, 1, policy=row.policy)
    assert sitting.error is None
    assert sitting.states == {row.status: 1}
    assert model.requests == sitting.attempts["tries"].item() == row.tries
    assert (sitting.attempts[ANSWER].item() is not None) == (row.status == Status.OK)


def test_e9_the_raw_bytes_are_kept(path: Path) -> None:
    sit(path, Fake(by_turns(GARBLED)), 1)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select raw, detail from attempts").fetchall() == [(b"{\xff", "a malformed fault")]


def test_e1_all_workers_wait_at_least_as_long_as_told(path: Path) -> None:
    struck = 0.0

    def script(prompt: str, nth: int) -> Reply | Exception:
        nonlocal struck
        if model.requests == 20 and not struck:
            struck = asyncio.get_running_loop().time()
            return passing("rate_limit", retry_after=0.2)
        return ok(prompt)

    model = Fake(script)
    sitting = sit(path, model, 60)
    assert sitting.states == {Status.OK: 60}
    under_way = QUICK.concurrency - 1
    after = [time - struck for time in model.times[20 + under_way :]]
    assert after
    assert min(after) >= 0.2


def test_e1_more_than_ten_minutes_ends_the_run(path: Path) -> None:
    model = Fake(by_turns(passing("rate_limit", retry_after=3600.0 * 5)))
    sitting = sit(path, model)
    assert_fatal(sitting, EndpointError, 4, "fake asks to wait 5.0 h, and a run waits 10 min at most", path)
    assert model.requests == 1
    assert sitting.states == {Status.PENDING: 10}


def test_e1_waiting_as_told_for_ever_ends_the_run(path: Path) -> None:
    model = Fake(by_turns(passing("rate_limit", retry_after=0.01)))
    sitting = sit(path, model, policy=replace(QUICK, longest_wait=0.05))
    assert_fatal(sitting, EndpointError, 4, "has only asked to wait", path)


def test_e2_too_many_requests_for_ever_end_as_http_error_at_the_deadline(path: Path) -> None:
    model = Fake(by_turns(TOO_MANY))
    sitting = sit(path, model, 3, policy=replace(QUICK, deadline=0.02))
    assert sitting.error is None
    assert sitting.states == {Status.HTTP_ERROR: 3}
    assert min(sitting.attempts["tries"].to_list()) > QUICK.tries, "bounded by time, not by tries"


def test_e2_the_concurrency_is_lowered_and_recovers(path: Path) -> None:
    allowed = 4

    def script(prompt: str, nth: int) -> Reply | Exception:
        if 50 < model.requests < 400 and model.at_once[-1] > allowed:
            return TOO_MANY
        return ok(prompt)

    model = Fake(script, delay=0.001)
    sitting = sit(path, model, 900, policy=replace(QUICK, concurrency=16))
    assert sitting.states == {Status.OK: 900}
    assert max(model.at_once[20:50]) == 16
    assert sum(model.at_once[250:400]) / 150 < 10
    assert max(model.at_once[-100:]) == 16


@pytest.mark.parametrize("row", ["E6", "E7"])
def test_a_request_that_never_ends_is_a_timeout_also_for_the_last_prompt(path: Path, row: str) -> None:
    class Silent(Fake):
        async def answer(self, prompt: str) -> Reply:
            if prompt.startswith(("Prompt 3 ", "Prompt 9 ")):
                await asyncio.sleep(3600)
            return await super().answer(prompt)

    sitting = sit(path, Silent(lambda prompt, nth: ok(prompt)), policy=replace(QUICK, deadline=0.05))
    assert sitting.error is None
    assert sitting.states == {Status.OK: 8, Status.TIMEOUT: 2}
    details = sitting.attempts.filter(pl.col("status") == "timeout")["detail"].to_list()
    assert details == ["no answer within 0.05 s"] * 2


@pytest.mark.parametrize("row", ["E3", "E16", "E17", "E21"])
def test_a_refusal_is_one_request_in_all(path: Path, row: str) -> None:
    model = refusing("The key was refused; it came from FAKE_KEY.")
    sitting = sit(path, model, 50)
    assert_fatal(sitting, Refused, 4, "The key was refused; it came from FAKE_KEY.", path)
    assert model.requests == 1
    assert sitting.states == {Status.PENDING: 50}


def test_e3_a_refusal_later_keeps_what_is_under_way(path: Path) -> None:
    def script(prompt: str, nth: int) -> Reply | Exception:
        return Refused("quota, not rate limit") if "Prompt 20 " in prompt else ok(prompt)

    model = Fake(script, delay=0.001)
    sitting = sit(path, model, 200)
    assert_fatal(sitting, Refused, 4, "quota", path)
    assert sitting.counts[Status.OK] == model.requests - 1
    assert sitting.counts[Status.PENDING] > 100
    again = sit(path, answering())
    assert again.states == {Status.OK: 200}


def test_e19_the_same_4xx_twenty_times_ends_the_run(path: Path) -> None:
    details = itertools.cycle(["HTTP 422: no (id 1)", "HTTP 422: no (id 2)"])
    model = Fake(lambda prompt, nth: passing("client", detail=next(details)))
    sitting = sit(path, model, 100)
    assert_fatal(sitting, EndpointError, 4, "20 times in a row with the same error: HTTP 422", path)
    assert model.requests <= 20 + QUICK.concurrency


def test_e19_different_ones_do_not(path: Path) -> None:
    codes = itertools.cycle([400, 400, 409, 422])
    sitting = sit(path, Fake(lambda prompt, nth: passing("client", detail=f"HTTP {next(codes)}: no")), 100)
    assert sitting.error is None
    assert sitting.states == {Status.HTTP_ERROR: 100}


def test_e22_nothing_reached_at_the_start(path: Path) -> None:
    model = Fake(by_turns(passing("connection", detail="unknown host nowhere")))
    sitting = sit(path, model)
    assert_fatal(sitting, EndpointError, 4, "fake cannot be reached: unknown host nowhere", path)
    assert model.requests == QUICK.tries
    assert sitting.states == {Status.PENDING: 10}


def test_e22_a_server_that_is_still_starting_is_waited_for(path: Path) -> None:
    model = Fake(lambda prompt, nth: BROKEN if model.requests < 4 else ok(prompt))
    sitting = sit(path, model, policy=replace(QUICK, first_backoff=0.02, longest_backoff=1.0))
    assert sitting.states == {Status.OK: 10}
    assert model.times[3] - model.times[0] >= 0.02 + 0.04 + 0.08
    assert max(model.at_once[:4]) == 1


def test_e22_slow_to_fail_at_the_start(path: Path) -> None:
    model = Fake(by_turns(BROKEN), delay=0.05)
    sitting = sit(path, model, policy=replace(QUICK, start_patience=0.04))
    assert_fatal(sitting, EndpointError, 4, "cannot be reached", path)
    assert model.requests == 1


def test_e22_an_outage_later_is_waited_for_with_single_requests(path: Path) -> None:
    gone = range(30, 45)
    model = Fake(lambda prompt, nth: BROKEN if model.requests in gone else ok(prompt), delay=0.001)
    sitting = sit(path, model, 100, policy=replace(QUICK, outage_patience=60.0))
    assert sitting.error is None
    assert sitting.states == {Status.OK: 100}, "no attempt is to blame"
    assert max(model.at_once[40:45]) == 1
    assert max(model.at_once[50:]) == QUICK.concurrency


def test_e22_an_outage_that_lasts_ends_the_run(path: Path) -> None:
    model = Fake(lambda prompt, nth: BROKEN if model.requests > 30 else ok(prompt))
    sitting = sit(path, model, 100)
    assert_fatal(sitting, EndpointError, 4, "fake could not be reached for", path)
    assert set(sitting.states) == {Status.OK, Status.PENDING}
    assert sitting.counts[Status.OK] >= 25
    again = sit(path, answering())
    assert again.states == {Status.OK: 100}


def test_e22_one_prompt_that_breaks_connections_is_no_outage(path: Path) -> None:
    sitting = sit(path, Fake(lambda prompt, nth: BROKEN if "Prompt 5 " in prompt else ok(prompt)), 30)
    assert sitting.error is None
    assert sitting.states == {Status.OK: 29, Status.HTTP_ERROR: 1}


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        pytest.param({"max_requests": 7}, "budget of 7 requests", id="E23 requests"),
        pytest.param({"max_tokens": 70}, "budget of 70 tokens", id="E23 tokens"),
        pytest.param({"max_cost": 0.7}, "budget of 0.70 dollars", id="E23 cost"),
    ],
)
def test_a_budget_is_not_passed_and_what_is_under_way_is_kept(path: Path, limits: dict[str, Any], words: str) -> None:
    policy = replace(QUICK, price=lambda prompts, completions: (prompts + completions) / 100, **limits)
    model = answering(prompt_tokens=6, completion_tokens=4)
    sitting = sit(path, model, 40, policy=policy)
    assert_fatal(sitting, BudgetReached, 4, words, path)
    assert model.requests == sitting.counts[Status.OK] == 7
    again = sit(path, answering(prompt_tokens=6, completion_tokens=4), policy=policy)
    if "max_requests" in limits:
        assert again.counts[Status.OK] == 14, "requests are counted anew"
    else:
        assert isinstance(again.error, BudgetReached)
        assert again.counts[Status.OK] == 7, "tokens and cost are those of the run"
    assert sit(path, answering()).states == {Status.OK: 40}


def test_e23_tries_are_requests_too(path: Path) -> None:
    model = Fake(by_turns(SERVER))
    sitting = sit(path, model, policy=replace(QUICK, max_requests=6))
    assert isinstance(sitting.error, BudgetReached)
    assert model.requests == 6


def test_e23_a_budget_without_counts_of_tokens_says_so(path: Path) -> None:
    sitting = sit(path, answering(), policy=replace(QUICK, max_tokens=5))
    assert sitting.error is None
    assert (
        sitting.said
        == sitting.notes
        == ["The endpoint does not count tokens, so limits on tokens and cost do not hold."]
    )


def test_e23_a_limit_on_cost_needs_a_price() -> None:
    with pytest.raises(BadParameter, match="price"):
        Policy(max_cost=1.0)
    for wrong in ({"concurrency": 0}, {"deadline": -1.0}, {"max_requests": -1}):
        with pytest.raises(BadParameter, match="Got"):
            Policy(**wrong)


def test_e13_notes_of_the_model_are_forwarded_once_and_kept(path: Path) -> None:
    def script(prompt: str, nth: int) -> Reply:
        if "Prompt 5 " in prompt:
            model.notes.append("An unknown finish reason.")
        return ok(prompt)

    model = Fake(script)
    model.notes.append("No seed is sent.")
    sitting = sit(path, model)
    assert sitting.said == sitting.notes == ["No seed is sent.", "An unknown finish reason."]


def test_e20_another_model_is_flagged_once_and_recorded(path: Path) -> None:
    sitting = sit(path, Fake(lambda prompt, nth: ok(prompt, served_model=f"other-{nth % 3}")))
    assert len(sitting.said) == 1
    assert "Another model was served than 'fake'" in sitting.said[0]
    assert set(sitting.attempts["served_model"]) == {"other-1"}
    assert sit(path.with_name("second.db"), answering(served_model="fake-2024-07-18")).said == []


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o-mini", "gpt-4o-mini-2024-07-18", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gemini-2.0-flash", "models/gemini-2.0-flash-001", True),
        ("llama3.2", "llama3.2:latest", True),
        ("meta-llama/Llama-3.3-70B-Instruct", "meta-llama/llama-3.3-70b-instruct", True),
        ("llama-3.3-70b", "other/llama-3.1-8b", False),
        ("claude-3-5-haiku-latest", "claude-3-opus", False),
    ],
)
def test_e20_an_alias_and_its_date_are_one_model(asked: str, served: str, same: bool) -> None:
    assert same_model(asked, served) is same


def test_e15_no_model_fills_the_memory(path: Path) -> None:
    model = Fake(lambda prompt, nth: Reply(status=Status.OK, answer="x" * (LONGEST_ANSWER + 1)))
    sitting = sit(path, model, 2)
    assert sitting.states == {Status.TOO_LARGE: 2}
    assert sitting.attempts[ANSWER].to_list() == [None, None]
