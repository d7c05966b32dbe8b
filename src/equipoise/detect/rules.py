"""Rules that turn a text into a word of capital letters, one for each kind of statement in it, in order.

The visible text is lower case, so that a capital letter cannot be part of it. What is left of "Yes, but on reflection:
denied" may be "SCV", and a detector decides on such words. The rules are applied one after the other to whole columns;
`trace` does the same for one text and remembers where each letter came from.

Polars keeps 32 compiled patterns per thread. A detector that uses more, those of `visible` included, compiles them all
again for each slice of a column and takes several times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from equipoise.detect.visible import Search, replace_traced

SPACES = r"[ \t]{2,}"
"""What Markdown leaves between words: rules are written with single spaces."""


def _in_place_of(letter: str) -> str:
    return f" {letter} " if letter else " "


@dataclass(frozen=True)
class Rules:
    """Letters and what they stand for, as patterns; with no letter: what says nothing and is taken away."""

    steps: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        # The boundaries of ASCII words are found many times faster, and the words of the rules are ASCII.
        steps = tuple((letter, pattern.replace(r"\b", r"(?-u:\b)")) for letter, pattern in self.steps)
        object.__setattr__(self, "steps", steps)

    def apply(self, text: pl.Expr) -> pl.Expr:
        """The text with a letter in place of each statement."""
        text = text.str.replace_all(SPACES, " ")
        for letter, pattern in self.steps:
            text = text.str.replace_all(pattern, _in_place_of(letter))
        return text

    def letters(self, text: pl.Expr) -> pl.Expr:
        """Only the letters."""
        return self.apply(text).str.replace_all(r"[^A-Z]+", "")

    def trace(self, text: str, origins: list[int]) -> Search[tuple[str, list[int]]]:
        """What `apply` makes of one text. A letter comes from where its statement starts, the space after it from
        where that ends."""
        for new, pattern in ((" ", SPACES), *((_in_place_of(letter), pattern) for letter, pattern in self.steps)):
            matches = yield text, pattern
            text, origins = replace_traced(text, origins, [(start, end, new) for start, end in matches])
        return text, origins


def evidence(letters: str) -> str:
    """A pattern for any of these letters, with the space that shows where the statement ends."""
    return f"[{letters}] "


def any_of(*patterns: str) -> str:
    """A pattern for any of these patterns."""
    return f"(?:{'|'.join(patterns)})"


def first_match(letters: pl.Expr, tests: Sequence[tuple[str, str]]) -> pl.Expr:
    """The label of the first pattern that matches; null when none does, or its label is empty.

    The word of capitals is replaced by the label, which no later pattern matches: so it is made only once.
    """
    for pattern, label in tests:
        letters = letters.str.replace(rf"\A.*?(?:{pattern}).*\z", label)
    labels = sorted({label for _, label in tests if label})
    return letters.replace_strict(labels, labels, default=None, return_dtype=pl.String)
