"""What `answer` makes of each fault of an endpoint (docs/faults.md, E1–E22 and S13): real sockets, both protocols."""

from __future__ import annotations

import socket
import tracemalloc
from typing import NamedTuple

import pytest

from equipoise.models.chat.model import make_chat_model
from equipoise.models.protocol import Refused, Reply, TransientFault
from equipoise.schema import Status
from serving.asking import (
    KEY,
    PROTOCOLS,
    ask,
    ask_faulty,
    ask_with_response,
    connect_to,
    find_leaks,
)
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
    Expected(
        "E1",
        "RATE_LIMIT_SECONDS RATE_LIMIT_DATE RATE_LIMIT_WORDS",
        HTTP_ERROR,
        "rate_limit",
        7.0,
    ),
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
    Expected("E10", "BROKEN_OFF", HTTP_ERROR, "server"),
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
    Expected("S13", "ECHO_ANSWER", Status.OK),
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


@pytest.mark.fault("E5", "E9")
def test_of_what_cannot_be_read_an_excerpt_or_the_bytes_are_kept() -> None:
    page, _ = ask_faulty(Fault.HTML_502)
    assert str(page) == "HTTP 502: 502 Bad Gateway alert(1) Bad \\x1b[31m&lt;/h1"
    damaged, _ = ask_faulty(Fault.NOT_UTF8)
    assert isinstance(damaged, TransientFault)
    assert b"\xff\xfe said yes." in (damaged.reply.raw or b"")


@pytest.mark.fault("E12", "E13", "E20")
def test_reasoning_the_name_of_the_model_and_an_unknown_finish_reason_are_kept() -> None:
    def keep(fault: Fault) -> tuple[Reply, list[str]]:
        reply, model = ask_faulty(fault)
        assert isinstance(reply, Reply)
        return reply, model.notes

    for fault in (Fault.LENGTH_IN_THOUGHT, Fault.LENGTH_WITHOUT_TEXT):
        reply, _ = keep(fault)
        assert "She may say yes, but" in (reply.reasoning or "")
        assert (reply.finish_reason, reply.detail) == ("length", "the token limit went into reasoning")
    assert keep(Fault.OTHER_MODEL)[0].served_model == "another-model"
    reply, [note] = keep(Fault.ODD_FINISH)
    assert reply.finish_reason == "moonrise"
    assert "moonrise" in note


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


BILLING = "You exceeded your current quota, check billing. Please retry in 20.5s."
WITHOUT_ANSWER: list[object] = [
    *({}, [], None, {"choices": None}, {"choices": []}, {"choices": [None]}, {"choices": [{}]}),
    {"choices": [{"message": "Yes"}]},
    {"choices": {"message": {"content": "Yes"}}, "content": "Yes"},
]
WORDINGS: list[tuple[str, object, int, object]] = [
    ("E2", "rate_limit", 429, [{"error": {"code": 429, "message": BILLING}}]),
    ("E3", Refused, 429, {"error": {"message": "Your credit is used up."}}),
    ("E3", Refused, 400, {"error": {"message": "Your credit balance is too low to access the API"}}),
    ("E3", Refused, 429, {"error": {"type": "rate_limit_error", "details": {"error_code": "billing_not_active"}}}),
    ("E10", "rate_limit", 200, {"error": {"code": "429", "message": "busy"}}),
    ("E10", "rate_limit", 200, {"error": {"type": "rate_limit_error", "message": "busy"}}),
    ("E10", Refused, 200, {"error": {"code": "invalid_api_key", "message": "No."}}),
    ("E10", "server", 200, {"error": "out of memory"}),
    ("E10", "server", 200, {"choices": [{"error": {"code": 502, "message": "Up"}, "message": {"content": "Ye"}}]}),
    ("E10", "client", 200, {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}),
    *(("E10", "malformed", 200, document) for document in WITHOUT_ANSWER),
    ("E14", Status.FILTERED, 403, {"error": {"code": 403, "message": "Your input was flagged", "metadata": {}}}),
    ("E14", Status.FILTERED, 400, {"error": {"message": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
    ("E14", Status.FILTERED, 200, {"error": {"code": "content_filter", "message": "No."}}),
    ("E16", Refused, 400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]),
    ("E17", "client", 400, {"error": {"message": "foo/bar is not a valid model ID", "code": 400}}),
    ("E17", Refused, 400, {"error": {"message": "The model `foo` does not exist", "code": "x"}}),
    ("E17", Refused, 404, {"detail": "Not Found"}),
    ("E18", Status.CONTEXT_LENGTH, 400, {"error": {"type": "exceed_context_size_error", "message": "x"}}),
    ("E18", Status.CONTEXT_LENGTH, 400, {"message": "This model's maximum context length is 4096 tokens."}),
    ("E18", Status.CONTEXT_LENGTH, 413, {"error": {"type": "request_too_large", "message": "x"}}),
    ("E18", Status.CONTEXT_LENGTH, 500, {"error": {"message": "the request exceeds the available context size"}}),
    ("E19", "client", 400, {"error": {"message": "temperature must be at most 2", "param": "temperature"}}),
    ("E19", "client", 422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}),
]


@pytest.mark.fault("E2", "E3", "E10", "E14", "E16", "E17", "E18", "E19")
@pytest.mark.parametrize(("row", "expected", "status", "document"), WORDINGS)
def test_the_same_error_is_recognised_in_many_wordings(
    row: str, expected: object, status: int, document: object
) -> None:
    outcome = ask_with_response(document, status=status)
    if isinstance(outcome, TransientFault):
        assert outcome.kind == expected
        assert (outcome.reply.raw is not None) == (expected == "malformed")
    else:
        assert (outcome.status if isinstance(outcome, Reply) else Refused) == expected


# No connection


@pytest.mark.fault("E22")
def test_an_address_where_nobody_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    def refuse(address: str) -> None:
        model = make_chat_model("openai/m", base_url=f"https://{address}/v1", key=KEY, environ={})
        [fault] = ask(model)
        assert isinstance(fault, TransientFault)
        assert (fault.kind, fault.reply.status) == ("connection", Status.HTTP_ERROR)
        assert str(fault).startswith(f"cannot connect to {address}: ")
        assert find_leaks(fault, model) == []

    with FaultyServer() as server:
        refuse(f"127.0.0.1:{server.port}")  # which speaks no TLS
    refuse(f"127.0.0.1:{server.port}")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    refuse("nowhere.invalid:8443")
