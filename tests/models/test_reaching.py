"""How an endpoint is reached: through a proxy, over TLS, with headers of the user's own."""

from __future__ import annotations

import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import trustme
from yarl import URL

from equipoise.errors import InputError
from equipoise.models.chat.endpoint import find_proxy
from equipoise.models.chat.model import ChatModel, make_chat_model
from equipoise.models.protocol import Refused, Reply, Sampling, TransientFault
from equipoise.schema import Status
from serving.asking import KEY, always, ask, connect_to, find_leaks
from serving.faults import send_answer
from serving.faulty import FaultyServer
from serving.proxying import LoopbackProxy

SECRET = "pw-canary-0123456789-abcdef"
HTTPS = "https://api.example.org/v1"


# Which proxy


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        (HTTPS, {"HTTPS_PROXY": "http://p:3128"}, "http://p:3128"),
        (HTTPS, {"HTTP_PROXY": "http://p:3128"}, None),
        ("http://api.example.org/v1", {"HTTP_PROXY": "http://p:3128"}, "http://p:3128"),
        (HTTPS, {"https_proxy": "http://small", "HTTPS_PROXY": "http://capital"}, "http://small"),
        (HTTPS, {"ALL_PROXY": "p:3128"}, "http://p:3128"),
        (HTTPS, {"HTTPS_PROXY": "http://u:secret@p:3128"}, "@p:3128"),
        (HTTPS, {"HTTPS_PROXY": "http://p", "NO_PROXY": "example.org"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p", "NO_PROXY": "x, .example.org"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p", "NO_PROXY": "api.example.org:443"}, None),
        ("https://badexample.org/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.org"}, "http://p:1"),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://p", "ALL_PROXY": "http://p"}, None),
        ("http://localhost:8000/v1", {"HTTP_PROXY": "http://p"}, None),
        ("http://[::1]:8000/v1", {"HTTP_PROXY": "http://p"}, None),
        (HTTPS, {"HTTPS_PROXY": " "}, None),
    ],
)
def test_the_proxy_is_the_one_that_the_variables_name(url: str, environ: dict[str, str], proxy: str | None) -> None:
    found = find_proxy(URL(url), environ)
    assert (found is None) == (proxy is None)
    assert found is None or str(found).rstrip("/").endswith(str(proxy))


@pytest.mark.parametrize("given", ["socks5://p:1080", f"ftp://u:{SECRET}@p", "http://", "http://p:99999999"])
def test_a_proxy_that_cannot_be_used_is_refused_and_not_shown(given: str) -> None:
    with pytest.raises(InputError, match="HTTPS_PROXY or ALL_PROXY must be the address of an HTTP proxy") as problem:
        make_chat_model("openai/m", environ={"HTTPS_PROXY": given, "OPENAI_API_KEY": "k" * 20})
    assert "canary" not in str(problem.value)


# Through a real proxy


def through(proxy: str, base_url: str = "http://model.invalid/v1", key: str | None = None) -> ChatModel:
    """A model behind a name that only the proxy knows."""
    environ = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy}
    return make_chat_model("custom/test", base_url=base_url, environ=environ, key=key, deadline=20.0)


def test_plain_requests_are_forwarded() -> None:
    with FaultyServer() as server, LoopbackProxy(server.port) as proxy:
        outcomes = ask(through(proxy.url), *(f"Who {number}?" for number in range(6)))
        assert set(proxy.seen) == {"POST http://model.invalid/v1/chat/completions HTTP/1.1"}
    for outcome in outcomes:
        assert isinstance(outcome, Reply)
        assert outcome.answer


def test_an_address_of_this_machine_does_not_go_through_the_proxy() -> None:
    with FaultyServer() as server, LoopbackProxy(server.port) as proxy:
        environ = {"HTTP_PROXY": proxy.url, "ALL_PROXY": proxy.url, "OPENAI_API_KEY": SECRET}
        [outcome] = ask(connect_to(server, environ=environ))
        assert proxy.seen == []
    assert isinstance(outcome, Reply)


