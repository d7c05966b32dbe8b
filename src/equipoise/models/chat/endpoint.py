"""Where requests go and through which proxy: they use the whole address, but its secrets are not shown or stored."""

from __future__ import annotations

import base64
import ipaddress
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from yarl import URL

from equipoise.errors import InputError
from equipoise.models.chat.providers import ANTHROPIC, Provider
from equipoise.models.redact import REDACTED, is_secret, looks_like_key

VERSION = re.compile(r"/v\d|/openai")
"""What the paths of most endpoints have in them."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where the requests for one model go."""

    provider: Provider
    model: str
    base_url: str
    """The base URL as given, without user, password, fragment and the secrets in its path and query."""
    url: URL = field(repr=False)
    """Where to post. Only this field keeps the secrets of the path and the query."""
    basic_auth: str | None = field(default=None, repr=False)
    """User and password of the base URL, as a value for the header `Authorization`."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def suggestion(self) -> str:
        """What may be wrong with the address, as the end of a sentence; empty if nothing is obvious."""
        path = self.url.path.removesuffix(self.provider.wire_format.path).rstrip("/")
        if self.provider.api_version is not None or VERSION.search(path):
            return ""
        return f" (does the base URL lack /v1? --base-url {self.base_url.partition('?')[0]}/v1)"

    @property
    def is_exposed(self) -> bool:
        """Whether requests cross a network unencrypted."""
        return self.url.scheme == "http" and not is_loopback(self.url)


def resolve_endpoint(
    provider: Provider, model: str, base_url: str | None, *, allow_secret_url: bool = False
) -> Endpoint:
    """The endpoint of a model, at `base_url` or else at the provider's own address.

    What looks like a secret in the path or the query is refused unless allowed: addresses end up in logs.
    """
    address = base_url or provider.base_url
    if address is None:
        raise InputError(f"The provider {provider.name!r} has no address of its own. Give one with --base-url.")
    full = parse_url(address)
    if full is None:
        # The message does not show what was given, because it may hold a password.
        raise InputError("The base URL must be an address such as https://example.org/v1 or http://127.0.0.1:8000/v1.")
    if REDACTED in full.path:
        raise InputError(
            "The base URL held a secret that the run file does not keep. Give the whole address again with --base-url "
            "and --allow-secret-url."
        )
    pairs = list(full.query.items())
    secret_pairs = [pair for pair in pairs if is_secret(*pair) or any(map(looks_like_key, pair))]
    segments = full.path.split("/")
    secrets = [segment for segment in segments if looks_like_key(segment)]
    bare = full.with_user(None).with_fragment(None)
    public = bare
    if secrets:
        public = bare.with_path("/".join(REDACTED if segment in secrets else segment for segment in segments))
    secrets += itertools.chain.from_iterable(secret_pairs)
    if secrets and not allow_secret_url:
        raise InputError(
            "The base URL has what looks like a secret in its path or query, and addresses end up in logs. Put a key "
            "into an environment variable (--key-variable). If it must be in the address: --allow-secret-url. "
            "It is not stored."
        )
    basic_auth = None
    if full.user is not None or full.password is not None:
        login = base64.b64encode(f"{full.user or ''}:{full.password or ''}".encode()).decode()
        basic_auth = f"Basic {login}"
        secrets += [login, full.password or full.user or login]
    return Endpoint(
        provider=provider,
        model=model,
        base_url=str(public.with_query([pair for pair in pairs if pair not in secret_pairs] or None)).rstrip("/"),
        url=_request_url(provider, model, bare),
        basic_auth=basic_auth,
        secrets=tuple(secrets),
    )


def parse_url(address: str) -> URL | None:
    """An address of HTTP; None if it is none."""
    try:
        url = URL(address.strip())
    except ValueError:
        return None
    return url if url.scheme in ("http", "https") and url.host and url.port else None


def is_loopback(url: URL) -> bool:
    """Whether an address is one of this machine."""
    host = url.host or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _request_url(provider: Provider, model: str, base: URL) -> URL:
    """Complete a base URL with the parts that its provider needs and the user may leave out."""
    endpoint_path = provider.wire_format.path
    path = base.raw_path.rstrip("/")
    query = base.query.copy()
    if provider.api_version is not None and not path.endswith(("/v1", "/v1" + endpoint_path)):
        query.setdefault("api-version", provider.api_version)
        if "/deployments/" not in path:
            path += f"/openai/deployments/{quote(model, safe='')}"
    if provider.wire_format is ANTHROPIC and not path.endswith(("/v1", endpoint_path)):
        path += "/v1"
    if not path.endswith(endpoint_path):
        path += endpoint_path
    return base.with_path(path, encoded=True).with_query(query or None)


def find_proxy(url: URL, environ: Mapping[str, str]) -> URL | None:
    """The proxy for an address: from HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, unless NO_PROXY names its host.

    Small letters are preferred, as by other programs. An address of this machine never goes through a proxy.
    (aiohttp's `trust_env` would also take passwords from ~/.netrc and send them instead of the key.)
    """
    names = sorted((name for name in environ if name.lower().endswith("_proxy")), key=str.islower)
    given = {name.lower().removesuffix("_proxy"): environ[name].strip() for name in names if environ[name].strip()}
    address = given.get(url.scheme) or given.get("all")
    is_exempt = proxy_bypass_environment(f"{url.host}:{url.port}", {"no": given.get("no", "")})
    if not address or is_loopback(url) or is_exempt:
        return None
    proxy = parse_url(address if "://" in address else f"http://{address}")
    if proxy is None:
        # The message does not show what was given, because it may hold a password.
        raise InputError(
            f"The variable {url.scheme.upper()}_PROXY or ALL_PROXY must be the address of an HTTP proxy, as in "
            "http://proxy.example.org:3128. (SOCKS proxies are not supported.) Hosts in NO_PROXY are asked directly."
        )
    return proxy
