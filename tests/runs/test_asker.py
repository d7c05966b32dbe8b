"""What is asked again, what ends an attempt, and what ends the run."""

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
from equipoise.models.protocol import AS_SAMPLED, Asking, Refused, Reply
from equipoise.runs.ask.asker import LONGEST_ANSWER, Asker, is_same_model
from equipoise.runs.ask.policy import Policy
from equipoise.runs.ask.tally import Tally
from equipoise.runs.file.values import Attempt, Pending
from equipoise.schema import ANSWER, Status
from runs.fakes import QUICK, Fake, Script, answering, ok, refusing, transient
from runs.pumping import assert_fatal, run, run_pump


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


@dataclass(frozen=True)
class Case:
    """What the only attempt of a run meets, how it ends, and after how many requests."""

    mark: pytest.MarkDecorator
    name: str
    script: Script
    status: Status
    tries: int
    policy: Policy = QUICK


def in_turn(*outcomes: Callable[[str], Reply | Exception] | Exception) -> Script:
    """These outcomes one after another, the last one again and again."""

    def script(prompt: str, nth: int) -> Reply | Exception:
        outcome = outcomes[min(nth, len(outcomes)) - 1]
        return outcome if isinstance(outcome, Exception) else outcome(prompt)

    return script


def ends_as(status: Status) -> Callable[[str], Reply]:
    return lambda prompt: Reply(status=status, detail="why")


SERVER, BROKEN = transient("server"), transient("connection")
MALFORMED = transient("malformed", Status.MALFORMED, raw=b"{\xff")
SLOW, RATE_LIMIT = transient("timeout", Status.TIMEOUT), transient("rate_limit")
WAIT, SERVER_WAIT = transient("rate_limit", retry_after=0.01), transient("server", retry_after=0.01)
CLIENT = transient("client", detail="HTTP 400: no")
TOO_LONG = Status.CONTEXT_LENGTH
TWO_TRIES = replace(QUICK, tries=2)
CASES = [
    Case(pytest.mark.fault("E1"), "a rate limit is waited for", in_turn(WAIT, ok), Status.OK, 2),
    Case(pytest.mark.fault("E1"), "rate limits use up no tries", in_turn(*[WAIT] * 9, ok), Status.OK, 10),
    Case(pytest.mark.fault("E1"), "a server fault is waited for", in_turn(SERVER_WAIT, ok), Status.OK, 2),
    Case(pytest.mark.fault("E2"), "a rate limit without a time", in_turn(*[RATE_LIMIT] * 9, ok), Status.OK, 10),
    Case(pytest.mark.fault("E4"), "a server that stays broken", in_turn(SERVER), Status.HTTP_ERROR, 4),
    Case(pytest.mark.fault("E4"), "a server that recovers", in_turn(SERVER, SERVER, SERVER, ok), Status.OK, 4),
    Case(pytest.mark.fault("E4"), "a server that only asks to wait", in_turn(SERVER_WAIT), Status.HTTP_ERROR, 4),
    Case(pytest.mark.fault("E6"), "a timeout of the model itself", in_turn(SLOW), Status.TIMEOUT, 4),
    Case(pytest.mark.fault("E8"), "a broken connection", in_turn(SERVER, BROKEN, BROKEN, ok), Status.OK, 4),
    Case(pytest.mark.fault("E8"), "connections that always break", in_turn(SERVER, BROKEN), Status.HTTP_ERROR, 4),
    Case(pytest.mark.fault("E9"), "a response that stays malformed", in_turn(MALFORMED), Status.MALFORMED, 3),
    Case(pytest.mark.fault("E9"), "a malformed response", in_turn(MALFORMED, MALFORMED, ok), Status.OK, 3),
    Case(pytest.mark.fault("E11"), "empty is final", in_turn(ends_as(Status.EMPTY)), Status.EMPTY, 1),
    Case(pytest.mark.fault("E12"), "truncated is final", in_turn(ends_as(Status.TRUNCATED)), Status.TRUNCATED, 1),
    Case(pytest.mark.fault("E14"), "filtered is final", in_turn(ends_as(Status.FILTERED)), Status.FILTERED, 1),
    Case(pytest.mark.fault("E15"), "too large is final", in_turn(ends_as(Status.TOO_LARGE)), Status.TOO_LARGE, 1),
    Case(pytest.mark.fault("E18"), "a too long prompt is final", in_turn(ends_as(TOO_LONG)), TOO_LONG, 1),
    Case(pytest.mark.fault("E19"), "a 4xx is final", in_turn(CLIENT), Status.HTTP_ERROR, 1),
    Case(pytest.mark.fault("E23"), "the policy limits the tries", in_turn(SERVER), Status.HTTP_ERROR, 2, TWO_TRIES),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name, marks=case.mark) for case in CASES])
