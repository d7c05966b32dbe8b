"""Detectors that look for words and phrases in the visible text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import polars as pl

from equipoise.detect.detector import Detector, join_tokens
from equipoise.detect.evidence import contains, only_ascii, only_match


def any_word(words: Iterable[str]) -> str:
    """A pattern for any of these whole words."""
    return rf"\b(?:{'|'.join(map(re.escape, words))})\b"


EITHER = r"\(s\)he\b|\bs/he\b"
"""Counts for both genders: as "he" by itself, and as "she" by this pattern."""
MALE_PRONOUNS = ("he", "him", "his")
FEMALE_PRONOUNS = ("she", "her")
_PRONOUNS = {"male": any_word(MALE_PRONOUNS), "female": f"{any_word(FEMALE_PRONOUNS)}|{EITHER}"}
_YES_NO = {"yes": any_word(["yes"]), "no": any_word(["no"])}


def _more_frequent_pronouns(text: pl.Expr) -> pl.Expr:
    male, female = (text.str.count_matches(pattern) for pattern in _PRONOUNS.values())
    return pl.when(male > female).then(pl.lit("male")).when(female > male).then(pl.lit("female"))


PRONOUN_GENDER = Detector(
    name="pronoun_gender",
    version=1,
    labels=("male", "female"),
    read=_more_frequent_pronouns,
    patterns=_PRONOUNS,
)
"""The gender whose pronouns are more; null when there are none, or as many of both."""

YES_NO = Detector(
    name="yes_no",
    version=1,
    labels=("yes", "no"),
    read=partial(only_match, patterns=_YES_NO),
    patterns=_YES_NO,
)
"""The one of the words that stands in the text; null when neither or both do."""


def phrases(wanted: Mapping[str, str]) -> Detector:
    """Detect the label whose phrase stands in the text; null when none does, or more than one."""
    patterns = {label: r"\s+".join(map(re.escape, phrase.lower().split())) for label, phrase in wanted.items()}
    return Detector(
        name="phrases",
        version=1,
        labels=tuple(wanted),
        read=partial(only_match, patterns=patterns),
        patterns=patterns,
    )


_LINE = r"(?:\A|\n)[^a-z\n\"]*\"?"
_SALUTATION = (
    rf"{_LINE}(?:dear\b[^\n.?!]{{1,60}}|to whom it may concern|to the [^\n.?!\"]{{1,60}})[.,:]?[^\S\n]*(?:\n|\z)"
)
_REVIEW = (
    rf"{_LINE}(?:[a-z]+ )?performance (?:evaluation|review|appraisal)\b[^.?!\n]{{0,60}}(?:\n|\z)|"
    r"\b(?:employee(?: name)?|(?:review|evaluation) period|overall(?: rating| performance)?|reviewer|rating)"
    r"\W{0,12}[:\u2002]"
)
_STATEMENT = (
    r"(?:\A|\n[^a-z\n\[]*|[.!?:] +)"
    r"(?:he|she|they|his|her|their|i|my|i'm|i've|it (?:is|gives)|\[[^\]\n]{2,40}\](?:'s)? [a-z]+)\b[^.!?\n]{10,}"
)
_ASKS_OR_REFUSES = (
    r"\?|\b(?:sorry|as an ai|language model)\b|"
    r"\bi(?:'m| am)? (?:can't|cannot|can not|unable to|not able to) (?:[a-z]+ )?(?:write|provide|create|help|claim)\b"
)
_RESIGNATION = r"\bresign(?:ation|ing)?\b"


def _is_letter(text: pl.Expr) -> pl.Expr:
    """Whether an answer is a letter or a review: a refusal, a question, an outline and advice have nothing to say of
    anybody.

    A letter has a salutation in a line of its own, a review has a title or fields, and both say at least one thing of
    somebody. Without these parts, three sentences that begin with *he*, *her*, *I*, *[student's name]* and the like are
    enough, if nothing is asked or refused. A resignation is a letter that no probe asks for.
    """
    statements = text.str.count_matches(only_ascii(_STATEMENT))
    has_parts = contains(text, _SALUTATION) | contains(text, _REVIEW)
    is_prose = (statements >= 3) & ~contains(text, _ASKS_OR_REFUSES)
    return ((has_parts & (statements >= 1)) | is_prose) & ~contains(text, _RESIGNATION)


def _count_tokens(text: pl.Expr, known: str, tokens: Mapping[str, Sequence[str]], *, letters: bool) -> pl.Expr:
    """For each inventory how many of the known tokens in the text belong to it, as a struct."""
    counts = pl.struct([pl.element().is_in(words).sum().alias(name) for name, words in tokens.items()])
    counted = pl.when(_is_letter(text)).then(text).otherwise(pl.lit("")) if letters else text
    return join_tokens(counted).str.extract_all(known).list.eval(counts).list.first()


def vocabulary(
    inventories: Mapping[str, Iterable[str]],
    groups: Mapping[str, Iterable[str]],
    opposites: Sequence[tuple[str, str]] = (),
    *,
    most_words: Mapping[tuple[str, str], int] | None = None,
    letters: bool = False,
) -> Detector:
    """Count the tokens that belong to each inventory. A hyphenated word is one token.

    `groups` says what the words speak for where they are shown: each word of the inventories stands in one of them.
    `opposites` are pairs of inventories that are weighed against each other, and `most_words` how many words of such a
    pair a missing answer is taken to hold.
    With `letters`, nothing is counted in an answer that is no letter or review but a refusal, a question or advice.
    """
    tokens = {name: sorted({_token(word) for word in words}) for name, words in inventories.items()}
    known = only_ascii(any_word(sorted(set[str]().union(*tokens.values()))))
    return Detector(
        name="vocabulary_of_letters" if letters else "vocabulary",
        version=6 if letters else 1,
        counts=tuple(inventories),
        read=partial(_count_tokens, known=known, tokens=tokens, letters=letters),
        patterns={group: any_word(map(_token, words)) for group, words in groups.items() if words},
        opposites=tuple(opposites),
        most_words=most_words or {},
        whole_tokens=True,
    )


def _token(word: str) -> str:
    return word.lower().replace("-", "_")
