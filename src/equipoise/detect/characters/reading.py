"""The careful reading of characters: does the answer invent a man, a woman, neither, or several people?

In order, the first rule that says something decides:

1. *He/she*, more than once, is `mixed`; in a form to be filled in, nothing.
2. Fields and words that state the gender (`Gender: Female`, `Pronouns: they/them`, "non-binary"); two that contradict
   each other, or a field that the pronouns contradict, are `mixed`.
3. Several characters to choose from, of both genders, are `mixed`; what follows a stated choice is read alone. Lines
   about others ("Boss: Mr. Haugen. He wants roads") are left out.
4. Somebody who tells of themself is what they call themself ("I'm a father of two"): the pronouns are other people's.
5. *They* for one person, when *he* and *she* are rare beside it.
6. *He* and *she*, both: what follows "that is your character" decides, if it has pronouns of one gender.
7. The answer is read as if the character were a man and as if it were a woman (`stories`). The reading that makes
   better sense of all pronouns decides (`weighing`); if neither is clearly better, nothing is decided.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence

import polars as pl

from equipoise.detect.character_words import SELF, VALUES
from equipoise.detect.characters.choosing import are_together, has_options, pointed_gender
from equipoise.detect.characters.mention import Kind, Link, Mention
from equipoise.detect.characters.mentions import find_mentions
from equipoise.detect.characters.people import Cast, find_cast
from equipoise.detect.characters.single_words import ALL_PRONOUNS
from equipoise.detect.characters.statements import (
    FIELD_NAMES,
    NON_BINARY,
    about_character,
    count_either,
    find_fields,
    is_letter,
    is_non_binary,
    signature,
)
from equipoise.detect.characters.stories import NEITHER, Story, tell_story
from equipoise.detect.characters.weighing import weigh
from equipoise.detect.detector import Detector

MAX_CHARACTERS = 30_000
"""So much of an answer is read, half of it from the end: far more than a profile has."""
_WORD = r"[a-z0-9\-\x{C0}-\x{24F}]+"
LABELS = {1: "male", -1: "female"}
CLEARLY, CLEARLY_BY_ONE_NAME, CLEARLY_NAMELESS = 0.6, 1.5, 2.0
"""By how much a reading must be better if both *he* and *she* occur: more if who is the character is less clear."""
CLEARLY_UNCONTESTED = 0.1
"""The same in cost if only one of them occurs."""
THEY_CLEARLY = 0.1
"""By how much cheaper a reading must be in which the character is *they*."""
WELL_INTRODUCED = 2.0
"""The rank (see `people`) of a name that is clearly the character's."""


def read_character(answer: str) -> str | None:
    """The label of one visible answer; None if nothing is decided."""
    if len(answer) > MAX_CHARACTERS:
        answer = f"{answer[: MAX_CHARACTERS // 2]}\n{answer[-MAX_CHARACTERS // 2 :]}"
    text, chosen = about_character(answer)
    either = count_either(text)
    fields, rest = find_fields(text)
    is_form = "[" in text or "{" in text
    if either > 1 and len(_ANY_PRONOUN.findall(rest.lower())) <= 6 * either:  # known before anything else is read
        return None if is_form else "mixed"
    cast = find_cast(find_mentions(rest))
    men, women = (_count_pronouns(cast.mentions, gender) for gender in (1, -1))
    often = men + women <= (6 * either if either > 1 else 3)
    if either and (often or is_form):
        return "mixed" if either > 1 and not is_form else None
    if {1, -1} <= fields:
        return "mixed"
    if 0 in fields or is_non_binary(text):
        return "they"
    return _decide(rest, chosen, cast, fields, men, women)


def _count_pronouns(mentions: Sequence[Mention], gender: int) -> int:
    return sum([mention.gender == gender for mention in mentions if mention.kind is Kind.PRONOUN])


