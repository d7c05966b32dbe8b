"""Numbers, marks, dates and foreign text as they are shown."""

from __future__ import annotations

import math
import unicodedata
from datetime import datetime

from equipoise.measuring.marks import Mark
from equipoise.schema import replace_surrogates


def format_number(value: float | None, sign: str = "") -> str:
    """A value to three places, or a dash where there is none; with `sign="+"`, positive values have a plus."""
    return "–" if value is None or math.isnan(value) else format(value, f"{sign}z.3f")


def typeset_number(value: float | None) -> str:
    """The same with a true minus sign, for pages and charts. In a terminal, numbers must stay easy to copy."""
    return format_number(value).replace("-", "−")


def describe_mark(mark: Mark | None) -> str:
    """A mark with its certainty: "B", or "B, could be A–C"."""
    if mark is None:
        return "not computable"
    return mark.mark if mark.certain else f"{mark.mark}, could be {mark.best}–{mark.worst}"


def format_date(iso: str) -> str:
    """A time as people write it; text that is not an ISO 8601 time stays as it is."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname() or ''}".rstrip()


def join_words(words: list[str]) -> str:
    """Words as a list in a sentence: "a, b and c"."""
    if len(words) < 2:
        return words[0] if words else "nothing"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def is_seen(character: str) -> bool:
    """Whether a reader can see the character, or the space it takes: it is no control, format or private one."""
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"


def name_character(character: str) -> str:
    """The number of a character: "U+200B"."""
    return f"U+{ord(character):04X}"


def reveal_invisible(text: str) -> str:
    """Foreign text with its invisible characters (controls, zero-width, direction marks …) written as numbers."""
    return "".join(c if is_seen(c) else name_character(c) for c in replace_surrogates(text))
