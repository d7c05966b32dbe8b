"""The proxy through which requests go, as the usual environment variables say it."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from yarl import URL

from equipoise.errors import InputError
from equipoise.models.chat.endpoint import is_loopback

DEFAULT_PORT = 8080


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """Where requests are sent instead of to the endpoint itself."""

    url: URL
    """Without user and password."""
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        """Host and port, as messages name it."""
        return f"{self.url.host}:{self.url.port}"

    @property
    def login_header(self) -> dict[str, str]:
        """The header with user and password, if there are any."""
        if self.user is None:
            return {}
        pair = f"{self.user}:{self.password or ''}"
        return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown or stored."""
        return tuple(filter(None, (self.password or self.user,)))


def find_proxy(url: URL, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy for an address: from HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, unless NO_PROXY names its host.

    Small letters are preferred, as by other programs. An address of this machine never goes through a proxy.
    """
    host = url.host or ""
    if is_loopback(host) or _is_excepted(host, url.port, _read(environ, "no_proxy")):
        return None
    names = (f"{url.scheme}_proxy", "all_proxy")
    name, given = next(((name, value) for name in names if (value := _read(environ, name))), ("", ""))
    return _parse(name, given) if given else None


def _read(environ: Mapping[str, str], name: str) -> str:
    """The value of a variable, in small letters or in capitals.

    Where this process answers requests itself (CGI), HTTP_PROXY is what a client sent as the header `Proxy`.
    """
    capitals = "" if name == "http_proxy" and "REQUEST_METHOD" in environ else environ.get(name.upper(), "")
    return (environ.get(name) or capitals).strip()


def _is_excepted(host: str, port: int | None, exceptions: str) -> bool:
    """Whether a list of hosts, endings of hosts and networks names this host."""
    host = host.lower()
    for entry in filter(None, (entry.strip().lower() for entry in exceptions.split(","))):
        name = entry.removesuffix(f":{port}").removeprefix("*").removeprefix(".")
        if entry == "*" or host == name or host.endswith(f".{name}"):
            return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in _read_networks(exceptions))


def _read_networks(exceptions: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The networks in a list, such as 10.0.0.0/8."""
    networks = []
    for entry in exceptions.split(","):
        try:
            networks.append(ipaddress.ip_network(entry.strip(), strict=False))
        except ValueError:
            continue
    return networks


def _parse(variable: str, given: str) -> Proxy:
    try:
        url = URL(given if "://" in given else f"http://{given}")
        usable = url.scheme in ("http", "https") and bool(url.host)
        port = url.explicit_port or DEFAULT_PORT
    except ValueError:
        usable = False
    if not usable:
        # The message does not show what was given, because it may hold a password.
        raise InputError(
            f"The variable {variable.upper()} must be the address of an HTTP proxy, as in "
            "http://proxy.example.org:3128. (SOCKS proxies are not supported.) Hosts in NO_PROXY are asked directly."
        )
    return Proxy(url=url.with_user(None).with_port(port), user=url.user, password=url.password)