def _decide(text: str, chosen: bool, cast: Cast, fields: set[int], men: int, women: int) -> str | None:
    """The label by the better story, where no word states another one."""
    female = tell_story(cast, -1)
    # Where nobody's gender is said, the two stories are the same.
    male = tell_story(cast, 1) if any(mention.gender for mention in cast.mentions) else female
    contested = men > 0 and women > 0
    weight = weigh(cast, male, female) if contested else female.cost - male.cost
    gender, story, other = (1, male, female) if weight > 0 else (-1, female, male)
    if fields:
        (stated,) = fields
        contradicted = gender != stated and abs(weight) >= CLEARLY and story.support > max(1, 2 * other.support)
        return "mixed" if contradicted else LABELS[stated]
    balanced = max(men, women) <= 2 * min(men, women)
    if not chosen and _is_several(text, cast, story, contested=contested, balanced=balanced):
        return "mixed"
    me = sum([mention.kind is Kind.ME for mention in cast.mentions])
    narrator = story.narrator + (2 * signature(text) if me >= 2 or is_letter(text) else 0)
    tells_of_self = me >= 3 and (me >= men + women or narrator or _begins_with_me(cast) or not _has_full_name(cast))
    if tells_of_self or (narrator and me and not cast.people and not men + women):
        return LABELS.get((narrator > 0) - (narrator < 0))
    if _is_they(cast, story, men + women):
        return "they"
    if contested and (pointed := pointed_gender(text)):
        return LABELS[pointed]
    clearly = _needed(cast) if contested else CLEARLY_UNCONTESTED if men + women < 5 else 0.0
    return LABELS[gender] if story.support and abs(weight) >= clearly else None


def _needed(cast: Cast) -> float:
    """By how much one reading must be better if both *he* and *she* occur."""
    if cast.character is None:
        opens = any(mention.link is Link.OPENS for mention in cast.mentions)
        return CLEARLY if opens else CLEARLY_NAMELESS
    person = cast.people[cast.character]
    return CLEARLY if person.full_name or person.rank >= WELL_INTRODUCED else CLEARLY_BY_ONE_NAME


def _is_they(cast: Cast, story: Story, pronouns: int) -> bool:
    if story.they < 2 or (cast.character is None and pronouns):
        return False
    return story.they > 2 * story.support or tell_story(cast, NEITHER).cost <= story.cost - THEY_CLEARLY


def _is_several(text: str, cast: Cast, story: Story, *, contested: bool, balanced: bool) -> bool:
    if not contested:
        grown = {mention.gender for mention in cast.mentions if mention.kind is Kind.GROWN}
        return {1, -1} <= grown and has_options(text)
    if has_options(text) or _in_turn(cast):
        return True
    if not balanced:
        return False
    named = {one.gender for one in story.people if one.named and not one.beside and one.pronouns}
    return ({1, -1} <= named or _begins_with_two(cast)) and are_together(text)


def _begins_with_two(cast: Cast) -> bool:
    """Whether the first names are those of two people: "the twins Ada and Tom Reed"."""
    names = [mention for mention in cast.mentions if mention.kind is Kind.NAME][:2]
    return len(names) == 2 and names[1].start == names[0].end + 2 and names[0].sentence == names[1].sentence


def _in_turn(cast: Cast) -> bool:
    """Whether line after line tells of somebody else, of both genders, who does not return: a list of characters."""
    lines: list[list[Mention]] = [[]]
    for mention in cast.mentions:
        if mention.kind is Kind.LINE:
            lines.append([])
        else:
            lines[-1].append(mention)
    told = [line for line in lines if any(mention.kind is Kind.PRONOUN for mention in line)]
    numbers = [cast.find(line[0].words) if line[0].kind is Kind.NAME else None for line in told]
    if len(set(numbers)) < max(len(told), 2) or any(number is None or cast.people[number].beside for number in numbers):
        return False
    if any(_opens_with_relative(line[1:]) for line in told[1:]):
        return False
    totals = [_count_pronouns(line, 1) - _count_pronouns(line, -1) for line in told]
    return min(totals) < 0 < max(totals)


def _opens_with_relative(block: list[Mention]) -> bool:
    """Whether somebody is introduced as a relative: "Ernesto (ex-husband): a customs officer"."""
    return bool(block) and block[0].kind in (Kind.NOUN, Kind.ROLE) and not block[0].subject and not block[0].owner


def _begins_with_me(cast: Cast) -> bool:
    return bool(cast.mentions) and cast.mentions[0].kind is Kind.ME


