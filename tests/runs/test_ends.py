"""What ends a run, with what words and exit code, on a clock that jumps to the next timer."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import BudgetReached, EndpointError, EquipoiseError
from equipoise.models.protocol import Refused, Reply
from equipoise.runs.ask.decide import FIRST_BACKOFF, LONGEST_BACKOFF
from equipoise.schema import Status
from runs.fakes import Fake, answering, ok, refusing, transient
from runs.pumping import Outcome, assert_fatal, run_pump

SERVER = transient("server")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


def always(fault: Exception) -> Callable[[], Fake]:
    """Makes models that only fail in this way."""
    return lambda: Fake(lambda prompt, nth: fault)


WAIT_OF_HOURS = always(transient("rate_limit", retry_after=5 * 3600.0))
ENDLESS_WAITS = always(transient("rate_limit", retry_after=9.0))
WAITS_OF_ZERO = always(transient("rate_limit", retry_after=0.0))
UNKNOWN_HOST = always(transient("connection", detail="unknown host x"))
FATAL: list[tuple[str, pytest.MarkDecorator, Callable[[], Fake], str, int | None]] = [
    (
        "a wait of hours",
        pytest.mark.fault("E1"),
        WAIT_OF_HOURS,
        "asked for a pause of 5 h; the maximum is 10 min (--patience)",
        1,
    ),
    ("endless waits", pytest.mark.fault("E1"), ENDLESS_WAITS, "fake has refused all requests for 10 min", None),
    ("waits of zero", pytest.mark.fault("E28"), WAITS_OF_ZERO, "fake has refused all requests for 10 min", None),
    (
        "no money left",
        pytest.mark.fault("E3"),
        always(Refused("quota, not rate limit")),
        "quota, not rate limit",
        1,
    ),
    (
        "a refused key",
        pytest.mark.fault("E16"),
        always(Refused("The key was refused")),
        "The key was refused",
        1,
    ),
    (
        "an unknown model",
        pytest.mark.fault("E17"),
        always(Refused("does not serve")),
        "does not serve",
        1,
    ),
    ("a redirect", pytest.mark.fault("E21"), always(Refused("redirects to")), "redirects to", 1),
    (
        "no connection",
        pytest.mark.fault("E22"),
        UNKNOWN_HOST,
        ": unknown host x. Check the address",
        5,
    ),
    (
        "only server errors",
        pytest.mark.fault("E26"),
        always(SERVER),
        "fake has not answered for 10 min",
        None,
    ),
]


@pytest.mark.parametrize(
    ("make_model", "words", "requests"),
    [pytest.param(*case, id=name, marks=mark) for name, mark, *case in FATAL],
)
def test_what_is_wrong_from_the_start_ends_the_run(
    path: Path, make_model: Callable[[], Fake], words: str, requests: int | None
) -> None:
    model = make_model()
    outcome = run_pump(path, model, 100)
    assert_fatal(outcome, EquipoiseError, 4, words, path)
    assert requests in (model.requests, None)
    assert max(model.at_once) == 1
    assert outcome.states == {Status.PENDING: 100}


@pytest.mark.fault("E1", "E22", "E28")
@pytest.mark.parametrize(
    "make_model",
    [
        pytest.param(ENDLESS_WAITS, id="waits of nine seconds"),
        pytest.param(WAITS_OF_ZERO, id="waits of zero"),
        pytest.param(UNKNOWN_HOST, id="no connection"),
    ],
)
def test_an_endpoint_is_never_asked_sooner_than_our_own_growing_pauses(
    path: Path, make_model: Callable[[], Fake]
) -> None:
    model = make_model()
    run_pump(path, model, 100)
    pauses = [after - before for before, after in itertools.pairwise(model.times)]
    growing = [FIRST_BACKOFF * 2**number for number in range(len(pauses))]
    shortest = [0.5 * min(pause, LONGEST_BACKOFF) for pause in growing]
    assert len(pauses) >= 4
    assert all(round(pause, 6) >= least for pause, least in zip(pauses, shortest, strict=True))


@pytest.mark.fault("E16")
def test_a_refusal_is_shown_in_the_words_of_the_model(path: Path) -> None:
    outcome = run_pump(path, refusing("The key was refused; it came from FAKE_KEY."), 50)
    assert_fatal(outcome, Refused, 4, "The key was refused; it came from FAKE_KEY.", path)


@pytest.mark.fault("E3")
def test_a_refusal_later_keeps_the_answers_under_way(path: Path) -> None:
    def script(prompt: str, nth: int) -> Reply | Exception:
        return Refused("quota, not rate limit") if "Prompt 20 " in prompt else ok(prompt)

    model = Fake(script, delay=1.0)
    outcome = run_pump(path, model, 200)
    assert_fatal(outcome, Refused, 4, "quota", path)
    assert outcome.counts[Status.OK] == model.requests - 1
    assert outcome.counts[Status.PENDING] > 100
    assert run_pump(path, answering()).states == {Status.OK: 200}


@pytest.mark.fault("E19")
def test_the_same_4xx_twenty_times_ends_the_run(path: Path) -> None:
    details = itertools.cycle(["HTTP 422: no (id 1)", "HTTP 422: no (id 2)"])
    model = Fake(lambda prompt, nth: transient("client", detail=next(details)))
    outcome = run_pump(path, model, 100)
    assert_fatal(
        outcome,
        EndpointError,
        4,
        "fake has given 20 errors in a row of the same kind, and no answer between them: HTTP 422",
        path,
    )
    assert model.requests <= 20 + 4


@pytest.mark.fault("E19")
def test_different_4xx_do_not_end_the_run(path: Path) -> None:
    codes = itertools.cycle([400, 400, 409, 422])
    outcome = run_pump(
        path,
        Fake(lambda prompt, nth: transient("client", detail=f"HTTP {next(codes)}: no")),
        100,
    )
    assert outcome.error is None
    assert outcome.states == {Status.HTTP_ERROR: 100}


LIMITS = [
    pytest.param({"max_requests": 7}, "budget of 7 requests", id="requests"),
    pytest.param({"max_tokens_total": 70}, "budget of 70 tokens", id="tokens"),
    pytest.param({"max_cost": 0.7}, "budget of 0.70 dollars", id="cost"),
]


def run_limited(path: Path, model: Fake, limits: dict[str, Any]) -> Outcome:
    """Run the pump where a token costs a cent."""
    return run_pump(
        path,
        model,
        40,
        price=lambda prompts, completions: (prompts + completions) / 100,
        **limits,
    )


@pytest.mark.fault("E23")
@pytest.mark.parametrize(("limits", "words"), LIMITS)
def test_a_budget_is_not_exceeded_and_answers_under_way_are_kept(
    path: Path, limits: dict[str, Any], words: str
) -> None:
    model = answering(prompt_tokens=6, completion_tokens=4)
    outcome = run_limited(path, model, limits)
    assert_fatal(outcome, BudgetReached, 4, words, path)
    assert model.requests == outcome.counts[Status.OK] == 7
    assert run_pump(path, answering()).states == {Status.OK: 40}


@pytest.mark.fault("E23")
def test_requests_are_counted_from_zero_in_each_session(path: Path) -> None:
    for answered in (7, 14):
        outcome = run_limited(
            path,
            answering(prompt_tokens=6, completion_tokens=4),
            {"max_requests": 7},
        )
        assert outcome.counts[Status.OK] == answered


@pytest.mark.fault("E23")
@pytest.mark.parametrize(("limits", "words"), LIMITS[1:])
def test_tokens_and_cost_are_counted_over_the_whole_run(
    path: Path,
    limits: dict[str, Any],
    words: str,
) -> None:
    run_limited(path, answering(prompt_tokens=6, completion_tokens=4), limits)
    model = answering(prompt_tokens=6, completion_tokens=4)
    again = run_limited(path, model, limits)
    assert isinstance(again.error, BudgetReached)
    assert words in str(again.error)
    assert (model.requests, again.counts[Status.OK]) == (0, 7)


@pytest.mark.fault("E23")
def test_retries_count_as_requests_of_the_budget(path: Path) -> None:
    model = Fake(lambda prompt, nth: SERVER if "Prompt 0 " in prompt else ok(prompt))
    outcome = run_pump(path, model, 1, max_requests=3)
    assert isinstance(outcome.error, BudgetReached)
    assert model.requests == 3
    assert outcome.states == {Status.PENDING: 1}


@pytest.mark.fault("E23")
def test_a_token_budget_without_token_counts_is_noted(path: Path) -> None:
    outcome = run_pump(path, answering(), max_tokens_total=5)
    assert outcome.error is None
    assert (
        outcome.notes
        == outcome.stored_notes
        == ["The endpoint does not count tokens, so limits on tokens and cost have no effect."]
    )


# Nothing but one kind of failure

MALFORMED = transient("malformed", Status.MALFORMED, detail="HTTP 200: not JSON", raw=b"<p>Under <b>maintenance</b>")


@pytest.mark.fault("E9", "E19")
def test_nothing_but_malformed_responses_end_the_run_with_their_first_words(path: Path) -> None:
    """And not after three paid requests for each of 200 prompts."""
    model = Fake(lambda prompt, nth: MALFORMED)
    outcome = run_pump(path, model, 200)
    words = "fake has given 20 responses in a row that cannot be read, and no answer between them: HTTP 200: not JSON"
    assert_fatal(outcome, EndpointError, 4, words, path)
    assert "It begins with: Under maintenance" in str(outcome.error)
    assert model.requests <= 20 + 4
    assert outcome.states[Status.PENDING] >= 190


FINAL_FAILURES = [
    pytest.param(
        Reply(status=Status.CONTEXT_LENGTH, detail="HTTP 400: too long"),
        "20 prompts in a row that are too long for the model, and no answer between them: HTTP 400: too long",
        id="too long",
        marks=pytest.mark.fault("E18"),
    ),
    pytest.param(
        Reply(status=Status.MALFORMED, detail="exit code 1: no such file"),
        "20 failures in a row, and no answer between them: exit code 1: no such file",
        id="a program that fails",
        marks=pytest.mark.fault("E19"),
    ),
]


@pytest.mark.parametrize(("reply", "words"), FINAL_FAILURES)
def test_twenty_final_failures_of_a_kind_without_an_answer_end_the_run(path: Path, reply: Reply, words: str) -> None:
    model = Fake(lambda prompt, nth: reply)
    outcome = run_pump(path, model, 200)
    assert_fatal(outcome, EndpointError, 4, words, path)
    assert model.requests <= 20 + 4


@pytest.mark.fault("E19")
@pytest.mark.parametrize("answer", [ok("p"), Reply(status=Status.EMPTY), Reply(status=Status.FILTERED)])
def test_an_answer_between_them_lets_a_run_go_on(path: Path, answer: Reply) -> None:
    """Also one without text: it shows that the endpoint reads the prompts."""

    def script(prompt: str, nth: int) -> Reply:
        return answer if model.requests % 19 == 0 else Reply(status=Status.CONTEXT_LENGTH, detail="too long")

    model = Fake(script)
    outcome = run_pump(path, model, 100, concurrency=1)
    assert outcome.error is None
    assert outcome.states[Status.CONTEXT_LENGTH] == 95


@pytest.mark.fault("E11", "E12", "E14")
@pytest.mark.parametrize("status", [Status.EMPTY, Status.FILTERED, Status.TOO_LARGE])
def test_answers_without_text_never_end_a_run(path: Path, status: Status) -> None:
    outcome = run_pump(path, Fake(lambda prompt, nth: Reply(status=status, detail="why")), 100)
    assert outcome.error is None
    assert outcome.states == {status: 100}
