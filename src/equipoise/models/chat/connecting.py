"""`connect`: from the name of a model and what the user says to a `ChatModel` that can be opened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from yarl import URL

from equipoise.errors import InputError
from equipoise.models.chat.endpoint import Endpoint, is_loopback, parse_url, resolve_endpoint
from equipoise.models.chat.keys import Key, is_sendable
from equipoise.models.chat.model import DEFAULT_DEADLINE, ChatModel
from equipoise.models.chat.providers import Provider, parse_model_name
from equipoise.models.chat.wire import WIRE_FORMATS
from equipoise.models.programs import parse_command
from equipoise.models.protocol import Sampling
from equipoise.models.redact import REDACTED, refuse_key_as_name

RESERVED_HEADERS = (
    *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "host"),
    *("transfer-encoding", "proxy-authorization", "expect", "upgrade"),
)
"""Headers that the transport fills in itself."""
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def connect(
    name: str,
    *,
    environ: Mapping[str, str],
    base_url: str | None = None,
    key: str | None = None,
    key_variable: str | None = None,
    key_command: str | None = None,
    headers: Mapping[str, str] | None = None,
    sampling: Sampling | None = None,
    allow_insecure: bool = False,
    allow_secret_url: bool = False,
    deadline: float = DEFAULT_DEADLINE,
) -> ChatModel:
    """Make the chat model of this name; nothing is sent yet. Without `key`, the key is taken from `environ`.

    `key_command` prints the key; it is run without a shell when the model is opened, and again when a key is refused.
    `headers` go with every request; their values count as secrets.
    """
    provider, model = parse_model_name(name)
    sampling, headers = sampling or Sampling(), dict(headers or {})
    if sampling.max_tokens is None:
        sampling = replace(sampling, max_tokens=WIRE_FORMATS[provider.protocol].max_tokens)
    _refuse_missing_secrets(sampling)
    _check_headers(headers)
    if key_variable is not None:
        refuse_key_as_name(key_variable)
        provider = replace(provider, key_variable=key_variable)
    endpoint = resolve_endpoint(provider, model, base_url, allow_secret_url=allow_secret_url)
    if key_command is not None:
        if key is not None or key_variable is not None:
            raise InputError("Give a key command or a variable that holds the key, not both.")
        chosen = Key(None, "the key command", parse_command(key_command, "The key command"))
    else:
        # A provider's name with another address: whether a key is needed there is not known, so none is demanded.
        is_needed = key_variable is not None or base_url is None or provider.base_url is None
        carries_key = any(given.lower() in ("authorization", provider.key_header.lower()) for given in headers)
        chosen = _find_key(name, provider, key, environ, needed=is_needed and not carries_key)
    if not allow_insecure:
        _refuse_exposure(endpoint, chosen, headers)
    certificates = environ.get("SSL_CERT_FILE")
    if endpoint.url.scheme == "https" and certificates and not Path(certificates).is_file():
        # The system would silently trust nobody.
        raise InputError(f"SSL_CERT_FILE names a file of certificates that is not there: {certificates}")
    return ChatModel(
        name=name,
        endpoint=endpoint,
        sampling=sampling,
        key=chosen,
        headers=headers,
        proxy=find_proxy(endpoint.url, environ),
        deadline=deadline,
    )


def _refuse_missing_secrets(sampling: Sampling) -> None:
    """Refuse parameters from a run file that held a secret: run files keep none, and `[redacted]` must not be sent."""
    missing = [name for name in ("system", "extra") if REDACTED in str(getattr(sampling, name))]
    if missing:
        options = " and ".join(f"--{name}" for name in missing)
        raise InputError(
            f"The run was started with a secret in {options}, and run files keep no secrets. To go on, give the "
            f"command again that started it: equipoise run … {options} … --out with this run file."
        )


def _check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that cannot be sent. Their values are not shown: they may be secrets."""
    for name, value in headers.items():
        if HEADER_NAME.fullmatch(name) is None:
            raise InputError("A header is given as NAME=VALUE, as in X-Organisation=42; this name cannot be sent.")
        if name.lower() in RESERVED_HEADERS:
            raise InputError(f"The header {name} is filled in by equipoise and cannot be given.")
        if not (value.isascii() and value.isprintable()) or value != value.strip():
            raise InputError(f"The value of the header {name} cannot be sent: it must be printable ASCII on one line.")


def _find_key(name: str, provider: Provider, given: str | None, environ: Mapping[str, str], *, needed: bool) -> Key:
    """The key that was given, or that of the environment."""
    source = "the key given" if given is not None else provider.key_variable
    key = (environ.get(provider.key_variable or "", "") if given is None else given).strip()
    if key and not is_sendable(key):
        raise InputError(f"The key from {source} cannot be sent: it must be ASCII without spaces.")
    if not key and provider.key_variable is not None and needed:
        raise InputError(
            f"The model {name!r} needs a key and {provider.key_variable} is not set. Put the key into that environment "
            "variable, name another with --key-variable, or give a command that prints it with --key-command."
        )
    return Key(key, source) if key else Key(None, None)


def _refuse_exposure(endpoint: Endpoint, key: Key, headers: Mapping[str, str]) -> None:
    """Refuse to send a secret unencrypted to another machine."""
    secrets = [
        *([f"The key from {key.source}"] if key.source else []),
        *(f"The header {name}" for name in headers),
        *(["The secret in the base URL"] if endpoint.secrets else []),
    ]
    if endpoint.is_exposed and secrets:
        raise InputError(
            f"{secrets[0]} would cross the network unencrypted to {endpoint.url.host}. "
            "Use https, or --allow-insecure if you trust the network."
        )


def find_proxy(url: URL, environ: Mapping[str, str]) -> URL | None:
    """The proxy for an address: from HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, unless NO_PROXY names its host.

    Small letters are preferred, as by other programs. An address of this machine never goes through a proxy.
    (aiohttp's `trust_env` would also take passwords from ~/.netrc and send them instead of the key.)
    """
    names = sorted((name for name in environ if name.lower().endswith("_proxy")), key=str.islower)
    given = {name.lower().removesuffix("_proxy"): environ[name].strip() for name in names if environ[name].strip()}
    address = given.get(url.scheme) or given.get("all")
    host = url.host or ""
    if not address or is_loopback(host) or proxy_bypass_environment(f"{host}:{url.port}", {"no": given.get("no", "")}):
        return None
    proxy = parse_url(address if "://" in address else f"http://{address}")
    if proxy is None:
        # The message does not show what was given, because it may hold a password.
        raise InputError(
            f"The variable {url.scheme.upper()}_PROXY or ALL_PROXY must be the address of an HTTP proxy, as in "
            "http://proxy.example.org:3128. (SOCKS proxies are not supported.) Hosts in NO_PROXY are asked directly."
        )
    return proxy
