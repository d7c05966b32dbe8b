"""The address of an endpoint: used whole, shown and stored without what is secret in it."""

from __future__ import annotations

import base64
import ipaddress
from dataclasses import dataclass, field
from urllib.parse import quote

from yarl import URL

from equipoise.errors import InputError
from equipoise.models import anthropic, openai
from equipoise.models.providers import Provider
from equipoise.models.redact import is_secret
from equipoise.models.wire import Wire

WIRES = {"openai": openai.WIRE, "anthropic": anthropic.WIRE}


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where the requests for one model go."""

    provider: Provider
    model: str
    base_url: str
    """As given, without user, password, fragment and secrets of the query."""
    url: URL = field(repr=False)
    """Where to post. The only place that keeps secrets of the query."""
    basic: str | None = field(default=None, repr=False)
    """User and password of the base URL, as the header `Authorization` carries them."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def wire(self) -> Wire:
        """The wire form it speaks."""
        return WIRES[self.provider.protocol]

    @property
    def exposed(self) -> bool:
        """Whether whoever listens on the way can read what is sent."""
        return self.url.scheme == "http" and not is_loopback(self.url.host or "")


def locate(provider: Provider, model: str, base_url: str | None) -> Endpoint:
    """The endpoint of a model, from the provider's base URL or the one given."""
    given = base_url or provider.base_url
    if given is None:
        raise InputError(f"The provider {provider.name!r} has no address of its own. Give one with --base-url.")
    whole = _parsed(given)
    bare = whole.with_user(None).with_fragment(None)
    hidden = [(name, value) for name, value in whole.query.items() if is_secret(name, value)]
    shown = bare.with_query([pair for pair in whole.query.items() if pair not in hidden] or None)
    return Endpoint(
        provider=provider,
        model=model,
        base_url=str(shown).rstrip("/"),
        url=_target(provider, model, bare),
        basic=_basic(whole),
        secrets=tuple(_secrets(whole, [value for _, value in hidden])),
    )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parsed(given: str) -> URL:
    # What cannot be read is not shown: it may hold a password.
    try:
        url = URL(given.strip())
        usable = url.scheme in ("http", "https") and bool(url.host) and bool(url.port)
    except ValueError:
        usable = False
    if not usable:
        raise InputError("The base URL must be an address such as https://example.org/v1 or http://127.0.0.1:8000/v1.")
    return url


def _target(provider: Provider, model: str, base: URL) -> URL:
    wire = WIRES[provider.protocol]
    path = base.raw_path.rstrip("/")
    query = base.query.copy()
    if provider.api_version is not None and not path.endswith(("/v1", "/v1" + wire.path)):
        query.setdefault("api-version", provider.api_version)
        if "/deployments/" not in path:
            path += f"/openai/deployments/{quote(model, safe='')}"
    if provider.protocol == "anthropic" and not path.endswith(("/v1", wire.path)):
        path += "/v1"
    if not path.endswith(wire.path):
        path += wire.path
    return base.with_path(path, encoded=True).with_query(query or None)


def _basic(url: URL) -> str | None:
    if url.user is None and url.password is None:
        return None
    pair = f"{url.user or ''}:{url.password or ''}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _secrets(url: URL, hidden: list[str]) -> list[str]:
    named = url.password or url.user
    return [secret for secret in (named, *hidden) if secret]
