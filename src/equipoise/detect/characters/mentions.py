"""The people in an answer, one mention after the other: names, pronouns, relatives, people in roles.

"Elena Ruiz, 40, nurse. Her father left; he never wrote." mentions Elena Ruiz, *her*, a father and *he*.
"""

from __future__ import annotations

from equipoise.detect.character_words import GROWN_GENDERS, NOT_FOREIGN, PEOPLE, RELATIVES, SIDE_PEOPLE
from equipoise.detect.characters.mention import Kind, Link, Mention
from equipoise.detect.characters.names import Names
from equipoise.detect.characters.roles import ARTICLES, BEING, DETERMINERS, PLACE_WORDS
from equipoise.detect.characters.single_words import (
    BREAKS,
    END,
    ME,
    MENTION,
    NAME,
    NOUNS,
    SEVERAL,
    SOMEBODY,
    STOPS,
    THEY,
    TITLE,
)

_BETWEEN = frozenset(("now", "still", "also", "always", "only", "just", "once", "born", "raised", "really", "truly"))
"""What may stand between "is" and "a widow"."""
_ENDS = frozenset((",", ".", ":", ";", "\n", "\u2003", "("))
_BEFORE_TRADE = frozenset(
    (",", "(", ")", "\u2003", "ans", "años", "anni", "jahre", "alt", "de", "ein", "eine", "un", "una", "une")
)
"""What may stand between a name and what somebody does."""
_GOES_ON = frozenset(
    ("of", "to", "at", "with", "in", "by", "from", "and", "on", "who", "de", "di", "himself", "herself")
)
"""What belongs to the relative before it: "A mother with two jobs, she", but "An uncle taught her"."""
_OF = frozenset(("of", "at", "to", "de", "einer", "eines", "di", "unique", "único", "única", "unico", "unica"))
"""What follows a relative who is the character: "father of two"."""
_KINDS = frozenset(("kind", "sort", "type"))
_ONCE = frozenset(("once", "lived", "dwelt"))
_NOT = frozenset(("wasn't", "isn't", "weren't", "ain't"))


def find_mentions(text: str) -> list[Mention]:
    """The mentions of people in a text, in order."""
    return _Mentions(text).find()


