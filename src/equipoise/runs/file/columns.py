"""How one value is stored in one column: exact text and JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from equipoise.errors import IntegrityError


def encode_text(text: str | None) -> str | bytes | None:
    """Text as text; text with lone surrogates or NULs as its exact UTF-8 bytes.

    Many tools end SQLite's text at a NUL, and it is UTF-8, which has no lone surrogates.
    """
    if text is None or (text.isascii() and "\0" not in text):
        return text
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return encoded if "\0" in text else text


def decode_text(value: str | bytes | None) -> str | None:
    """The text that was given to `encode_text`."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def encode_json(value: object) -> str:
    """The value as JSON."""
    return orjson.dumps(value).decode()


def decode_json(value: str, path: Path) -> Any:
    """The value that was given to `encode_json`; IntegrityError if the file holds no valid JSON there."""
    try:
        decoded = orjson.loads(value)
        orjson.dumps(decoded)  # fails for deeper nesting than `encode_json` can have written
    except (ValueError, TypeError) as error:
        raise IntegrityError(f"{path} is damaged: {error}.") from None
    return decoded
