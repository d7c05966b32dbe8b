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
from equipoise.models.protocol import Refused, Reply, Sampling, TransientFault
from equipoise.models.redact import Redactor, has_known_key
from equipoise.schema import Status
from serving.asking import KEY, always, ask, connect_to, find_key, find_leaks
from serving.faults import Fault
from serving.faulty import FaultyServer


@pytest.mark.fault("S4")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"x{KEY}x", id="as it is"),
        pytest.param(f"key={quote(KEY, safe='')}", id="in a URL"),
        pytest.param(base64.b64encode(f"user:{KEY}".encode()).decode(), id="in base64"),
    ],
)
def test_the_search_for_the_key_finds_it_when_it_is_there(text: str) -> None:
    assert find_key(text)


@pytest.mark.fault("S4")
def test_the_key_is_sent_and_kept_nowhere() -> None:
    extra = {"api_key": "another-secret-value", "metadata": {"key": "abcdefgh"}}
    with FaultyServer() as server:
        sampling = Sampling(system=f"Never say {KEY}.", extra=extra)
        model = connect_to(server, sampling=sampling)
        [reply] = ask(model)
    [request] = server.received
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body["api_key"] == "another-secret-value"
    assert find_leaks(reply, model) == []
    assert model.settings["extra"] == {"api_key": "[redacted]", "metadata": {"key": "[redacted]"}}


@pytest.mark.fault("S4")
def test_a_key_in_the_name_of_the_model_is_sent_and_not_shown() -> None:
    with FaultyServer() as server:
        model = make_chat_model(f"openai/{KEY}", base_url=server.url, key=KEY, environ={})
        [reply] = ask(model)
    assert server.received[0].body["model"] == KEY
    assert find_leaks(reply, model) == []
    assert model.name == "openai/[redacted]"


@pytest.mark.fault("S4")
def test_secrets_at_any_depth_are_sent_and_not_stored() -> None:
    extra = {
        "provider": {
            "options": [{"api_key": "nested-secret-1"}],
            "credentials": {"user": "nested-secret-2"},
        },
        "keys": ["nested-secret-3"],
        "note": f"the key is {KEY}",
        "response_format": {"properties": {"code": {"type": "string"}}},
    }
    with FaultyServer(always("nested-secret-1, nested-secret-2, nested-secret-3")) as server:
        model = connect_to(server, sampling=Sampling(extra=extra))
        [reply] = ask(model)
    assert isinstance(reply, Reply)
    assert server.received[0].body["provider"] == extra["provider"]
    assert find_leaks(reply, model) == []
    assert "nested-secret" not in f"{model.settings}"
    stored = cast(dict[str, Any], model.settings["extra"])
    assert stored["response_format"] == extra["response_format"], "which is no secret"


