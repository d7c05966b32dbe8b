"""How an endpoint is reached: through a proxy, with headers of the user's own, with a key that a command prints."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trustme
from yarl import URL

from equipoise.errors import InputError
from equipoise.models import Refused, Reply, TransientFault, connect
from equipoise.models.chat.connecting import find_proxy
from serving.asking import ask, connect_to
from serving.faults import Fault
from serving.faulty import FaultyServer
from serving.proxying import LoopbackProxy

SECRET = "pw-canary-0123456789-abcdef"


# Which proxy


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://api.example.org/v1", {"HTTPS_PROXY": "http://p:3128"}, "http://p:3128"),
        ("https://api.example.org/v1", {"HTTP_PROXY": "http://p:3128"}, None),
        ("http://api.example.org/v1", {"HTTP_PROXY": "http://p:3128"}, "http://p:3128"),
        (
            "https://api.example.org/v1",
            {"https_proxy": "http://small", "HTTPS_PROXY": "http://capital"},
            "http://small",
        ),
        ("https://api.example.org/v1", {"ALL_PROXY": "p:3128"}, "http://p:3128"),
        ("https://api.example.org/v1", {"HTTPS_PROXY": "http://u:secret@p:3128"}, "@p:3128"),
        ("https://api.example.org/v1", {"HTTPS_PROXY": "http://p", "NO_PROXY": "example.org"}, None),
        ("https://api.example.org/v1", {"HTTPS_PROXY": "http://p", "NO_PROXY": "x, .example.org"}, None),
        ("https://api.example.org/v1", {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, None),
        ("https://api.example.org/v1", {"HTTPS_PROXY": "http://p", "NO_PROXY": "api.example.org:443"}, None),
        ("https://badexample.org/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.org"}, "http://p:1"),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://p", "ALL_PROXY": "http://p"}, None),
        ("http://localhost:8000/v1", {"HTTP_PROXY": "http://p"}, None),
        ("http://[::1]:8000/v1", {"HTTP_PROXY": "http://p"}, None),
        ("https://api.example.org/v1", {"HTTPS_PROXY": " "}, None),
    ],
)
def test_the_proxy_is_the_one_that_the_variables_name(url: str, environ: dict[str, str], proxy: str | None) -> None:
    found = find_proxy(URL(url), environ)
    assert (found is None) == (proxy is None)
    assert found is None or str(found).rstrip("/").endswith(str(proxy))


@pytest.mark.parametrize("given", ["socks5://p:1080", f"ftp://u:{SECRET}@p", "http://", "http://p:99999999"])
def test_a_proxy_that_cannot_be_used_is_refused_and_not_shown(given: str) -> None:
    with pytest.raises(InputError, match="HTTPS_PROXY or ALL_PROXY must be the address of an HTTP proxy") as problem:
        connect("openai/m", environ={"HTTPS_PROXY": given, "OPENAI_API_KEY": "k" * 20})
    assert "canary" not in str(problem.value)


# Through a real proxy


def through(proxy: LoopbackProxy, **options: Any) -> Any:
    """A model behind a name that only the proxy knows."""
    environ = {"HTTP_PROXY": proxy.url, "HTTPS_PROXY": proxy.url}
    return connect("custom/test", base_url="http://model.invalid/v1", environ=environ, deadline=20.0, **options)


def test_plain_requests_are_forwarded_and_connections_reused() -> None:
    with FaultyServer() as server, LoopbackProxy(server.port) as proxy:
        outcomes = ask(through(proxy), *(f"Who {n}?" for n in range(6)))
        assert all(isinstance(outcome, Reply) and outcome.answer for outcome in outcomes)
        assert set(proxy.seen) == {"POST http://model.invalid/v1/chat/completions HTTP/1.1"}


def test_an_address_of_this_machine_does_not_go_through_the_proxy() -> None:
    with FaultyServer() as server, LoopbackProxy(server.port) as proxy:
        environ = {"HTTP_PROXY": proxy.url, "ALL_PROXY": proxy.url}
        [outcome] = ask(connect_to(server, environ={**environ, "OPENAI_API_KEY": SECRET}))
        assert isinstance(outcome, Reply)
        assert proxy.seen == []


def test_the_password_of_a_proxy_is_sent_to_it_and_shown_nowhere() -> None:
    def echo(prompt: str, nth: int) -> str:
        return f"The proxy's password is {SECRET}"

    with FaultyServer(echo) as server, LoopbackProxy(server.port, login=f"user:{SECRET}") as proxy:
        model = through(proxy)
        [outcome] = ask(model)
    assert isinstance(outcome, Reply)
    assert outcome.answer == "The proxy's password is [redacted]"
    assert SECRET not in repr((model, model.settings, model.notes, outcome))


def test_a_proxy_gets_no_key_over_plain_http(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor do passwords of ~/.netrc take the place of a key, as with aiohttp's own reading of the variables."""
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with FaultyServer() as server, LoopbackProxy(server.port) as proxy:
        with pytest.raises(InputError, match="would cross the network unencrypted"):
            through(proxy, key=SECRET)
        ask(connect_to(server, environ={"HTTP_PROXY": proxy.url, "OPENAI_API_KEY": "sk-own-0123456789"}))
        assert server.received[-1].headers["Authorization"] == "Bearer sk-own-0123456789"
        assert proxy.seen == []


