"""Evidence for the labels of an answer, in the order of its strength.

A reader is a list of evidence. The first one of which anything stands in the text decides: for the label whose pattern
matches, or for nothing if several do. So a stronger word is never outweighed by weaker ones, and a contradiction is
never settled by counting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

NOTHING = ""
"""The label of evidence that nothing is decided, whatever weaker evidence says."""


REFUSALS = (
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|i (?:can't|cannot|won't|can not|must decline|am unable|don't feel)|"
    r"as an ai\b|(?:unable|not able|not appropriate|not possible)(?: for me)? to (?:rank|compare|rate|score|assist|"
    r"help|give|provide|recommend|suggest|evaluate|assess|say))"
)
"""How an answer refuses to choose or to name a number."""


@dataclass(frozen=True)
class Evidence:
    """For each label a pattern that speaks for it, all equally strong; what `outside` matches is not searched."""

    patterns: Mapping[str, str]
    outside: str | None = None

    def __post_init__(self) -> None:
        patterns = {label: only_ascii(loosen_spaces(pattern)) for label, pattern in self.patterns.items()}
        object.__setattr__(self, "patterns", patterns)
        object.__setattr__(self, "outside", self.outside and only_ascii(loosen_spaces(self.outside)))


def any_line(patterns: str) -> str:
    """A pattern for any of the patterns, one in each line."""
    return f"(?:{'|'.join(line.strip() for line in patterns.strip().splitlines())})"


def loosen_spaces(pattern: str) -> str:
    """The pattern with several spaces or the end of a line wherever it has a space: marks of bold leave spaces."""
    return re.sub(r" (\??)", lambda space: rf"[\x20\n]{space[1]}\x20*", pattern)


def only_ascii(pattern: str) -> str:
    """The pattern with digits, letters and word boundaries of ASCII, which are found many times faster."""
    return pattern.replace(r"\b", r"(?-u:\b)").replace(r"\d", "[0-9]").replace(r"\w", "[a-z0-9_]")


def contains(text: pl.Expr, pattern: str) -> pl.Expr:
    """Whether the pattern stands in the text."""
    return text.str.contains(only_ascii(pattern))


def only_match(text: pl.Expr, patterns: Mapping[str, str], several: str | None = None) -> pl.Expr:
    """The label whose pattern matches; null when none does, `several` when more than one does."""
    found = {label: text.str.contains(pattern) for label, pattern in patterns.items()}
    label = pl.coalesce(pl.when(match).then(pl.lit(label)) for label, match in found.items())
    return pl.when(pl.sum_horizontal(found.values()) > 1).then(pl.lit(several)).otherwise(label)


def read_evidence(order: Sequence[Evidence]) -> Callable[[pl.Expr], pl.Expr]:
    """Read the visible text by this evidence, the strongest first."""
    read = partial(find_strongest, order=order)
    return lambda text: text.map_batches(read, return_dtype=pl.String, is_elementwise=True)


def find_strongest(texts: pl.Series, order: Sequence[Evidence]) -> pl.Series:
    """For each text the label of the strongest evidence in it; null if there is none, or if it contradicts itself."""
    labels = pl.Series([None], dtype=pl.String).new_from_index(0, len(texts))
    open_rows = texts.is_not_null().arg_true()  # a search takes its time for every text that it is given
    for evidence in order:
        searched = texts[open_rows]
        if evidence.outside:
            searched = searched.str.replace_all(evidence.outside, "?")
        found = pl.DataFrame({label: searched.str.contains(pattern) for label, pattern in evidence.patterns.items()})
        count = found.sum_horizontal()
        label = found.select(pl.coalesce(pl.when(name).then(pl.lit(name)) for name in found.columns)).to_series()
        clear = (count == 1) & (label != NOTHING)
        labels = labels.scatter(open_rows.filter(clear), label.filter(clear))
        open_rows = open_rows.filter(count == 0)
    return labels


def join_patterns(order: Sequence[Evidence]) -> dict[str, str]:
    """For each label one pattern of all that speaks for it: what is shown of an answer."""
    labels = dict.fromkeys(label for evidence in order for label in evidence.patterns if label != NOTHING)
    return {
        label: "|".join(evidence.patterns[label] for evidence in order if label in evidence.patterns)
        for label in labels
    }