def test_the_password_of_a_proxy_is_sent_to_it_and_shown_nowhere() -> None:
    def echo(prompt: str, nth: int) -> str:
        return f"The proxy's password is {SECRET}"

    with FaultyServer(echo) as server, LoopbackProxy(server.port, login=f"user:{SECRET}") as proxy:
        model = through(proxy.url)
        outcomes = ask(model, *(f"Who {number}?" for number in range(6)))
        assert set(proxy.seen) == {"POST http://model.invalid/v1/chat/completions HTTP/1.1"}
    states = {outcome.status for outcome in outcomes if isinstance(outcome, Reply)}
    assert states == {Status.KEY_IN_ANSWER}
    assert SECRET not in repr((model, model.settings, model.notes, outcomes))


def test_a_proxy_that_wants_a_password_says_so() -> None:
    with FaultyServer() as server, LoopbackProxy(server.port, login="user:password") as proxy:
        [refused] = ask(through(f"http://127.0.0.1:{proxy.port}"))
        assert server.total == 0
    assert isinstance(refused, Refused)
    assert "The proxy wants a user and a password" in str(refused)


def test_a_proxy_gets_no_key_over_plain_http() -> None:
    with FaultyServer() as server, LoopbackProxy(server.port) as proxy:
        with pytest.raises(InputError, match="would cross the network unencrypted"):
            through(proxy.url, key=SECRET)
        assert proxy.seen == []


def test_passwords_of_netrc_do_not_take_the_place_of_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As they would with aiohttp's own reading of the variables of proxies."""
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with FaultyServer() as server, LoopbackProxy(server.port) as proxy:
        environ = {"ALL_PROXY": proxy.url, "OPENAI_API_KEY": "sk-own-0123456789"}
        ask(connect_to(server, environ=environ))
        assert server.received[-1].headers["Authorization"] == "Bearer sk-own-0123456789"
        assert proxy.seen == []


@pytest.mark.parametrize(
    ("status", "expected", "words"),
    [
        (403, Refused, "refuses to connect: HTTP 403"),
        (407, Refused, "wants a user and a password"),
        (502, TransientFault, "HTTP 502"),
    ],
)
def test_a_tunnel_that_is_refused(status: int, expected: type[Exception], words: str) -> None:
    with LoopbackProxy(9, refuses=status) as proxy:
        [outcome] = ask(through(proxy.url, "https://model.invalid/v1"))
        assert proxy.seen == ["CONNECT model.invalid:443 HTTP/1.1"]
    assert isinstance(outcome, expected)
    assert words in str(outcome)


def test_a_proxy_that_is_not_there_is_named() -> None:
    with LoopbackProxy(9) as proxy:
        port = proxy.port
    [gone] = ask(through(f"http://127.0.0.1:{port}"))
    assert isinstance(gone, TransientFault)
    assert str(gone).startswith(f"cannot connect to the proxy 127.0.0.1:{port}")


# TLS: in a process of its own, because the variable is read when the process starts

ASKING = """
import asyncio, os, sys
from equipoise.models.chat.model import make_chat_model

async def main():
    async with make_chat_model("custom/m", base_url="https://model.invalid/v1", environ=dict(os.environ)) as model:
        print(await model.answer("Who?"))

asyncio.run(main())
"""


