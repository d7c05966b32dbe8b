"""The headers of requests: those of the format, that of the key, and those that the user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping

from equipoise.errors import InputError
from equipoise.models.chat.connections import REQUEST_ID_HEADER
from equipoise.models.chat.endpoint import Endpoint

RESERVED = frozenset(
    name.lower()
    for name in (
        *("Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host"),
        *("Transfer-Encoding", "Proxy-Authorization", "Expect", "Upgrade", REQUEST_ID_HEADER),
    )
)
"""Headers that the transport fills in itself."""
NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that cannot be sent. Their values are not shown: they may be secrets."""
    for name, value in headers.items():
        if NAME.fullmatch(name) is None:
            raise InputError("A header is given as NAME=VALUE, as in X-Organisation=42; this name cannot be sent.")
        if name.lower() in RESERVED:
            raise InputError(f"The header {name} is filled in by equipoise and cannot be given.")
        if not (value.isascii() and value.isprintable()) or value != value.strip():
            raise InputError(f"The value of the header {name} cannot be sent: it must be printable ASCII on one line.")


def secret_parts(headers: Mapping[str, str]) -> list[str]:
    """What must not be shown or stored: the values, and what follows a word such as "Bearer" in them."""
    return [part for value in headers.values() for part in (value, *value.split()[1:])]


def carries_key(headers: Mapping[str, str], endpoint: Endpoint) -> bool:
    """Whether one of the headers takes the place of the key."""
    return any(name.lower() in ("authorization", endpoint.provider.key_header.lower()) for name in headers)


def make_headers(endpoint: Endpoint, given: Mapping[str, str]) -> dict[str, str]:
    """The headers that are the same for every request. What the user gives counts more."""
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "equipoise",
        **endpoint.wire_format.headers,
    }
    if endpoint.basic_auth:
        headers["Authorization"] = endpoint.basic_auth
    taken = {name.lower() for name in given}
    return {name: value for name, value in headers.items() if name.lower() not in taken} | dict(given)


def key_header(endpoint: Endpoint, key: str | None, others: Mapping[str, str]) -> dict[str, str]:
    """The header of the key, unless another header is there in its place."""
    name = endpoint.provider.key_header
    if not key or name.lower() in {other.lower() for other in others}:
        return {}
    return {name: f"Bearer {key}" if name == "Authorization" else key}
