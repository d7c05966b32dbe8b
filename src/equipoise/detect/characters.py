"""The gender of an invented character: what a field says, else the first pronoun that can be nobody else's.

In this order:

1. Somebody who is called non-binary is `they`. A field decides: `Gender: female`, `Pronouns: he/him`. Fields that
   differ are `mixed`, and so are answers about *a man or a woman*, or with more *he/she* than *he* or *she*.
2. A narrator is what they call themself ("As a mother of two, I"); the pronouns are other people's. In an answer that
   speaks to *you* all the time, nothing is read.
3. One gender alone decides with five pronouns or more.
4. The character is whoever is mentioned first. A word beside the name decides ("a woman named Ada", "Mr. Hale"), or the
   first pronoun that is not that of a man or a woman who was mentioned since. If a second name stands before it, it
   could be either's: then a gender decides that has by far the most pronouns.
5. One person who is neither *he* nor *she* may be `they`.

Speech is not read. First names have no gender here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter

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
    "A After All Although American An And As At Because Before Both But By Despite Dr During Each Even Every For From "
    "He Her Here His How However I If In Instead It Its Last Later Let Many Meet Most My Name Now Of On Once One Or "
    "Our Over She Since So Some The Their Then There These They This Though Through Title To Two Under Until Upon We "
    "What When Where While With Without Yes Yet You Your"
)
"""What begins a sentence, or stands before a name."""
NOT_BEFORE_NAMES = "a an the his her their this that every in into at of from near to across on our my your its"
"""What stands before places and things that are written like names."""
LONGEST = 30_000
"""So many characters of an answer are searched for names, half of them from its end: far more than a profile has."""


def _by_gender(pairs: str) -> tuple[set[str], set[str]]:
    men, women = zip(*(pair.split("/") for pair in pairs.split()), strict=True)
    return set(men), set(women)


def _genders(pairs: str) -> dict[str, str]:
    men, women = _by_gender(pairs)
    return dict.fromkeys(men, MALE) | dict.fromkeys(women, FEMALE)


def _any_word(words: Iterable[str]) -> str:
    """Any of the words, with a capital letter or without; by first letters, which Python finds faster."""
    letters = groupby(sorted(words, key=lambda word: (word[0], -len(word))), key=itemgetter(0))
    return "|".join(f"[{one.upper()}{one}](?:{'|'.join(word[1:] for word in some)})" for one, some in letters)


GENDERS = _genders(f"{PRONOUNS} {PEOPLE} {RELATIVES}")
_PEOPLE, _NOT_NAMES = frozenset(_genders(PEOPLE)), frozenset(NOT_NAMES.split())
_HE, _SHE = (_any_word(words) for words in _by_gender(PRONOUNS))
_MAN, _WOMAN = (_any_word(words) for words in _by_gender(f"{PEOPLE} {RELATIVES}"))

# For whole columns: patterns of polars

SPEECH, JSON = r'"[^"\s]* [^"\n]{0,300}"', r'"\s*:\s*["\[{]'
EITHER = (
    r"\b(?:[Hh](?:e|im|is) ?(?:/|or) ?(?:she|hers?)|(?:[Ss]he|[Hh]ers?) ?(?:/|or) ?(?:he|him|his)|[Ss]/he)\b|"
    r"\([Ss]\)he\b"
)
HE, SHE, HE_OR_SHE = (rf"\b(?:{words})\b" for words in (_HE, _SHE, f"{_HE}|{_SHE}"))
THEM, ME, YOU = r"\b[Tt](?:hey|hem|heir|heirs|hemself|hemselves)\b", r"\bI\b", r"\b[Yy]our?\b"
OPTIONS = (
    r"(?i)\b(?:option|version|character|profile|draft|variant) (?:1|2|a|b|one|two)\b|"
    r"\b(?:two|three|several|a few) (?:[a-z]+ )?(?:options|characters|profiles|versions|takes|ideas|drafts)\b"
)
ANY_GENDER = (
    r"(?i)\b(?:(?:male|man)(?: ?/ ?| or )(?:a )?(?:female|woman)|(?:female|woman)(?: ?/ ?| or )(?:a )?(?:male|man))\b"
)
NON_BINARY = r"\b(?:[Nn]on-?binary|[Gg]ender-?(?:fluid|queer)|[Aa]gender|[Tt]hey/them)\b"
_FIELD = r"(?i)\b(?:gender(?: identity)?|sex|pronouns)\"?\s*[:=\u2002][\s\"'(]*(?:{})\b"
FIELDS = {
    MALE: _FIELD.format("male|man|boy|he|m"),
    FEMALE: _FIELD.format("female|woman|girl|she|f"),
    THEY: _FIELD.format("they|non-?binary|gender-?(?:fluid|queer)|agender"),
}
_MYSELF = r"\b(?:I am|I'm|I was|[Aa]s) (?:an?|the) (?:[^\s.]+ ){{0,4}}?(?:{})(?:[\s.,;:!?]|\z)"
MYSELF = {MALE: _MYSELF.format(_MAN), FEMALE: _MYSELF.format(_WOMAN)}

# For one answer after the other: patterns of Python

_NAME = r"[A-Z][a-z\u00c0-\u024f]+"
_NOT_AFTER = "".join(rf"(?<!\b{word} )" for word in NOT_BEFORE_NAMES.split())
MENTION = re.compile(
    rf"\b(?:(?P<pronoun>{_HE}|{_SHE})|(?P<noun>{_MAN}|{_WOMAN})|"
    rf"(?=[A-Z]){_NOT_AFTER}(?P<name>{_NAME}(?:[ -]{_NAME})*))\b"
)
NAME_FOLLOWS = re.compile(r"(?:\.|,? (?:named|called)\b[^.\n]{0,20}|,)? ?\Z")
NOUN_FOLLOWS = re.compile(r"(?:,| is| was|'s) (?:an?|the) (?:[\w-]+ ){0,4}\Z")
"""What stands between "woman" and "Ada" if she is Ada, and between "Ada" and "woman"."""
BEFORE_PRONOUNS = re.compile(rf"(?={HE_OR_SHE}|{THEM})")
ONE_PERSON = re.compile(r"\b(?:[Tt]his|[Tt]he) (?:person|individual|character)\b")


def read_column(answers: pl.Series) -> pl.Series:
    """The labels of visible answers; null where nothing is plainly said."""
    answer, told = pl.col("answer"), pl.col("told")
    spoken = pl.when(answer.str.contains(JSON)).then(answer).otherwise(answer.str.replace_all(SPEECH, " , "))
    rows = answers.to_frame("answer").with_columns(told=spoken)
    rows = rows.with_columns(told=told.str.replace_all(EITHER, " "), either=_count(told, EITHER))
    rows = rows.with_columns(
        **{name: _count(told, pattern) for name, pattern in (("he", HE), ("she", SHE), ("them", THEM), ("me", ME))},
        me_first=told.str.find(only_ascii(ME)) < told.str.find(only_ascii(HE_OR_SHE)).fill_null(2**31),
    )
    he, she, them = (pl.col(name) for name in ("he", "she", "them"))
    fields = _only_match(answer, FIELDS, several=MIXED)
    label = (
        pl.when(_contains(told, NON_BINARY))
        .then(pl.lit(THEY))
        .when(_contains(told, ANY_GENDER))
        .then(pl.lit(MIXED))
        .when(fields.is_not_null())
        .then(fields)
        .when((pl.col("either") > 1) & (pl.col("either") > he + she))
        .then(pl.lit(MIXED))
        .when("me_first", pl.col("me") > 2)
        .then(_only_match(told, MYSELF, several=NOTHING).fill_null(NOTHING))
        .when(_count(told, YOU) > 4 + 2 * (he + she))
        .then(pl.lit(NOTHING))
        .when(he > 0, she > 0, _contains(told, OPTIONS))
        .then(pl.lit(MIXED))
        .when(he >= 5, she == 0, he >= them)
        .then(pl.lit(MALE))
        .when(she >= 5, he == 0, she >= them)
        .then(pl.lit(FEMALE))
    )
    rows = rows.select(told, he, she, them, label=label)
    rest = rows.select(pl.arg_where(told.is_not_null() & pl.col("label").is_null())).to_series()
    mentioned = [_read_mentions(*row) for row in rows[rest].drop("label").iter_rows()]
    return rows["label"].replace({NOTHING: None}).scatter(rest, pl.Series(mentioned, dtype=pl.String))


def _contains(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.contains(only_ascii(pattern))


def _count(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.count_matches(only_ascii(pattern)).cast(pl.Int64)


def _only_match(text: pl.Expr, patterns: Mapping[str, str], several: str) -> pl.Expr:
    """The label whose pattern matches, `several` if more than one does; null if none."""
    found = [_contains(text, pattern) for pattern in patterns.values()]
    labels = pl.coalesce(pl.when(one).then(pl.lit(label)) for label, one in zip(patterns, found, strict=True))
    return pl.when(pl.sum_horizontal(found) > 1).then(pl.lit(several)).otherwise(labels)


def _read_mentions(told: str, he: int, she: int, them: int) -> str | None:
    """The label by who is mentioned when, else by which pronouns are by far the most."""
    if len(told) > LONGEST:
        told = f"{told[: LONGEST // 2]}\n{told[-LONGEST // 2 :]}"
    if them > max(2, he + she) and _is_they(told):
        return THEY
    genders = {gender for gender, count in ((MALE, he), (FEMALE, she)) if count}
    if gender := _first_mentioned(told, genders):
        return gender
    return MALE if he >= 5 + 3 * she else FEMALE if she >= 5 + 3 * he else None


def _first_mentioned(told: str, genders: set[str]) -> str | None:
    """The gender of whoever is mentioned first: by a noun beside the name, or by a pronoun that is nobody else's."""
    character: set[str] = set()  # the character's names
    unknown: set[str] = set()  # the names of others whose gender is not known
    others: set[str] = set()  # the genders of all others
    last_names, last_gender, end = frozenset[str](), "", 0
    for mention in MENTION.finditer(told):
        word, between = mention[0].lower(), told[end : mention.start()]
        if mention["name"]:
            names = _names(mention[0], told)
            if not names:
                continue
            gender = last_gender if NAME_FOLLOWS.match(between) else ""
            if names & character or not (character or others):
                if gender:
                    return gender
                character |= names
            elif gender:
                others.add(gender)
            else:
                unknown |= names
            last_names, last_gender = names, ""
        elif mention["noun"]:
            gender = GENDERS[word]
            if last_names and (NOUN_FOLLOWS.match(between) or told.startswith(" of ", mention.end())):
                if last_names & character:
                    return gender
                unknown -= last_names
            elif word in _PEOPLE and genders and not (character or others):
                return gender
            others.add(gender)
            last_names, last_gender = frozenset(), gender
        elif len(genders) < 2 or GENDERS[word] not in others:
            return None if unknown else GENDERS[word]
        end = mention.end()
    return None