def ask_over_tls(folder: Path, *, trusted: bool) -> str:
    """What a process prints that asks a server with a certificate of its own authority."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("model.invalid").configure_cert(context)
    with FaultyServer(always("She."), tls=context) as server, LoopbackProxy(server.port) as proxy:
        environ = {"HTTPS_PROXY": proxy.url, "PYTHONPATH": ":".join(sys.path)}
        if trusted:
            environ["SSL_CERT_FILE"] = str(folder / "ca.pem")
        command = [sys.executable, "-c", ASKING]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert proxy.seen == ["CONNECT model.invalid:443 HTTP/1.1"]
    return done.stdout + done.stderr


@pytest.mark.fault("E22")
def test_an_authority_of_ones_own_is_trusted_if_it_is_named(tmp_path: Path) -> None:
    assert "answer='She.'" in ask_over_tls(tmp_path, trusted=True)


@pytest.mark.fault("E22")
def test_a_certificate_that_is_not_trusted_ends_the_run_and_names_the_variable(
    tmp_path: Path,
) -> None:
    printed = ask_over_tls(tmp_path, trusted=False)
    assert "Refused: No TLS with model.invalid:443" in printed
    assert "SSL_CERT_FILE=ca.pem" in printed


# Headers


def test_headers_are_sent_beside_the_key_and_their_values_are_secrets() -> None:
    with FaultyServer(always(f"Your header is {SECRET}")) as server:
        model = connect_to(server, headers={"X-Organisation": SECRET, "User-Agent": "mine"})
        [answered] = ask(model)
    sent = server.received[-1].headers
    assert sent["X-Organisation"] == SECRET
    assert sent["User-Agent"] == "mine"
    assert sent["Authorization"].startswith("Bearer sk-canary")
    assert isinstance(answered, Reply)
    assert answered.answer == f"Your header is {SECRET}", "answers are stored as they came"
    assert SECRET not in repr((model, model.settings, model.notes))


@pytest.mark.fault("S13")
def test_answers_with_words_of_headers_and_settings_are_stored_exactly_as_they_came() -> None:
    """Some values of headers and of --extra count as secrets, and are ordinary words all the same."""
    text = "A new organisation. The team of acme-research is great."
    with FaultyServer(always(text)) as server:
        sampling = Sampling(extra={"metadata": {"code": "acme-research"}})
        model = connect_to(server, headers={"X-Team": "organisation"}, sampling=sampling)
        [answered] = ask(model)
    assert isinstance(answered, Reply)
    assert answered.answer == text


@pytest.mark.fault("S13")
@pytest.mark.parametrize("field", ["answer", "reasoning"])
def test_an_answer_that_holds_the_key_is_a_failure_and_nothing_of_it_is_kept(field: str) -> None:
    said = f"She is a nurse. The key is {KEY}."
    behaviour = always(said) if field == "answer" else always(send_answer("Yes.", reasoning=said))
    with FaultyServer(behaviour) as server:
        model = connect_to(server)
        [answered] = ask(model)
    assert isinstance(answered, Reply)
    assert (answered.status, answered.answer, answered.reasoning) == (Status.KEY_IN_ANSWER, None, None)
    assert answered.detail == "the answer holds the key that was sent; it is not stored"
    assert find_leaks(answered, model) == []


def test_a_header_may_carry_the_key() -> None:
    with FaultyServer() as server:
        model = connect_to(server, headers={"authorization": f"Token {SECRET}"})
        assert isinstance(ask(model)[0], Reply)
    sent = {name.lower(): value for name, value in server.received[-1].headers.items()}
    assert sent["authorization"] == f"Token {SECRET}"


def test_what_follows_the_scheme_in_a_header_is_a_secret_too() -> None:
    with FaultyServer(always(f"Your token is {SECRET}")) as server:
        [answered] = ask(connect_to(server, headers={"Authorization": f"Token {SECRET}"}))
    assert isinstance(answered, Reply)
    assert (answered.status, answered.answer) == (Status.KEY_IN_ANSWER, None)


def test_with_a_header_that_carries_a_key_no_other_is_needed() -> None:
    model = make_chat_model("openai/m", environ={}, headers={"Authorization": "Token x"})
    assert model.name == "openai/m"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"a b": "x"}, id="blank in the name"),
        pytest.param({"": "x"}, id="no name"),
        pytest.param({"X": f"{SECRET}\r\nY: z"}, id="two lines"),
        pytest.param({"X": "é"}, id="not ASCII"),
    ],
)
def test_headers_that_cannot_be_sent_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(InputError, match="A header cannot be sent") as problem:
        make_chat_model("custom/m", base_url="http://127.0.0.1:1/v1", environ={}, headers=headers)
    assert "canary" not in str(problem.value)


def test_headers_do_not_cross_a_network_unencrypted() -> None:
    url = "http://model.invalid/v1"
    with pytest.raises(InputError, match=r"would cross the network unencrypted .* that in X-Key"):
        make_chat_model("custom/m", base_url=url, environ={}, headers={"X-Key": SECRET})
