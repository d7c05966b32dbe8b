"""The gender of an invented character: what a field says, else the pronouns, if they can hardly be somebody else's.

In this order:

1. A field decides: `Gender: female`, `Pronouns: he/him`. Fields that differ are `mixed`.
2. A narrator is what they call themself ("As a mother of two, I"); the pronouns are other people's.
3. One person who is *they* before any *he* or *she*, and more often, is `they`.
4. Else the gender of the first pronoun decides, if no word for the other gender stands before it. Where there are *he*
   and *she*, one more thing must show whose story it is: that its pronouns are by far the most, that nobody else has a
   name, or that the person was introduced ("Ada, a nurse, …"). So a story about two people is mostly not read.

Speech is not read. First names have no gender here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.detect.evidence import only_match

MALE, FEMALE, THEY, MIXED = "male", "female", "they", "mixed"
PRONOUNS = "he/she him/her his/her his/hers himself/herself"
PEOPLE = (
    "man/woman boy/girl guy/gal gentleman/lady lad/lass male/female widower/widow king/queen prince/princess "
    "mr/mrs mr/ms mr/miss businessman/businesswoman"
)
RELATIVES = (
    "father/mother dad/mom dad/mum son/daughter brother/sister husband/wife boyfriend/girlfriend uncle/aunt "
    "nephew/niece grandfather/grandmother grandpa/grandma grandson/granddaughter"
)
NOT_NAMES = (
    "A After All Although American An And As At Because Before Both But By Chapter Character Despite Dr During Each "
    "Even Every For From He Her Here His How However I If In Instead It Its Last Later Let Many Meet Most My Name Now "
    "Of On Once One Option Or Our Over Part She Since So Some The Their Then There These They This Though Through "
    "Title To Two Under Until Upon We What When Where While With Without Yes Yet You Your"
)
"""What begins a sentence, or stands before a name."""


def _by_gender(pairs: str) -> tuple[set[str], set[str]]:
    men, women = zip(*(pair.split("/") for pair in pairs.split()), strict=True)
    return set(men), set(women)


def _any_word(words: Iterable[str]) -> str:
    """Any of the words, with a capital letter or without."""
    return "|".join(f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in sorted(words))


GENDERED_WORDS = set[str]().union(*_by_gender(f"{PRONOUNS} {PEOPLE} {RELATIVES}"))
_HE, _SHE = (_any_word(words) for words in _by_gender(PRONOUNS))
_MAN, _WOMAN = (_any_word(words) for words in _by_gender(f"{PEOPLE} {RELATIVES}"))
_THEM = "[Tt]hey|[Tt]hem|[Tt]heirs?|[Tt]hemsel(?:f|ves)"
_FIELD = r"(?i)\b(?:gender(?: identity)?|sex|pronouns)\"?\s*[:=\u2002][\s\"'(]*(?:[a-z]+(?: ?/ ?| or ))?(?:{})\b"
FIELDS = {
    MALE: _FIELD.format("male|man|boy|he|m"),
    FEMALE: _FIELD.format("female|woman|girl|she|f"),
    THEY: _FIELD.format("they|non-?binary|gender-?(?:fluid|queer)|agender"),
}
SPEECH = re.compile(r'"[^"\s]* [^"\n]{0,300}"')
_MEN, _WOMEN = _by_gender(PRONOUNS)
_THEY = dict.fromkeys(["they", "them", "their", "theirs", "themself", "themselves"], THEY)
KINDS = {"i": "me", **dict.fromkeys(_MEN, MALE), **dict.fromkeys(_WOMEN, FEMALE), **_THEY}
"""Whom each pronoun speaks of."""
PRONOUN = re.compile(rf"[HhSsTtI](?<!\w.)(?:{'|'.join(sorted(word[1:] for word in KINDS))})\b")
"""A pronoun, or a word of the same letters, such as "The". Patterns that begin with letters are found much faster."""
GENDERED = re.compile(rf"\b(?:(?P<male>{_HE}|{_MAN})|(?P<female>{_SHE}|{_WOMAN}))\b")
_MYSELF = r"\b(?:I am|I'm|I was|[Aa]s) (?:an?|the) (?:[^\s.]+ ){{0,4}}?(?:{})\b"
MYSELF = {MALE: _MYSELF.format(_MAN), FEMALE: _MYSELF.format(_WOMAN)}
ONE_PERSON = re.compile(r"\b(?:[Tt]his|[Tt]he) (?:person|individual|character)\b")
NAME = re.compile(r"[A-Z](?<!\w.)[a-z\u00c0-\u024f]+(?:[ -][A-Z][a-z\u00c0-\u024f]+)*\b")
INTRODUCED_BEFORE = re.compile(r"\b(?:named|called|Dr\.?|The (?:[\w-]+ ){1,3}?[a-z]+,) \Z")
INTRODUCED_AFTER = re.compile(r"(?:,| is| was) (?:an?|the|one of)\b")
"""What says who somebody is: "a nurse named Ada", "The star student, Ada"; "Ada, a nurse", "Ada was the best"."""


def read_column(answers: pl.Series) -> pl.Series:
    """The labels of visible answers; null where nothing is plainly said."""
    fields = pl.select(only_match(pl.lit(answers), FIELDS, several=MIXED)).to_series()
    rest = (answers.is_not_null() & fields.is_null()).arg_true()
    return fields.scatter(rest, pl.Series(map(read_story, answers[rest]), dtype=pl.String))


def read_story(answer: str) -> str | None:
    """The label of one answer without fields."""
    told = SPEECH.sub(" , ", answer)
    first: dict[str | None, int] = {}
    count: Counter[str | None] = Counter()
    for pronoun in PRONOUN.finditer(told):
        if kind := KINDS.get(pronoun[0].lower()):
            first.setdefault(kind, pronoun.start())
            count[kind] += 1
    start = min(first.get(MALE, len(told)), first.get(FEMALE, len(told)))
    if count["me"] > 2 and first["me"] < start:
        called = [label for label, pattern in MYSELF.items() if re.search(pattern, told)]
        return called[0] if len(called) == 1 else None
    if count[THEY] > max(2, count[MALE] + count[FEMALE]) and first[THEY] < start:
        names = [name for name in _find_names(told) if name.end() <= first[THEY]]
        if ONE_PERSON.search(told, 0, start) or (names and _are_of_one_person(names)):
            return THEY
    word = GENDERED.search(told) if start < len(told) else None
    if word is None or first.get(word.lastgroup) != start:
        return None
    own, others = count[word.lastgroup], count[FEMALE if word.lastgroup == MALE else MALE]
    is_own = own >= 3 if not others else own >= 10 and own >= 2 * others
    return word.lastgroup if is_own or _is_alone(told, word, start, own, others) else None


def _is_alone(told: str, word: re.Match[str], start: int, own: int, others: int) -> bool:
    """Whether the names show that the first pronoun, at `start`, is the person's whose story it is."""
    all_names = _find_names(told)
    names = [name for name in all_names if name.end() <= start]
    if others and (not names or word.start() != start):
        return False
    if own > others and _are_of_one_person(all_names):
        return True
    return _are_of_one_person(names) and (
        not others
        or bool(INTRODUCED_BEFORE.search(told, 0, names[0].start()) or INTRODUCED_AFTER.match(told, names[0].end()))
    )