@pytest.mark.parametrize(
    ("name", "header", "value"),
    [
        ("openai/m", "Authorization", f"Bearer {KEY}"),
        ("anthropic/m", "x-api-key", KEY),
        ("azure/m", "api-key", KEY),
        ("vllm/m", "Authorization", f"Bearer {KEY}"),
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
    assert (reply.status, reply.answer) == (Status.KEY_IN_ANSWER, None)
    assert server.received[0].query == {"api_key": "query-secret-1", "zone": "eu"}
    assert server.received[0].headers["Authorization"] == "Basic " + base64.b64encode(b"me:pass/word-123").decode()
    assert model.settings["base_url"] == f"{server.url}?zone=eu"
    shown = f"{model!r} {model.settings} {model.notes} {vars(model)['_endpoint']!r}"
    assert not [secret for secret in ("pass/", "word-123", "query-secret-1", "me:") if secret in shown]


@pytest.mark.fault("S5")
def test_a_secret_of_the_base_url_is_redacted_in_errors() -> None:
    with FaultyServer(always(Fault.ECHO_500)) as server:
        url = server.url.replace("http://", "http://me:pass-word-123@")
        [fault] = ask(make_chat_model("anthropic/m", base_url=url, key="pass-word-123", environ={}))
    assert isinstance(fault, TransientFault)
    assert "pass-word" not in f"{fault} {fault.reply}"


@pytest.mark.fault("S5")
def test_user_and_password_of_the_base_url_are_sent_instead_of_a_bearer_key() -> None:
    with FaultyServer() as server:
        model = connect_to(server, base_url=server.url.replace("http://", "http://me:word@"))
        ask(model)
    login = base64.b64encode(b"me:word").decode()
    assert server.received[0].headers["Authorization"] == f"Basic {login}"


@pytest.mark.fault("S5")
@pytest.mark.parametrize(
    "base_url", ["localhost:8000", "ftp://host/v1", "http:///v2", "me:pass-word@host", "http://h:x/", "http://h:99999/"]
)
def test_a_base_url_that_cannot_be_parsed_is_refused_and_not_shown(base_url: str) -> None:
    with pytest.raises(InputError, match="base URL") as caught:
        make_chat_model("custom/m", base_url=base_url, environ={})
    assert base_url not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.fault("S19")
@pytest.mark.parametrize(
    "url",
    [
        "https://h/v1?api_key=abc",
        "https://h/v1?x-goog-token=AIzaSyA1234567890abcdefgh",
        "https://h/v1?zone=sk-proj-0123456789abcdef",
        "https://h/v1?sk-proj-0123456789abcdef=1",
        "https://h/sk-proj-0123456789abcdef/v1",
        "https://h/proxy/Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA/v1",
    ],
)
def test_a_base_url_with_a_secret_is_refused_unless_allowed_and_stored_without(url: str) -> None:
    with pytest.raises(InputError, match="--allow-secret-url") as caught:
        make_chat_model("custom/m", base_url=url, environ={})
    assert caught.value.exit_code == 2
    model = make_chat_model("custom/m", base_url=url, environ={}, allow_secret_url=True)
    secret = max(re.split(r"[/?=&]", url.removeprefix("https://h/")), key=len)
    for shown in (str(caught.value), repr(model), str(model.settings)):
        assert secret not in shown


@pytest.mark.fault("S19")
@pytest.mark.parametrize(
    "url",
    [
        "https://h/sk-proj-0123456789abcdef/v1",
        "https://h/proxy/Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA/v1",
    ],
)
def test_a_stored_address_without_its_secret_is_not_used(url: str) -> None:
    model = make_chat_model("custom/m", base_url=url, environ={}, allow_secret_url=True)
    stored = str(model.settings["base_url"])
    with pytest.raises(InputError, match="does not keep"):
        make_chat_model("custom/m", base_url=stored, environ={}, allow_secret_url=True)


@pytest.mark.fault("S19")
@pytest.mark.parametrize(
    "path",
    [
        "client/v4/accounts/0123456789abcdef0123456789abcdef/ai/v1",
        "v1/projects/123456789012/locations/us-central1/endpoints/openapi",
        "openai/deployments/gpt-4o-mini-2024-07-18?api-version=2024-10-21",
        "6f9619ff-8b86-d011-b42d-00cf4fc964ff/v1",
        "serving-endpoints/meta-llama-3-1-405b-instruct",
        "risk-assessment-2026-prod/v1",
        "task-oriented-assistant-2026/v1",
    ],
)
def test_ids_and_names_in_a_base_url_are_no_secrets(path: str) -> None:
    url = f"https://h/{path}"
    assert make_chat_model("custom/m", base_url=url, environ={}).settings["base_url"] == url


@pytest.mark.fault("S19")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("risk-assessment-2026.equipoise", False),
        ("You are a task-oriented-assistant-2026.", False),
        ("disk-0123456789abcdef", False),
        ("the key is sk-proj-0123456789abcdef.", True),
        ("sk-0123456789abcdef", True),
        ("x=gsk_0123456789abcdefgh", True),
    ],
)
def test_keys_are_known_by_their_formats_at_the_beginning_of_a_word(text: str, expected: bool) -> None:
    assert has_known_key(text) is expected


@pytest.mark.fault("S17")
@pytest.mark.parametrize("name", [KEY, "sk-proj-0123456789abcdef", "gsk_0123456789abcdefgh", "MY KEY", "1KEY", ""])
def test_a_key_given_as_the_name_of_its_variable_is_not_shown(name: str) -> None:
    with pytest.raises(InputError, match="name of an environment variable") as caught:
        make_chat_model("openai/m", key_variable=name, environ={})
    assert not name or name not in str(caught.value)
    assert caught.value.exit_code == 2


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
    with pytest.raises(InputError, match=option) as caught:
        make_chat_model("vllm/m", key=KEY, environ={}, sampling=again)
    assert caught.value.exit_code == 2


@pytest.mark.fault("S6")
@pytest.mark.parametrize(
    ("base_url", "key"),
    [
        ("http://10.0.0.5:8000/v1", KEY),
        ("http://example.org/v1", KEY),
        ("http://127.0.0.1.example.org/v1", KEY),
        ("http://0.0.0.0/v1", KEY),
        ("http://127.0.0.1@example.org/v1", None),
        ("http://me:secret@example.org/v1", None),
        ("http://example.org/v1?token=secret", None),
    ],
)
def test_a_secret_does_not_cross_the_network_unencrypted(base_url: str, key: str | None) -> None:
    options: dict[str, Any] = {"base_url": base_url, "key": key, "environ": {}}
    options["allow_secret_url"] = True
    with pytest.raises(InputError, match="--allow-insecure") as caught:
        make_chat_model("vllm/m", **options)
    assert caught.value.exit_code == 2
    assert find_key(str(caught.value)) == []
    assert "secret@" not in str(caught.value)
    make_chat_model("vllm/m", allow_insecure=True, **options)


@pytest.mark.fault("S6")
@pytest.mark.parametrize(
    ("base_url", "key"),
    [
        ("http://example.org/v1", None),
        ("https://example.org/v1", KEY),
        ("http://localhost:8000/v1", KEY),
        ("http://127.8.9.1/v1", KEY),
        ("http://[::1]:8000/v1", KEY),
    ],
)
def test_what_is_encrypted_local_or_no_secret_needs_no_permission(base_url: str, key: str | None) -> None:
    model = make_chat_model("vllm/m", base_url=base_url, key=key, environ={})
    assert model.settings["base_url"] == base_url


