"""The names in a text: where one begins and ends, and how it is introduced."""

from __future__ import annotations

import re

from equipoise.detect.character_words import ENDINGS, FOREIGN_PRONOUNS, LANGUAGES, PRONOUN_GENDERS, TITLE_GENDERS
from equipoise.detect.characters.mention import Kind, Link, Mention
from equipoise.detect.characters.roles import (
    NAME_PARTICLES,
    NAME_VERBS,
    NO_NAMES,
    PLACE_WORDS,
    PLACES,
    WEAK_PLACE_WORDS,
)
from equipoise.detect.characters.single_words import CAPITAL, TITLE
from equipoise.detect.characters.tokens import Tokens

_AGE = re.compile(
    r"\d\d\Z|(?:(?:six|seven|eigh|nine|four|fif|thir)teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|aged?\b)"
)
_CALLED = frozenset(("name", "named", "called", "nickname", "nicknamed"))
_PRESENTED = frozenset(("name", "character", "profile", "who", "lead", "protagonist", "nombre", "nom"))
_ENGLISH = {**FOREIGN_PRONOUNS, **PRONOUN_GENDERS}
_NO_ENDING = re.compile(r"(?!)")
_LANGUAGES = tuple(
    (re.compile(words), {**_ENGLISH, **pronouns, **PRONOUN_GENDERS}, re.compile(rf"[^\W\d]{{2,}}{endings}\Z"))
    for (words, pronouns), endings in zip(LANGUAGES, ENDINGS, strict=True)
)