def _find_names(told: str) -> list[re.Match[str]]:
    """The names of those who are named at least twice."""
    found = [(name, words) for name in NAME.finditer(told) if (words := _words(name[0]))]
    count = Counter(chain.from_iterable(words for _, words in found))
    repeated = {word for word, times in count.items() if times > 1}
    return [name for name, words in found if words & repeated]


@lru_cache(10_000)
def _words(name: str) -> frozenset[str]:
    return frozenset(name.replace("-", " ").split()) - _NOT_NAMES


def _are_of_one_person(names: list[re.Match[str]]) -> bool:
    return all(_words(name[0]) & _words(names[0][0]) for name in names)


_NOT_NAMES = frozenset(NOT_NAMES.split())
CHARACTERS = Detector(
    name="characters",
    version=8,
    labels=(MALE, FEMALE),
    other_labels=(THEY, MIXED),
    read=lambda text: text.map_batches(read_column, return_dtype=pl.String, is_elementwise=True),
    patterns={
        MALE: rf"{FIELDS[MALE]}|\b(?:{_HE}|{_MAN})\b",
        FEMALE: rf"{FIELDS[FEMALE]}|\b(?:{_SHE}|{_WOMAN})\b",
        THEY: rf"{FIELDS[THEY]}|\b(?:{_THEM})\b",
    },
    cased=True,
)
"""The gender of the invented character: what is stated, else the pronouns that are the character's own."""
