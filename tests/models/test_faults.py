"""What an endpoint may do wrong, and what `answer` makes of it: rows E1–E22, S13 over real sockets, both protocols."""

from __future__ import annotations

import asyncio
import socket
import ssl
import tracemalloc
from dataclasses import dataclass

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from equipoise.frames import Status
from equipoise.models import Passing, Refused, Reply, connect
from equipoise.models.transport import description
from serving.asking import KEY, PROTOCOLS, Outcome, always, ask, found, leaks, met, opened, outcome, shaped
from serving.faults import Fault
from serving.faulty import FaultyServer


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is expected of a fault: a reply of this status; with `kind` it may pass; with `words` all is refused."""

    row: str
    fault: Fault
    status: Status | None = None
    kind: str | None = None
    retry_after: float | None = None
    words: tuple[str, ...] = ()
    options: tuple[tuple[str, float], ...] = ()


ROWS = [
    *(
        Row(row="E1", fault=fault, status=Status.HTTP_ERROR, kind="rate_limit", retry_after=7.0)
        for fault in (
            Fault.RATE_LIMIT_SECONDS,
            Fault.RATE_LIMIT_MILLISECONDS,
            Fault.RATE_LIMIT_DATE,
            Fault.RATE_LIMIT_RESET,
            Fault.RATE_LIMIT_WORDS,
        )
    ),
    Row(row="E2", fault=Fault.RATE_LIMIT, status=Status.HTTP_ERROR, kind="rate_limit"),
    Row(row="E3", fault=Fault.QUOTA_402, words=("quota, not rate limit", "HTTP 402", "Insufficient Balance")),
    Row(row="E3", fault=Fault.QUOTA_429, words=("quota, not rate limit", "HTTP 429")),
    Row(row="E4", fault=Fault.SERVER_500, status=Status.HTTP_ERROR, kind="server"),
    Row(row="E4", fault=Fault.UNAVAILABLE_503, status=Status.HTTP_ERROR, kind="server"),
    Row(row="E4", fault=Fault.OVERLOADED_529, status=Status.HTTP_ERROR, kind="server"),
    Row(row="E4", fault=Fault.REQUEST_TIMEOUT_408, status=Status.HTTP_ERROR, kind="server"),
    Row(row="E5", fault=Fault.HTML_502, status=Status.HTTP_ERROR, kind="server"),
    Row(row="E6", fault=Fault.SLOW, status=Status.TIMEOUT, kind="timeout", options=(("deadline", 0.3),)),
    Row(row="E7", fault=Fault.SILENT, status=Status.TIMEOUT, kind="timeout", options=(("deadline", 0.3),)),
    Row(row="E8", fault=Fault.RESET, status=Status.HTTP_ERROR, kind="connection"),
    Row(row="E8", fault=Fault.HANG_UP, status=Status.HTTP_ERROR, kind="connection"),
    Row(row="E8", fault=Fault.SHORT_BODY, status=Status.HTTP_ERROR, kind="connection"),
    Row(row="E8", fault=Fault.SHORT_GZIP, status=Status.HTTP_ERROR, kind="connection"),
    Row(row="E8", fault=Fault.BROKEN_CHUNK, status=Status.HTTP_ERROR, kind="connection"),
    Row(row="E9", fault=Fault.INVALID_JSON, status=Status.MALFORMED, kind="malformed"),
    Row(row="E9", fault=Fault.NOT_UTF8, status=Status.MALFORMED, kind="malformed"),
    Row(row="E9", fault=Fault.NOT_AN_OBJECT, status=Status.MALFORMED, kind="malformed"),
    Row(row="E9", fault=Fault.DAMAGED_GZIP, status=Status.MALFORMED, kind="malformed"),
    Row(row="E10", fault=Fault.ERROR_IN_200, status=Status.HTTP_ERROR, kind="server"),
    Row(row="E10", fault=Fault.RATE_LIMIT_IN_200, status=Status.HTTP_ERROR, kind="rate_limit"),
    Row(row="E10", fault=Fault.KEY_IN_200, words=("key", "401")),
    Row(row="E10", fault=Fault.NO_CHOICES, status=Status.MALFORMED, kind="malformed"),
    Row(row="E10", fault=Fault.BROKEN_OFF, status=Status.HTTP_ERROR, kind="server"),
    Row(row="E11", fault=Fault.NULL_CONTENT, status=Status.EMPTY),
    Row(row="E11", fault=Fault.EMPTY_CONTENT, status=Status.EMPTY),
    Row(row="E11", fault=Fault.NULL_FILTERED, status=Status.FILTERED),
    Row(row="E12", fault=Fault.LENGTH, status=Status.TRUNCATED),
    Row(row="E12", fault=Fault.LENGTH_IN_THOUGHT, status=Status.EMPTY),
    Row(row="E12", fault=Fault.LENGTH_WITHOUT_TEXT, status=Status.EMPTY),
    Row(row="E13", fault=Fault.ODD_FINISH, status=Status.OK),
    Row(row="E14", fault=Fault.FILTERED_200, status=Status.FILTERED),
    Row(row="E14", fault=Fault.FILTERED_400, status=Status.FILTERED),
    Row(row="E15", fault=Fault.HUGE, status=Status.TOO_LARGE),
    Row(row="E15", fault=Fault.GZIP_BOMB, status=Status.TOO_LARGE),
    Row(row="E15", fault=Fault.HUGE_500, status=Status.HTTP_ERROR, kind="server"),
    Row(row="E16", fault=Fault.UNAUTHORIZED_401, words=("key", "_API_KEY", "HTTP 401")),
    Row(row="E16", fault=Fault.FORBIDDEN_403, words=("key", "_API_KEY", "HTTP 403", "Not in your region.")),
    Row(row="E17", fault=Fault.UNKNOWN_MODEL_404, words=("test-model", "127.0.0.1", "HTTP 404", "No such model.")),
    Row(row="E18", fault=Fault.CONTEXT_LENGTH, status=Status.CONTEXT_LENGTH),
    Row(row="E19", fault=Fault.TEAPOT_418, status=Status.HTTP_ERROR, kind="client"),
    Row(row="E20", fault=Fault.OTHER_MODEL, status=Status.OK),
    Row(row="E21", fault=Fault.REDIRECT, words=("redirects", "127.0.0.1", "HTTP 307", "--base-url")),
    Row(row="S13", fault=Fault.ECHO_401, words=("key", "[redacted]")),
    Row(row="S13", fault=Fault.ECHO_500, status=Status.HTTP_ERROR, kind="server"),
    Row(row="S13", fault=Fault.ECHO_MALFORMED, status=Status.MALFORMED, kind="malformed"),
    Row(row="S13", fault=Fault.ECHO_ANSWER, status=Status.OK),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.row}-{row.fault}")
def test_what_becomes_of_a_fault(row: Row, protocol: str) -> None:
    with FaultyServer(always(row.fault), wait=7.0) as server:
        model = opened(server, protocol, **dict(row.options))
        [result] = ask(model)
        assert server.total == 1
    if row.words:
        assert isinstance(result, Refused)
        assert result.exit_code == 4
        assert [word for word in row.words if word not in str(result)] == []
    elif row.kind:
        assert isinstance(result, Passing)
        assert (result.kind, result.reply.status) == (row.kind, row.status)
        assert result.retry_after == (None if row.retry_after is None else pytest.approx(row.retry_after))
        assert result.reply.detail
    else:
        assert isinstance(result, Reply)
        assert result.status == row.status
    reply = result.reply if isinstance(result, Passing) else result
    if isinstance(reply, Reply):
        assert (reply.answer is not None) == (reply.status in (Status.OK, Status.TRUNCATED))
        assert (reply.raw is not None) == (reply.status == Status.MALFORMED)
    assert leaks(result, model) == []


def test_every_fault_of_the_server_has_its_row() -> None:
    assert {row.fault for row in ROWS} == set(Fault)


def test_e5_the_excerpt_is_short_printable_and_without_tags() -> None:
    caught, _ = met(Fault.HTML_502, "openai")
    assert isinstance(caught, Passing)
    assert caught.reply.detail == "HTTP 502: 502 Bad Gateway alert(1) Bad \\x1b[31m&lt;/h1"
    caught, _ = met(Fault.HUGE_500, "openai")
    assert isinstance(caught, Passing)
    assert caught.reply.detail is not None
    assert len(caught.reply.detail) <= 220


def test_e9_the_raw_bytes_are_kept() -> None:
    caught, _ = met(Fault.NOT_UTF8, "openai")
    assert isinstance(caught, Passing)
    assert caught.reply.raw is not None
    assert b"\xff\xfe said yes." in caught.reply.raw
    caught, _ = met(Fault.ECHO_MALFORMED, "openai")
    assert isinstance(caught, Passing)
    assert caught.reply.raw is not None
    assert len(caught.reply.raw) <= 65536


@pytest.mark.parametrize("fault", [Fault.LENGTH_IN_THOUGHT, Fault.LENGTH_WITHOUT_TEXT])
def test_e12_a_thought_cut_off_is_kept_as_reasoning(fault: Fault) -> None:
    reply, _ = met(fault, "openai")
    assert isinstance(reply, Reply)
    assert "She may say yes, but" in (reply.reasoning or "")
    assert reply.finish_reason == "length"


def test_e13_an_unknown_finish_reason_is_stored_and_noted_once() -> None:
    with FaultyServer(always(Fault.ODD_FINISH)) as server:
        model = opened(server)
        replies = ask(model, "a", "b", "c")
    assert [reply.finish_reason for reply in replies if isinstance(reply, Reply)] == ["moonrise"] * 3
    assert len(model.notes) == 1
    assert "moonrise" in model.notes[0]


@pytest.mark.parametrize("fault", [Fault.HUGE, Fault.GZIP_BOMB])
def test_e15_memory_stays_bounded_and_the_connection_is_closed(fault: Fault) -> None:
    with FaultyServer(lambda prompt, nth: fault if prompt == "huge" else "yes") as server:
        model = opened(server)
        ask(model, "small")
        if fault == Fault.GZIP_BOMB:
            ask(model, "huge")  # builds the bomb

        tracemalloc.start()
        [reply, after] = ask(model, "huge", "small")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert isinstance(reply, Reply)
    assert reply.status == Status.TOO_LARGE
    assert "16,777,216" in (reply.detail or "")
    assert isinstance(after, Reply)
    assert after.status == Status.OK
    assert peak < 96 * 2**20


def test_e20_the_model_served_is_recorded() -> None:
    reply, _ = met(Fault.OTHER_MODEL, "openai")
    assert isinstance(reply, Reply)
    assert reply.served_model == "another-model"


STRANGE: list[object] = [
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


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("document", STRANGE, ids=lambda document: f"E10-{document}")
def test_a_document_without_an_answer_is_malformed(
    document: object, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught = shaped(document, monkeypatch, protocol)
    assert isinstance(caught, Passing)
    assert (caught.kind, caught.reply.status) == ("malformed", Status.MALFORMED)
    assert caught.reply.raw is not None


WORDED: list[tuple[str, int, object, object]] = [
    ("E3", 429, {"error": {"message": "Your credit is used up."}}, Refused),
    ("E3", 400, {"error": {"message": "Your credit balance is too low to access the API"}}, Refused),
    (
        "E3",
        429,
        {"error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}},
        Refused,
    ),
    (
        "E2",
        429,
        [{"error": {"code": 429, "message": "You exceeded your current quota, check billing. Please retry in 20.5s."}}],
        "rate_limit",
    ),
    ("E10", 200, {"error": {"code": "429", "message": "busy"}}, "rate_limit"),
    ("E10", 200, {"error": "out of memory"}, "server"),
    ("E10", 200, {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}, "client"),
    (
        "E10",
        200,
        {"choices": [{"error": {"code": 502, "message": "Upstream"}, "message": {"content": "Ye"}}]},
        "server",
    ),
    ("E14", 403, {"error": {"code": 403, "message": "Your input was flagged", "metadata": {}}}, Status.FILTERED),
    ("E14", 200, {"error": {"code": "content_filter", "message": "No."}}, Status.FILTERED),
    ("E16", 400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}], Refused),
    ("E17", 400, {"error": {"message": "foo/bar is not a valid model ID", "code": 400}}, "client"),
    ("E17", 400, {"error": {"message": "The model `foo` does not exist", "code": "x"}}, Refused),
    ("E17", 404, {"detail": "Not Found"}, Refused),
    ("E18", 400, {"error": {"code": 400, "type": "exceed_context_size_error", "message": "x"}}, Status.CONTEXT_LENGTH),
    (
        "E18",
        400,
        {"object": "error", "message": "This model's maximum context length is 4096 tokens."},
        Status.CONTEXT_LENGTH,
    ),
    ("E18", 413, {"error": {"type": "request_too_large", "message": "x"}}, Status.CONTEXT_LENGTH),
    ("E18", 500, {"error": {"message": "the request exceeds the available context size"}}, Status.CONTEXT_LENGTH),
    ("E19", 400, {"error": {"message": "temperature must be at most 2", "param": "temperature"}}, "client"),
    ("E19", 422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, "client"),
]


@pytest.mark.parametrize(
    ("status", "document", "expected"), [row[1:] for row in WORDED], ids=[f"{row[0]}-{row[1]}" for row in WORDED]
)
def test_endpoints_word_the_same_complaint_in_many_ways(
    status: int, document: object, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = shaped(document, monkeypatch, status=status)
    if isinstance(expected, Status):
        assert isinstance(result, Reply)
        assert result.status == expected
    elif isinstance(expected, str):
        assert isinstance(result, Passing)
        assert result.kind == expected
    else:
        assert isinstance(result, Refused)


# E22


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_e22_a_refused_connection_says_so(closed_port: int) -> None:
    model = connect("vllm/m", base_url=f"http://127.0.0.1:{closed_port}/v1", environ={})
    [caught] = ask(model)
    assert isinstance(caught, Passing)
    assert (caught.kind, caught.reply.status) == ("connection", Status.HTTP_ERROR)
    assert f"cannot connect to 127.0.0.1:{closed_port}" in str(caught)


def test_e22_an_unknown_host_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    [caught] = ask(connect("openai/m", base_url="https://nowhere.invalid/v1", key=KEY, environ={}))
    assert isinstance(caught, Passing)
    assert caught.kind == "connection"
    assert str(caught) == "unknown host nowhere.invalid"


def test_e22_tls_that_fails_says_so() -> None:
    with FaultyServer() as server:
        model = opened(server, base_url=server.url.replace("http:", "https:"))
        [caught] = ask(model)
    assert isinstance(caught, Passing)
    assert caught.kind == "connection"
    assert "no TLS with 127.0.0.1" in str(caught)
    assert leaks(caught, model) == []


def test_e22_a_certificate_that_is_not_trusted_says_so() -> None:
    where = ConnectionKey("example.org", 443, True, True, None, None, None)
    problem = aiohttp.ClientConnectorCertificateError(where, ssl.SSLCertVerificationError("self-signed"))
    assert "no TLS with example.org:443" in description(problem)


def test_what_is_not_http_says_so() -> None:
    async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await writer.drain()
        writer.close()

    async def run() -> Outcome:
        async with await asyncio.start_server(garbage, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            async with connect("vllm/m", base_url=f"http://127.0.0.1:{port}/v1?key={KEY}", environ={}) as model:
                return await outcome(model)

    caught = asyncio.run(run())
    assert isinstance(caught, Passing)
    assert caught.kind == "connection"
    assert "not HTTP" in str(caught)
    assert found(str(caught)) == []
