"""The secrets of one model, blotted out of what is stored and shown. A renewed key is one more of them."""

from __future__ import annotations

from collections.abc import Iterable

from equipoise.models.redact import make_redactor

MIN_SECRET_IN_ANSWERS = 12
"""A shorter key is a placeholder such as `none`; blotting it out would change answers."""
MIN_SECRET_IN_ERRORS = 4


class Redaction:
    """Blots secrets out of answers and, more thoroughly, out of errors."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = set(secrets)
        self._prepare()

    def add(self, secret: str) -> None:
        """Blot this out, too, from now on."""
        if secret not in self._secrets:
            self._secrets.add(secret)
            self._prepare()

    def _prepare(self) -> None:
        self._answer = make_redactor(self._secrets, min_length=MIN_SECRET_IN_ANSWERS, thorough=False)
        self._error = make_redactor(self._secrets, min_length=MIN_SECRET_IN_ERRORS, thorough=True)

    def answer(self, text: str) -> str:
        """A text of the model."""
        return self._answer(text)

    def error(self, text: str) -> str:
        """A message of the endpoint."""
        return self._error(text)
