"""What is decided about a request that failed: each row of the table of `equipoise.runs.ask.decide`."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from equipoise.models.protocol import Reply, TransientFault
from equipoise.runs.ask.decide import (
    FIRST_BACKOFF,
    LONGEST_BACKOFF,
    MAX_REQUESTS_MALFORMED,
    MAX_SAME_FAILURES,
    AttemptState,
    Decision,
    EndpointState,
    GiveUp,
    RetryAt,
    RetryNow,
    Rules,
    StopRun,
    TestEndpoint,
    decide,
    decide_test,
    find_backoff,
)
from equipoise.schema import Status

NOW = 1_000.0
RULES = Rules(tries=4, patience=600.0)


def fault(kind: str, retry_after: float | None = None) -> TransientFault:
    return TransientFault(Reply(status=Status.HTTP_ERROR, detail="HTTP 500: why"), kind=kind, retry_after=retry_after)


def attempt(**fields: Any) -> AttemptState:
    return AttemptState(**{"seconds_left": 300.0, "outages": 0, "failures": 1, **fields})


def endpoint(**fields: Any) -> EndpointState:
    return EndpointState(**{"name": "m", "responded_at": 0.0, "is_reached": True, **fields})


def decided(
    kind: str,
    *,
    retry_after: float | None = None,
    of_attempt: AttemptState | None = None,
    of_endpoint: EndpointState | None = None,
    took: float = 1.0,
) -> Decision:
    return decide(
        fault(kind, retry_after),
        of_attempt or attempt(),
        of_endpoint or endpoint(),
        RULES,
        sent=NOW - took,
        now=NOW,
        random=Random(0),
    )


OTHERS = ("server", "connection", "timeout", "malformed")
OUTAGES = ("server", "connection", "timeout")


def test_a_process_that_stood_still_asks_again_at_once() -> None:
    assert decided("timeout", took=301.5) == RetryNow()
    assert decided("timeout", took=300.5) != RetryNow()


@pytest.mark.parametrize("kind", ["malformed", "client"])
def test_the_twentieth_failure_of_a_kind_stops_the_run(kind: str) -> None:
    before = endpoint(same_failure=kind, same_failures=MAX_SAME_FAILURES - 1)
    at_last = endpoint(same_failure=kind, same_failures=MAX_SAME_FAILURES)
    assert not isinstance(decided(kind, of_endpoint=before), StopRun)
    decision = decided(kind, of_endpoint=at_last)
    assert isinstance(decision, StopRun)
    assert "m has given 20 " in decision.reason
    assert decision.reason.endswith("no answer between them: HTTP 500: why")


def test_a_client_error_ends_the_attempt() -> None:
    assert decided("client") == GiveUp()


@pytest.mark.parametrize("kind", ["rate_limit", *OUTAGES])
def test_a_pause_that_is_longer_than_the_patience_stops_the_run(kind: str) -> None:
    decision = decided(kind, retry_after=660.0)
    assert isinstance(decision, StopRun)
    assert decision.reason == (
        "The endpoint asked for a pause of 11 min; the maximum is 10 min (--patience). It says: HTTP 500: why"
    )


def test_rate_limits_for_longer_than_the_patience_stop_the_run_and_the_time_is_the_one_that_passed() -> None:
    decision = decided("rate_limit", of_endpoint=endpoint(unanswered_since=NOW - 612.0))
    assert isinstance(decision, StopRun)
    assert decision.reason.startswith("m has refused all requests for 10 min 12 s: rate limit (HTTP 500: why).")
    assert isinstance(decided("rate_limit", of_endpoint=endpoint(unanswered_since=NOW - 599.0)), RetryAt)


@pytest.mark.parametrize("kind", ["rate_limit", *OTHERS])
def test_everybody_waits_as_long_as_the_endpoint_asks(kind: str) -> None:
    decision = decided(kind, retry_after=9.0)
    assert isinstance(decision, RetryAt)
    assert (decision.time, decision.for_everybody) == (NOW + 9.0, True)


@pytest.mark.parametrize("kind", ["rate_limit", *OTHERS])
def test_a_pause_of_nothing_is_at_least_our_own(kind: str) -> None:
    decision = decided(kind, retry_after=0.0)
    assert isinstance(decision, RetryAt)
    assert FIRST_BACKOFF / 2 <= decision.time - NOW <= FIRST_BACKOFF


def test_a_rate_limit_without_a_time_holds_everybody_only_if_nothing_is_answered_any_more() -> None:
    alone = decided("rate_limit", of_endpoint=endpoint(unanswered_since=NOW - 29.0))
    together = decided("rate_limit", of_endpoint=endpoint(unanswered_since=NOW - 120.0))
    assert isinstance(alone, RetryAt)
    assert isinstance(together, RetryAt)
    assert not alone.for_everybody
    assert together.for_everybody
    assert together.reason == "rate limit: all requests refused for 2 min"


@pytest.mark.parametrize("left", [0.0, 1_000.0])
def test_a_rate_limit_needs_neither_requests_nor_time_of_the_attempt(left: float) -> None:
    used_up = attempt(failures=0, refusals=50, seconds_left=left)
    assert isinstance(decided("rate_limit", of_attempt=used_up), RetryAt)


@pytest.mark.parametrize("kind", OTHERS)
def test_other_faults_are_asked_again_after_a_pause(kind: str) -> None:
    decision = decided(kind)
    assert isinstance(decision, RetryAt)
    assert not decision.for_everybody
    assert FIRST_BACKOFF / 2 <= decision.time - NOW <= FIRST_BACKOFF


@pytest.mark.parametrize("kind", OUTAGES)
@pytest.mark.parametrize(
    "fields",
    [{"failures": 4}, {"seconds_left": 1.5}],
    ids=["no requests left", "no time left"],
)
def test_an_attempt_that_is_used_up_by_an_outage_tests_the_endpoint(kind: str, fields: dict[str, Any]) -> None:
    assert decided(kind, of_attempt=attempt(**fields)) == TestEndpoint()


@pytest.mark.parametrize("kind", OUTAGES)
def test_an_endpoint_that_was_never_reached_is_tested_at_once(kind: str) -> None:
    assert decided(kind, of_endpoint=endpoint(is_reached=False)) == TestEndpoint()


def test_responses_that_stay_malformed_end_the_attempt() -> None:
    assert isinstance(decided("malformed", of_attempt=attempt(failures=MAX_REQUESTS_MALFORMED - 1)), RetryAt)
    assert decided("malformed", of_attempt=attempt(failures=MAX_REQUESTS_MALFORMED)) == GiveUp()


def test_pauses_double_up_to_the_longest() -> None:
    random = Random(3)
    for failures, longest in ((1, 0.5), (2, 1.0), (5, 8.0), (7, LONGEST_BACKOFF), (400, LONGEST_BACKOFF)):
        pause = find_backoff(attempt(failures=failures), endpoint(), random)
        assert longest / 2 <= pause <= longest
    many = find_backoff(attempt(failures=0, refusals=1), endpoint(rate_limits=9), random)
    assert many >= LONGEST_BACKOFF / 2, "others were refused, too"


def test_a_test_of_the_endpoint_says_what_it_waits_for() -> None:
    decision = decide_test(fault("server"), endpoint(), RULES, since=NOW - 4.0, now=NOW, was_down=True)
    assert decision == RetryAt(time=NOW + 4.0, for_everybody=True, reason="outage: HTTP 500: why")


@pytest.mark.parametrize(("is_reached", "patience"), [(True, 600.0), (False, 3.0)])
def test_an_outage_ends_the_run_when_nothing_was_answered_for_longer_than_the_patience(
    is_reached: bool, patience: float
) -> None:
    """The time that is named is the time since the first failure after the last answer."""
    states = [endpoint(is_reached=is_reached, unanswered_since=NOW - patience - extra) for extra in (-0.5, 12.0)]
    waits, stops = (
        decide_test(fault("server"), state, RULES, since=NOW - 1.0, now=NOW, was_down=True) for state in states
    )
    assert isinstance(waits, RetryAt)
    assert isinstance(stops, StopRun)
    passed = "10 min 12 s" if is_reached else "15 s"
    assert stops.reason.startswith(f"m has not answered for {passed}: HTTP 500: why. Check the address")


def test_the_first_test_is_sent_however_long_the_attempt_took() -> None:
    """It is not known yet whether the endpoint or the attempt fails."""
    state = endpoint(unanswered_since=NOW - 900.0)
    assert isinstance(decide_test(fault("timeout"), state, RULES, since=NOW - 900, now=NOW, was_down=False), RetryAt)


def test_an_answer_ends_what_was_counted() -> None:
    state = endpoint(is_reached=False)
    state.note_failure(5.0)
    state.note_failure(7.0)
    assert state.seconds_unanswered(15.0) == 10.0
    state.rate_limits = 3
    assert [state.count_same("malformed"), state.count_same("malformed"), state.count_same("client")] == [1, 2, 1]
    state.note_answer()
    assert (state.is_reached, state.seconds_unanswered(20.0), state.rate_limits) == (True, 0.0, 0)