ECHOES: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 for URLs": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "the beginning": lambda key: key[:16],
    "URL": lambda key: quote(key, safe=""),
    "JSON": json.dumps,
    "JSON, the slash": lambda key: key.replace("/", "\\/"),
}


FRAMES = ["{}", "Your key is {} - please keep it.", "ß Your key is {} – 100% & more\\"]


@pytest.mark.fault("S13")
@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
@pytest.mark.parametrize("frame", FRAMES)
def test_no_echo_of_the_key_is_kept(echo: Callable[[str], str], frame: str) -> None:
    secret = echo(KEY)
    assert find_key(secret), "the search for the key finds it where it is"
    shown = Redactor(KEY).redact(frame.format(secret))
    assert find_key(shown) == []
    before, after = frame.split("{}")
    assert shown == frame.format("[redacted]") or shown.startswith(f'{before}"[redacted]')
    assert shown.endswith(after)


@pytest.mark.fault("S13")
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_both_alphabets_of_base64_are_known(encode: Callable[[bytes], bytes]) -> None:
    secret = "~~~?>>?~~~a-secret"
    encoded = encode(secret.encode()).decode()
    assert not encoded[:12].isalnum(), "the alphabets differ where the secret begins"
    assert Redactor(secret).redact(f"It is {encoded} here.") == "It is [redacted] here."


@pytest.mark.fault("S13")
def test_a_secret_is_redacted_and_the_rest_of_the_text_is_kept() -> None:
    redact = Redactor("sk-proj-0123456789abcdef").redact
    shown = redact('{"key": "sk-proj-0123456789abcdef", "n": 1}')
    assert shown == '{"key": "[redacted]", "n": 1}'
    assert redact("A task-proof text... and more") == "A task-proof text... and more"


@pytest.mark.fault("S13")
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_text_without_the_key_stays_as_it_is(text: str) -> None:
    assert Redactor(KEY).redact(text) == text


@pytest.mark.fault("S13")
@pytest.mark.parametrize("secret", ["", "abc", "none"])
def test_a_placeholder_is_no_secret(secret: str) -> None:
    assert Redactor(secret).redact("abcabc There is none.") == "abcabc There is none."


@pytest.mark.fault("S13")
def test_a_placeholder_key_is_not_redacted_in_answers() -> None:
    """It is no secret, and answers are full of such words."""
    with FaultyServer(always("There is none.")) as server:
        [reply] = ask(make_chat_model("ollama/m", base_url=server.url, key="none", environ={}))
    assert isinstance(reply, Reply)
    assert reply.answer == "There is none."


# Missing and unusable keys


@pytest.mark.fault("U4")
@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": " "}, {"OTHER": KEY}])
def test_the_error_for_a_missing_key_names_its_variable(environ: dict[str, str]) -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        make_chat_model("openai/gpt-4o-mini", environ=environ)
    assert caught.value.exit_code == 2


@pytest.mark.fault("U4")
@pytest.mark.parametrize("name", ["openai/gpt-4o-mini", "vllm/m"])
def test_a_variable_that_the_user_names_is_the_only_one_that_is_read(name: str) -> None:
    with pytest.raises(InputError, match="MY_KEY"):
        make_chat_model(name, key_variable="MY_KEY", environ={"OPENAI_API_KEY": KEY})
    with pytest.raises(InputError, match="MY_KEY"):
        make_chat_model(name, key_variable="MY_KEY", environ={})


@pytest.mark.fault("U4")
@pytest.mark.parametrize("name", ["openai/m", "vllm/m"])
def test_the_key_can_come_from_another_variable(name: str) -> None:
    environ = {"MY_KEY": KEY, "OPENAI_API_KEY": "sk-another-0123456789"}
    with FaultyServer() as server:
        ask(make_chat_model(name, base_url=server.url, key_variable="MY_KEY", environ=environ))
    assert server.received[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.fault("U4")
@pytest.mark.parametrize("bad", ["sk-über-geheim-123", "sk-two words-123", "sk-line\nbreak-123"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(bad: str) -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        make_chat_model("openai/m", environ={"OPENAI_API_KEY": bad})
    assert bad[:6] not in str(caught.value)


def test_at_another_address_a_key_may_not_be_needed() -> None:
    with FaultyServer() as server:
        [reply] = ask(make_chat_model("openai/m", base_url=server.url, environ={}))
    assert isinstance(reply, Reply)
    assert "Authorization" not in server.received[0].headers


@pytest.mark.fault("E16")
@pytest.mark.parametrize(
    ("name", "words"), [("openai/m", "none was sent. It is looked for in OPENAI_API_KEY"), ("vllm/m", "--key-variable")]
)
def test_the_refusal_of_a_request_without_a_key_says_where_to_put_one(name: str, words: str) -> None:
    with FaultyServer(always(Fault.UNAUTHORIZED_401)) as server:
        [refusal] = ask(make_chat_model(name, base_url=server.url, environ={}))
    assert "Authorization" not in server.received[0].headers
    assert isinstance(refusal, Refused)
    assert words in str(refusal)
