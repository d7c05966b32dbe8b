"""Who answers a prompt (chat endpoints, the embedded model, functions); retries and storage belong to `runs/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.models.chat.providers import PROVIDERS, Provider, parse_model_name
from equipoise.models.functions import FunctionModel
from equipoise.models.protocol import Model, Refused, Reply, Sampling, TransientFault

if TYPE_CHECKING:
    from equipoise.models.chat.connecting import connect
    from equipoise.models.chat.model import ChatModel

__all__ = [
    "PROVIDERS",
    "ChatModel",
    "FunctionModel",
    "Model",
    "Provider",
    "Refused",
    "Reply",
    "Sampling",
    "TransientFault",
    "connect",
    "parse_model_name",
]


def __getattr__(name: str) -> Any:
    """Import `ChatModel` and `connect` at first use: aiohttp is slow to import, and reading a run needs none of it."""
    if name not in ("ChatModel", "connect"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from equipoise.models.chat import connecting  # noqa: PLC0415 - see above

    return getattr(connecting, name)