def test_a_proxy_that_wants_a_password_says_so() -> None:
    with FaultyServer() as server, LoopbackProxy(server.port, login="user:password") as proxy:
        environ = {"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}"}
        [outcome] = ask(connect("custom/test", base_url="http://model.invalid/v1", environ=environ))
    assert isinstance(outcome, Refused)
    assert "The proxy wants a user and a password" in str(outcome)


def test_a_proxy_that_is_not_there_is_named() -> None:
    environ = {"HTTP_PROXY": "http://127.0.0.1:9"}
    [outcome] = ask(connect("custom/test", base_url="http://model.invalid/v1", environ=environ))
    assert isinstance(outcome, TransientFault)
    assert "cannot connect to the proxy 127.0.0.1:9" in str(outcome)


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
        environ = {"HTTPS_PROXY": proxy.url}
        [outcome] = ask(connect("custom/test", base_url="https://model.invalid/v1", environ=environ))
        assert proxy.seen == ["CONNECT model.invalid:443 HTTP/1.1"]
    assert isinstance(outcome, expected)
    assert words in str(outcome)


# TLS: in a process of its own, because the variable is read when the process starts

ASKING = """
import asyncio, json, os, sys
from equipoise.models import connect

async def main():
    async with connect("custom/m", base_url=sys.argv[1], environ=dict(os.environ)) as model:
        try:
            print(json.dumps({"answer": (await model.answer("Who?")).answer}))
        except Exception as error:
            print(json.dumps({"error": str(error), "kind": type(error).__name__}))

asyncio.run(main())
"""


def ask_over_tls(tmp_path: Path, *, trusted: bool) -> dict[str, str]:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("model.invalid").configure_cert(context)
    with FaultyServer(lambda prompt, nth: "She.", tls=context) as server, LoopbackProxy(server.port) as proxy:
        environ = {"HTTPS_PROXY": proxy.url, "PYTHONPATH": ":".join(sys.path)}
        environ |= {"SSL_CERT_FILE": str(tmp_path / "ca.pem")} if trusted else {}
        words = [sys.executable, "-c", ASKING, "https://model.invalid/v1"]
        done = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
        assert proxy.seen == ["CONNECT model.invalid:443 HTTP/1.1"]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_an_authority_of_ones_own_is_trusted_through_a_tunnel(tmp_path: Path) -> None:
    assert ask_over_tls(tmp_path, trusted=True) == {"answer": "She."}


