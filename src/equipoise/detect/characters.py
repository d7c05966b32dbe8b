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
from collections.abc import Iterable, Mapping

import polars as pl

from equipoise.detect.detector import Detector
from equipoise.detect.evidence import only_ascii

MALE, FEMALE, THEY, MIXED = "male", "female", "they", "mixed"
NOTHING = ""
"""Decided before names are looked at: nothing is read."""
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

SPEECH = r'"[^"\s]* [^"\n]{0,300}"'
HE, SHE, THEM = rf"\b(?:{_HE})\b", rf"\b(?:{_SHE})\b", r"\b[Tt](?:hey|hem|heir|heirs|hemself|hemselves)\b"
ME = r"\bI\b"
_FIELD = r"(?i)\b(?:gender(?: identity)?|sex|pronouns)\"?\s*[:=\u2002][\s\"'(]*(?:[a-z]+(?: ?/ ?| or ))?(?:{})\b"
FIELDS = {
    MALE: _FIELD.format("male|man|boy|he|m"),
    FEMALE: _FIELD.format("female|woman|girl|she|f"),
    THEY: _FIELD.format("they|non-?binary|gender-?(?:fluid|queer)|agender"),
}
_MYSELF = r"\b(?:I am|I'm|I was|[Aa]s) (?:an?|the) (?:[^\s.]+ ){{0,4}}?(?:{})(?:[\s.,;:!?]|\z)"
MYSELF = {MALE: _MYSELF.format(_MAN), FEMALE: _MYSELF.format(_WOMAN)}

PRONOUN = re.compile(rf"\b(?:(?P<male>{_HE})|(?P<female>{_SHE}))\b")
GENDERED = re.compile(rf"\b(?:(?P<male>{_HE}|{_MAN})|(?P<female>{_SHE}|{_WOMAN}))\b")
NAME = re.compile(r"\b[A-Z][a-z\u00c0-\u024f]+(?:[ -][A-Z][a-z\u00c0-\u024f]+)*\b")
INTRODUCED_BEFORE = re.compile(r"\b(?:named|called|Dr\.?|The (?:[\w-]+ ){1,3}?[a-z]+,) \Z")
INTRODUCED_AFTER = re.compile(r"(?:,| is| was) (?:an?|the|one of)\b")
"""What says who somebody is: "a nurse named Ada", "The star student, Ada"; "Ada, a nurse", "Ada was the best"."""
CAPITAL = r"\b(?:[A-GI-RU-Z][a-z]|[H][^ei]|S[^h]|T[^h])"
"""How a name begins, but no pronoun."""
LONGEST = 20_000
"""So many characters of an answer are searched for names: far more than a profile has."""
ONE_PERSON = re.compile(r"\b(?:[Tt]his|[Tt]he) (?:person|individual|character)\b")


def read_column(answers: pl.Series) -> pl.Series:
    """The labels of visible answers; null where nothing is plainly said."""
    answer, told = pl.col("answer"), pl.col("told")
    rows = answers.to_frame("answer").with_columns(told=answer.str.replace_all(SPEECH, " , "))
    rows = rows.with_columns(he=_count(told, HE), she=_count(told, SHE), them=_count(told, THEM), me=_count(told, ME))
    field, myself = _only_match(answer, FIELDS, several=MIXED), _only_match(told, MYSELF, several=NOTHING)
    is_narrated = (pl.col("me") > 2) & (_place(told, ME) < pl.min_horizontal(_place(told, HE), _place(told, SHE)))
    label = pl.when(field.is_not_null()).then(field).when(is_narrated).then(myself.fill_null(NOTHING))
    rows = rows.with_columns(label=label.otherwise(_read_plain(told)))
    rest = rows.select(pl.arg_where(told.is_not_null() & pl.col("label").is_null())).to_series()
    by_pronouns = [_read_pronouns(*row) for row in rows[rest].select(told, "he", "she", "them").iter_rows()]
    return rows["label"].replace({NOTHING: None}).scatter(rest, pl.Series(by_pronouns, dtype=pl.String))


