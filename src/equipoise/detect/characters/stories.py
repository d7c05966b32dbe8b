"""Whose each pronoun is: the answer is read as if the character were a man, and as if it were a woman.

Each pronoun is given to whoever it most likely means, which costs more the further back that person is; a pronoun that
fits nobody costs most. The reading that costs less is the better one. Men and women are exchanged between the two, and
nothing else tells them apart. A third reading takes the character for neither: then *they* are the character's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from equipoise.detect.character_words import PEOPLE
from equipoise.detect.characters.mention import Kind, Link, Mention
from equipoise.detect.characters.people import Cast, Person, stands_beside

# What it costs to take a pronoun for somebody, in the same unit:
SENTENCE_BACK = 0.6  # for each sentence since that person was last mentioned, up to four
SUBJECT = 0.6  # less for the subject of a clause,
CHARACTER = 0.15  # less for the character,
KNOWN_GENDER = 0.6  # less for somebody whose gender is known to fit,
NOT_SUBJECT = 0.1  # more for somebody of unknown gender who was no subject.
BEFORE = 1.4  # to take it for the character before the character is introduced
ASIDE = 0.1  # to take the first pronoun of an aside for whom it follows: "the chaplain (she was a chef)"
NOBODY = 1.9  # to take it for somebody who was not mentioned at all
SAME_AGAIN = 0.12  # to take it for whom the last one meant, if that is not the character
THEY_FOR_NOBODY = 0.6  # to read a *they* as if it were neither the character nor several people
CONTRADICTION = 2.3  # to contradict a statement: "is a father of two"


@dataclass
class Story:
    """An answer read as if the character were of one gender: what that costs, and what speaks for it."""

    cost: float = 0.0
    pronouns: int = 0
    """How many pronouns are the character's,"""
    statements: int = 0
    """how many statements ("is a widow") say the gender,"""
    they: int = 0
    """and how many *they* may be the character's."""
    narrator: int = 0
    """What somebody who says *I* says of themself: above 0 a man, below 0 a woman."""
    people: list[Person] = field(default_factory=list)

    @property
    def support(self) -> int:
        """How much says that the character is of this gender."""
        return self.pronouns + self.statements


NEITHER = 2
"""The gender of a character who is *they*."""


def tell_story(cast: Cast, gender: int) -> Story:
    """Read an answer as if the character were a man (1), a woman (-1) or neither."""
    return _Telling(cast, gender).tell()