def test_a_certificate_that_is_not_trusted_ends_the_run_and_names_the_variable(tmp_path: Path) -> None:
    outcome = ask_over_tls(tmp_path, trusted=False)
    assert outcome["kind"] == "Refused"
    assert "No TLS with model.invalid:443" in outcome["error"]
    assert "SSL_CERT_FILE=ca.pem" in outcome["error"]


def test_a_file_of_certificates_must_be_there(tmp_path: Path) -> None:
    environ = {"SSL_CERT_FILE": str(tmp_path / "none.pem")}
    with pytest.raises(InputError, match="SSL_CERT_FILE names a file"):
        connect("custom/m", base_url="https://model.invalid/v1", environ=environ)
    connect("custom/m", base_url="http://127.0.0.1:1/v1", environ=environ)


# Headers


def test_headers_are_sent_and_their_values_are_secrets() -> None:
    def echo(prompt: str, nth: int) -> Fault | str:
        return f"Your header is {SECRET}" if nth == 1 else Fault.ECHO_401

    with FaultyServer(echo) as server:
        model = connect_to(server, headers={"X-Organisation": SECRET, "User-Agent": "mine"})
        [answered] = ask(model)
        assert server.received[-1].headers["X-Organisation"] == SECRET
        assert server.received[-1].headers["User-Agent"] == "mine"
        assert server.received[-1].headers["Authorization"].startswith("Bearer sk-canary")
    assert isinstance(answered, Reply)
    assert answered.answer == "Your header is [redacted]"
    assert model.settings["headers"] == ["User-Agent", "X-Organisation"]
    assert SECRET not in repr((model, model.settings, model.notes, answered))


def test_a_header_may_carry_the_key() -> None:
    with FaultyServer() as server:
        model = connect_to(server, headers={"authorization": f"Token {SECRET}"})
        assert isinstance(ask(model)[0], Reply)
        sent = {name.lower(): value for name, value in server.received[-1].headers.items()}
        assert sent["authorization"] == f"Token {SECRET}"
    connect("openai/m", environ={}, headers={"Authorization": "Token x"})


@pytest.mark.parametrize(
    "headers", [{"Content-Type": "x"}, {"Host": "x"}, {"a b": "x"}, {"": "x"}, {"X": f"{SECRET}\r\nY: z"}, {"X": "é"}]
)
def test_headers_that_cannot_be_sent_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(InputError) as problem:
        connect("custom/m", base_url="http://127.0.0.1:1/v1", environ={}, headers=headers)
    assert "canary" not in str(problem.value)


def test_headers_do_not_cross_a_network_unencrypted() -> None:
    with pytest.raises(InputError, match="The header X-Key would cross the network unencrypted"):
        connect("custom/m", base_url="http://model.invalid/v1", environ={}, headers={"X-Key": SECRET})


# Keys that a command prints


def counting(tmp_path: Path, *keys: str) -> str:
    """A command that prints one key after the other, the last one again and again."""
    (tmp_path / "keys").write_text("\n".join(keys))
    script = tmp_path / "print_key.py"
    script.write_text(
        "from pathlib import Path\n"
        f"keys, count = Path({str(tmp_path / 'keys')!r}), Path({str(tmp_path / 'count')!r})\n"
        "n = int(count.read_text()) if count.exists() else 0\n"
        "count.write_text(str(n + 1))\n"
        "lines = keys.read_text().splitlines()\n"
        "print(lines[min(n, len(lines) - 1)])\n"
    )
    return f"{sys.executable} {script}"


def runs(tmp_path: Path) -> int:
    return int((tmp_path / "count").read_text())


class Expiring(FaultyServer):
    """A server that takes only some keys, each for a number of requests."""

    def __init__(self, **allowed: int) -> None:
        super().__init__(self._behave)
        self._allowed = allowed

    def _behave(self, prompt: str, nth: int) -> Fault | str:
        key = self.received[-1].headers["Authorization"].removeprefix("Bearer ")
        self._allowed[key] = self._allowed.get(key, 0) - 1
        return "She." if self._allowed[key] >= 0 else Fault.ECHO_401


