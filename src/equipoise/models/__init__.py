"""Who answers: chat endpoints, the embedded model, Python functions."""

from equipoise.models.protocol import Model, Passing, Refused, Reply

__all__ = ["Model", "Passing", "Refused", "Reply"]
