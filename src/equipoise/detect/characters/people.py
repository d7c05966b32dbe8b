"""The people in an answer who have names, and which of them is the character."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from equipoise.detect.character_words import RELATIVES
from equipoise.detect.characters.mention import Kind, Link, Mention

RANKS = {Link.FIELD: 7.0, Link.CALLED: 4.0, Link.AGE: 3.0, Link.SHOWN: 2.5, Link.HEADING: 2.0}
"""How much the way in which a name is introduced speaks for its being the character's."""
OPENING = 3.0
"""The same for somebody with whom an answer opens: "There was once a woman named Clara"."""
LATE = 0.5
"""The same for somebody whose name is told after another name: "a woman comes in; her name is Inga"."""
_OWNERS = frozenset(("his", "her", "their", "my", "'s", "whose"))
_OWNED = _OWNERS | {"a", "an"}
_PASSED_OVER = frozenset((Kind.ME, Kind.SEVERAL, Kind.LINE))
"""Who may come before somebody with whom an answer opens: "I once met a man called Clive"."""
_NEVER = -99


@dataclass(slots=True)
class Person:
    """Somebody in an answer. `gender` is 1 for a man, -1 for a woman, 0 as long as it is not known."""

    name: str
    gender: int = 0
    named: bool = False
    beside: bool = False
    """Whether the name is that of somebody's relative or friend: "his sister Clementine"."""
    full_name: bool = False
    rank: float = 0.0
    mentions: int = 0
    introduced: int = 0
    last: int = _NEVER
    sentence: int = _NEVER
    subject: bool = False
    pronouns: int = 0


@dataclass
class Cast:
    """The people with names, by each word of their names, and which of them is the character, if any is."""

    mentions: Sequence[Mention]
    people: list[Person] = field(default_factory=list)
    by_word: dict[str, int] = field(default_factory=dict)
    character: int | None = None

    def find(self, words: Sequence[str]) -> int | None:
        """The number of the person whom a name names. "Claire Hale" is not Marcus Hale."""
        if words[0] in self.by_word or len(words) == 1:
            return self.by_word.get(words[0])
        return next((self.by_word[word] for word in words[1:-1] if word in self.by_word), None)


def find_cast(mentions: Sequence[Mention]) -> Cast:
    """Collect the names. The character is who is introduced best: by a field, with an age, in full, first, often."""
    cast = Cast(mentions)
    before: Mention | None = None
    first: Mention | None = None
    for mention in mentions:
        if mention.kind is Kind.NAME:
            _add_name(cast, mention, before, first=first)
        if mention.kind is not Kind.LINE:
            before = mention
        if mention.kind not in _PASSED_OVER:
            first = first or mention
    scores = [
        person.rank + 2 * person.full_name + (number == 0) + 0.5 * min(person.mentions, 5) - 5 * person.beside
        for number, person in enumerate(cast.people)
    ]
    if scores:
        best = scores.index(max(scores))
        person = cast.people[best]
        cast.character = None if person.beside or _opens_with_another(mentions, person) else best
    return cast


def _opens_with_another(mentions: Sequence[Mention], person: Person) -> bool:
    """Whether somebody else than a person with a mere title comes first: "The nurse tied her hair. Mr. Hale slept"."""
    if not person.gender or person.full_name or person.rank or mentions[0].kind is not Kind.ROLE:
        return False
    first = next(mention for mention in mentions if mention.kind in (Kind.PRONOUN, Kind.NAME))
    return mentions[0].subject and first.kind is Kind.PRONOUN and first.gender == -person.gender


def _add_name(cast: Cast, mention: Mention, before: Mention | None, *, first: Mention | None) -> None:
    number = cast.find(mention.words)
    if number is None:
        number = len(cast.people)
        opens = mention.link is Link.NAMED and before is first and not _is_relative(first)
        beside = before is not None and not opens and _is_beside(before, mention) and before.link is not Link.IS
        later = mention.link is Link.NAMED and number > 0
        name = " ".join(mention.words)
        rank = OPENING if opens else 0.0
        cast.people.append(Person(name, named=True, beside=beside or later, rank=rank, introduced=mention.sentence))
    person = cast.people[number]
    for word in mention.words:
        cast.by_word.setdefault(word, number)
    person.full_name = person.full_name or len(mention.words) > 1
    rank = RANKS.get(mention.link, 0.0)
    late = mention.link is Link.CALLED and number > 0
    person.rank = max(person.rank, LATE if late else rank)
    person.gender = person.gender or mention.gender
    person.mentions += 1


def _is_relative(noun: Mention | None) -> bool:
    return noun is not None and (noun.owner in _OWNERS or noun.words[0] in RELATIVES)


def _is_beside(noun: Mention, name: Mention) -> bool:
    """Whether a name is that of somebody's relative or friend: "his sister Clementine", "a daughter, Aino"."""
    return noun.owner in _OWNED and stands_beside(noun, name)


def stands_beside(noun: Mention, name: Mention) -> bool:
    """Whether a name directly follows a noun, with a comma or without: "his sister Clementine", "the pilot, Alec"."""
    distance = name.start - noun.end
    is_noun = noun.kind in (Kind.NOUN, Kind.ROLE) and noun.clause == name.clause and noun.link is not Link.AS
    return is_noun and distance in (1, 2) and (noun.link is not Link.IS or distance == 2)
