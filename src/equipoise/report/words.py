"""Numbers, dates and foreign text as they are shown."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from equipoise.detect.visible import REASONING
from equipoise.figure import Read
from equipoise.frames import well_formed
from equipoise.stats.marks import Mark

MOST = 1_500
MOST_REASONING = 300
INVISIBLE = "[\u00ad\u200b-\u200f\u2060\ufeff]*"
"""What may stand inside a word without parting it; see `detect/visible.py`."""
BETWEEN = r"[\s*_`~]+"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A piece of foreign text. `kind`: text, a word that was read, reasoning, an unseen character, or a cut."""

    text: str
    kind: str = "text"
    word: int | None = None
    """Which of the groups of words it belongs to, from 0."""


def number(value: float) -> str:
    """A value to three places, with a true minus."""
    if math.isnan(value):
        return "–"
    shown = f"{value:.3f}"
    return (shown[1:] if float(shown) == 0 and shown[0] == "-" else shown).replace("-", "−")


def told(mark: Mark | None) -> str:
    """A mark with its certainty: "B", or "B, could be A–C"."""
    if mark is None:
        return "not computable"
    return mark.mark if mark.certain else f"{mark.mark}, could be {mark.best}–{mark.worst}"


def date(iso: str) -> str:
    """A time as people write it; whatever is no ISO time stays as it is."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname() or ''}".rstrip()


def listed(words: list[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]])) or "nothing"


def is_seen(character: str) -> bool:
    """Whether a reader can see that the character is there: no control, format, unassigned or private one."""
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"


def plain(text: str) -> str:
    """Foreign text with unseen characters (controls, zero-width, direction marks …) written as U+200B and the like."""
    text = well_formed(text)
    return "".join(c if is_seen(c) else f"U+{ord(c):04X}" for c in text)


def parts(text: str, read: Read | None = None, most: int = MOST) -> list[Part]:
    """Foreign text in pieces: words that were read, reasoning that was not, unseen characters, and what is cut."""
    text = well_formed(text)
    pattern = _pattern(read) if read else None
    pieces = list(_split(text))
    left = {True: MOST_REASONING, False: most}
    beyond = {kind: sum(len(piece) for piece, own in pieces if own is kind) - left[kind] for kind in left}
    found: list[Part] = []
    for piece, reasoning in pieces:
        if left[reasoning] < 0:
            continue
        shown = piece[: left[reasoning]]
        if reasoning:
            found += _with_unseen(shown, "reasoning")
        else:
            found += _with_words(shown, pattern) if pattern else _with_unseen(shown)
        left[reasoning] -= len(piece)
        if left[reasoning] < 0:
            found.append(Part(kind="cut", text=f"[cut: {beyond[reasoning]:,} more characters]"))
    return found


def _split(text: str) -> Iterator[tuple[str, bool]]:
    """The text as reasoning (True) and as what was read (False); see `detect/visible.py`."""
    spans = [match.span() for match in re.finditer(REASONING.replace(r"\z", r"\Z"), text)]
    ends = [match.end() for match in re.finditer(r"(?i)</think(?:ing)?>", text)]
    inside = {end for _, end in spans}
    unopened = max((end for end in ends if end not in inside), default=0)
    start = 0
    for first, last in [(0, unopened), *((max(first, unopened), last) for first, last in spans)]:
        if last > first >= start:
            if first > start:
                yield text[start:first], False
            yield text[first:last], True
            start = last
    if start < len(text):
        yield text[start:], False


def _with_words(text: str, pattern: re.Pattern[str]) -> Iterator[Part]:
    start = 0
    for match in pattern.finditer(text):
        yield from _with_unseen(text[start : match.start()])
        assert match.lastgroup is not None
        yield from _with_unseen(match[0], "word", int(match.lastgroup[1:]))
        start = match.end()
    yield from _with_unseen(text[start:])


def _with_unseen(text: str, kind: str = "text", word: int | None = None) -> Iterator[Part]:
    start = 0
    for place, character in enumerate(text):
        if not is_seen(character):
            if place > start:
                yield Part(text=text[start:place], kind=kind, word=word)
            yield Part(text=f"U+{ord(character):04X}", kind="unseen")
            start = place + 1
    if start < len(text):
        yield Part(text=text[start:], kind=kind, word=word)


def _pattern(read: Read) -> re.Pattern[str]:
    """All words and phrases, each group of them under its number."""
    before, after = r"(?<![^\W_])", r"(?![^\W_])"
    if read.hyphenated:
        before, after = before + r"(?<![^\W_]-)", after + r"(?!-[^\W_])"
    groups = [
        f"(?P<g{place}>{'|'.join(map(_spelled, words))})" for place, words in enumerate(read.words.values()) if words
    ]
    return re.compile(f"{before}(?:{'|'.join(groups)}){after}", flags=re.IGNORECASE)


def _spelled(phrase: str) -> str:
    return BETWEEN.join(INVISIBLE.join(map(re.escape, word)) for word in phrase.split())
