"""What `answer` makes of each fault of an endpoint (docs/faults.md, E1–E22 and S13): real sockets, both protocols."""

from __future__ import annotations

import asyncio
import socket
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from equipoise.models import Refused, Reply, TransientFault, connect
from equipoise.schema import Status
from serving.asking import (
    KEY,
    PROTOCOLS,
    Outcome,
    always,
    ask,
    ask_faulty,
    ask_with_response,
    connect_to,
    find_key,
    find_leaks,
    outcome_of,
)
from serving.faults import Fault
from serving.faulty import FaultyServer


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A reply of this status. With `kind` it is a transient fault; with `words`, a refusal whose message has them."""

    status: Status | None = None
    kind: str | None = None
    retry_after: float | None = None
    words: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the model that is asked."""


FAULTS_IN_TABLE: list[Fault] = []


def cases(row: pytest.MarkDecorator, *faults: Fault, **expected: Any) -> Iterator[Any]:
    """Faults of one row of docs/faults.md that have the same consequence."""
    FAULTS_IN_TABLE.extend(faults)
    return (pytest.param(fault, Expected(**expected), marks=row, id=str(fault)) for fault in faults)


HTTP_ERROR, MALFORMED = Status.HTTP_ERROR, Status.MALFORMED
CASES = [
    *cases(
        pytest.mark.fault("E1"),
        Fault.RATE_LIMIT_SECONDS,
        Fault.RATE_LIMIT_MILLISECONDS,
        Fault.RATE_LIMIT_DATE,
        Fault.RATE_LIMIT_RESET,
        Fault.RATE_LIMIT_WORDS,
        status=HTTP_ERROR,
        kind="rate_limit",
        retry_after=7.0,
    ),
    *cases(pytest.mark.fault("E2"), Fault.RATE_LIMIT, status=HTTP_ERROR, kind="rate_limit"),
    *cases(
        pytest.mark.fault("E3"), Fault.QUOTA_402, words=("quota, not rate limit", "HTTP 402", "Insufficient Balance")
    ),
    *cases(pytest.mark.fault("E3"), Fault.QUOTA_429, words=("quota, not rate limit", "HTTP 429")),
    *cases(
        pytest.mark.fault("E4"),
        Fault.SERVER_500,
        Fault.UNAVAILABLE_503,
        Fault.OVERLOADED_529,
        Fault.REQUEST_TIMEOUT_408,
        status=HTTP_ERROR,
        kind="server",
    ),
    *cases(pytest.mark.fault("E5"), Fault.HTML_502, status=HTTP_ERROR, kind="server"),
    *cases(pytest.mark.fault("E6"), Fault.SLOW, status=Status.TIMEOUT, kind="timeout", options={"deadline": 0.3}),
    *cases(pytest.mark.fault("E7"), Fault.SILENT, status=Status.TIMEOUT, kind="timeout", options={"deadline": 0.3}),
    *cases(
        pytest.mark.fault("E8"),
        Fault.RESET,
        Fault.HANG_UP,
        Fault.SHORT_BODY,
        Fault.SHORT_GZIP,
        Fault.BROKEN_CHUNK,
        status=HTTP_ERROR,
        kind="connection",
    ),
    *cases(
        pytest.mark.fault("E9"),
        Fault.INVALID_JSON,
        Fault.NOT_UTF8,
        Fault.NOT_AN_OBJECT,
        Fault.DAMAGED_GZIP,
        status=MALFORMED,
        kind="malformed",
    ),
    *cases(pytest.mark.fault("E10"), Fault.ERROR_IN_200, Fault.BROKEN_OFF, status=HTTP_ERROR, kind="server"),
    *cases(pytest.mark.fault("E10"), Fault.RATE_LIMIT_IN_200, status=HTTP_ERROR, kind="rate_limit"),
    *cases(pytest.mark.fault("E10"), Fault.KEY_IN_200, words=("key", "401")),
    *cases(pytest.mark.fault("E10"), Fault.NO_CHOICES, status=MALFORMED, kind="malformed"),
    *cases(pytest.mark.fault("E11"), Fault.NULL_CONTENT, Fault.EMPTY_CONTENT, status=Status.EMPTY),
    *cases(pytest.mark.fault("E11"), Fault.NULL_FILTERED, status=Status.FILTERED),
    *cases(pytest.mark.fault("E12"), Fault.LENGTH, status=Status.TRUNCATED),
    *cases(pytest.mark.fault("E12"), Fault.LENGTH_IN_THOUGHT, Fault.LENGTH_WITHOUT_TEXT, status=Status.EMPTY),
    *cases(pytest.mark.fault("E13"), Fault.ODD_FINISH, status=Status.OK),
    *cases(pytest.mark.fault("E14"), Fault.FILTERED_200, Fault.FILTERED_400, status=Status.FILTERED),
    *cases(pytest.mark.fault("E15"), Fault.HUGE, Fault.GZIP_BOMB, status=Status.TOO_LARGE),
    *cases(pytest.mark.fault("E15"), Fault.HUGE_500, status=HTTP_ERROR, kind="server"),
    *cases(pytest.mark.fault("E16"), Fault.UNAUTHORIZED_401, words=("key", "_API_KEY", "HTTP 401")),
    *cases(pytest.mark.fault("E16"), Fault.FORBIDDEN_403, words=("key", "_API_KEY", "HTTP 403", "Not in your region.")),
    *cases(
        pytest.mark.fault("E17"),
        Fault.UNKNOWN_MODEL_404,
        words=("test-model", "127.0.0.1", "HTTP 404", "No such model."),
    ),
    *cases(pytest.mark.fault("E17"), Fault.HTML_404, words=("test-model", "127.0.0.1", "HTTP 404", "base URL")),
    *cases(pytest.mark.fault("E17"), Fault.UNEXPECTED_ENDPOINT, words=("test-model", "127.0.0.1", "base URL")),
    *cases(pytest.mark.fault("E18"), Fault.CONTEXT_LENGTH, status=Status.CONTEXT_LENGTH),
    *cases(pytest.mark.fault("E19"), Fault.TEAPOT_418, status=HTTP_ERROR, kind="client"),
    *cases(pytest.mark.fault("E20"), Fault.OTHER_MODEL, status=Status.OK),
    *cases(pytest.mark.fault("E21"), Fault.REDIRECT, words=("redirects", "127.0.0.1", "HTTP 307", "--base-url")),
    *cases(pytest.mark.fault("S13"), Fault.ECHO_401, words=("key", "[redacted]")),
    *cases(pytest.mark.fault("S13"), Fault.ECHO_500, status=HTTP_ERROR, kind="server"),
    *cases(pytest.mark.fault("S13"), Fault.ECHO_MALFORMED, status=MALFORMED, kind="malformed"),
    *cases(pytest.mark.fault("S13"), Fault.ECHO_ANSWER, status=Status.OK),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("fault", "expected"), CASES)
