"""Text that comes back exactly as it was, also where SQLite's text cannot hold it."""

from __future__ import annotations


def to_column(text: str | None) -> str | bytes | None:
    """Text as text; with lone surrogates or NULs, as its exact UTF-8 bytes.

    SQLite's text ends at a NUL for many tools, and is UTF-8, which has no lone surrogates.
    """
    if text is None or (text.isascii() and "\0" not in text):
        return text
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return encoded if "\0" in text else text


def from_column(value: str | bytes | None) -> str | None:
    """The text that `to_column` was given."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
