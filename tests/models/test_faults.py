"""What `answer` makes of the faults of endpoints, in both protocols (docs/faults.md, E1–E21, S13)."""

from __future__ import annotations

import tracemalloc
from typing import NamedTuple

import pytest

from equipoise.models.protocol import Refused, Reply, TransientFault
from equipoise.schema import Status
from serving.asking import PROTOCOLS, always, ask, ask_faulty, connect_to, find_leaks
from serving.faults import Fault
from serving.faulty import FaultyServer


class Expected(NamedTuple):
    """What becomes of faults of one row: a status; with a kind, a transient fault; with words, a refusal with them."""

    row: str
    faults: str
    status: Status | None = None
    kind: str | None = None
    retry_after: float | None = None
    words: tuple[str, ...] = ()
    deadline: float = 20.0


HTTP_ERROR, MALFORMED = Status.HTTP_ERROR, Status.MALFORMED
ADDRESS = ("test-model", "127.0.0.1", "base URL")
TABLE = [
    Expected("E1", "RATE_LIMIT_SECONDS RATE_LIMIT_WORDS", HTTP_ERROR, "rate_limit", 7.0),
    Expected("E1", "RATE_LIMIT_MILLISECONDS RATE_LIMIT_DATE", HTTP_ERROR, "rate_limit", 7.0),
    Expected("E1", "RATE_LIMIT_RESET", HTTP_ERROR, "rate_limit", 7.0),
    Expected("E2", "RATE_LIMIT", HTTP_ERROR, "rate_limit"),
    Expected("E3", "QUOTA_402", words=("quota, not rate limit", "HTTP 402", "Insufficient Balance")),
    Expected("E3", "QUOTA_429", words=("quota, not rate limit", "HTTP 429")),
    Expected("E4", "SERVER_500 UNAVAILABLE_503 OVERLOADED_529 REQUEST_TIMEOUT_408", HTTP_ERROR, "server"),
    Expected("E5", "HTML_502", HTTP_ERROR, "server"),
    Expected("E6", "SLOW", Status.TIMEOUT, "timeout", deadline=0.3),
    Expected("E7", "SILENT", Status.TIMEOUT, "timeout", deadline=0.3),
    Expected("E8", "RESET HANG_UP NOT_HTTP SHORT_BODY SHORT_GZIP BROKEN_CHUNK DAMAGED_GZIP", HTTP_ERROR, "connection"),
    Expected("E9", "INVALID_JSON NOT_UTF8 NOT_AN_OBJECT", MALFORMED, "malformed"),
    Expected("E9", "BYTE_ORDER_MARK", Status.OK),
    Expected("E10", "ERROR_IN_200 BROKEN_OFF", HTTP_ERROR, "server"),
    Expected("E10", "RATE_LIMIT_IN_200", HTTP_ERROR, "rate_limit"),
    Expected("E10", "KEY_IN_200", words=("key", "HTTP 401")),
    Expected("E10", "NO_CHOICES", MALFORMED, "malformed"),
    Expected("E11", "NULL_CONTENT EMPTY_CONTENT", Status.EMPTY),
    Expected("E11", "NULL_FILTERED", Status.FILTERED),
    Expected("E12", "LENGTH", Status.TRUNCATED),
    Expected("E12", "LENGTH_IN_THOUGHT LENGTH_WITHOUT_TEXT", Status.EMPTY),
    Expected("E13", "ODD_FINISH", Status.OK),
    Expected("E14", "FILTERED_200 FILTERED_400", Status.FILTERED),
    Expected("E15", "HUGE GZIP_BOMB", Status.TOO_LARGE),
    Expected("E15", "HUGE_500", HTTP_ERROR, "server"),
    Expected("E16", "UNAUTHORIZED_401", words=("key", "_API_KEY", "HTTP 401")),
    Expected("E16", "FORBIDDEN_403", words=("key", "_API_KEY", "HTTP 403", "Not in your region.")),
    Expected("E17", "UNKNOWN_MODEL_404", words=(*ADDRESS, "HTTP 404", "No such model.")),
    Expected("E17", "HTML_404 UNEXPECTED_ENDPOINT", words=ADDRESS),
    Expected("E18", "CONTEXT_LENGTH", Status.CONTEXT_LENGTH),
    Expected("E19", "TEAPOT_418", HTTP_ERROR, "client"),
    Expected("E20", "OTHER_MODEL", Status.OK),
    Expected("E21", "REDIRECT", words=("redirects", "127.0.0.1", "HTTP 307", "--base-url")),
    Expected("S13", "ECHO_401", words=("key", "[redacted]")),
    Expected("S13", "ECHO_500", HTTP_ERROR, "server"),
    Expected("S13", "ECHO_MALFORMED", MALFORMED, "malformed"),
    Expected("S13", "ECHO_ANSWER", Status.KEY_IN_ANSWER),
]
CASES = [
    pytest.param(Fault[fault], expected, id=f"{expected.row}-{fault}")
    for expected in TABLE
    for fault in expected.faults.split()
]


