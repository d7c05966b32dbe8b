"""What can be said of a word by itself. It is asked once for each word: a few thousand make up most of all texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from equipoise.detect.character_words import (
    FOREIGN_PRONOUNS,
    GROWN_GENDERS,
    LANGUAGES,
    PEOPLE,
    PRONOUN_GENDERS,
    RELATIVES,
    SIDE_PEOPLE,
    TITLE_GENDERS,
)
from equipoise.detect.characters.roles import NO_NAMES, NOT_ROLES, PLURAL, RANKS, ROLE

STOPS, BREAKS = frozenset(".!?\n"), frozenset(';:\u2003\u2002"')
"""What ends a sentence, and what ends a clause."""
NOUNS = {**SIDE_PEOPLE, **RELATIVES, **PEOPLE}
"""Nouns that say a gender."""
THEY = frozenset(("they", "them", "their", "theirs", "themself", "themselves"))
ME = frozenset(("i", "me", "my", "mine", "myself"))
ALL_PRONOUNS = frozenset(
    word for words in (PRONOUN_GENDERS, FOREIGN_PRONOUNS, *(forms for _, forms in LANGUAGES)) for word in words
)
END, CAPITAL, MENTION, SEVERAL, SOMEBODY, TITLE, NAME = 1, 2, 4, 8, 16, 32, 64
"""Marks of a word: it ends a clause; has a capital; may be a mention; several people; a role; a title; maybe a name."""
_ENDING = re.compile(r"'(?:s|d|ll|ve|re|m)$")
_MAX_WORDS, _MAX_LENGTH = 100_000, 40
T = TypeVar("T")


class Memory(dict[str, T]):
    """What a function says of each word; of so many words, and none that is very long."""

    def __init__(self, function: Callable[[str], T]) -> None:
        super().__init__()
        self.function = function

    def __missing__(self, word: str) -> T:
        value = self.function(word)
        if len(self) < _MAX_WORDS and len(word) <= _MAX_LENGTH:
            self[word] = value
        return value


def _base(word: str) -> str:
    return _ENDING.sub("", word) if "'" in word else word


def _marks(word: str) -> int:
    if not word[0].isalnum():
        return END if word in STOPS or word in BREAKS else 0
    base = _base(word)
    lower = base.lower()
    last = lower.rsplit("-", 1)[-1]
    known = lower in ALL_PRONOUNS or lower in THEY or lower in ME or lower in NOUNS or base in GROWN_GENDERS
    several = word[0].isalpha() and PLURAL.match(lower) is not None
    somebody = word[0].islower() and lower not in NOT_ROLES and ROLE.match(last) is not None
    title = base in TITLE_GENDERS or base in RANKS
    capital = base[0].isupper() or ("-" in base and base.rsplit("-", 1)[1][:1].isupper())
    name = capital and not title and len(base) > 1 and base not in NO_NAMES and lower not in NOUNS and lower not in THEY
    return NAME * name | TITLE * title | CAPITAL * capital | MENTION * known | SEVERAL * several | SOMEBODY * somebody


BASES, LOWER = Memory(_base), Memory(lambda word: _base(word).lower())
"""A word without "'s" and the like; and the same in lower case."""
MARKS = Memory(_marks)
