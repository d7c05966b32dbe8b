"""Foreign text that can steer neither a terminal nor the log of a CI system."""

from __future__ import annotations

import re

WORKFLOW_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\[)", re.MULTILINE)
"""How a line begins that GitHub would obey, `::error::` or `##[error]`: its first sign is written as an escape."""


def printable(text: str) -> str:
    """The text with control and other invisible characters written as escapes such as `\\x1b`; line breaks stay."""
    shown = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    return WORKFLOW_COMMAND.sub(lambda found: f"{found[1] or ''}\\x{ord(found[0][-1]):x}", shown)


def printable_line(text: str) -> str:
    """The same on one line: line breaks are written as `\\n`."""
    return printable(text.replace("\n", "\\n"))