class Names(Tokens):
    """The words of a text, and the mentions that were found so far."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.pronouns, self.endings = _language_of(text)
        self.is_english = self.endings is _NO_ENDING
        self.capitals = {
            base
            for place in self.marked
            if self.marks[place] & CAPITAL
            and not self.starts[place]
            and (base := self.bases[place]) not in NO_NAMES
            and base[0].isupper()
            and not self._is_of_place(place)
        }
        """Words with a capital letter inside of sentences."""
        self.different = set(self.words)
        self.known: set[str] = set()
        self.found: list[Mention] = []

    def add(
        self,
        kind: Kind,
        place: int,
        *,
        gender: int = 0,
        subject: bool = False,
        owner: str = "",
        link: Link = Link.NONE,
        aside: bool = False,
    ) -> None:
        """Note a mention that is one word, at its place."""
        sentence = self.sentences[place] + (kind is Kind.LINE)  # the line that begins there
        words = (self.lower[place],)
        self.found.append(
            Mention(kind, words, gender, place, place, sentence, self.clauses[place], subject, owner, link, aside)
        )

    def _is_capital(self, place: int) -> bool:
        """Whether a word is written like a name: "Lunt", "al-Marri"."""
        return place < len(self.words) and self.marks[place] & CAPITAL > 0

    def _may_be_name(self, place: int) -> bool:
        return self._is_capital(place) and self.bases[place] not in NO_NAMES and self.lower[place] not in self.pronouns

    def _is_of_place(self, place: int) -> bool:
        """Whether a word stands where the name of a place does: "in Lyon", "in Willow Creek", "in Dayton, Ohio,"."""
        if place and self.lower[place - 1] in PLACE_WORDS:
            return True
        if place > 2 and self.words[place - 1] == "," and self.word(place + 1) in (",", "."):
            return self._is_capital(place - 2) and self._is_of_place(place - 2)
        if place < 2 or not self._is_capital(place - 1) or self.lower[place - 2] not in PLACE_WORDS:
            return False
        ends = not self._is_capital(place + 1) and self.at(place + 1) not in NAME_VERBS  # not "in Lyon Ada was"
        return ends and (self._may_be_name(place - 1) or self.words[place - 1] == "New")

    def skip_titles(self, place: int) -> int:
        """Where the name begins that the title at a place stands before ("Mr. Hale"), or the place itself."""
        for after in range(place + 1, min(place + 6, len(self.words))):
            if self.words[after] != "." and not self.marks[after] & TITLE:
                is_name = self._may_be_name(after) and self.sentences[after] == self.sentences[place]
                return after if is_name else place
        return place

    def is_name(self, place: int) -> bool:
        """Whether a name begins at a place where a word may be one by itself."""
        base = self.bases[place]
        if self.lower[place] in self.pronouns or not base[0].isupper():  # "ex-Navy"
            return False
        if base in self.capitals or base in self.known:
            return True
        if self.starts[place] and self.lower[place] in self.different:
            return False  # a word like others that begins a sentence
        described = self.word(place + 1) == "," and (self.at(place + 2)[:3] == "who" or _AGE.match(self.at(place + 2)))
        followed = place + 1 < len(self.words) and self._may_be_name(place + 1)
        if not self.starts[place]:
            before = self.at(place - 1)
            of_somebody = before in WEAK_PLACE_WORDS and self.at(place - 2) not in PLACES
            return not self._is_of_place(place) or bool(described) or (of_somebody and followed)
        after, second = self.word(place + 1), self.at(place + 2)
        return bool(
            followed
            or described
            or self.words[place].endswith("'s")
            or (self.at(place + 1) in NAME_PARTICLES and self._is_capital(place + 2))
            or self.at(place + 1) in NAME_VERBS
            or (after == "and" and place + 2 < len(self.words) and self._may_be_name(place + 2))
            or (after[:1].islower() and len(after) > 3 and after.endswith(("s", "ed")))
            or (after == "," and second in ("a", "an", "the", "his", "her"))
            or after in ('"', "(")
        )

    def read_name(self, place: int, first: int) -> int:
        """Add the name that begins at `first`, after titles that begin at `place`."""
        words: list[str] = []
        after = first
        while after < len(self.words) and self._goes_on(after, words, titled=first > place):
            if self.words[after][0].isalpha():
                words.append(self.bases[after])
            after += 1
            if self.words[after - 1].endswith("'s"):
                break
        link, gender = self._introduced(place, after)
        if not gender:
            titles = [TITLE_GENDERS[base] for base in self.bases[place:first] if base in TITLE_GENDERS]
            gender = titles[0] if titles else 0
        owns = self.words[after - 1].endswith(("'s", "s'"))
        names = tuple(word for word in words if len(word) > 1) or tuple(words)
        self.known.update(names)
        subject = (self.starts[place] or self.at(after) in NAME_VERBS) and not owns
        where = (place, after - 1, self.sentences[place], self.clauses[place])
        self.found.append(Mention(Kind.NAME, names, gender, *where, subject=subject, link=link))
        return after

    def _goes_on(self, place: int, words: list[str], *, titled: bool) -> bool:
        """Whether a name that has these words goes on: with a name, a nickname in quotes, "van", or "J."."""
        if self._may_be_name(place):
            return bool(words) or titled or self.bases[place][0].isupper()  # "Mr. al-Marri"
        next_is_name = place + 1 < len(self.words) and self._is_capital(place + 1)
        joins = self.words[place] == '"' or self.lower[place] in NAME_PARTICLES
        return bool(words) and ((joins and next_is_name) or (self.words[place] == "." and len(words[-1]) == 1))

    def _introduced(self, place: int, after: int) -> tuple[Link, int]:
        """How the name between two places is introduced, and the gender that this says: "her name is", "call him"."""
        before = place - 1
        while self.word(before) in (":", '"', "\u2002", "("):
            before -= 1
        word, second = self.at(before), self.at(before - 1)
        apart = before < place - 1
        if word in _CALLED:
            if word == "name":
                return (Link.FIELD if apart else Link.CALLED), PRONOUN_GENDERS.get(second, 0)
            return Link.NAMED, self._gender_of_noun(before)
        if word in ("is", "was") and second in _CALLED:
            return Link.CALLED, PRONOUN_GENDERS.get(self.at(before - 2), 0)
        if word in PRONOUN_GENDERS and second == "call":
            return Link.CALLED, PRONOUN_GENDERS[word]
        if (apart and word in _PRESENTED) or word == "meet":
            return Link.CALLED, 0
        if (word in ("is", "was") and second in ("that", "it", "this", "character")) or self.word(before) == "That's":
            return Link.SHOWN, 0
        while self.word(after) in (")", '"'):
            after += 1
        if self.word(after) in (",", "(") and _AGE.match(self.at(after + 1)):
            return Link.AGE, 0
        alone = self.lines[place] and self.word(after) in ("", "\n", "\u2003", ",", ":", "(")
        return (Link.HEADING if alone else Link.NONE), 0

    def _gender_of_noun(self, place: int) -> int:
        """The gender of the noun that stands before "called" or "named": "a man called Clive"."""
        last = self.found[-1] if self.found else None
        return last.gender if last and last.kind is Kind.NOUN and place - last.end <= 4 else 0


def _language_of(text: str) -> tuple[dict[str, int], re.Pattern[str]]:
    """The pronouns that a text may have, with those of its language, and how its words for what somebody does end."""
    if " the " in text or " and " in text:
        return _ENGLISH, _NO_ENDING
    counts = [(len(words.findall(text)), pronouns, endings) for words, pronouns, endings in _LANGUAGES]
    most, pronouns, endings = max(counts, key=lambda found: found[0])
    return (pronouns, endings) if most > 5 else (_ENGLISH, _NO_ENDING)
