"""Addresses where no endpoint answers: the message names what was tried (docs/faults.md, E22)."""

from __future__ import annotations

import socket

import pytest

from equipoise.models.chat.model import ChatModel, make_chat_model
from equipoise.models.protocol import TransientFault
from equipoise.schema import Status
from serving.asking import KEY, always, ask, find_key, find_leaks
from serving.faults import Fault
from serving.faulty import FaultyServer

pytestmark = pytest.mark.fault("E22")


@pytest.fixture
def closed_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def fault_of(model: ChatModel) -> TransientFault:
    """The fault of one prompt, which may go away and leaves no trace of the key."""
    [fault] = ask(model)
    assert isinstance(fault, TransientFault)
    assert fault.kind == "connection"
    assert fault.reply.status == Status.HTTP_ERROR
    assert find_leaks(fault, model) == []
    return fault


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_refused_connection_is_named(scheme: str, closed_port: int) -> None:
    url = f"{scheme}://127.0.0.1:{closed_port}/v1"
    fault = fault_of(make_chat_model("vllm/m", base_url=url, key=KEY, environ={}))
    assert str(fault).startswith(f"cannot connect to 127.0.0.1:{closed_port}: ")


def test_an_unknown_host_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    url = "https://nowhere.invalid:8443/v1"
    fault = fault_of(make_chat_model("openai/m", base_url=url, key=KEY, environ={}))
    assert str(fault).startswith("cannot connect to nowhere.invalid:8443: ")


def test_a_server_that_speaks_no_tls_is_named() -> None:
    with FaultyServer() as server:
        url = server.url.replace("http:", "https:")
        fault = fault_of(make_chat_model("openai/m", base_url=url, key=KEY, environ={}))
        assert str(fault).startswith(f"cannot connect to 127.0.0.1:{server.port}: ")
        assert server.total == 0


def test_a_response_that_is_not_http_is_named_and_a_secret_in_the_address_is_not_shown() -> None:
    with FaultyServer(always(Fault.NOT_HTTP)) as server:
        url = f"{server.url}?key={KEY}"
        fault = fault_of(make_chat_model("vllm/m", base_url=url, environ={}, allow_secret_url=True))
    assert "the response is not HTTP" in str(fault)
    assert find_key(str(fault)) == []
