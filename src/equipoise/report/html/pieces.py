"""Foreign text in pieces that a page shows differently: words that were read, reasoning, invisible characters, cuts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from equipoise.detect import Detector
from equipoise.detect.visible import REASONING
from equipoise.report.text import is_seen, name_character
from equipoise.schema import replace_surrogates

MAX_CHARACTERS = 1_500
MAX_REASONING = 300
LOOKAHEAD = 200
"""How much more than what is shown is read, so that a word at the cut is read as it is in the whole answer."""

_REASONING = re.compile(REASONING.replace(r"\z", r"\Z"))
_UNUSUAL = re.compile(r"[^\n\t -~]")
_CLOSING_TAG = re.compile(r"(?i)</think(?:ing)?>")


class Piece(NamedTuple):
    """A piece of foreign text. `kind`: text, word (it was read), reasoning, unseen (a character), cut."""

    text: str
    kind: str = "text"
    groups: tuple[int, ...] = ()
    """Of a word: the places of its groups among the detector's patterns, from 0."""


class Stretch(NamedTuple):
    """A part of an answer, `answer[start:end]`: all text, or all reasoning; and how much is left out after it."""

    kind: str
    start: int
    end: int
    left_out: int = 0


def split_text(text: str, detector: Detector | None = None, most: int = MAX_CHARACTERS) -> list[Piece]:
    """Split foreign text into pieces. At most so many characters are shown of it, and MAX_REASONING of reasoning."""
    return split_texts([text], detector, most)[0]


def split_texts(
    texts: Iterable[str], detector: Detector | None = None, most: int = MAX_CHARACTERS
) -> list[list[Piece]]:
    """The same for many texts, in a small part of the time that they take one by one."""
    texts = [replace_surrogates(text) for text in texts]
    shown = [_choose_shown(text, most) for text in texts]
    groups: list[dict[int, tuple[int, ...]]] = [{} for _ in texts]
    if detector:
        numbers = {group: number for number, group in enumerate(detector.patterns)}
        # An answer may be huge, so only what is shown is searched.
        ends = [max((part.end for part in parts if part.kind == "text"), default=0) + LOOKAHEAD for parts in shown]
        spans = detector.spans(text[:end] for text, end in zip(texts, ends, strict=True))
        for of_text, found in zip(groups, spans, strict=True):
            for span in found:
                for place in range(span.start, span.end):
                    of_text[place] = (*of_text.get(place, ()), numbers[span.group])
    return [
        [piece for part in parts for piece in _split_stretch(text, part, of_text)]
        for text, parts, of_text in zip(texts, shown, groups, strict=True)
    ]


def _choose_shown(text: str, most: int) -> list[Stretch]:
    """The parts of an answer that are shown: so much of the text, and of the reasoning."""
    stretches, shown = list(_find_stretches(text)), []
    room = {"text": most, "reasoning": MAX_REASONING}
    left_out = {kind: sum(s.end - s.start for s in stretches if s.kind == kind) - room[kind] for kind in room}
    for kind, start, end, _ in stretches:
        if room[kind] >= 0:
            stop = min(end, start + room[kind])
            room[kind] -= end - start
            shown.append(Stretch(kind, start, stop, left_out[kind] if room[kind] < 0 else 0))
    return shown


def _find_stretches(text: str) -> Iterator[Stretch]:
    """The text and the reasoning of an answer in turn, told apart as in `detect/visible.py`."""
    reasoning = [match.span() for match in _REASONING.finditer(text)]
    opened = {end for _, end in reasoning}
    closings = (match.end() for match in _CLOSING_TAG.finditer(text))
    unopened = max((end for end in closings if end not in opened), default=0)
    start = 0
    for first, last in [(0, unopened), *((first, last) for first, last in reasoning if first >= unopened)]:
        if first > start:
            yield Stretch("text", start, first)
        if last > first:
            yield Stretch("reasoning", first, last)
        start = last
    if start < len(text):
        yield Stretch("text", start, len(text))


def _split_stretch(text: str, stretch: Stretch, groups: Mapping[int, tuple[int, ...]]) -> Iterator[Piece]:
    kind, start, end, left_out = stretch
    unseen = {match.start() for match in _UNUSUAL.finditer(text, start, end) if not is_seen(match[0])}
    read = [place for place in groups if start <= place < end] if kind == "text" else []
    # Most characters are plain, so the way goes from one that is special to the next.
    for (_, hidden, word_groups), same in groupby(
        enumerate(sorted(unseen.union(read))),
        lambda pair: (pair[1] - pair[0], pair[1] in unseen, groups.get(pair[1], ())),
    ):
        places = [place for _, place in same]
        if start < places[0]:
            yield Piece(text[start : places[0]], kind)
        start = places[-1] + 1
        if hidden:
            yield from (Piece(name_character(text[place]), "unseen") for place in places)
        else:
            yield Piece(text[places[0] : start], "word", word_groups)
    if start < end:
        yield Piece(text[start:end], kind)
    if left_out:
        yield Piece(f"[cut: {left_out:,} more characters]", "cut")
