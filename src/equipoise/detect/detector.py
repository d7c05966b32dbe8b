"""A detector: how answers are read, as one value that is applied in one place (`measuring/evaluate.py`).

It also reads the probabilities of an answer's first token: a share between 0 and 1 for each label, not one drawn
answer. An endpoint that is asked for log-probabilities says how likely each first token was. Each of these tokens is
read as if it were the whole answer, after the opening if the probe has one ("Gender: Female"). What is on tokens that
decide nothing, and what the endpoint does not list, is on neither. `docs/method.md` says what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple

import polars as pl

from equipoise.detect.visible import change_where, is_foreign, trace_visible, visible
from equipoise.schema import FIRST_TOKEN, LABEL, NEITHER, PROBABILITY_COLUMN, is_measured

_FOREIGN_LETTER = r"[\p{L}\p{M}\p{N}&&[^\x00-\x7f]]"
_HYPHEN_IN_WORD = r"\b-\b"

DECIDED_FLOOR = 0.05
"""With less than this probability on the words of all labels together, an answer decides nothing."""
MAX_SUM = 1.02
"""Probabilities that add up to more than this, beyond any rounding, are none."""
TOKEN, PROBABILITY = "token", "p"
STORED = pl.List(pl.Struct({TOKEN: pl.String, PROBABILITY: pl.Float64}))
"""How the column `first_token` is stored, as JSON: the most probable tokens, each with its probability."""

# Some endpoints show the space or the newline before a word as a character of its own: "▁yes", "Ġyes", "Ċyes".
_BEFORE_WORD = r"\A(?:[ĠĊ]|[^\p{L}\p{N}])+"
_AFTER_WORD = r"[^\p{L}\p{N}]+\z"


class Span(NamedTuple):
    """A piece of an answer that was read: `answer[start:end]`, and what it speaks for."""

    start: int
    end: int
    group: str


def _round(value: pl.Expr) -> pl.Expr:
    """A multiple of 2 to the -20, so that sums are exact and do not depend on the order."""
    return (value * 2**20).round() / 2**20


@dataclass(frozen=True, kw_only=True)
class Number:
    """The number that a decided answer says, such as an amount or a score.

    name       its column; the item rows hold its sum
    unit       what it counts, in words
    spread     by how much two answers may well differ that mean the same: what an unknown answer is taken to do.
               Of a logarithm: 0.1 is about a tenth
    farthest   by how much two answers to one item may differ at most, unless they were seen to differ by more: what a
               missing answer is taken to do
    logarithm  whether its logarithm is summed: then ratios can be compared, not differences
    """

    name: str
    unit: str
    spread: float
    farthest: float
    logarithm: bool = False

    def summed(self) -> pl.Expr:
        """What of it is summed."""
        return _round(pl.col(self.name).log() if self.logarithm else pl.col(self.name))


@dataclass(frozen=True, kw_only=True)
class Detector:
    """Reads an answer: a label, or counts. Exactly one of `labels` and `counts` is given.

    read      an expression of the visible text -> a label (null: nothing is decided), or a struct of counts, or with
              a `number` a struct of `label` and the number; it may also use
              the columns of the prompt that are named in `uses`, such as `pl.col("gender")`
    patterns  what it looks for, as regular expressions (of polars, which are Rust's) by what they speak for: what they
              match is shown
    """

    name: str
    version: int
    read: Callable[[pl.Expr], pl.Expr]
    labels: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    other_labels: tuple[str, ...] = ()
    """Labels that decide nothing, such as "refused": shown and counted, but an answer with one is undetected."""
    uses: tuple[str, ...] = ()
    patterns: Mapping[str, str] = field(default_factory=dict)
    opposites: tuple[tuple[str, str], ...] = ()
    """Pairs of counts of which one speaks for one side and one for the other; or one pair of labels, the ends of a
    scale: then a missing answer is bounded by them, instead of by every label."""
    most_words: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """For pairs of opposite counts, how many words of both a missing answer is taken to hold, unless one that was read
    holds more."""
    whole_tokens: bool = False
    """Whether the patterns are searched in `join_tokens` of the text, where "self-reliant" is one word."""
    cased: bool = False
    """Whether `read` gets the visible text with its capitals; the patterns are searched in lower case all the same."""
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Shares from 0 to 1 that a decided answer has beside its label: `read` gives a struct of `label` and these. For
    each label, what the share is taken to be where no more than the label is known."""
    number: Number | None = None
    """What number a decided answer says, if it says one. There is a single label then."""
    opening: str | None = None
    """How answers were made to begin whose labels are given the probabilities of first tokens; None: answers are read
    as they are."""

    def __post_init__(self) -> None:
        if bool(self.labels) == bool(self.counts):
            raise ValueError(f"The detector {self.name!r} must have labels or counts, and not both.")

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The labels, or the names of the counts."""
        return self.labels or self.counts

    @property
    def title(self) -> str:
        """Its name and version: results that say the same were read by the same rules."""
        return f"{self.name} v{self.version}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that an evaluation has: `label`, with it the number or the probabilities; or one per count."""
        return (LABEL, *self.numbers, *self._probabilities.values()) if self.labels else self.counts

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns beside the label of a decided answer: its number or its shares."""
        return (*((self.number.name,) if self.number else ()), *self.shares)

    @property
    def by_probability(self) -> bool:
        """Whether labels are given the probabilities of first tokens."""
        return self.opening is not None

    @property
    def counted_labels(self) -> tuple[str, ...]:
        """Labels that decide nothing and are counted. By probabilities all that decides nothing is one mass."""
        return () if self.by_probability else self.other_labels

    @property
    def _probabilities(self) -> dict[str, str]:
        """For each label the column that holds its probability; empty for answers that were drawn."""
        names = (*self.labels, *self.other_labels) if self.by_probability else ()
        return {label: PROBABILITY_COLUMN.format(label) for label in names}

    def evaluation(self, text: pl.Expr) -> pl.Expr:
        """The label of the visible text, or the struct of counts or of label and number, under the name `label`."""
        outcome = self.read(text)
        return (outcome if self.is_struct else outcome.cast(pl.String)).alias(LABEL)

    @property
    def is_struct(self) -> bool:
        """Whether an evaluation is a struct of several columns."""
        return bool(self.counts or self.number or self.shares)

    def detected(self) -> pl.Expr:
        """Whether an evaluated answer decides anything."""
        if self.counts:
            return pl.sum_horizontal(self.counts) > 0
        decided: pl.Expr = pl.col(LABEL).is_in(self.labels).fill_null(value=False)
        return decided

    def tallies(self) -> dict[str, pl.Expr]:
        """For each outcome how often an evaluated answer has it (0 or 1 for a label, or a share), and its number."""
        if self.counts:
            return {name: pl.col(name) for name in self.counts}
        if self.by_probability:
            tallies = self._label_shares()
        else:
            labels = (*self.labels, *self.other_labels)
            tallies = {label: (pl.col(LABEL) == label).fill_null(value=False).cast(pl.UInt32) for label in labels}
        for name in self.shares:
            tallies[name] = _round(pl.when(self.detected()).then(name).otherwise(0.0))
        if self.number:
            tallies[self.sum_column] = pl.when(self.detected()).then(self.number.summed()).otherwise(0.0)
        return tallies

    @property
    def sum_column(self) -> str:
        """The column of item rows with the sum of the numbers, or of their logarithms: "sum_amount"."""
        return f"sum_{self.number.name}" if self.number else ""

    def _label_shares(self) -> dict[str, pl.Expr]:
        """Each label's part of what is on the labels, 0 where that decides nothing; and what is on other words."""
        names, decided = self._probabilities, self.detected()
        whole = pl.sum_horizontal(names[label] for label in self.labels)
        parts = {label: _round(pl.col(names[label]) / whole) for label in self.labels[:-1]}
        parts[self.labels[-1]] = 1.0 - sum(parts.values(), start=pl.lit(0.0))
        shares = {label: pl.when(decided).then(part).otherwise(0.0) for label, part in parts.items()}
        others = {label: _round(pl.col(names[label]).fill_null(0.0)) for label in self.other_labels}
        return {**shares, **others}

    def describe(self, evaluated: Mapping[str, Any]) -> str:
        """What an evaluated answer says, in words."""
        if self.by_probability and evaluated[LABEL]:
            parts = [f"{label} {evaluated[name]:.2f}" for label, name in self._probabilities.items()]
            return f"{evaluated[LABEL]} ({', '.join(parts)})"
        if self.number and evaluated[self.number.name] is not None:
            return f"{evaluated[self.number.name]:,.10g} {self.number.unit}"
        if self.labels:
            return evaluated[LABEL] or "undetected"
        counted = [name for pair in self.opposites for name in pair] or self.counts
        return f"{sum(evaluated[name] or 0 for name in counted):,} words counted"

    def spans(self, answers: Iterable[str]) -> list[list[Span]]:
        """The words and phrases of each answer that were read, where they stand in it; two groups may share a word."""
        traced = [trace_visible(answer) for answer in answers]
        texts = pl.Series([text for text, _ in traced], dtype=pl.String)
        texts = _join_tokens(texts) if self.whole_tokens else texts
        spans: list[list[Span]] = [[] for _ in traced]
        for group, pattern in self.patterns.items():
            for some, (_, origins), matches in zip(spans, traced, _find_matches(texts, pattern), strict=True):
                some += [Span(origins[start], origins[end - 1] + 1, group) for start, end in matches]
        return [sorted(some) for some in spans]


def _find_matches(texts: pl.Series, pattern: str) -> Iterator[Iterator[tuple[int, int]]]:
    """Where a pattern matches in texts without NUL, exactly as in a column: Python has other word boundaries."""
    for marked in texts.str.replace_all(pattern, "\0${0}\0"):
        ends = list(accumulate(map(len, marked.split("\0"))))
        yield zip(ends[::2], ends[1::2], strict=False)


def join_tokens(text: pl.Expr) -> pl.Expr:
    """The text with an underscore for each hyphen inside a word and for each letter that is not ASCII.

    A word boundary is then the boundary of a token: no "reliant" in "self-reliant". On plain ASCII the search is ten
    times faster and finds the same.
    """
    return text.map_batches(_join_tokens, return_dtype=pl.String, is_elementwise=True)


def _join_tokens(texts: pl.Series) -> pl.Series:
    texts = change_where(is_foreign(texts), texts, lambda some: some.str.replace_all(_FOREIGN_LETTER, "_"))
    return texts.str.replace_all(_HYPHEN_IN_WORD, "_")


def first_token_detector(detector: Detector, opening: str) -> Detector:
    """The detector that gives each label the probability of the tokens which this detector reads as that label."""
    return replace(detector, name=f"{detector.name}_first_token", opening=opening, other_labels=(NEITHER,), patterns={})


def read_first_tokens(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
    """For each attempt the most probable label (or "neither") and the probability of each; null where there is none.

    A number, and the shares that a decided answer has beside its label, are those that are to be expected.
    """
    names = {label: PROBABILITY_COLUMN.format(label) for label in (*detector.labels, NEITHER)}
    probability, decides = pl.col(PROBABILITY), pl.col(LABEL).is_in(detector.labels)
    tokens = pl.when(is_measured()).then(FIRST_TOKEN).str.json_decode(STORED).alias("tokens")
    listed = attempts.select(tokens, *detector.uses).with_row_index("place").explode("tokens").unnest("tokens")
    words = _read_words(detector, listed.select(TOKEN, *detector.uses).unique(maintain_order=True))
    listed = listed.join(words, on=[TOKEN, *detector.uses], how="left", nulls_equal=True, maintain_order="left")
    sums = listed.group_by("place", maintain_order=True).agg(
        (probability.is_between(0.0, 1.0) & (probability.sum() <= MAX_SUM)).fill_null(value=False).all().alias("valid"),
        *(probability.filter(pl.col(LABEL) == label).sum().alias(names[label]) for label in detector.labels),
        *(
            ((probability * pl.col(name)).filter(decides).sum() / probability.filter(decides).sum()).alias(name)
            for name in detector.numbers
        ),
    )
    decided = [names[label] for label in detector.labels]
    most_probable = pl.concat_list(decided).list.arg_max()
    label = pl.when(pl.sum_horizontal(decided) >= DECIDED_FLOOR).then(
        most_probable.replace_strict(dict(enumerate(detector.labels)), return_dtype=pl.String, default=None)
    )
    masses = sums.with_columns((1.0 - pl.sum_horizontal(decided)).clip(0.0, 1.0).alias(names[NEITHER]))
    return masses.select(
        pl.when("valid").then(label.otherwise(pl.lit(NEITHER))).alias(LABEL),
        *(pl.when("valid").then(name).alias(name) for name in (*detector.numbers, *names.values())),
    )


def _read_words(detector: Detector, words: pl.DataFrame) -> pl.DataFrame:
    """What each of these tokens says as an answer, beside the columns of the prompt that the detector uses."""
    bare_word = pl.col(TOKEN).str.replace(_BEFORE_WORD, "").str.replace(_AFTER_WORD, "")
    answer = (pl.lit(f"{detector.opening} ") + bare_word).str.strip_chars()
    shown = words.with_columns(visible(answer, cased=detector.cased).alias("answer"))
    read = shown.select(pl.when(pl.col(TOKEN).is_not_null()).then(detector.evaluation(pl.col("answer"))).alias(LABEL))
    return words.hstack(read.unnest(LABEL) if detector.is_struct else read)