def test_each_fault_becomes_a_reply_a_transient_fault_or_a_refusal(
    fault: Fault, expected: Expected, protocol: str
) -> None:
    with FaultyServer(always(fault), wait=7.0) as server:
        model = connect_to(server, protocol, **expected.options)
        [outcome] = ask(model)
        assert server.total == 1
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
    assert find_leaks(outcome, model) == []


def test_every_fault_of_the_server_is_in_the_table() -> None:
    assert sorted(FAULTS_IN_TABLE) == sorted(Fault)


@pytest.mark.fault("E5")
def test_an_html_error_is_kept_as_a_short_printable_excerpt_without_tags() -> None:
    fault, _ = ask_faulty(Fault.HTML_502, "openai")
    assert isinstance(fault, TransientFault)
    assert fault.reply.detail == "HTTP 502: 502 Bad Gateway alert(1) Bad \\x1b[31m&lt;/h1"
    fault, _ = ask_faulty(Fault.HUGE_500, "openai")
    assert isinstance(fault, TransientFault)
    assert fault.reply.detail is not None
    assert len(fault.reply.detail) <= 220


@pytest.mark.fault("E9")
def test_the_raw_bytes_of_invalid_json_are_kept() -> None:
    fault, _ = ask_faulty(Fault.NOT_UTF8, "openai")
    assert isinstance(fault, TransientFault)
    assert fault.reply.raw is not None
    assert b"\xff\xfe said yes." in fault.reply.raw
    fault, _ = ask_faulty(Fault.ECHO_MALFORMED, "openai")
    assert isinstance(fault, TransientFault)
    assert fault.reply.raw is not None
    assert len(fault.reply.raw) <= 65536