def _read_plain(told: pl.Expr) -> pl.Expr:
    """The gender of answers with one gender and one name at most: what `_read_pronouns` says, but many times faster."""
    he, she, them = (pl.col(name) for name in ("he", "she", "them"))
    is_plain = (_count(told, CAPITAL) <= 1) & (them <= 2)
    male = is_plain & (he > 0) & (she == 0) & ~_contains(told, rf"\b(?:{_WOMAN})\b")
    female = is_plain & (she > 0) & (he == 0) & ~_contains(told, rf"\b(?:{_MAN})\b")
    return pl.when(male).then(pl.lit(MALE)).when(female).then(pl.lit(FEMALE))


def _contains(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.contains(only_ascii(pattern))


def _count(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.count_matches(only_ascii(pattern)).cast(pl.Int64)


def _place(text: pl.Expr, pattern: str) -> pl.Expr:
    """Where a pattern first matches; the end of every text if it does not."""
    return text.str.find(only_ascii(pattern)).fill_null(2**32 - 1)


def _only_match(text: pl.Expr, patterns: Mapping[str, str], several: str) -> pl.Expr:
    """The label whose pattern matches, `several` if more than one does; null if none."""
    found = [_contains(text, pattern) for pattern in patterns.values()]
    labels = pl.coalesce(pl.when(one).then(pl.lit(label)) for label, one in zip(patterns, found, strict=True))
    return pl.when(pl.sum_horizontal(found) > 1).then(pl.lit(several)).otherwise(labels)


def _read_pronouns(told: str, he: int, she: int, them: int) -> str | None:
    """The gender of the first pronoun, if it can hardly be somebody else's; or `they`."""
    told = told[:LONGEST]
    first, word = PRONOUN.search(told), GENDERED.search(told)
    if them > max(2, he + she) and _is_they(told, first.start() if first else len(told)):
        return THEY
    if first is None or word is None or first.lastgroup != word.lastgroup:
        return None
    own, others = (he, she) if first["male"] else (she, he)
    if (own >= 10 and own >= 2 * others) or (own >= 3 and not others):
        return first.lastgroup
    names = _find_names(told, first.start())
    if others and (not names or word.start() != first.start()):
        return None
    is_alone = own > others and _are_of_one_person(_find_names(told, len(told)))
    if is_alone or (_are_of_one_person(names) and (not others or _is_introduced(told, names[0]))):
        return first.lastgroup
    return None


def _find_names(told: str, end: int) -> list[re.Match[str]]:
    """The names before a place, of those who are named at least twice."""
    found = NAME.finditer(told, 0, end)
    return [name for name in found if any(told.count(word) > 1 for word in _words(name))]


def _words(name: re.Match[str]) -> set[str]:
    return set(re.split("[ -]", name[0])) - _NOT_NAMES


def _are_of_one_person(names: list[re.Match[str]]) -> bool:
    return all(_words(name) & _words(names[0]) for name in names)


def _is_introduced(told: str, name: re.Match[str]) -> bool:
    before, after = INTRODUCED_BEFORE.search(told, 0, name.start()), INTRODUCED_AFTER.match(told, name.end())
    return before is not None or after is not None


def _is_they(told: str, end: int) -> bool:
    """Whether *they* follows one person who is named, or called "this person", before any *he* or *she*."""
    them = re.compile(THEM).search(told, 0, end)
    if them is None:
        return False
    names = _find_names(told, them.start())
    return ONE_PERSON.search(told, 0, end) is not None or (bool(names) and _are_of_one_person(names))


_NOT_NAMES = frozenset(NOT_NAMES.split())
CHARACTERS = Detector(
    name="characters",
    version=7,
    labels=(MALE, FEMALE),
    other_labels=(THEY, MIXED),
    read=lambda text: text.map_batches(read_column, return_dtype=pl.String, is_elementwise=True),
    patterns={
        MALE: rf"{FIELDS[MALE]}|\b(?:{_HE}|{_MAN})\b",
        FEMALE: rf"{FIELDS[FEMALE]}|\b(?:{_SHE}|{_WOMAN})\b",
        THEY: rf"{FIELDS[THEY]}|{THEM}",
    },
    cased=True,
)
"""The gender of the invented character: what is stated, else the pronouns that are the character's own."""
