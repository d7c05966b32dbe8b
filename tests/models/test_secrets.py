"""Where the key goes and where it does not: rows S4–S6, S13, U4, E16."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

import pytest

from equipoise.errors import InputError
from equipoise.models import Passing, Refused, Reply, Sampling, connect
from serving.asking import KEY, always, ask, found, leaks, opened
from serving.faults import Fault
from serving.faulty import FaultyServer


def test_s4_the_search_for_the_key_would_find_it() -> None:
    assert found(f"x{KEY}x")
    assert found(f"key={quote(KEY, safe='')}")
    assert found(base64.b64encode(f"user:{KEY}".encode()).decode())


def test_s4_the_key_is_sent_and_kept_nowhere_else() -> None:
    sampling = Sampling(system=f"Say {KEY}", extra={"api_key": "another-secret-value", "metadata": {"key": "abcdefgh"}})
    with FaultyServer() as server:
        model = opened(server, sampling=sampling)
        [reply] = ask(model)
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"
    assert server.seen[0].body["api_key"] == "another-secret-value"
    assert leaks(reply, model) == []
    assert model.settings["extra"] == {"api_key": "[redacted]", "metadata": {"key": "[redacted]"}}


@pytest.mark.parametrize(
    ("name", "options", "header", "value"),
    [
        ("openai/m", {}, "Authorization", f"Bearer {KEY}"),
        ("anthropic/m", {}, "x-api-key", KEY),
        ("azure/m", {}, "api-key", KEY),
        ("vllm/m", {}, "Authorization", f"Bearer {KEY}"),
    ],
)
def test_the_key_goes_into_the_header_of_its_provider(
    name: str, options: dict[str, Any], header: str, value: str
) -> None:
    with FaultyServer() as server:
        ask(connect(name, base_url=server.url, key=f" {KEY}\n", environ={}, **options))
    assert server.seen[0].headers[header] == value


def test_s5_a_secret_in_the_base_url_is_used_but_not_shown() -> None:
    with FaultyServer() as server:
        where = server.url.replace("http://", "http://me:pass%2Fword-123@")
        model = connect("custom/m", base_url=f"{where}?api_key=query-secret-1&zone=eu#part", environ={})
        [reply] = ask(model)
    assert isinstance(reply, Reply)
    assert server.seen[0].query == {"api_key": "query-secret-1", "zone": "eu"}
    assert server.seen[0].headers["Authorization"] == "Basic " + base64.b64encode(b"me:pass/word-123").decode()
    assert model.settings["base_url"] == f"{server.url}?zone=eu"
    shown = f"{model!r} {model.settings} {model.notes} {vars(model)['_endpoint']!r}"
    assert not [secret for secret in ("pass", "word-123", "query-secret-1", "me:") if secret in shown]


def test_s5_the_secrets_of_a_base_url_are_redacted_too() -> None:
    with FaultyServer(always(Fault.ECHO_500)) as server:
        where = server.url.replace("http://", "http://me:pass-word-123@")
        model = connect("anthropic/m", base_url=where, key="pass-word-123", environ={})
        [caught] = ask(model)
    assert isinstance(caught, Passing)
    assert "pass-word" not in f"{caught} {caught.reply}"


def test_s5_user_and_password_take_the_place_of_a_bearer_key() -> None:
    with FaultyServer() as server:
        model = opened(server, base_url=server.url.replace("http://", "http://me:word@"))
        ask(model)
    assert server.seen[0].headers["Authorization"].startswith("Basic ")
    assert any("instead of the key" in note for note in model.notes)


@pytest.mark.parametrize("given", ["localhost:8000", "ftp://host/v1", "http:///v2", "me:pass-word@host", "http://h:x/"])
def test_s5_a_base_url_that_cannot_be_read_is_not_shown(given: str) -> None:
    with pytest.raises(InputError, match="base URL") as caught:
        connect("custom/m", base_url=given, environ={})
    assert given not in str(caught.value)
    assert caught.value.exit_code == 2


INSECURE = [
    ("http://10.0.0.5:8000/v1", KEY, True),
    ("http://example.org/v1", KEY, True),
    ("http://127.0.0.1.example.org/v1", KEY, True),
    ("http://127.0.0.1@example.org/v1", None, True),
    ("http://me:secret@example.org/v1", None, True),
    ("http://example.org/v1?token=secret", None, True),
    ("http://0.0.0.0/v1", KEY, True),
    ("http://example.org/v1", None, False),
    ("https://example.org/v1", KEY, False),
    ("http://localhost:8000/v1", KEY, False),
    ("http://127.8.9.1/v1", KEY, False),
    ("http://[::1]:8000/v1", KEY, False),
]


@pytest.mark.parametrize(("base_url", "key", "refused"), INSECURE, ids=lambda value: f"S6-{value}")
def test_s6_a_key_does_not_cross_the_network_in_the_clear(base_url: str, key: str | None, refused: bool) -> None:
    if not refused:
        connect("vllm/m", base_url=base_url, key=key, environ={})
        return
    with pytest.raises(InputError, match="--allow-insecure") as caught:
        connect("vllm/m", base_url=base_url, key=key, environ={})
    assert caught.value.exit_code == 2
    assert found(str(caught.value)) == []
    assert "secret@" not in str(caught.value)
    connect("vllm/m", base_url=base_url, key=key, environ={}, allow_insecure=True)


def test_s13_an_answer_that_is_no_secret_is_left_alone() -> None:
    """A placeholder for a key is no secret, and answers are full of such words."""
    with FaultyServer(always("There is none.")) as server:
        [reply] = ask(connect("ollama/m", base_url=server.url, key="none", environ={}))
    assert isinstance(reply, Reply)
    assert reply.answer == "There is none."


# U4


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": " "}, {"OTHER": KEY}])
def test_u4_a_missing_key_names_its_variable(environ: dict[str, str]) -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        connect("openai/gpt-4o-mini", environ=environ)
    assert caught.value.exit_code == 2


def test_u4_the_variable_can_be_another() -> None:
    with pytest.raises(InputError, match="MY_KEY"):
        connect("openai/gpt-4o-mini", key_variable="MY_KEY", environ={"OPENAI_API_KEY": KEY})
    with pytest.raises(InputError, match="MY_KEY"):
        connect("vllm/m", key_variable="MY_KEY", environ={})
    connect("openai/gpt-4o-mini", key_variable="MY_KEY", environ={"MY_KEY": KEY})


def test_u4_a_key_that_no_header_can_carry_is_refused_and_not_shown() -> None:
    for bad in ("sk-über-geheim-123", "sk-two words-123", "sk-line\nbreak-123"):
        with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
            connect("openai/m", environ={"OPENAI_API_KEY": bad})
        assert bad[:6] not in str(caught.value)


def test_at_another_address_a_key_may_not_be_needed() -> None:
    with FaultyServer() as server:
        [reply] = ask(connect("openai/m", base_url=server.url, environ={}))
    assert isinstance(reply, Reply)
    assert "Authorization" not in server.seen[0].headers


@pytest.mark.parametrize(
    ("name", "words"), [("openai/m", "none was sent. It is looked for in OPENAI_API_KEY"), ("vllm/m", "--key-variable")]
)
def test_e16_without_a_key_the_message_says_where_to_put_it(name: str, words: str) -> None:
    with FaultyServer(always(Fault.UNAUTHORIZED_401)) as server:
        [caught] = ask(connect(name, base_url=server.url, environ={}))
    assert isinstance(caught, Refused)
    assert words in str(caught)
