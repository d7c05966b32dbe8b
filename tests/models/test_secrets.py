"""Where the key is sent, and that it is kept and shown nowhere (docs/faults.md, S4–S6, S13, U4, E16)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import InputError
from equipoise.models.chat.model import make_chat_model
from equipoise.models.protocol import Refused, Reply, Sampling
from equipoise.models.redact import Redactor
from serving.asking import KEY, always, ask, connect_to, find_key, find_leaks
from serving.faults import Fault
from serving.faulty import FaultyServer


@pytest.mark.fault("S4")
def test_secrets_are_sent_and_kept_nowhere() -> None:
    extra = {
        "api_key": "nested-secret-0",
        "metadata": {"key": "abcdefgh"},
        "provider": {"options": [{"api_key": "nested-secret-1"}], "credentials": {"user": "nested-secret-2"}},
        "keys": ["nested-secret-3"],
        "note": f"the key is {KEY}",
        "response_format": {"properties": {"code": {"type": "string"}}},
    }
    with FaultyServer(always("nested-secret-1, nested-secret-2, nested-secret-3")) as server:
        sampling = Sampling(system=f"Never say {KEY}.", extra=extra)
        model = make_chat_model(f"openai/{KEY}", base_url=server.url, key=KEY, environ={}, sampling=sampling)
        [reply] = ask(model)
    [request] = server.received
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert (request.body["provider"], request.body["model"]) == (extra["provider"], KEY)
    assert find_leaks(reply, model) == []
    assert model.name == "openai/[redacted]"
    assert "nested-secret" not in f"{model.settings} {reply}"
    stored = cast(dict[str, Any], model.settings["extra"])
    assert (stored["api_key"], stored["metadata"]) == ("[redacted]", {"key": "[redacted]"})
    assert stored["response_format"] == extra["response_format"]


@pytest.mark.parametrize(
    ("name", "header", "value"),
    [
        ("openai/m", "Authorization", f"Bearer {KEY}"),
        ("anthropic/m", "x-api-key", KEY),
        ("azure/m", "api-key", KEY),
    ],
)
def test_the_key_goes_into_the_header_of_its_provider(name: str, header: str, value: str) -> None:
    with FaultyServer() as server:
        ask(make_chat_model(name, base_url=server.url, key=f" {KEY}\n", environ={}))
    assert server.received[0].headers[header] == value


@pytest.mark.fault("S5")
def test_a_secret_in_the_base_url_is_used_but_not_shown() -> None:
    with FaultyServer(always("It is word: pass/word-123")) as server:
        url = server.url.replace("http://", "http://me:pass%2Fword-123@")
        model = connect_to(server, base_url=f"{url}?api_key=query-secret-1&zone=eu#part", allow_secret_url=True)
        [reply] = ask(model)
    assert isinstance(reply, Reply)
    assert reply.answer == "It is word: [redacted]"
    assert server.received[0].query == {"api_key": "query-secret-1", "zone": "eu"}
    assert server.received[0].headers["Authorization"] == "Basic " + base64.b64encode(b"me:pass/word-123").decode()
    assert model.settings["base_url"] == f"{server.url}?zone=eu"
    shown = f"{model!r} {model.settings} {model.notes} {vars(model)['_endpoint']!r}"
    assert not [secret for secret in ("pass/", "word-123", "query-secret-1", "me:") if secret in shown]


@pytest.mark.fault("S5")
@pytest.mark.parametrize(
    "base_url", ["localhost:8000", "ftp://host/v1", "http:///v2", "me:pass-word@host", "http://h:x/", "http://h:99999/"]
)
def test_a_base_url_that_cannot_be_parsed_is_refused_and_not_shown(base_url: str) -> None:
    with pytest.raises(InputError, match="base URL") as caught:
        make_chat_model("custom/m", base_url=base_url, environ={})
    assert base_url not in str(caught.value)


@pytest.mark.fault("S19")
@pytest.mark.parametrize(
    "url",
    [
        "https://h/v1?api_key=abc",
        "https://h/v1?x-goog-token=AIzaSyA1234567890abcdefgh",
        "https://h/v1?sk-proj-0123456789abcdef=1",
        "https://h/sk-proj-0123456789abcdef/v1",
        "https://h/proxy/Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA/v1",
    ],
)
def test_a_base_url_with_a_secret_is_refused_unless_allowed_and_stored_without(url: str) -> None:
    with pytest.raises(InputError, match="--allow-secret-url") as caught:
        make_chat_model("custom/m", base_url=url, environ={})
    model = make_chat_model("custom/m", base_url=url, environ={}, allow_secret_url=True)
    secret = max(re.split(r"[/?=&]", url.removeprefix("https://h/")), key=len)
    for shown in (str(caught.value), repr(model), str(model.settings)):
        assert secret not in shown
    if "?" not in url:
        with pytest.raises(InputError, match="does not keep"):
            make_chat_model("custom/m", base_url=str(model.settings["base_url"]), environ={}, allow_secret_url=True)


@pytest.mark.fault("S19")
def test_ids_and_names_in_a_base_url_are_no_secrets() -> None:
    for path in (
        "client/v4/accounts/0123456789abcdef0123456789abcdef/ai/v1",
        "v1/projects/123456789012/locations/us-central1/endpoints/openapi",
        "6f9619ff-8b86-d011-b42d-00cf4fc964ff/v1",
        "serving-endpoints/meta-llama-3-1-405b-instruct",
    ):
        assert (
            make_chat_model("custom/m", base_url=f"https://h/{path}", environ={}).settings["base_url"]
            == f"https://h/{path}"
        )


@pytest.mark.fault("S17")
@pytest.mark.parametrize("name", [KEY, "sk-proj-0123456789abcdef", "gsk_0123456789abcdefgh", "MY KEY", "1KEY", ""])
def test_a_key_given_as_the_name_of_its_variable_is_not_shown(name: str) -> None:
    with pytest.raises(InputError, match="name of an environment variable") as caught:
        make_chat_model("openai/m", key_variable=name, environ={})
    assert not name or name not in str(caught.value)


@pytest.mark.fault("S18")
@pytest.mark.parametrize(
    ("sampling", "option"),
    [
        (Sampling(extra={"a": [{"api_key": "secret-value"}]}), "--extra"),
        (Sampling(system=f"The key is {KEY}."), "--system"),
    ],
)
def test_a_secret_that_was_not_stored_is_not_sent_as_redacted(sampling: Sampling, option: str) -> None:
    stored = make_chat_model("vllm/m", key=KEY, environ={}, sampling=sampling).settings
    again = Sampling(extra=cast(dict[str, Any], stored["extra"]), system=cast(str | None, stored["system"]))
    with pytest.raises(InputError, match=option):
        make_chat_model("vllm/m", key=KEY, environ={}, sampling=again)


@pytest.mark.fault("S6")
@pytest.mark.parametrize(
    ("base_url", "key", "refused"),
    [
        ("http://10.0.0.5:8000/v1", KEY, True),
        ("http://127.0.0.1.example.org/v1", KEY, True),
        ("http://127.0.0.1@example.org/v1", None, True),
        ("http://me:secret@example.org/v1", None, True),
        ("http://example.org/v1?token=secret", None, True),
        ("http://example.org/v1", None, False),
        ("https://example.org/v1", KEY, False),
        ("http://localhost:8000/v1", KEY, False),
        ("http://[::1]:8000/v1", KEY, False),
    ],
)
def test_a_key_does_not_cross_the_network_unencrypted(base_url: str, key: str | None, refused: bool) -> None:
    options: dict[str, Any] = {"base_url": base_url, "key": key, "environ": {}, "allow_secret_url": True}
    if refused:
        with pytest.raises(InputError, match="--allow-insecure") as caught:
            make_chat_model("vllm/m", **options)
        assert find_key(str(caught.value)) == []
        assert "secret@" not in str(caught.value)
    make_chat_model("vllm/m", allow_insecure=refused, **options)


ECHOES: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "the beginning": lambda key: key[:16],
    "URL": lambda key: quote(key, safe=""),
    "JSON": json.dumps,
    "JSON, the slash": lambda key: key.replace("/", "\\/"),
}


@pytest.mark.fault("S13")
@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_no_echo_of_the_key_is_kept(echo: Callable[[str], str]) -> None:
    assert find_key(echo(KEY)), "the search for the key finds it where it is"
    shown = Redactor(KEY).redact(f"ß Your key is {echo(KEY)} – please keep it.")
    assert find_key(shown) == []
    assert shown.split()[:4] + shown.split()[-4:] == ["ß", "Your", "key", "is", "–", "please", "keep", "it."]


@pytest.mark.fault("S13")
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_text_without_the_key_stays_as_it_is(text: str) -> None:
    assert Redactor(KEY, "none").redact(f"There is none. {text}") == f"There is none. {text}"


# Missing and unusable keys


@pytest.mark.fault("U4")
@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": " "}, {"OTHER": KEY}])
def test_the_error_for_a_missing_key_names_its_variable(environ: dict[str, str]) -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        make_chat_model("openai/gpt-4o-mini", environ=environ)
    for name in ("openai/gpt-4o-mini", "vllm/m"):
        with pytest.raises(InputError, match="MY_KEY"):
            make_chat_model(name, key_variable="MY_KEY", environ={**environ, "OPENAI_API_KEY": KEY})
        make_chat_model(name, key_variable="MY_KEY", environ={"MY_KEY": KEY})


@pytest.mark.fault("U4")
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown() -> None:
    for bad in ("sk-über-geheim-123", "sk-two words-123", "sk-line\nbreak-123"):
        with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
            make_chat_model("openai/m", environ={"OPENAI_API_KEY": bad})
        assert bad[:6] not in str(caught.value)


@pytest.mark.fault("E16")
@pytest.mark.parametrize(
    ("name", "words"), [("openai/m", "none was sent. It is looked for in OPENAI_API_KEY"), ("vllm/m", "--key-variable")]
)
def test_at_another_address_no_key_is_demanded_and_a_refusal_says_where_to_put_one(name: str, words: str) -> None:
    with FaultyServer(always(Fault.UNAUTHORIZED_401)) as server:
        [refusal] = ask(make_chat_model(name, base_url=server.url, environ={}))
    assert "Authorization" not in server.received[0].headers
    assert isinstance(refusal, Refused)
    assert words in str(refusal)
