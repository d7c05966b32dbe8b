"""How an endpoint is reached: through a proxy, with headers of the user's own, with a key that a command prints."""

from __future__ import annotations

import shlex
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
from equipoise.models.protocol import Refused, Reply, TransientFault
from serving.asking import ask, connect_to
from serving.faults import Fault
from serving.faulty import FaultyServer
from serving.proxying import LoopbackProxy

SECRET = "pw-canary-0123456789-abcdef"
HTTPS = "https://api.example.org/v1"


# Which proxy


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        (HTTPS, {"HTTPS_PROXY": "http://p:3128"}, "http://p:3128"),
        ("http://api.example.org/v1", {"HTTP_PROXY": "http://p:3128"}, "http://p:3128"),
        (HTTPS, {"https_proxy": "http://small", "HTTPS_PROXY": "http://capital"}, "http://small"),
        (HTTPS, {"ALL_PROXY": "p:3128"}, "http://p:3128"),
        (HTTPS, {"HTTPS_PROXY": "http://u:secret@p:3128"}, "@p:3128"),
        (HTTPS, {"HTTPS_PROXY": "http://p", "NO_PROXY": "example.org"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p", "NO_PROXY": "x, .example.org"}, None),
        (HTTPS, {"HTTPS_PROXY": "http://p", "NO_PROXY": "api.example.org:443"}, None),
        ("https://badexample.org/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.org"}, "http://p:1"),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://p", "ALL_PROXY": "http://p"}, None),
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


def test_requests_are_forwarded_and_the_password_of_the_proxy_is_shown_nowhere() -> None:
    def echo(prompt: str, nth: int) -> str:
        return f"The proxy's password is {SECRET}"

    with FaultyServer(echo) as server, LoopbackProxy(server.port, login=f"user:{SECRET}") as proxy:
        model = through(proxy.url)
        outcomes = ask(model, *(f"Who {n}?" for n in range(6)))
        assert set(proxy.seen) == {"POST http://model.invalid/v1/chat/completions HTTP/1.1"}
        [refused] = ask(through(f"http://127.0.0.1:{proxy.port}"))
    answers = {outcome.answer for outcome in outcomes if isinstance(outcome, Reply)}
    assert answers == {"The proxy's password is [redacted]"}
    assert SECRET not in repr((model, model.settings, model.notes, outcomes))
    assert isinstance(refused, Refused)
    assert "The proxy wants a user and a password" in str(refused)


def test_a_proxy_gets_no_key_over_plain_http(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor do passwords of ~/.netrc take the place of a key, as with aiohttp's own reading of the variables."""
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with FaultyServer() as server, LoopbackProxy(server.port) as proxy:
        with pytest.raises(InputError, match="would cross the network unencrypted"):
            through(proxy.url, key=SECRET)
        ask(connect_to(server, environ={"ALL_PROXY": proxy.url, "OPENAI_API_KEY": "sk-own-0123456789"}))
        assert server.received[-1].headers["Authorization"] == "Bearer sk-own-0123456789"
        assert proxy.seen == [], "an address of this machine does not go through the proxy"


@pytest.mark.parametrize(
    ("status", "expected", "words"),
    [
        (403, Refused, "refuses to connect: HTTP 403"),
        (407, Refused, "wants a user and a password"),
        (502, TransientFault, "HTTP 502"),
    ],
)
def test_a_tunnel_that_is_refused_and_a_proxy_that_is_not_there(
    status: int, expected: type[Exception], words: str
) -> None:
    with LoopbackProxy(9, refuses=status) as proxy:
        [outcome] = ask(through(proxy.url, "https://model.invalid/v1"))
        assert proxy.seen == ["CONNECT model.invalid:443 HTTP/1.1"]
    assert isinstance(outcome, expected)
    assert words in str(outcome)
    [gone] = ask(through(proxy.url))
    assert str(gone).startswith(f"cannot connect to the proxy 127.0.0.1:{proxy.port}")


# TLS: in a process of its own, because the variable is read when the process starts

ASKING = """
import asyncio, os, sys
from equipoise.models.chat.model import make_chat_model

async def main():
    async with make_chat_model("custom/m", base_url="https://model.invalid/v1", environ=dict(os.environ)) as model:
        print(await model.answer("Who?"))

asyncio.run(main())
"""


@pytest.mark.fault("E22")
def test_an_authority_of_ones_own_is_trusted_if_it_is_named(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("model.invalid").configure_cert(context)

    def ask_in_process(**variables: str) -> str:
        environ = {"HTTPS_PROXY": proxy.url, "PYTHONPATH": ":".join(sys.path), **variables}
        done = subprocess.run([sys.executable, "-c", ASKING], env=environ, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    with FaultyServer(lambda prompt, nth: "She.", tls=context) as server, LoopbackProxy(server.port) as proxy:
        assert "answer='She.'" in ask_in_process(SSL_CERT_FILE=str(tmp_path / "ca.pem"))
        refused = ask_in_process()
        assert set(proxy.seen) == {"CONNECT model.invalid:443 HTTP/1.1"}
    assert "Refused: No TLS with model.invalid:443" in refused
    assert "SSL_CERT_FILE=ca.pem" in refused


# Headers


def test_headers_are_sent_and_their_values_are_secrets() -> None:
    with FaultyServer(lambda prompt, nth: f"Your header is {SECRET}") as server:
        model = connect_to(server, headers={"X-Organisation": SECRET, "User-Agent": "mine"})
        [answered] = ask(model)
        sent = server.received[-1].headers
        assert (sent["X-Organisation"], sent["User-Agent"]) == (SECRET, "mine")
        assert sent["Authorization"].startswith("Bearer sk-canary")
        ask(connect_to(server, headers={"authorization": f"Token {SECRET}"}))
        sent = {name.lower(): value for name, value in server.received[-1].headers.items()}
        assert sent["authorization"] == f"Token {SECRET}", "a header may carry the key"
    assert isinstance(answered, Reply)
    assert answered.answer == "Your header is [redacted]"
    assert SECRET not in repr((model, model.settings, model.notes, answered))
    make_chat_model("openai/m", environ={}, headers={"Authorization": "Token x"})
    with pytest.raises(InputError, match=r"would cross the network unencrypted .* that in X-Key"):
        make_chat_model("custom/m", base_url="http://model.invalid/v1", environ={}, headers={"X-Key": SECRET})


@pytest.mark.parametrize("headers", [{"a b": "x"}, {"": "x"}, {"X": f"{SECRET}\r\nY: z"}, {"X": "é"}])
def test_headers_that_cannot_be_sent_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(InputError) as problem:
        make_chat_model("custom/m", base_url="http://127.0.0.1:1/v1", environ={}, headers=headers)
    assert "canary" not in str(problem.value)


# Keys that a command prints

FIRST, SECOND, THIRD = (f"{name}-key-0123456789" for name in ("first", "second", "third"))


def printing(tmp_path: Path, *keys: str) -> str:
    """A command that prints one key after the other, the last one again and again."""
    code = (
        "import pathlib, sys\n"
        "count = pathlib.Path(sys.argv[1])\n"
        "n = len(count.read_text()) if count.exists() else 0\n"
        "count.write_text('x' * (n + 1))\n"
        "print(sys.argv[2:][min(n, len(sys.argv) - 3)])\n"
    )
    return shlex.join([sys.executable, "-c", code, str(tmp_path / "count"), *keys])


@pytest.mark.parametrize(
    ("keys", "accepted", "answers"),
    [
        ((FIRST, SECOND), {FIRST: 2, SECOND: 99}, 8),
        ((FIRST, SECOND), {SECOND: 99}, 8),
        ((FIRST,), {}, 0),
        ((FIRST, SECOND, THIRD), {}, 0),
    ],
)
def test_the_command_is_run_once_more_when_its_keys_are_refused(
    keys: tuple[str, ...], accepted: dict[str, int], answers: int, tmp_path: Path
) -> None:
    """The server takes each key for a number of requests."""

    def behave(prompt: str, nth: int) -> Fault | str:
        key = server.received[-1].headers["Authorization"].removeprefix("Bearer ")
        accepted[key] = accepted.get(key, 0) - 1
        return "She." if accepted[key] >= 0 else Fault.ECHO_401

    with FaultyServer(behave) as server:
        model = make_chat_model("custom/m", base_url=server.url, environ={}, key_command=printing(tmp_path, *keys))
        outcomes = ask(model, *(f"Who {number}?" for number in range(8 if answers else 1)))
    assert len([outcome for outcome in outcomes if isinstance(outcome, Reply)]) == answers
    for refusal in outcomes:
        refused = "The key was refused; it came from the key command." in str(refusal)
        assert refused == isinstance(refusal, Refused)
    assert (tmp_path / "count").read_text() == "xx", "requests that are refused together share one run"
    assert "0123456789" not in repr((model, model.settings, model.notes, outcomes))


@pytest.mark.fault("S22")
@pytest.mark.parametrize(
    "code",
    [
        "print('canary-1'); raise SystemExit(3)",
        "print('')",
        "print('two canary words')",
        "import time; print('canary', flush=True); time.sleep(600)",
        "while True: print('canary' * 1000, flush=True)",
    ],
)
def test_a_command_that_fails_or_hangs_ends_in_a_message(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equipoise.models.programs.KEY_SECONDS", 0.3 if "sleep" in code else 60.0)
    with FaultyServer() as server:
        command = shlex.join([sys.executable, "-c", code])
        with pytest.raises(Refused, match="must print the key and nothing else") as problem:
            ask(make_chat_model("custom/m", base_url=server.url, environ={}, key_command=command))
        assert server.total == 0
    assert "canary" not in str(problem.value)
