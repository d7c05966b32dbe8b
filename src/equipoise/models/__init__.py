"""Who answers: chat endpoints, the embedded model, Python functions."""

from equipoise.models.chat import ChatModel, connect
from equipoise.models.functions import FunctionModel
from equipoise.models.protocol import Model, Passing, Refused, Reply
from equipoise.models.providers import PROVIDERS, Provider, parse
from equipoise.models.wire import Sampling

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
