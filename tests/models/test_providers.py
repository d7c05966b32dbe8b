"""Names of models, addresses of providers, waits that endpoints ask for, and excerpts."""

from __future__ import annotations

import time

import pytest
from yarl import URL

from equipoise.errors import InputError, UnknownName
from equipoise.models.chat.endpoint import is_loopback, resolve_endpoint
from equipoise.models.chat.model import make_chat_model
from equipoise.models.chat.providers import PROVIDERS, Provider, parse_model_name
from equipoise.models.failures import retry_after
from equipoise.models.redact import excerpt


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("anthropic/claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("ollama/llama3.2:1b", "ollama", "llama3.2:1b"),
        ("openrouter/meta-llama/llama-3.1-8b", "openrouter", "meta-llama/llama-3.1-8b"),
        ("fireworks/accounts/fireworks/models/x", "fireworks", "accounts/fireworks/models/x"),
    ],
)
def test_a_name_is_split_into_provider_and_model(name: str, provider: str, model: str) -> None:
    assert parse_model_name(name) == (PROVIDERS[provider], model)


@pytest.mark.fault("U1")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt-4o-mini", "Did you mean 'openai/gpt-4o-mini'?"),
        ("claude-haiku-4-5", "Did you mean 'anthropic/claude-haiku-4-5'?"),
        ("opnai/gpt-4o", "No model provider is called 'opnai'. Did you mean 'openai'"),
        ("antropic/claude", "'anthropic'"),
        ("zzz/model", "There are: anthropic, azure"),
        ("embeded", "'embedded'"),
        ("openai", "'openai/…'"),
        ("openai/", "missing"),
        ("", "openai/gpt-4o-mini"),
    ],
)
def test_an_unknown_provider_is_refused_with_the_nearest_names(name: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_model_name(name)
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.fault("U1")
def test_a_model_of_an_unknown_provider_is_not_made() -> None:
    with pytest.raises(UnknownName, match="'mistral'"):
        make_chat_model("mistrall/small", environ={})


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
def test_a_provider_is_reached_over_https_or_on_this_machine(provider: Provider) -> None:
    if provider.base_url is None:
        with pytest.raises(InputError, match="--base-url"):
            resolve_endpoint(provider, "m", None)
        return
    endpoint = resolve_endpoint(provider, "m", None)
    assert endpoint.base_url == provider.base_url
    assert not endpoint.is_exposed
    assert is_loopback(endpoint.url) == (provider.key_variable is None)


AZURE = "https://mine.openai.azure.com"
DEPLOYED = f"{AZURE}/openai/deployments/m/chat/completions"


@pytest.mark.parametrize(
    ("name", "base_url", "target"),
    [
        ("openai", None, "https://api.openai.com/v1/chat/completions"),
        ("openai", "https://h/v1/", "https://h/v1/chat/completions"),
        ("openai", "https://h/v1/chat/completions", "https://h/v1/chat/completions"),
        ("openai", "https://h/a%2Fb/v1?x=1", "https://h/a%2Fb/v1/chat/completions?x=1"),
        ("anthropic", None, "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://h", "https://h/v1/messages"),
        ("anthropic", "https://h/v1/messages", "https://h/v1/messages"),
        ("azure", AZURE, f"{DEPLOYED}?api-version=2024-10-21"),
        ("azure", f"{AZURE}?api-version=2025-01-01-preview", f"{DEPLOYED}?api-version=2025-01-01-preview"),
        ("azure", f"{AZURE}/openai/deployments/m", f"{DEPLOYED}?api-version=2024-10-21"),
        ("azure", f"{AZURE}/openai/v1/", f"{AZURE}/openai/v1/chat/completions"),
    ],
)
def test_a_base_url_is_completed_to_the_address_of_requests(name: str, base_url: str | None, target: str) -> None:
    assert resolve_endpoint(PROVIDERS[name], "m", base_url).url == URL(target)


@pytest.mark.fault("E1")
@pytest.mark.parametrize(
    ("header", "text", "seconds"),
    [
        ("Retry-After", "3", 3),
        ("Retry-After", "1.5", 1.5),
        ("Retry-After", "-3", 0),
        ("Retry-After", "nan", None),
        ("Retry-After", "-inf", 0),
        ("Retry-After", "1e400", 1e9),
        ("Retry-After", "soon", None),
        ("Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("retry-after-ms", "250", 0.25),
        pytest.param("retry-after-ms", "9" * 400, 1e9, id="four hundred digits of milliseconds"),
        ("x-ratelimit-reset", "12", 12),
        ("x-ratelimit-reset", "", None),
        pytest.param("x-ratelimit-reset", "9" * 400 + "s", 1e9, id="four hundred digits"),
        ("x-ratelimit-reset", "20ms", 0.02),
        ("x-ratelimit-reset", "1h2m3s", 3723),
        ("", "Please try again in 6m0s. See billing.", 360),
        ("", "Please retry in 20.04466179s.", 20.04466179),
        ("", "Try again in 3 seconds", 3),
        ("", "try again in 2 minutes.", 120),
        ("", "Please try again in 20ms.", 0.02),
        ("", "Please try again in 20 milliseconds.", 0.02),
        ("", "Try again later", None),
    ],
)
def test_the_wait_is_read_from_headers_and_messages(header: str, text: str, seconds: float | None) -> None:
    wait = retry_after({header: text} if header else {}, "" if header else text)
    assert wait == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.fault("E1")
def test_the_wait_in_milliseconds_counts_more_than_that_in_seconds() -> None:
    assert retry_after({"retry-after-ms": "250", "Retry-After": "1"}) == 0.25


@pytest.mark.fault("E1")
def test_of_the_resets_of_several_limits_the_shortest_counts() -> None:
    headers = {"x-ratelimit-reset-requests": "2m59.5s", "x-ratelimit-reset-tokens": "7.5s"}
    assert retry_after(headers) == 7.5


@pytest.mark.fault("E1")
@pytest.mark.parametrize("month", ["Thu, 01 Jan", "Sun, 01 Mar"])
def test_a_date_to_come_back_is_read_by_the_clock_of_the_endpoint(month: str) -> None:
    dates = {"Retry-After": f"{month} 1970 00:01:00 GMT", "Date": f"{month} 1970 00:00:20 GMT"}
    assert retry_after(dates) == 40


def test_the_reset_of_a_limit_that_was_not_reached_is_no_wait() -> None:
    """Endpoints send these headers with every response, also with a server error."""
    headers = {"x-ratelimit-reset-requests": "20m", "x-ratelimit-reset-tokens": "6m0s"}
    assert retry_after(headers, is_rate_limit=False) is None
    assert retry_after({**headers, "Retry-After": "3"}, is_rate_limit=False) == 3
    assert retry_after(headers) == 360


@pytest.mark.fault("E1")
@pytest.mark.parametrize("scale", [1, 1000], ids=["seconds", "milliseconds"])
def test_the_reset_of_a_rate_limit_may_be_a_point_in_time(scale: int) -> None:
    wait = retry_after({"x-ratelimit-reset": str((time.time() + 1000) * scale)})
    assert wait is not None
    assert 900 < wait <= 1000


@pytest.mark.fault("E5")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  a\n\tb  ", "a b"),
        ("<b>bold</b> & more", "bold & more"),
        ("1 < 2 <script", "1 &lt; 2 &lt;script"),
        ("\x1b]0;title\x07\u202e\ud800", r"\x1b]0;title\x07\u202e\ud800"),
        ("x" * 201, "x" * 199 + "…"),
        ("", ""),
    ],
)
def test_an_excerpt_has_no_tags_and_no_control_characters(text: str, shown: str) -> None:
    assert excerpt(text) == shown