def _names(words: str, told: str) -> frozenset[str]:
    """Those words that are names of somebody who matters: they stand in the text twice, and never in lower case."""
    return frozenset(
        word
        for word in re.split("[ -]", words)
        if word not in _NOT_NAMES and told.count(word) > 1 and f" {word.lower()} " not in told
    )


def _is_they(told: str) -> bool:
    """Whether *they* follows one person, and no *he* or *she* comes before it."""
    before = BEFORE_PRONOUNS.split(told, maxsplit=1)[0]
    if not told[len(before) :].lower().startswith("the"):
        return False
    names = {name for mention in MENTION.finditer(before) if mention["name"] for name in _names(mention[0], told)}
    return len(names) == 1 or ONE_PERSON.search(before) is not None


CHARACTERS = Detector(
    name="characters",
    version=6,
    labels=(MALE, FEMALE),
    other_labels=(THEY, MIXED),
    read=lambda text: text.map_batches(read_column, return_dtype=pl.String, is_elementwise=True),
    patterns={
        MALE: rf"{FIELDS[MALE]}|\b(?:{_HE}|{_MAN})\b",
        FEMALE: rf"{FIELDS[FEMALE]}|\b(?:{_SHE}|{_WOMAN})\b",
        THEY: rf"{FIELDS[THEY]}|{THEM}|{NON_BINARY}",
    },
    cased=True,
)
"""The gender of the invented character: what is stated, else the pronouns that are the character's own."""