def test_an_attempt_ends_once(path: Path, case: Case) -> None:
    model = Fake(case.script)
    outcome = run_pump(path, model, 1, policy=case.policy)
    assert outcome.error is None
    assert outcome.states == {case.status: 1}
    assert model.requests == outcome.attempts["tries"].item() == case.tries
    assert (outcome.attempts[ANSWER].item() is not None) == (case.status == Status.OK)


@pytest.mark.fault("E9")
def test_the_raw_bytes_of_a_malformed_response_are_stored(path: Path) -> None:
    run_pump(path, Fake(in_turn(MALFORMED)), 1)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select raw, detail from attempts").fetchall() == [(b"{\xff", "a malformed fault")]


@pytest.mark.fault("E1")
def test_all_workers_wait_at_least_as_long_as_the_endpoint_asks(path: Path) -> None:
    limited_at = 0.0

    def script(prompt: str, nth: int) -> Reply | Exception:
        nonlocal limited_at
        if model.requests == 20 and not limited_at:
            limited_at = asyncio.get_running_loop().time()
            return transient("rate_limit", retry_after=0.2)
        return ok(prompt)

    model = Fake(script)
    outcome = run_pump(path, model, 60)
    assert outcome.states == {Status.OK: 60}
    under_way = QUICK.concurrency - 1
    after = [time - limited_at for time in model.times[20 + under_way :]]
    assert after
    assert min(after) >= 0.2


@pytest.mark.fault("E1")
def test_a_wait_of_more_than_ten_minutes_ends_the_run(path: Path) -> None:
    model = Fake(in_turn(transient("rate_limit", retry_after=3600.0 * 5)))
    outcome = run_pump(path, model)
    assert_fatal(outcome, EndpointError, 4, "fake asks to wait 5 h, and a run waits 10 min at most", path)
    assert model.requests == 1
    assert outcome.states == {Status.PENDING: 10}


@pytest.mark.fault("E1")
def test_an_endpoint_that_only_asks_to_wait_ends_the_run(path: Path) -> None:
    model = Fake(in_turn(transient("rate_limit", retry_after=0.01)))
    outcome = run_pump(path, model, policy=replace(QUICK, longest_wait=0.05))
    assert_fatal(outcome, EndpointError, 4, "has only asked to wait", path)


@pytest.mark.fault("E28")
def test_a_wait_of_zero_is_not_asked_faster_than_the_backoff(path: Path) -> None:
    policy = replace(QUICK, first_backoff=0.02, longest_backoff=0.16, longest_wait=1.0)
    model = Fake(in_turn(transient("rate_limit", retry_after=0.0)))
    outcome = run_pump(path, model, policy=policy)
    assert_fatal(outcome, EndpointError, 4, "has only asked to wait", path)
    pauses = [after - before for before, after in itertools.pairwise(model.times)]
    assert all(pause >= 0.5 * min(0.02 * 2**n, 0.16) for n, pause in enumerate(pauses))


@pytest.mark.fault("E2")
@pytest.mark.parametrize("seed", [11, 13, 15, 16, 20])
def test_an_endless_rate_limit_ends_as_http_error_at_the_deadline(seed: int) -> None:
    policy = Policy(deadline=300.0, tries=4, seed=seed)
    model = Fake(in_turn(RATE_LIMIT), delay=10.0)
    pending = Pending(probe="alpha", prompt="p", repetition=0, text="Prompt", system=None, place=0.0)

    notes: list[str] = []

    async def main() -> tuple[list[Attempt] | None, float]:
        asker = Asker(model, policy, Tally(policy, {}), 4, notes.append, nothing, lambda: None)
        return await asker.ask(pending), asyncio.get_running_loop().time()

    async def nothing() -> None:
        return None

    attempts, ended = run(main())
    assert attempts is not None
    assert [attempt.reply.status for attempt in attempts] == [Status.HTTP_ERROR]
    assert attempts[0].tries == model.requests > policy.tries, "bounded by time, not by tries"
    assert ended <= policy.deadline


@pytest.mark.fault("E2")
def test_a_rate_limit_lowers_the_concurrency_until_it_is_over(path: Path) -> None:
    allowed = 4

    def script(prompt: str, nth: int) -> Reply | Exception:
        if 50 < model.requests < 400 and model.at_once[-1] > allowed:
            return RATE_LIMIT
        return ok(prompt)

    model = Fake(script, delay=0.001)
    outcome = run_pump(path, model, 900, policy=replace(QUICK, concurrency=16))
    assert outcome.states == {Status.OK: 900}
    assert max(model.at_once[20:50]) == 16
    assert sum(model.at_once[250:400]) / 150 < 10
    assert max(model.at_once[-100:]) == 16


@pytest.mark.fault("E6")
@pytest.mark.fault("E7")
def test_a_request_that_never_ends_is_a_timeout_also_for_the_last_prompt(path: Path) -> None:
    class Silent(Fake):
        async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
            if prompt.startswith(("Prompt 3 ", "Prompt 9 ")):
                await asyncio.sleep(3600)
            return await super().answer(prompt, system)

    outcome = run_pump(path, Silent(lambda prompt, nth: ok(prompt)), policy=replace(QUICK, deadline=0.05))
    assert outcome.error is None
    assert outcome.states == {Status.OK: 8, Status.TIMEOUT: 2}
    details = outcome.attempts.filter(pl.col("status") == "timeout")["detail"].to_list()
    assert details == ["no answer within 0.05 s"] * 2


@pytest.mark.fault("E3")
@pytest.mark.fault("E16")
@pytest.mark.fault("E17")
@pytest.mark.fault("E21")
def test_a_refusal_ends_the_run_after_one_request(path: Path) -> None:
    model = refusing("The key was refused; it came from FAKE_KEY.")
    outcome = run_pump(path, model, 50)
    assert_fatal(outcome, Refused, 4, "The key was refused; it came from FAKE_KEY.", path)
    assert model.requests == 1
    assert outcome.states == {Status.PENDING: 50}


@pytest.mark.fault("E3")
def test_a_refusal_later_keeps_the_answers_under_way(path: Path) -> None:
    def script(prompt: str, nth: int) -> Reply | Exception:
        return Refused("quota, not rate limit") if "Prompt 20 " in prompt else ok(prompt)

    model = Fake(script, delay=0.001)
    outcome = run_pump(path, model, 200)
    assert_fatal(outcome, Refused, 4, "quota", path)
    assert outcome.counts[Status.OK] == model.requests - 1
    assert outcome.counts[Status.PENDING] > 100
    again = run_pump(path, answering())
    assert again.states == {Status.OK: 200}


@pytest.mark.fault("E19")
def test_the_same_4xx_twenty_times_ends_the_run(path: Path) -> None:
    details = itertools.cycle(["HTTP 422: no (id 1)", "HTTP 422: no (id 2)"])
    model = Fake(lambda prompt, nth: transient("client", detail=next(details)))
    outcome = run_pump(path, model, 100)
    assert_fatal(outcome, EndpointError, 4, "20 times in a row with the same error: HTTP 422", path)
    assert model.requests <= 20 + QUICK.concurrency


@pytest.mark.fault("E19")
def test_different_4xx_do_not_end_the_run(path: Path) -> None:
    codes = itertools.cycle([400, 400, 409, 422])
    outcome = run_pump(path, Fake(lambda prompt, nth: transient("client", detail=f"HTTP {next(codes)}: no")), 100)
    assert outcome.error is None
    assert outcome.states == {Status.HTTP_ERROR: 100}


@pytest.mark.fault("E22")
def test_an_endpoint_that_cannot_be_reached_at_the_start_ends_the_run(path: Path) -> None:
    model = Fake(in_turn(transient("connection", detail="unknown host nowhere")))
    outcome = run_pump(path, model)
    assert_fatal(outcome, EndpointError, 4, "fake cannot be reached: unknown host nowhere", path)
    assert model.requests == QUICK.tries
    assert outcome.states == {Status.PENDING: 10}


@pytest.mark.fault("E22")
def test_a_server_that_is_still_starting_is_waited_for(path: Path) -> None:
    model = Fake(lambda prompt, nth: BROKEN if model.requests < 4 else ok(prompt))
    outcome = run_pump(path, model, policy=replace(QUICK, first_backoff=0.02, longest_backoff=1.0))
    assert outcome.states == {Status.OK: 10}
    assert model.times[3] - model.times[0] >= 0.02 + 0.04 + 0.08
    assert max(model.at_once[:4]) == 1


@pytest.mark.fault("E22")
def test_slow_connection_failures_at_the_start_end_the_run_in_time(path: Path) -> None:
    model = Fake(in_turn(BROKEN), delay=0.05)
    outcome = run_pump(path, model, policy=replace(QUICK, start_patience=0.04))
    assert_fatal(outcome, EndpointError, 4, "cannot be reached", path)
    assert model.requests == 1


@pytest.mark.fault("E22")
def test_an_outage_later_is_waited_for_with_single_requests(path: Path) -> None:
    gone = range(30, 45)
    model = Fake(lambda prompt, nth: BROKEN if model.requests in gone else ok(prompt), delay=0.001)
    outcome = run_pump(path, model, 100, policy=replace(QUICK, outage_patience=60.0))
    assert outcome.error is None
    assert outcome.states == {Status.OK: 100}, "no attempt ends by the outage"
    assert max(model.at_once[40:45]) == 1
    assert max(model.at_once[50:]) == QUICK.concurrency


@pytest.mark.fault("E22")
def test_an_outage_that_lasts_ends_the_run(path: Path) -> None:
    model = Fake(lambda prompt, nth: BROKEN if model.requests > 30 else ok(prompt))
    outcome = run_pump(path, model, 100)
    assert_fatal(outcome, EndpointError, 4, "fake could not be reached for", path)
    assert set(outcome.states) == {Status.OK, Status.PENDING}
    assert outcome.counts[Status.OK] >= 25
    again = run_pump(path, answering())
    assert again.states == {Status.OK: 100}


@pytest.mark.fault("E22")
def test_one_prompt_that_breaks_connections_is_no_outage(path: Path) -> None:
    outcome = run_pump(path, Fake(lambda prompt, nth: BROKEN if "Prompt 5 " in prompt else ok(prompt)), 30)
    assert outcome.error is None
    assert outcome.states == {Status.OK: 29, Status.HTTP_ERROR: 1}


@pytest.mark.fault("E23")
@pytest.mark.parametrize(
    ("limits", "words"),
    [
        pytest.param({"max_requests": 7}, "budget of 7 requests", id="requests"),
        pytest.param({"max_tokens_total": 70}, "budget of 70 tokens", id="tokens"),
        pytest.param({"max_cost": 0.7}, "budget of 0.70 dollars", id="cost"),
    ],
)
def test_a_budget_is_not_exceeded_and_answers_under_way_are_kept(
    path: Path, limits: dict[str, Any], words: str
) -> None:
    policy = replace(QUICK, price=lambda prompts, completions: (prompts + completions) / 100, **limits)
    model = answering(prompt_tokens=6, completion_tokens=4)
    outcome = run_pump(path, model, 40, policy=policy)
    assert_fatal(outcome, BudgetReached, 4, words, path)
    assert model.requests == outcome.counts[Status.OK] == 7
    again = run_pump(path, answering(prompt_tokens=6, completion_tokens=4), policy=policy)
    if "max_requests" in limits:
        assert again.counts[Status.OK] == 14, "requests are counted from zero in each session"
    else:
        assert isinstance(again.error, BudgetReached)
        assert again.counts[Status.OK] == 7, "tokens and cost are counted over the whole run"
    assert run_pump(path, answering()).states == {Status.OK: 40}


@pytest.mark.fault("E23")
def test_retries_count_as_requests_of_the_budget(path: Path) -> None:
    model = Fake(in_turn(SERVER))
    outcome = run_pump(path, model, policy=replace(QUICK, max_requests=6))
    assert isinstance(outcome.error, BudgetReached)
    assert model.requests == 6


@pytest.mark.fault("E23")
def test_a_token_budget_without_token_counts_is_noted(path: Path) -> None:
    outcome = run_pump(path, answering(), policy=replace(QUICK, max_tokens_total=5))
    assert outcome.error is None
    assert (
        outcome.notes
        == outcome.stored_notes
        == ["The endpoint does not count tokens, so limits on tokens and cost have no effect."]
    )


@pytest.mark.fault("E23")
def test_a_limit_on_cost_needs_a_price() -> None:
    with pytest.raises(BadParameter, match="price"):
        Policy(max_cost=1.0)
    for wrong in ({"concurrency": 0}, {"deadline": -1.0}, {"max_requests": -1}):
        with pytest.raises(BadParameter, match="Got"):
            Policy(**wrong)


@pytest.mark.fault("E13")
def test_each_note_of_the_model_is_reported_and_stored_once(path: Path) -> None:
    def script(prompt: str, nth: int) -> Reply:
        if "Prompt 5 " in prompt:
            model.notes.append("An unknown finish reason.")
        return ok(prompt)

    model = Fake(script)
    model.notes.append("No seed is sent.")
    outcome = run_pump(path, model)
    assert outcome.notes == outcome.stored_notes == ["No seed is sent.", "An unknown finish reason."]


@pytest.mark.fault("E20")
def test_another_served_model_is_noted_once_and_stored(path: Path) -> None:
    outcome = run_pump(path, Fake(lambda prompt, nth: ok(prompt, served_model=f"other-{nth % 3}")))
    assert len(outcome.notes) == 1
    assert "Another model was served than 'fake'" in outcome.notes[0]
    assert set(outcome.attempts["served_model"]) == {"other-1"}
    assert run_pump(path.with_name("second.db"), answering(served_model="fake-2024-07-18")).notes == []


@pytest.mark.fault("E20")
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
def test_an_alias_and_its_dated_name_are_the_same_model(asked: str, served: str, same: bool) -> None:
    assert is_same_model(asked, served) is same


@pytest.mark.fault("E15")
def test_a_huge_answer_is_not_kept(path: Path) -> None:
    model = Fake(lambda prompt, nth: Reply(status=Status.OK, answer="x" * (LONGEST_ANSWER + 1)))
    outcome = run_pump(path, model, 2)
    assert outcome.states == {Status.TOO_LARGE: 2}
    assert outcome.attempts[ANSWER].to_list() == [None, None]