@pytest.mark.fault("E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10", "E11", "E12", "E13", "E14", "E15")
@pytest.mark.fault("E16", "E17", "E18", "E19", "E20", "E21", "S13")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("fault", "expected"), CASES)
def test_each_fault_becomes_a_reply_a_transient_fault_or_a_refusal(
    fault: Fault, expected: Expected, protocol: str
) -> None:
    outcome, model = ask_faulty(fault, protocol, deadline=expected.deadline)
    if expected.words:
        assert isinstance(outcome, Refused)
        assert outcome.exit_code == 4
        assert [word for word in expected.words if word not in str(outcome)] == []
    elif expected.kind:
        assert isinstance(outcome, TransientFault)
        assert (outcome.kind, outcome.reply.status) == (expected.kind, expected.status)
        assert outcome.retry_after == (None if expected.retry_after is None else pytest.approx(expected.retry_after))
        assert outcome.reply.detail
    else:
        assert isinstance(outcome, Reply)
        assert outcome.status == expected.status
    reply = outcome.reply if isinstance(outcome, TransientFault) else outcome
    if isinstance(reply, Reply):
        assert (reply.answer is not None) == (reply.status in (Status.OK, Status.TRUNCATED))
        assert (reply.raw is not None) == (reply.status == Status.MALFORMED)
        assert (reply.raw is None) or len(reply.raw) <= 65536
    assert find_leaks(outcome, model) == []


def test_every_fault_of_the_server_is_in_the_table() -> None:
    assert sorted(fault for expected in TABLE for fault in expected.faults.split()) == sorted(Fault.__members__)


def reply_to(fault: Fault) -> Reply:
    """The reply to a prompt that meets this fault."""
    reply, _ = ask_faulty(fault)
    assert isinstance(reply, Reply)
    return reply


def transient(fault: Fault) -> TransientFault:
    """The transient fault of a prompt that meets this fault."""
    raised, _ = ask_faulty(fault)
    assert isinstance(raised, TransientFault)
    return raised


@pytest.mark.fault("E5")
def test_an_html_error_is_kept_as_a_short_printable_excerpt_without_tags() -> None:
    page = transient(Fault.HTML_502)
    assert str(page) == "HTTP 502: 502 Bad Gateway alert(1) Bad \\x1b[31m&lt;/h1"


@pytest.mark.fault("E15")
def test_of_an_error_without_end_a_short_excerpt_is_kept() -> None:
    endless = transient(Fault.HUGE_500)
    assert len(endless.reply.detail or "") <= 220


@pytest.mark.fault("E9")
def test_the_bytes_of_a_response_that_is_no_text_are_kept() -> None:
    damaged = transient(Fault.NOT_UTF8)
    assert b"\xff\xfe said yes." in (damaged.reply.raw or b"")


@pytest.mark.fault("E9")
def test_of_a_long_response_that_cannot_be_read_64_kilobytes_are_kept() -> None:
    damaged = transient(Fault.ECHO_MALFORMED)
    assert damaged.reply.raw is not None
    assert 60_000 < len(damaged.reply.raw) <= 65536


@pytest.mark.fault("E12")
@pytest.mark.parametrize("fault", [Fault.LENGTH_IN_THOUGHT, Fault.LENGTH_WITHOUT_TEXT])
def test_reasoning_that_reaches_the_token_limit_is_kept_as_reasoning(fault: Fault) -> None:
    reply = reply_to(fault)
    assert "She may say yes, but" in (reply.reasoning or "")
    assert reply.finish_reason == "length"
    assert reply.detail == "the token limit went into reasoning"


@pytest.mark.fault("E13")
def test_an_unknown_finish_reason_is_stored_and_noted_once() -> None:
    with FaultyServer(always(Fault.ODD_FINISH)) as server:
        model = connect_to(server)
        replies = ask(model, "a", "b", "c")
    reasons = [reply.finish_reason for reply in replies if isinstance(reply, Reply)]
    assert reasons == ["moonrise"] * 3
    [note] = model.notes
    assert "moonrise" in note


@pytest.mark.fault("E20")
def test_the_name_of_the_model_that_answered_is_recorded() -> None:
    assert reply_to(Fault.OTHER_MODEL).served_model == "another-model"


@pytest.mark.fault("E15")
@pytest.mark.parametrize("fault", [Fault.HUGE, Fault.GZIP_BOMB])
def test_a_huge_answer_takes_bounded_memory_and_its_connection_is_closed(fault: Fault) -> None:
    with FaultyServer(lambda prompt, nth: fault if prompt == "huge" else "yes") as server:
        model = connect_to(server)
        ask(model, "huge")  # The server builds the bomb, which must not be measured.
        tracemalloc.start()
        [reply, other] = ask(model, "huge", "small")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert isinstance(reply, Reply)
    assert (reply.status, reply.detail) == (Status.TOO_LARGE, "more than 16,777,216 bytes")
    assert isinstance(other, Reply)
    assert other.status == Status.OK
    assert peak < 48 * 2**20


@pytest.mark.fault("E15")
def test_of_an_error_without_end_little_is_read() -> None:
    with FaultyServer(always(Fault.HUGE_500)) as server:
        model = connect_to(server)
        tracemalloc.start()
        [outcome] = ask(model)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert isinstance(outcome, TransientFault)
    assert peak < 12 * 2**20, "a quarter of a megabyte is read, and copied a few times"
