"""Detectors: a column of visible text in, a label or counts out. Null means: not detected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import polars as pl

MALE_PRONOUNS = ("he", "him", "his")
FEMALE_PRONOUNS = ("she", "her")
EITHER = r"\(s\)he\b|\bs/he\b"


def pronoun_gender(text: pl.Expr) -> pl.Expr:
    """ "male" or "female", whichever pronouns are more; null when there are none or as many of both."""
    text = text.str.replace_all(EITHER, " he she ")
    male, female = count_words(text, MALE_PRONOUNS), count_words(text, FEMALE_PRONOUNS)
    return _label({"male": male > female, "female": female > male})


def yes_no(text: pl.Expr) -> pl.Expr:
    """ "yes" or "no"; null when neither or both words stand in the text."""
    return _the_one({"yes": has_word(text, "yes"), "no": has_word(text, "no")})


def phrase(text: pl.Expr, phrases: Mapping[str, str]) -> pl.Expr:
    """The label whose phrase stands in the text; null when none does, or more than one."""
    spaced = {label: r"\s+".join(map(re.escape, words.lower().split())) for label, words in phrases.items()}
    return _the_one({label: text.str.contains(pattern) for label, pattern in spaced.items()})


def vocabulary(text: pl.Expr, inventories: Mapping[str, Iterable[str]]) -> pl.Expr:
    """How many tokens belong to each inventory, as a struct. Hyphenated words are one token."""
    inventories = {name: {_joined(word) for word in words} for name, words in inventories.items()}
    known = sorted(set[str]().union(*inventories.values()))
    # With the hyphen as a letter, a word boundary is the boundary of a token: no "reliant" in "self-reliant".
    # Foreign letters become one too: on plain ASCII the search is ten times faster and finds the same.
    plain = text.str.replace_all(r"[\p{L}\p{M}\p{N}&&[^\x00-\x7f]]", "_").str.replace_all(r"\b-\b", "_")
    tokens = plain.str.extract_all(_any_of(known))
    counts = pl.struct([pl.element().is_in(sorted(words)).sum().alias(name) for name, words in inventories.items()])
    return tokens.list.eval(counts).list.first()


def has_word(text: pl.Expr, word: str) -> pl.Expr:
    """Whether the whole word stands in the text."""
    return text.str.contains(_any_of([word]))


def count_words(text: pl.Expr, words: Iterable[str]) -> pl.Expr:
    """How often any of the whole words stands in the text."""
    return text.str.count_matches(_any_of(words))


def _any_of(words: Iterable[str]) -> str:
    return rf"\b(?:{'|'.join(map(re.escape, words))})\b"


def _joined(word: str) -> str:
    return word.lower().replace("-", "_")


def _the_one(tests: Mapping[str, pl.Expr]) -> pl.Expr:
    alone = pl.sum_horizontal(*tests.values()) == 1
    return _label({label: test & alone for label, test in tests.items()})


def _label(tests: Mapping[str, pl.Expr]) -> pl.Expr:
    return pl.coalesce(pl.when(test).then(pl.lit(label)) for label, test in tests.items())
