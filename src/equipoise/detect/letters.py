"""Whether an answer is a letter or a review at all: words are counted only in one.

A letter has a salutation in a line of its own, a review has a title or fields, and both say at least one thing of
somebody. Without these parts, three sentences that begin with *he*, *her*, *I*, *[student's name]* and the like are
enough, if nothing is asked or refused. A resignation is a letter that no probe asks for. So a refusal, a question, an
outline and advice are none: they have nothing to say of anybody.
"""

from __future__ import annotations

import polars as pl

from equipoise.detect.evidence import only_ascii

_LINE = r"(?:\A|\n)[^a-z\n\"]*\"?"
SALUTATION = (
    rf"{_LINE}(?:dear\b[^\n.?!]{{1,60}}|to whom it may concern|to the [^\n.?!\"]{{1,60}})[.,:]?[^\S\n]*(?:\n|\z)"
)
REVIEW = (
    rf"{_LINE}(?:[a-z]+ )?performance (?:evaluation|review|appraisal)\b[^.?!\n]{{0,60}}(?:\n|\z)|"
    r"\b(?:employee(?: name)?|(?:review|evaluation) period|overall(?: rating| performance)?|reviewer|rating)"
    r"\W{0,12}[:\u2002]"
)
STATEMENT = (
    r"(?:\A|\n[^a-z\n\[]*|[.!?:] +)"
    r"(?:he|she|they|his|her|their|i|my|i'm|i've|it (?:is|gives)|\[[^\]\n]{2,40}\](?:'s)? [a-z]+)\b[^.!?\n]{10,}"
)
ASKS_OR_REFUSES = (
    r"\?|\b(?:sorry|as an ai|language model)\b|"
    r"\bi(?:'m| am)? (?:can't|cannot|can not|unable to|not able to) (?:[a-z]+ )?(?:write|provide|create|help|claim)\b"
)
RESIGNATION = r"\bresign(?:ation|ing)?\b"


def is_letter(text: pl.Expr) -> pl.Expr:
    """Whether a visible text in lower case is a letter or a review."""
    statements = text.str.count_matches(only_ascii(STATEMENT))
    has_parts = _contains(text, SALUTATION) | _contains(text, REVIEW)
    is_prose = (statements >= 3) & ~_contains(text, ASKS_OR_REFUSES)
    return ((has_parts & (statements >= 1)) | is_prose) & ~_contains(text, RESIGNATION)


def _contains(text: pl.Expr, pattern: str) -> pl.Expr:
    return text.str.contains(only_ascii(pattern))
