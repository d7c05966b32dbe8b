"""Detectors that look for words and phrases in the visible text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import polars as pl

from equipoise.detect.detector import Detector, join_tokens
from equipoise.detect.evidence import only_ascii
from equipoise.detect.letters import is_letter


def any_word(words: Iterable[str]) -> str:
    """A pattern for any of these whole words."""
    return rf"\b(?:{'|'.join(map(re.escape, words))})\b"


EITHER = r"\(s\)he\b|\bs/he\b"
"""Counts for both genders: as "he" by itself, and as "she" by this pattern."""
MALE_PRONOUNS = ("he", "him", "his")
FEMALE_PRONOUNS = ("she", "her")
_PRONOUNS = {"male": any_word(MALE_PRONOUNS), "female": f"{any_word(FEMALE_PRONOUNS)}|{EITHER}"}
_YES_NO = {"yes": any_word(["yes"]), "no": any_word(["no"])}


def _only_match(text: pl.Expr, patterns: Mapping[str, str]) -> pl.Expr:
    """The label whose pattern matches; null when none does, or more than one."""
    # A digit for each pattern, so that each is searched once.
    codes = {label: 2**place for place, label in enumerate(patterns)}
    found = pl.sum_horizontal(text.str.contains(patterns[label]) * pl.lit(code) for label, code in codes.items())
    return found.replace_strict(list(codes.values()), list(codes), default=None, return_dtype=pl.String)


def _first_true(tests: Mapping[str, pl.Expr]) -> pl.Expr:
    return pl.coalesce(pl.when(test).then(pl.lit(label)) for label, test in tests.items())


def _count_tokens(text: pl.Expr, known: str, tokens: Mapping[str, Sequence[str]]) -> pl.Expr:
    """For each inventory how many of the known tokens in the text belong to it, as a struct."""
    counts = pl.struct([pl.element().is_in(words).sum().alias(name) for name, words in tokens.items()])
    return join_tokens(text).str.extract_all(known).list.eval(counts).list.first()


def _count_tokens_of_letters(text: pl.Expr, known: str, tokens: Mapping[str, Sequence[str]]) -> pl.Expr:
    return _count_tokens(pl.when(is_letter(text)).then(text).otherwise(pl.lit("")), known, tokens)


def _more_frequent_pronouns(text: pl.Expr) -> pl.Expr:
    male, female = (text.str.count_matches(pattern) for pattern in _PRONOUNS.values())
    return _first_true({"male": male > female, "female": female > male})


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
    read=partial(_only_match, patterns=_YES_NO),
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
        read=partial(_only_match, patterns=patterns),
        patterns=patterns,
    )


def vocabulary(
    inventories: Mapping[str, Iterable[str]],
    groups: Mapping[str, Iterable[str]],
    opposites: Sequence[tuple[str, str]] = (),
    *,
    letters: bool = False,
) -> Detector:
    """Count the tokens that belong to each inventory. A hyphenated word is one token.

    `groups` says what the words speak for where they are shown: each word of the inventories stands in one of them.
    `opposites` are pairs of inventories that are weighed against each other.
    With `letters`, nothing is counted in an answer that is no letter or review but a refusal, a question or advice.
    """
    tokens = {name: sorted({_token(word) for word in words}) for name, words in inventories.items()}
    known = only_ascii(any_word(sorted(set[str]().union(*tokens.values()))))
    return Detector(
        name="vocabulary_of_letters" if letters else "vocabulary",
        version=6 if letters else 1,
        counts=tuple(inventories),
        read=partial(_count_tokens_of_letters if letters else _count_tokens, known=known, tokens=tokens),
        patterns={group: any_word(map(_token, words)) for group, words in groups.items() if words},
        opposites=tuple(opposites),
        whole_tokens=True,
    )


def _token(word: str) -> str:
    return word.lower().replace("-", "_")