@pytest.mark.fault("E12")
@pytest.mark.parametrize("fault", [Fault.LENGTH_IN_THOUGHT, Fault.LENGTH_WITHOUT_TEXT])
def test_reasoning_that_reaches_the_token_limit_is_kept_as_reasoning(fault: Fault) -> None:
    reply, _ = ask_faulty(fault, "openai")
    assert isinstance(reply, Reply)
    assert "She may say yes, but" in (reply.reasoning or "")
    assert reply.finish_reason == "length"


@pytest.mark.fault("E13")
def test_an_unknown_finish_reason_is_stored_and_noted_once() -> None:
    with FaultyServer(always(Fault.ODD_FINISH)) as server:
        model = connect_to(server)
        replies = ask(model, "a", "b", "c")
    assert [reply.finish_reason for reply in replies if isinstance(reply, Reply)] == ["moonrise"] * 3
    assert len(model.notes) == 1
    assert "moonrise" in model.notes[0]


@pytest.mark.fault("E15")
@pytest.mark.parametrize("fault", [Fault.HUGE, Fault.GZIP_BOMB])
def test_a_huge_answer_takes_bounded_memory_and_its_connection_is_closed(fault: Fault) -> None:
    with FaultyServer(lambda prompt, nth: fault if prompt == "huge" else "yes") as server:
        model = connect_to(server)
        ask(model, "small")
        if fault == Fault.GZIP_BOMB:
            ask(model, "huge")  # The server builds the bomb, which must not be measured.

        tracemalloc.start()
        [reply, other] = ask(model, "huge", "small")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert isinstance(reply, Reply)
    assert reply.status == Status.TOO_LARGE
    assert "16,777,216" in (reply.detail or "")
    assert isinstance(other, Reply)
    assert other.status == Status.OK
    assert peak < 96 * 2**20


@pytest.mark.fault("E20")
def test_the_name_of_the_model_that_answered_is_recorded() -> None:
    reply, _ = ask_faulty(Fault.OTHER_MODEL, "openai")
    assert isinstance(reply, Reply)
    assert reply.served_model == "another-model"


WITHOUT_ANSWER: list[object] = [
    {},
    [],
    None,
    {"choices": None},
    {"choices": []},
    {"choices": [None]},
    {"choices": [{}]},
    {"choices": [{"message": "Yes"}]},
    {"choices": {"message": {"content": "Yes"}}, "content": "Yes"},
]


