"""What is asked again and what ends an attempt, on a clock that jumps to the next timer."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from equipoise.errors import EndpointError
from equipoise.models.protocol import AS_SAMPLED, Asking, Reply
from equipoise.report.text import describe_served
from equipoise.runs.ask.asker import is_same_model
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, Status
from runs.fakes import Fake, Script, answering, ok, transient
from runs.pumping import run_pump


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def in_turn(*outcomes: Callable[[str], Reply | Exception] | Exception) -> Script:
    """These outcomes one after another, the last one again and again."""

    def script(prompt: str, nth: int) -> Reply | Exception:
        outcome = outcomes[min(nth, len(outcomes)) - 1]
        return outcome if isinstance(outcome, Exception) else outcome(prompt)

    return script


def ends_as(status: Status) -> Script:
    return in_turn(lambda prompt: Reply(status=status, detail="why"))


SERVER, BROKEN = transient("server"), transient("connection")
MALFORMED = transient("malformed", Status.MALFORMED, raw=b"{\xff")
SLOW, RATE_LIMIT = transient("timeout", Status.TIMEOUT), transient("rate_limit")
WAIT, SERVER_WAIT = transient("rate_limit", retry_after=9.0), transient("server", retry_after=9.0)
CLIENT = transient("client", detail="HTTP 400: no")
CASES = [
    (pytest.mark.fault("E1"), "a rate limit is waited for", in_turn(WAIT, ok), Status.OK, 2),
    (pytest.mark.fault("E1"), "rate limits use up no tries", in_turn(*[WAIT] * 9, ok), Status.OK, 10),
    (pytest.mark.fault("E1"), "a server fault is waited for", in_turn(SERVER_WAIT, ok), Status.OK, 2),
    (pytest.mark.fault("E2"), "a rate limit without a time", in_turn(*[RATE_LIMIT] * 9, ok), Status.OK, 10),
    (pytest.mark.fault("E4"), "a server that stays broken", in_turn(SERVER), Status.HTTP_ERROR, 4),
    (pytest.mark.fault("E4"), "a server that recovers", in_turn(SERVER, SERVER, SERVER, ok), Status.OK, 4),
    (pytest.mark.fault("E4"), "a server that only asks to wait", in_turn(SERVER_WAIT), Status.HTTP_ERROR, 4),
    (pytest.mark.fault("E6"), "a timeout of the model itself", in_turn(SLOW), Status.TIMEOUT, 4),
    (pytest.mark.fault("E8"), "a broken connection", in_turn(SERVER, BROKEN, BROKEN, ok), Status.OK, 4),
    (pytest.mark.fault("E8"), "connections that always break", in_turn(BROKEN), Status.HTTP_ERROR, 4),
    (pytest.mark.fault("E9"), "a response that stays malformed", in_turn(MALFORMED), Status.MALFORMED, 3),
    (pytest.mark.fault("E9"), "a malformed response", in_turn(MALFORMED, MALFORMED, ok), Status.OK, 3),
    (pytest.mark.fault("E11"), "empty is final", ends_as(Status.EMPTY), Status.EMPTY, 1),
    (pytest.mark.fault("E12"), "truncated is final", ends_as(Status.TRUNCATED), Status.TRUNCATED, 1),
    (pytest.mark.fault("E14"), "filtered is final", ends_as(Status.FILTERED), Status.FILTERED, 1),
    (pytest.mark.fault("E15"), "too large is final", ends_as(Status.TOO_LARGE), Status.TOO_LARGE, 1),
    (pytest.mark.fault("E18"), "a too long prompt is final", ends_as(Status.CONTEXT_LENGTH), Status.CONTEXT_LENGTH, 1),
    (pytest.mark.fault("E19"), "a 4xx is final", in_turn(CLIENT), Status.HTTP_ERROR, 1),
    (
        pytest.mark.fault("E8"),
        "connections that break after a server fault",
        in_turn(SERVER, BROKEN),
        Status.HTTP_ERROR,
        4,
    ),
]


@pytest.mark.parametrize(
    ("script", "status", "tries"),
    [pytest.param(*case, id=name, marks=mark) for mark, name, *case in CASES],
)
@pytest.mark.parametrize("concurrency", [1, 4])
def test_an_attempt_ends_once(path: Path, script: Script, status: Status, tries: int, concurrency: int) -> None:
    def only_one(prompt: str, nth: int) -> Reply | Exception:
        return script(prompt, nth) if "Prompt 5 " in prompt else ok(prompt)

    model = Fake(only_one)
    outcome = run_pump(path, model, concurrency=concurrency)
    assert outcome.error is None
    assert outcome.counts[Status.OK] == 9 + (status == Status.OK)
    assert outcome.counts[status]
    assert model.asked["Prompt 5 of alpha."] == outcome.attempts["tries"].max() == tries
    assert outcome.attempts[ANSWER].null_count() == (status != Status.OK)


@pytest.mark.fault("E4")
@pytest.mark.parametrize("tries", [1, 2, 7])
def test_the_user_says_how_often_an_attempt_is_tried(path: Path, tries: int) -> None:
    model = Fake(lambda prompt, nth: SERVER if "Prompt 5 " in prompt else ok(prompt))
    outcome = run_pump(path, model, tries=tries)
    assert outcome.error is None
    assert outcome.states == {Status.OK: 9, Status.HTTP_ERROR: 1}
    assert model.asked["Prompt 5 of alpha."] == outcome.attempts["tries"].max() == tries


@pytest.mark.fault("E9")
def test_the_raw_bytes_of_a_malformed_response_are_stored(path: Path) -> None:
    outcome = run_pump(path, Fake(in_turn(MALFORMED)), 1)
    assert outcome.states == {Status.MALFORMED: 1}
    with closing(sqlite3.connect(path)) as connection:
        stored = connection.execute(
            "select raw, detail from attempts where raw is not null",
        ).fetchall()
    assert stored == [(b"{\xff", "a malformed fault")]


@pytest.mark.fault("E1")
def test_all_workers_wait_at_least_as_long_as_the_endpoint_asks(path: Path) -> None:
    model = Fake(
        lambda prompt, nth: transient("rate_limit", retry_after=60.0) if model.requests == 20 else ok(prompt),
    )
    outcome = run_pump(path, model, 60)
    assert outcome.states == {Status.OK: 60}
    assert min(model.times[20 + 4 - 1 :]) - model.times[19] >= 60.0


@pytest.mark.fault("E1")
def test_progress_says_for_how_long_nothing_is_sent_and_why(path: Path) -> None:
    model = Fake(lambda prompt, nth: transient("rate_limit", retry_after=60.0) if model.requests == 20 else ok(prompt))
    outcome = run_pump(path, model, 60)
    waits = [(event.wait, event.wait_reason) for event in outcome.progress if event.wait]
    assert waits[0] == (60.0, "rate limit")
    assert {reason for _, reason in waits} == {"rate limit"}
    assert outcome.progress[-1].wait == 0.0


@pytest.mark.fault("E2")
@pytest.mark.parametrize(("lasts", "deadline"), [(30.0, 20.0), (300.0, 300.0), (500.0, 20.0)])
@pytest.mark.parametrize("since", [0.0, 40.0], ids=["from the start", "later"])
def test_a_rate_limit_uses_up_no_attempt(path: Path, lasts: float, deadline: float, since: float) -> None:
    """Neither their requests nor their time: everything is answered when it is over."""

    def script(prompt: str, nth: int) -> Reply | Exception:
        return RATE_LIMIT if since <= model.times[-1] < since + lasts else ok(prompt)

    model = Fake(script, delay=5.0)
    outcome = run_pump(path, model, 60, deadline=deadline)
    assert outcome.error is None
    assert outcome.states == {Status.OK: 60}
    during = [time for time in model.times if since + 60 < time < since + lasts]
    assert len(during) <= (lasts - 60) / 15 + 4, "hardly anything is sent"


@pytest.mark.fault("E2")
def test_a_slow_answer_that_is_a_rate_limit_uses_up_no_attempt(path: Path) -> None:
    """After 15 of 20 seconds, again and again."""
    model = Fake(in_turn(*[RATE_LIMIT] * 5, ok), delay=15.0)
    outcome = run_pump(path, model, 1, deadline=20.0)
    assert outcome.states == {Status.OK: 1}


@pytest.mark.fault("E2")
@pytest.mark.parametrize("patience", [60.0, 600.0])
def test_a_rate_limit_without_end_stops_the_run_and_leaves_the_rest_pending(path: Path, patience: float) -> None:
    model = Fake(lambda prompt, nth: RATE_LIMIT if model.requests > 20 else ok(prompt))
    outcome = run_pump(path, model, 100, patience=patience)
    assert isinstance(outcome.error, EndpointError)
    assert outcome.states.keys() == {Status.OK, Status.PENDING}
    assert outcome.states[Status.OK] >= 20 - 4, "what was under way was refused, too"
    assert max(model.at_once[-5:]) == 1
    words = "fake has refused all requests for 1"
    assert words in str(outcome.error)
    assert "rate limit (a rate_limit fault)" in str(outcome.error)
    assert patience <= outcome.progress[-1].elapsed <= patience + 45
    reasons = {event.wait_reason for event in outcome.progress if event.wait > 5}
    assert all(reason.startswith("rate limit: all requests refused for ") for reason in reasons)
    assert reasons


@pytest.mark.fault("E2")
def test_a_rate_limit_lowers_the_concurrency_until_it_is_over(path: Path) -> None:
    def script(prompt: str, nth: int) -> Reply | Exception:
        return RATE_LIMIT if 50 < model.requests < 400 and model.at_once[-1] > 4 else ok(prompt)

    model = Fake(script, delay=1.0)
    outcome = run_pump(path, model, 900, concurrency=16)
    assert outcome.states == {Status.OK: 900}
    assert max(model.at_once[20:50]) == 16
    assert sum(model.at_once[250:400]) / 150 < 10
    assert max(model.at_once[-100:]) == 16


@pytest.mark.fault("E4")
def test_the_first_pause_is_at_most_half_a_second_and_the_later_ones_double(path: Path) -> None:
    model = Fake(lambda prompt, nth: SERVER if 1 < model.requests <= 5 else ok(prompt))
    outcome = run_pump(path, model, 2, concurrency=1, tries=9)
    assert outcome.states == {Status.OK: 2}
    pauses = [later - earlier for earlier, later in itertools.pairwise(model.times[1:])]
    for pause, longest in zip(pauses, [0.5, 1.0, 2.0, 4.0], strict=True):
        assert longest / 2 <= pause <= longest + 1e-6


@pytest.mark.fault("E6")
@pytest.mark.fault("E7")
def test_a_request_that_never_ends_is_a_timeout_also_for_the_last_prompt(path: Path) -> None:
    class Silent(Fake):
        async def answer(self, prompt: str, system: str | None = None, asking: Asking = AS_SAMPLED) -> Reply:
            if prompt.startswith(("Prompt 3 ", "Prompt 9 ")):
                await asyncio.sleep(3600)
            return await super().answer(prompt, system)

    outcome = run_pump(path, Silent(lambda prompt, nth: ok(prompt)))
    assert outcome.error is None
    assert outcome.states == {Status.OK: 8, Status.TIMEOUT: 2}
    details = outcome.attempts.filter(pl.col("status") == "timeout")["detail"].to_list()
    assert details == ["no answer within 300 s"] * 2


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
    outcome = run_pump(path, answering(served_model="other-1"))
    assert len(outcome.notes) == 1
    assert "Another model was served than 'fake'" in outcome.notes[0]
    assert set(outcome.attempts["served_model"]) == {"other-1"}


@pytest.mark.fault("E20")
def test_each_other_served_model_is_noted_and_stays_with_its_attempt(path: Path) -> None:
    model = Fake(lambda prompt, nth: ok(prompt, served_model=f"other-{prompt.split()[1]}"))
    outcome = run_pump(path, model, 3)
    assert set(outcome.attempts["served_model"]) == {"other-0", "other-1", "other-2"}
    assert len(outcome.notes) == len(outcome.stored_notes) == 3


@pytest.mark.fault("E20")
def test_another_version_of_the_same_model_is_noted_when_it_follows(path: Path) -> None:
    """Both have the name that was asked for, with a date."""

    def script(prompt: str, nth: int) -> Reply:
        return ok(prompt, served_model=f"fake-2024-{'05-13' if model.requests < 4 else '11-20'}")

    model = Fake(script)
    outcome = run_pump(path, model, 10, concurrency=1)
    (note,) = outcome.notes
    assert note.startswith("The endpoint served 'fake-2024-05-13' and then 'fake-2024-11-20'.")
    (sentence,) = describe_served(Run.open(path))
    assert sentence == (
        "The endpoint served more than one model: fake-2024-11-20 (7 attempts), fake-2024-05-13 (3 attempts)."
    )


@pytest.mark.fault("E20")
def test_the_dated_name_of_the_same_model_is_not_noted(path: Path) -> None:
    outcome = run_pump(path, answering(served_model="fake-2024-07-18"))
    assert outcome.notes == []
    assert set(outcome.attempts["served_model"]) == {"fake-2024-07-18"}


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


@pytest.mark.fault("L6")
def test_the_run_says_which_token_limit_its_reasoning_used_up(path: Path) -> None:
    outcome = run_pump(path, Fake(in_turn(lambda prompt: Reply(status=Status.EMPTY, finish_reason="length"))), 2)
    assert outcome.states == {Status.EMPTY: 2}
    assert Run.open(path).small_limit == 64
