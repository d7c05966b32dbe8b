"""Who answers: chat endpoints, the embedded model, Python functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equipoise.models.functions import FunctionModel
from equipoise.models.protocol import Model, Passing, Refused, Reply
from equipoise.models.providers import PROVIDERS, Provider, parse
from equipoise.models.wire import Sampling

if TYPE_CHECKING:
    from equipoise.models.chat import ChatModel, connect

__all__ = [
    "PROVIDERS",
    "ChatModel",
    "FunctionModel",
    "Model",
    "Passing",
    "Provider",
    "Refused",
    "Reply",
    "Sampling",
    "connect",
    "parse",
]


def __getattr__(name: str) -> Any:
    """Import what speaks HTTP when it is asked for: who only reads a run file has no need of it."""
    if name not in ("ChatModel", "connect"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from equipoise.models import chat

    return getattr(chat, name)