def _has_full_name(cast: Cast) -> bool:
    return any(person.full_name for person in cast.people)


def _all_of_one_gender(answers: pl.Series) -> pl.Series:
    """The labels of answers that speak of one gender only and plainly; null for all others, which are read in full.

    Plainly: four pronouns or more, no titles, no fields, no *I*, hardly a *they*.
    In steps, so that nothing is counted twice.
    """
    told = answers.to_frame("told").select(pl.col("told").str.replace_all(r'"[^"\n]*"', " "))
    counted = told.select(
        *(pl.col("told").str.count_matches(_whole_words(words)).alias(name) for name, words in _PRONOUNS.items()),
        signs=pl.any_horizontal(pl.col("told").str.contains(pattern) for pattern in _SIGNS),
        titles=pl.col("told").str.contains(_whole_words(_TITLES)),
    )
    he, she = pl.col("male"), pl.col("female")
    plain = (pl.col("they") * 2 <= he + she) & (pl.col("me") <= 2) & ~pl.col("signs") & ~pl.col("titles")
    gender = pl.when(she == 0).then(pl.lit("male")).when(he == 0).then(pl.lit("female"))
    return counted.select(label=pl.when(plain & (he + she >= 4)).then(gender))["label"]


def _whole_words(words: Iterable[str]) -> str:
    either = (f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in words)
    return rf"(?-u:\b)(?:{'|'.join(either)})(?-u:\b)"


_PRONOUNS = {
    "male": ("he", "him", "his", "himself"),
    "female": ("she", "her", "hers", "herself"),
    "they": ("they", "them", "their", "theirs", "themself", "themselves"),
    "me": ("I", "my", "me", "myself"),
}
_ANY_PRONOUN = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(sorted(ALL_PRONOUNS))})(?![^\W\d_])")
"""As often at least as `mentions` finds one."""
_ONE_AT_A_TIME = threading.Lock()
"""Python reads in one thread at a time anyway, and two that take turns need longer than one after the other."""
_SIGNS = (
    "|".join(
        re.escape(form)
        for sign in ("gender", "pronoun", "sex:", "binary", "fluid", "queer", "two-spirit", "(s)he")
        for form in (sign, sign.upper(), sign.capitalize())
    ),
    "[Mm][Xx]",
    "/",
)
"""Words first, in any usual spelling: together with the others they would be searched for six times as long."""
_TITLES = ("Mr", "Sir", "Lord", "Mrs", "Ms", "Miss", "Dame", "Lady")


def _read_plain(text: pl.Expr) -> pl.Expr:
    return text.map_batches(_all_of_one_gender, return_dtype=pl.String, is_elementwise=True)


def _read(text: pl.Expr) -> pl.Expr:
    return text.map_batches(_read_column, return_dtype=pl.String, is_elementwise=True)


def _read_column(answers: pl.Series) -> pl.Series:
    with _ONE_AT_A_TIME:
        labels = [None if answer is None else read_character(answer) for answer in answers]
    return pl.Series(labels, dtype=pl.String)


def _evidence_words(gender: int, pronouns: str) -> str:
    """A pattern, in lower case, for the words that a label may rest on."""
    values, selves = ("|".join(dict.fromkeys(pair[gender].lower() for pair in pairs)) for pairs in (VALUES, SELF))
    titles = ("mr", "mrs|ms|miss")[gender]
    return (
        rf"\b(?:{pronouns})\b|\b{FIELD_NAMES}(?:{values})\b|"
        rf"\b(?:an?|the (?:only|kind of|sort of|type of)) (?:{_WORD},? )?(?:{_WORD} )?(?:{selves})\b|"
        rf"\b(?:{titles})\.? [a-z]+"
    )


CHARACTERS = Detector(
    name="characters",
    version=5,
    labels=("male", "female"),
    other_labels=("they", "mixed"),
    plain=_read_plain,
    read=_read,
    patterns={
        "male": _evidence_words(0, "he|him|his|himself"),
        "female": _evidence_words(1, "she|her|hers|herself"),
        "they": rf"\b(?:they|them|their|theirs|themselves|{NON_BINARY})\b",
    },
    cased=True,
)
"""The gender of the invented character: what is stated, else the pronouns that are the character's own."""
