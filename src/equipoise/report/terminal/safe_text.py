"""Foreign text that cannot steer a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with control and other invisible characters written as escapes such as `\\x1b`; line breaks stay."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def printable_line(text: str) -> str:
    """The same on one line: line breaks are written as `\\n`."""
    return printable(text).replace("\n", "\\n")