@pytest.mark.fault("E10")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("document", WITHOUT_ANSWER, ids=str)
def test_a_document_without_an_answer_is_malformed(
    document: object, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = ask_with_response(document, monkeypatch, protocol)
    assert isinstance(fault, TransientFault)
    assert (fault.kind, fault.reply.status) == ("malformed", Status.MALFORMED)
    assert fault.reply.raw is not None


def wordings(row: pytest.MarkDecorator, expected: object, *responses: tuple[int, object]) -> Iterator[Any]:
    """Responses (status and document) of one row of docs/faults.md that mean the same."""
    return (pytest.param(status, document, expected, marks=row) for status, document in responses)


RATE_LIMIT_THAT_MENTIONS_BILLING = "You exceeded your current quota, check billing. Please retry in 20.5s."
WORDINGS = [
    *wordings(
        pytest.mark.fault("E2"),
        "rate_limit",
        (429, [{"error": {"code": 429, "message": RATE_LIMIT_THAT_MENTIONS_BILLING}}]),
    ),
    *wordings(
        pytest.mark.fault("E3"),
        Refused,
        (429, {"error": {"message": "Your credit is used up."}}),
        (400, {"error": {"message": "Your credit balance is too low to access the API"}}),
        (429, {"error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}}),
    ),
    *wordings(pytest.mark.fault("E10"), "rate_limit", (200, {"error": {"code": "429", "message": "busy"}})),
    *wordings(
        pytest.mark.fault("E10"),
        "server",
        (200, {"error": "out of memory"}),
        (200, {"choices": [{"error": {"code": 502, "message": "Upstream"}, "message": {"content": "Ye"}}]}),
    ),
    *wordings(
        pytest.mark.fault("E10"),
        "client",
        (200, {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}),
    ),
    *wordings(
        pytest.mark.fault("E14"),
        Status.FILTERED,
        (403, {"error": {"code": 403, "message": "Your input was flagged", "metadata": {}}}),
        (200, {"error": {"code": "content_filter", "message": "No."}}),
    ),
    *wordings(
        pytest.mark.fault("E16"),
        Refused,
        (400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]),
    ),
    *wordings(
        pytest.mark.fault("E17"),
        "client",
        (400, {"error": {"message": "foo/bar is not a valid model ID", "code": 400}}),
    ),
    *wordings(
        pytest.mark.fault("E17"),
        Refused,
        (400, {"error": {"message": "The model `foo` does not exist", "code": "x"}}),
        (404, {"detail": "Not Found"}),
    ),
    *wordings(
        pytest.mark.fault("E18"),
        Status.CONTEXT_LENGTH,
        (400, {"error": {"code": 400, "type": "exceed_context_size_error", "message": "x"}}),
        (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens."}),
        (413, {"error": {"type": "request_too_large", "message": "x"}}),
        (500, {"error": {"message": "the request exceeds the available context size"}}),
    ),
    *wordings(
        pytest.mark.fault("E19"),
        "client",
        (400, {"error": {"message": "temperature must be at most 2", "param": "temperature"}}),
        (422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}),
    ),
]


@pytest.mark.parametrize(("status", "document", "expected"), WORDINGS)
def test_the_same_error_is_recognised_in_many_wordings(
    status: int, document: object, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = ask_with_response(document, monkeypatch, status=status)
    if isinstance(expected, Status):
        assert isinstance(outcome, Reply)
        assert outcome.status == expected
    elif isinstance(expected, str):
        assert isinstance(outcome, TransientFault)
        assert outcome.kind == expected
    else:
        assert isinstance(outcome, Refused)


# No connection


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.fault("E22")
def test_a_refused_connection_is_named(closed_port: int) -> None:
    model = connect("vllm/m", base_url=f"http://127.0.0.1:{closed_port}/v1", environ={})
    [fault] = ask(model)
    assert isinstance(fault, TransientFault)
    assert (fault.kind, fault.reply.status) == ("connection", Status.HTTP_ERROR)
    assert f"cannot connect to 127.0.0.1:{closed_port}" in str(fault)


@pytest.mark.fault("E22")
def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    [fault] = ask(connect("openai/m", base_url="https://nowhere.invalid/v1", key=KEY, environ={}))
    assert isinstance(fault, TransientFault)
    assert fault.kind == "connection"
    assert str(fault) == "cannot connect to nowhere.invalid:443: Name or service not known"


@pytest.mark.fault("E22")
def test_failing_tls_is_named() -> None:
    with FaultyServer() as server:
        model = connect_to(server, base_url=server.url.replace("http:", "https:"))
        [fault] = ask(model)
    assert isinstance(fault, TransientFault)
    assert fault.kind == "connection"
    assert "cannot connect to 127.0.0.1" in str(fault)
    assert find_leaks(fault, model) == []


def test_a_response_that_is_not_http_is_named() -> None:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run() -> Outcome:
        async with await asyncio.start_server(garbage, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            url = f"http://127.0.0.1:{port}/v1?key={KEY}"
            async with connect("vllm/m", base_url=url, environ={}, allow_secret_url=True) as model:
                return await outcome_of(model)

    fault = asyncio.run(run())
    assert isinstance(fault, TransientFault)
    assert fault.kind == "connection"
    assert "not HTTP" in str(fault)
    assert find_key(str(fault)) == []