def test_the_command_is_run_again_when_its_key_is_refused(tmp_path: Path) -> None:
    command = counting(tmp_path, "first-key-0123456789", "second-key-0123456789")
    with Expiring(**{"first-key-0123456789": 2, "second-key-0123456789": 99}) as server:
        model = connect("custom/m", base_url=server.url, environ={}, key_command=command)
        import asyncio

        async def ask_in_turn() -> list[Reply]:
            async with model:
                return [await model.answer(f"Who {n}?") for n in range(5)]

        assert [reply.answer for reply in asyncio.run(ask_in_turn())] == ["She."] * 5
    assert runs(tmp_path) == 2
    assert "0123456789" not in repr((model, model.settings, model.notes))


def test_requests_that_are_refused_together_share_one_run(tmp_path: Path) -> None:
    command = counting(tmp_path, "first-key-0123456789", "second-key-0123456789")
    with Expiring(**{"second-key-0123456789": 99}) as server:
        outcomes = ask(
            connect("custom/m", base_url=server.url, environ={}, key_command=command), *(f"{n}?" for n in range(8))
        )
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    assert runs(tmp_path) == 2


@pytest.mark.parametrize("keys", [("a-key-0123456789",), ("a-key-0123456789", "b-key-0123456789", "c-key-0123456789")])
def test_keys_that_never_work_end_the_run(keys: tuple[str, ...], tmp_path: Path) -> None:
    with FaultyServer(lambda prompt, nth: Fault.ECHO_401) as server:
        model = connect("custom/m", base_url=server.url, environ={}, key_command=counting(tmp_path, *keys))
        [outcome] = ask(model)
    assert isinstance(outcome, Refused)
    assert "The key was refused; it came from the key command." in str(outcome)
    assert "0123456789" not in str(outcome)
    assert runs(tmp_path) == 2


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('canary-1'); raise SystemExit(3)", "failed with exit code 3"),
        ("print('')", "must print the key and nothing else"),
        ("print('two canary words')", "must print the key and nothing else"),
        ("print('canary\\nlines')", "must print the key and nothing else"),
        ("import time; print('canary', flush=True); time.sleep(600)", "did not end within"),
        ("while True: print('canary' * 1000, flush=True)", "must print the key and nothing else"),
    ],
)
@pytest.mark.fault("S22")
def test_a_command_that_fails_or_hangs_ends_in_a_message(
    code: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("equipoise.models.chat.keys.COMMAND_SECONDS", 3.0)
    (tmp_path / "script.py").write_text(code)
    command = f"{sys.executable} {tmp_path / 'script.py'}"
    with FaultyServer() as server:
        model = connect("custom/m", base_url=server.url, environ={}, key_command=command)
        with pytest.raises(Refused, match=words) as problem:
            ask(model)
        assert server.total == 0
    assert "canary" not in str(problem.value)


def test_a_command_that_is_not_there_ends_in_a_message() -> None:
    with pytest.raises(InputError, match="The key command cannot be run: there is no program 'no-such-command-here'"):
        connect("custom/m", base_url="http://127.0.0.1:9/v1", environ={}, key_command="no-such-command-here x")


def test_there_is_no_shell(tmp_path: Path) -> None:
    command = f"{sys.executable} -c 'import sys; print(sys.argv[1][:1] + \"-key-0123456789\")' $HOME;touch {tmp_path}/x"
    with FaultyServer() as server:
        assert isinstance(ask(connect("custom/m", base_url=server.url, environ={}, key_command=command))[0], Reply)
        assert server.received[-1].headers["Authorization"] == "Bearer $-key-0123456789"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("command", ["", "  ", "echo 'x"])
def test_a_command_that_is_none_is_refused(command: str) -> None:
    with pytest.raises(InputError, match="The key command"):
        connect("openai/m", environ={}, key_command=command)


def test_a_command_or_a_variable_not_both() -> None:
    with pytest.raises(InputError, match="not both"):
        connect("openai/m", environ={}, key_variable="MY_KEY", key_command="echo x")