class _Mentions(Names):
    """Reads the words of a text from left to right."""

    def find(self) -> list[Mention]:
        """All mentions, in order."""
        read = 0
        for place in self.marked:
            if place < read:
                continue
            mark = self.marks[place]
            if mark == END:
                if self.words[place] == "\n":
                    self._read_line(place)
            elif not (mark & MENTION and self._read_known(place)):
                first = self.skip_titles(place) if mark & TITLE else place
                if first > place or (mark & NAME and self.is_name(place)):
                    read = self.read_name(place, first)
                    if not self.is_english:
                        self._read_trade(read)
                elif mark & MENTION and self._is_noun(place):
                    self._read_noun(place, Kind.NOUN)
                elif mark & SEVERAL:
                    self.add(Kind.SEVERAL, place)
                elif mark & SOMEBODY:
                    self._read_noun(place, Kind.ROLE)
        return self.found

    def _is_noun(self, place: int) -> bool:
        """Whether a noun that says a gender stands at a place."""
        return self.lower[place] in NOUNS and (self.is_english or self.lower[place] not in NOT_FOREIGN)

    def _read_line(self, place: int) -> None:
        if self.found and self.found[-1].kind is Kind.LINE:
            self.found.pop()
        if self.found:
            self.add(Kind.LINE, place)

    def _read_trade(self, place: int) -> None:
        """After a name: the word for what somebody does, whose ending says the gender: "58, Binnenschifferin"."""
        for at in range(place, min(place + 6, len(self.words))):
            if self.lower[at] in _BEFORE_TRADE or self.words[at].isdigit():
                continue
            found = self.endings.match(self.bases[at])
            if found and self.words[place] in (",", "(", "\u2003"):
                self.add(Kind.GROWN, at, gender=-1 if found[1] else 1)
            return

    def _read_known(self, place: int) -> bool:
        """Read a pronoun, or a word that shows the gender of whom it is about, if one stands at a place."""
        lower, base = self.lower[place], self.bases[place]
        if lower in self.pronouns and base != "Ella" and self._is_german_she(place):
            aside = self.word(place - 1) == "(" and self.word(place - 2) not in STOPS
            subject = lower not in ("him", "his", "himself", "her", "hers", "herself")
            self.add(Kind.PRONOUN, place, gender=self.pronouns[lower], subject=subject, aside=aside)
        elif base in GROWN_GENDERS:
            if self.at(place - 1) in ARTICLES and self.at(place - 2) not in BEING:
                return False  # "hijo de una viuda"
            self.add(Kind.GROWN, place, gender=GROWN_GENDERS[base])
        elif lower in THEY:
            self.add(Kind.THEY, place)
        elif lower in ME:
            self.add(Kind.ME, place, subject=lower == "i")
        else:
            return False
        return True

    def _is_german_she(self, place: int) -> bool:
        """Whether a *sie*, if it is one, is *she*: its verb tells it from *they*."""
        after = self.at(place + 1)
        return self.lower[place] != "sie" or after.endswith("t") or after in ("war", "hatte", "wurde", "ging", "kam")

    def _read_noun(self, place: int, kind: Kind) -> None:
        owner, at = self._owner(place)
        last = self.found[-1] if self.found else None
        names = last is not None and (last.kind is Kind.NAME or last.link is Link.BESIDE)
        near = last is not None and names and place - last.end <= 5 and last.sentence == self.sentences[place]
        if kind is Kind.ROLE and not owner and not near and not self.lines[place]:
            return
        if self.at(at - 1) in ("like", "than"):
            return  # a comparison: nobody is mentioned
        link = self._noun_link(place, owner, at, near=near)
        lower = self.lower[place]
        gender = NOUNS.get(lower, 0)
        if lower in SIDE_PEOPLE and link is not Link.NONE:
            kind, gender = Kind.ROLE, 0
        subject = self.starts[at] if owner else self.starts[place]
        self.add(kind, place, gender=gender, subject=subject, owner=owner, link=link)

    def _owner(self, place: int) -> tuple[str, int]:
        """What stands before a noun and its adjectives ("the", "his", "'s"), and where."""
        for at in range(place - 1, max(place - 5, -1), -1):
            if self.sentences[at] != self.sentences[place] or self.words[at] in BREAKS:
                break
            if self.lower[at] in DETERMINERS:
                return self.lower[at], at
            if self.words[at].endswith(("'s", "s'")):
                return "'s", at - 1 if self.at(at - 1) in ("a", "an", "the") else at
            if self.lower[at] == "of" and self.at(at - 1) in _KINDS:
                continue  # "the kind of guy"
            if self.lower[at] in BEING or self.lower[at] in PLACE_WORDS or (self.words[at] in "()," and place - at > 3):
                break
        return "", place

    def _noun_link(self, place: int, owner: str, at: int, *, near: bool) -> Link:
        """How a noun with its owner is joined to somebody."""
        lower, after = self.lower[place], self.at(place + 1)
        before = at - 1
        while self.at(before) in _BETWEEN:
            before -= 1
        same = before >= 0 and self.sentences[before] == self.sentences[place]
        if owner and self.at(at - 1) == "as" and self.starts[at - 1]:
            return Link.AS
        if owner in ("a", "an") and lower in PEOPLE and self._opens_tale(at):
            return Link.OPENS
        if owner and same and (self._is_being(before) or (self.at(before) in _NOT and place - at > 1)):
            return Link.NONE if "there" in self.lower[max(before - 3, 0) : before + 1] else Link.IS
        if owner in ("a", "an", "the", "one", "'s") and self.word(at - 1) == "," and near:
            return Link.BESIDE
        if owner == "'s" and self.starts[at] and self.bases[at] not in self.capitals and after in (",", "\u2003"):
            return Link.STARTS
        if owner in ("a", "an", "un", "una", "une") and (not same or self.starts[at]) and self._stands_apart(place):
            return Link.STARTS
        if not owner and self.starts[place] and lower in PEOPLE:
            return Link.STARTS
        if not owner and near and "," in self.words[self.found[-1].end + 1 : place]:
            return Link.BESIDE
        if lower in RELATIVES and after in _OF:
            if owner in ("a", "an", "one") or (owner == "the" and (self.starts[at] or self.word(at - 1) == ",")):
                return Link.STARTS
            return Link.NONE if owner else Link.OF
        return Link.NONE

    def _opens_tale(self, place: int) -> bool:
        """Whether a text opens with a place, and before it "There lived", "There was once", "Once upon a time"."""
        if any(mention.kind is not Kind.SEVERAL for mention in self.found):
            return False
        before = self.lower[max(place - 12, 0) : place]
        return ("there" in before and not _ONCE.isdisjoint(before)) or ("once" in before and "upon" in before)

    def _stands_apart(self, place: int) -> bool:
        """Whether a noun and what belongs to it end soon: "A mother of three, she naps", not "A woman comes in"."""
        after = self.words[place + 1 : place + 7]
        if after[:1] in (["named"], ["called"]):
            return False  # somebody new
        end = next((number for number, word in enumerate(after) if word in _ENDS), len(after))
        if self.lower[place] in RELATIVES and end and after[0] not in _GOES_ON and not after[0].endswith("ing"):
            return False
        return end < len(after) or place + 7 > len(self.words)

    def _is_being(self, place: int) -> bool:
        """Whether a word is "is", "was", "he's", "I'm", "who's"."""
        word, lower = self.words[place], self.lower[place]
        short = word.endswith(("'s", "'m")) and (lower in self.pronouns or lower in ("i", "who", "that"))
        return lower in BEING or short
