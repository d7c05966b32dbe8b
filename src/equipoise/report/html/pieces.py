"""Foreign text in pieces that a page shows differently: words that were read, reasoning, invisible characters, cuts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from equipoise.detect import Detector
from equipoise.detect.detector import Span
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


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of foreign text. `kind`: text, word (it was read), reasoning, unseen (a character), cut."""

    text: str
    kind: str = "text"
    groups: tuple[int, ...] = ()
    """Of a word: the places of its groups among the detector's patterns, from 0."""


class Stretch(NamedTuple):
    """A part of an answer, `answer[start:end]`, that is all text or all reasoning."""

    kind: str
    start: int
    end: int


def split_text(text: str, detector: Detector | None = None, most: int = MAX_CHARACTERS) -> list[Piece]:
    """Split foreign text into pieces. At most so many characters are shown of it, and MAX_REASONING of reasoning."""
    return split_texts([text], detector, most)[0]


def split_texts(
    texts: Iterable[str], detector: Detector | None = None, most: int = MAX_CHARACTERS
) -> list[list[Piece]]:
    """The same for many texts, in a small part of the time that they take one by one."""
    texts = [replace_surrogates(text) for text in texts]
    stretches = [list(_find_stretches(text)) for text in texts]
    spans: list[list[Span]] = [[] for _ in texts]
    if detector:
        # An answer may be huge, so only what is shown is searched.
        ends = [_find_end(parts, most + LOOKAHEAD) for parts in stretches]
        spans = detector.spans(text[:end] for text, end in zip(texts, ends, strict=True))
    groups = [_find_groups(found, detector) for found in spans]
    return [_split(*parts, most) for parts in zip(texts, stretches, groups, strict=True)]


def _split(text: str, stretches: Sequence[Stretch], groups: Mapping[int, tuple[int, ...]], most: int) -> list[Piece]:
    room = {"text": most, "reasoning": MAX_REASONING}
    hidden = {kind: sum(s.end - s.start for s in stretches if s.kind == kind) - room[kind] for kind in room}
    pieces: list[Piece] = []
    for kind, start, end in stretches:
        if room[kind] < 0:
            continue
        stop = min(end, start + room[kind])
        pieces += _split_stretch(text, Stretch(kind, start, stop), groups if kind == "text" else {})
        room[kind] -= end - start
        if room[kind] < 0:
            pieces.append(Piece(kind="cut", text=f"[cut: {hidden[kind]:,} more characters]"))
    return pieces


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


def _find_end(stretches: Sequence[Stretch], most: int) -> int:
    """Where in an answer so many characters have passed that are no reasoning."""
    for kind, start, end in stretches:
        if kind == "text":
            if end - start >= most:
                return start + most
            most -= end - start
    return stretches[-1].end if stretches else 0


def _find_groups(spans: Iterable[Span], detector: Detector | None) -> dict[int, tuple[int, ...]]:
    """For each place of the answer that was read, which groups it speaks for."""
    numbers = {group: number for number, group in enumerate(detector.patterns)} if detector else {}
    groups: dict[int, tuple[int, ...]] = {}
    for span in spans:
        for place in range(span.start, span.end):
            groups[place] = (*groups.get(place, ()), numbers[span.group])
    return groups


def _split_stretch(text: str, stretch: Stretch, groups: Mapping[int, tuple[int, ...]]) -> Iterator[Piece]:
    kind, start, end = stretch
    unseen = {match.start() for match in _UNUSUAL.finditer(text, start, end) if not is_seen(match[0])}
    special = sorted(unseen.union(place for place in groups if start <= place < end))
    # Most characters are plain, so the way goes from one that is special to the next.
    for (_, hidden, word_groups), same in groupby(
        enumerate(special), lambda pair: (pair[1] - pair[0], pair[1] in unseen, groups.get(pair[1], ()))
    ):
        places = [place for _, place in same]
        if start < places[0]:
            yield Piece(text=text[start : places[0]], kind=kind)
        start = places[-1] + 1
        if hidden:
            yield from (Piece(text=name_character(text[place]), kind="unseen") for place in places)
        else:
            yield Piece(text=text[places[0] : start], kind="word", groups=word_groups)
    if start < end:
        yield Piece(text=text[start:end], kind=kind)