class _Telling:
    """One reading of an answer: who was mentioned last, and what it cost so far."""

    def __init__(self, cast: Cast, gender: int) -> None:
        self.cast, self.gender = cast, gender
        self.story = Story()
        self.named = [
            Person(one.name, one.gender, named=True, beside=one.beside, introduced=one.introduced)
            for one in cast.people
        ]
        self.people = list(self.named)
        if cast.character is None:
            self.character = Person("", last=0, sentence=0, subject=True)
            self.people.append(self.character)
        else:
            self.character = self.named[cast.character]
        if self.character.gender == gender:
            self.story.statements += 1
        elif self.character.gender:
            self.story.cost += CONTRADICTION
        self.character.gender = gender
        self.by_noun: dict[str, Person] = {}
        self.strangers: dict[int, Person] = {}
        self.same: dict[int, Person | None] = {1: None, -1: None}
        """Whom the last pronoun of each gender meant, as long as nobody else was mentioned whom it could mean."""
        self.subject: tuple[Person | None, Mention] | None = None
        self.last_person: Person | None = None
        self.last_name: Person | None = None
        self.several: Mention | None = None
        self.before: Mention | None = None
        self.stated_as: Mention | None = None
        """What somebody may be about to say of themself: "As a mother of two, I"."""

    def tell(self) -> Story:
        for mention in self.cast.mentions:
            if mention.kind is Kind.LINE:
                if self.character.last >= 0:
                    self.character.last, self.character.sentence = mention.start, mention.sentence
                    self.character.subject = True
                self.subject = (self.character, mention)
                continue
            self._read(mention)
            self.before = mention
        self.story.people = self.people
        return self.story

    def _read(self, mention: Mention) -> None:
        if mention.kind is Kind.NAME:
            self._read_name(mention)
        elif mention.kind is Kind.PRONOUN:
            self._read_pronoun(mention)
        elif mention.kind in (Kind.NOUN, Kind.ROLE):
            self._read_noun(mention)
        elif mention.kind is Kind.ME and mention.subject:
            self.subject = (None, mention)
            if self.stated_as is not None and self.stated_as.sentence == mention.sentence:
                self.story.narrator += self.stated_as.gender
            self.stated_as = None
        elif mention.kind is Kind.SEVERAL:
            self.several = mention
        elif mention.kind is Kind.THEY:
            several = self.several
            if several is None or self.character.last > several.start or mention.sentence - several.sentence > 1:
                self.story.they += 1
                if self.gender != NEITHER or self.character.last < 0:
                    self.story.cost += THEY_FOR_NOBODY
        elif mention.kind is Kind.GROWN:
            before = self.before
            follows = before is not None and before.kind is Kind.NAME and mention.start - before.end <= 6
            self._state(self.last_name if follows and self.last_name else self.character, mention.gender)

    def _state(self, person: Person, gender: int) -> bool:
        """Take a statement of somebody's gender for what it says, unless it is known to be another one."""
        if person is self.character:
            if gender == self.gender:
                self.story.statements += 1
            else:
                self.story.cost += CONTRADICTION
        elif not person.gender:
            person.gender = gender
        return person.gender == gender

    def _mention(self, person: Person, mention: Mention, *, anew: bool) -> None:
        """Note that somebody was mentioned; `anew`: so that the next pronoun may mean them instead of whom it meant."""
        person.last, person.sentence, person.subject = mention.start, mention.sentence, mention.subject
        self.last_person = person
        if anew:
            if person.gender in (0, 1):
                self.same[1] = None
            if person.gender in (0, -1):
                self.same[-1] = None
        if mention.subject:
            self.subject = (person, mention)

    def _read_name(self, mention: Mention) -> None:
        number = self.cast.find(mention.words)
        assert number is not None
        person = self.last_name = self.named[number]
        if self.before is not None and stands_beside(self.before, mention):
            self._join(self.before, person)
        if self._tells_of_me(mention, within=3):
            self.story.narrator += mention.gender
        self._mention(person, mention, anew=True)

    def _join(self, noun: Mention, person: Person) -> None:
        """Somebody with a noun gets a name: "the pilot, Alec"."""
        other = self.by_noun.get(noun.words[0])
        if other is None or other is person or other.named:
            return
        if other.gender and person.gender not in (0, other.gender):
            if person is self.character and noun.owner in ("", "the", "a", "an"):
                self.story.cost += CONTRADICTION
            return
        person.gender = person.gender or other.gender
        self.by_noun[noun.words[0]] = person
        self.people.remove(other)

    def _tells_of_me(self, mention: Mention, within: int) -> bool:
        """Whether the subject is an *I* of the same sentence, a few words before."""
        if self.subject is None or self.subject[0] is not None or not mention.gender:
            return False
        me = self.subject[1]
        return me.sentence == mention.sentence and mention.start - me.start <= within

    # Pronouns

    def _read_pronoun(self, mention: Mention) -> None:
        gender = mention.gender
        person, cost = self._whose(mention)
        last = self.last_person
        if mention.aside and last is not None and last.gender in (0, gender):
            person, cost = last, ASIDE
        if person is None:
            person = self.strangers.get(gender)
            if person is None:
                person = self.strangers[gender] = Person("", gender)
                self.people.append(person)
        self.story.cost += cost
        person.gender = gender
        person.pronouns += 1
        self.story.pronouns += person is self.character
        self._mention(person, mention, anew=False)
        self.last_person = last
        self.same[gender] = person

    def _whose(self, mention: Mention) -> tuple[Person | None, float]:
        """Whom a pronoun means and what that costs; nobody who was mentioned, if all would cost more than that."""
        best, least = None, NOBODY
        gender, sentence, character = mention.gender, mention.sentence, self.character
        same = self.same[gender]
        for person in self.people:
            if person.gender not in (0, gender):
                continue
            if person.last < 0:
                if person is not character:
                    continue
                cost = BEFORE + SENTENCE_BACK * min(abs(person.introduced - sentence), 4)
            elif person is same and sentence - person.sentence <= 1:
                cost = 0.0 if person is character or person.pronouns >= 8 else SAME_AGAIN
            else:
                back = sentence - person.sentence
                cost = 1.0 + SENTENCE_BACK * (back if back < 4 else 4)
                if person.subject:
                    cost -= SUBJECT
                if person.gender:
                    cost -= KNOWN_GENDER
                elif not person.subject:
                    cost += NOT_SUBJECT
                if person is character:
                    cost -= CHARACTER
            if cost < least:
                best, least = person, cost
        return best, least

    # Nouns

    def _read_noun(self, mention: Mention) -> None:
        if mention.link is Link.IS and self._tells_of_me(mention, within=12):
            self.story.narrator += mention.gender
            return
        if mention.link is Link.AS:
            self.stated_as = mention
        person = self._described(mention)
        if person is not None:
            if not mention.gender:
                self.by_noun.setdefault(mention.words[0], person)
                return
            if self._state(person, mention.gender):
                return
        self._mention_noun(mention)

    def _described(self, mention: Mention) -> Person | None:
        """Whom a noun describes that is no mention of somebody else: "she is a widow", "Ada Lunt, a widow"."""
        here = self.character.last >= 0
        if mention.link is Link.IS and self.subject is not None:
            person, subject = self.subject
            if subject.sentence == mention.sentence and mention.start - subject.start < 12:
                return person
            return self.character if here and not mention.subject and subject.sentence < mention.sentence else None
        if mention.link is Link.BESIDE and self.last_name is not None:
            return self.last_name
        if mention.link is Link.AS or (mention.link is Link.OF and here):
            return self.character if mention.gender else None
        if mention.link is Link.OPENS and self.cast.character is None:
            return self.character
        near = (
            mention.sentence - self.character.sentence <= 2 if here else self.character.introduced == mention.sentence
        )
        if mention.link is Link.STARTS and mention.gender and near:
            return self.character
        return None

    def _mention_noun(self, mention: Mention) -> None:
        """Mention somebody by a noun: who is called so already, or whom "the man" may mean, or somebody new."""
        noun = mention.words[0]
        person = self.by_noun.get(noun)
        if person is None and noun in PEOPLE and mention.owner in ("the", "this", "that"):
            person, _ = self._whose(mention)
            if person is not None:
                person.gender = mention.gender
        if person is None or person.gender == -mention.gender != 0:
            person = Person(noun, mention.gender)
            self.people.append(person)
        self.by_noun[noun] = person
        self._mention(person, mention, anew=mention.subject)
