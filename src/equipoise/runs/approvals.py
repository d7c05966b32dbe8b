"""Where a key may be sent. A run file may come from anyone, so it does not decide that.

A key goes to the provider's own address, to what the user gave on this command line, or to a destination that is
approved: one with which a run was started on this machine before.
"""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from equipoise.errors import InputError
from equipoise.models import parse_model_name
from equipoise.runs.connection import Connection
from equipoise.settings import Settings, environment, write_private

if TYPE_CHECKING:
    from equipoise.models.chat.endpoint import Endpoint

FILE_NAME = "approved-addresses.json"


class Destination(NamedTuple):
    """An address, and the environment variable whose value is sent there as the key."""

    address: str
    key_variable: str
    """Empty where only a key command or headers are secret."""


def _describe_secret(connection: Connection, destination: Destination) -> str:
    """What would be sent."""
    if connection.key_command:
        return "the key of the key command"
    return f"the key in {destination.key_variable}" if destination.key_variable else "the headers"


def approve(connection: Connection, settings: Settings) -> None:
    """Remember that the user sends this key to this address. Neither the key nor a secret in the address is stored."""
    destination = _find_destination(connection)
    known = _read(settings)
    if destination is None or destination == _find_destination(Connection(model=connection.model)):
        return
    if destination not in known:
        with suppress(OSError):  # then `resume` asks for the options again, which is safe
            entries = [destination._asdict() for destination in [*known, destination]]
            write_private(settings.config / FILE_NAME, json.dumps(entries, indent=1))


def refuse_foreign_destination(
    path: Path,
    connection: Connection,
    settings: Settings,
    *,
    base_url: str | None,
    key_variable: str | None,
    judge: bool = False,
) -> None:
    """Refuse to send a key where only the run file says so, for its model or for its judge.

    The connection is what the file holds, with the address and the variable that the user gave in place of its own.
    """
    destination = _find_destination(connection)
    if destination is None:
        return
    own = replace(connection, base_url=base_url, key_variable=key_variable)
    if destination == _find_destination(own) or destination in _read(settings):
        return
    prefix = "--judge-" if judge else "--"
    words = ["equipoise", "resume", str(path), *(("--judge", connection.model) if judge else ())]
    words += [f"{prefix}base-url", destination.address]
    words += [f"{prefix}key-variable", destination.key_variable] if destination.key_variable else []
    words += ["--key-command", "…"] if connection.key_command else []
    words += [word for name in connection.headers for word in ("--header", f"{name}=…")]
    if _resolve(connection).is_exposed:
        words.append("--allow-insecure")
    raise InputError(
        f"{path} wants {_describe_secret(connection, destination)} sent to {destination.address}. A run file cannot "
        "decide that, and no run was started on this machine in this way. Nothing was sent. "
        f"If you trust this address with this key: {shlex.join(words)}"
    )


def _find_destination(connection: Connection) -> Destination | None:
    """Where the key of this connection would go; None if there is no key to send, or no address."""
    if connection.local:
        return None
    provider, _ = parse_model_name(connection.model)
    variable = connection.key_variable or provider.key_variable
    if connection.key_command or variable is None or not environment().get(variable, "").strip():
        if not connection.key_command and not connection.headers:
            return None
        variable = ""
    if connection.base_url is None and provider.base_url is None:
        return None
    return Destination(_resolve(connection).base_url, variable)


def _resolve(connection: Connection) -> Endpoint:
    from equipoise.models.chat.endpoint import resolve_endpoint  # noqa: PLC0415 - reading a run needs no URLs

    provider, model = parse_model_name(connection.model)
    return resolve_endpoint(provider, model, connection.base_url, allow_secret_url=connection.allow_secret_url)


def _read(settings: Settings) -> list[Destination]:
    """The approved destinations. A file that cannot be read approves nothing."""
    try:
        entries = json.loads((settings.config / FILE_NAME).read_text(encoding="utf-8"))
        return [Destination(str(entry["address"]), str(entry["key_variable"])) for entry in entries]
    except (OSError, ValueError, TypeError, KeyError):
        return []
