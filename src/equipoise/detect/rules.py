"""Rules that turn a text into a word of capital letters, one for each kind of statement in it, in order.

The visible text is lower case, so that a capital letter cannot be part of it. What is left of "Yes, but on reflection:
denied" may be "YC.V" (with the ends of sentences), and a detector decides on such words, of which there are few
different ones. The rules are applied one after the other to whole columns; `trace` does the same for one text and
remembers where each letter came from.

Polars keeps 32 compiled patterns per thread. A detector that uses more, those of `visible` included, compiles them all
again for each slice of a column and takes several times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from equipoise.detect.visible import Search, replace_traced

SINGLE_SPACES = (("\t", " "), *[("  ", " ")] * 4)
"""Spellings for rules that are written with single spaces: Markdown leaves more between words, rarely more than 16."""


def _in_place_of(letter: str) -> str:
    return f" {letter} " if letter else " "


def ascii_boundaries(pattern: str) -> str:
    """The pattern with the boundaries of ASCII words: they are found many times faster, and our words are ASCII."""
    return pattern.replace(r"\b", r"(?-u:\b)")


@dataclass(frozen=True)
class Rules:
    """Letters and what they stand for, as patterns; with no letter: what says nothing and is taken away."""

    steps: tuple[tuple[str, str], ...]
    spellings: tuple[tuple[str, str], ...] = ()
    """Plain text that is written in another way before all else, such as two spaces as one: no pattern to compile."""
    words: tuple[tuple[str, str], ...] = ()
    """The same for any number of words, which take a single pass. None of them may be the beginning of another."""

    def __post_init__(self) -> None:
        steps = tuple((letter, ascii_boundaries(pattern)) for letter, pattern in self.steps)
        object.__setattr__(self, "steps", steps)

    def apply(self, text: pl.Expr) -> pl.Expr:
        """The text with a letter in place of each statement."""
        return self.replace(self.respell(text))

    def respell(self, text: pl.Expr) -> pl.Expr:
        """The text in the spelling that the patterns are written in."""
        for spelling, plain in self.spellings:
            text = text.str.replace_all(spelling, plain, literal=True)
        if self.words:
            text = text.str.replace_many([word for word, _ in self.words], [plain for _, plain in self.words])
        return text

    def replace(self, text: pl.Expr) -> pl.Expr:
        """The text in that spelling with a letter in place of each statement."""
        for letter, pattern in self.steps:
            text = text.str.replace_all(pattern, _in_place_of(letter))
        return text

    def trace(self, text: str, origins: list[int]) -> Search[tuple[str, list[int]]]:
        """What `apply` makes of one text. A letter comes from where its statement starts, the space after it from
        where that ends."""
        for spelling, plain in self.spellings:
            matches = yield text, re.escape(spelling)
            text, origins = replace_traced(text, origins, [(*match, plain) for match in matches])
        if self.words:
            plain_of = dict(self.words)
            matches = yield text, "|".join(re.escape(word) for word in plain_of)
            text, origins = replace_traced(
                text, origins, [(*match, plain_of[text[slice(*match)]]) for match in matches]
            )
        for letter, pattern in self.steps:
            matches = yield text, pattern
            text, origins = replace_traced(text, origins, [(*match, _in_place_of(letter)) for match in matches])
        return text, origins


def evidence(letters: str) -> str:
    """A pattern for any of these letters, with the space that shows where the statement ends."""
    return f"[{letters}] "


def any_of(*patterns: str) -> str:
    """A pattern for any of these patterns."""
    return f"(?:{'|'.join(patterns)})"


LONGEST_END = 200
"""How many letters of a very long answer are read at its beginning, and at its end: more take quadratic time."""


def decide_each(words: pl.Expr, decide: Callable[[str], str | None]) -> pl.Expr:
    """The label of each word of letters; every different word is decided once."""

    def decide_column(column: pl.Series) -> pl.Series:
        different = column.drop_nulls().unique()
        ends = (
            word if len(word) <= 2 * LONGEST_END else word[:LONGEST_END] + word[-LONGEST_END:] for word in different
        )
        labels = pl.Series([decide(word) for word in ends], dtype=pl.String)
        return column.replace_strict(different, labels, default=None, return_dtype=pl.String)

    return words.map_batches(decide_column, return_dtype=pl.String)
