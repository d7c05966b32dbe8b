"""Which words the answers for one arm use more than those for the other.

An answer counts once, however often it repeats a word. The other words in it do not matter, as they would if shares of
all words were compared: one more phrase in letters for women would make every other word rarer there. `log_odds` says
how the counts are compared and tested. At most 5% of the words that are shown are false discoveries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from equipoise.authoring import Probe, WordContrast, visible
from equipoise.measuring.log_odds import CELL, TABLE, add_up, compare_counts
from equipoise.schema import ANSWER, PROMPT, is_measured

FALSE_DISCOVERIES = 0.05
ANSWERS_PER_STEP = 2_000
ROWS_UNTIL_MERGED = 1_000_000
"""From so many rows on, the counts of several steps are added up before the next ones."""
_SHORT_ENDING = r"'\pL{1,2}\b"
_WORD = r"[\pL\pM]+(?:-[\pL\pM]+)*"
_MAX_LETTERS = 40


@dataclass(frozen=True, kw_only=True)
class WordComparison:
    """The words that were tested, the clearest first, and what was compared."""

    sides: tuple[str, str]
    """What the two sides are called."""
    matched: tuple[str, ...]
    answers: int
    table: pl.DataFrame = field(repr=False)

    @property
    def found(self) -> pl.DataFrame:
        """The words that are clearly used more on one side."""
        return self.table.filter(pl.col("q") <= FALSE_DISCOVERIES)

    def more_for(self, place: int) -> list[str]:
        """The words that are clearly used more on the side at this place, 0 or 1, the clearest first."""
        return self.found.filter((pl.col("log_odds") < 0) == bool(place))["word"].to_list()

    def to_dict(self) -> dict[str, Any]:
        """What was compared and the words that were found, as plain values, ready for JSON."""
        return {
            "sides": list(self.sides),
            "matched": list(self.matched),
            "answers": self.answers,
            "tested": self.table.height,
            "words": self.found.to_dicts(),
        }


def discover_words(probe: Probe, parts: Iterable[pl.DataFrame]) -> WordComparison | None:
    """Compare the words of the answers for both sides; None for a probe that does not ask for it.

    The parts hold attempts with prompts, covariates and answers, evaluated: answers that decide nothing are no letters.
    """
    counting = WordCounting(probe)
    if counting.wanted:
        for part in parts:
            counting.add(part)
    return counting.compare()


class WordCounting:
    """The words of answers, counted part by part, for a probe that compares them."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._cells: list[pl.DataFrame] = []
        self._counts: list[pl.DataFrame] = []
        self._prompts: list[pl.DataFrame] = []

    @property
    def wanted(self) -> bool:
        """Whether the probe asks for its words to be compared."""
        return self._probe.words is not None and self._probe.arms is not None

    def add(self, part: pl.DataFrame) -> None:
        """Count the words of attempts that have their prompts, covariates, answers and evaluations."""
        probe, contrast, arms = self._probe, self._probe.words, self._probe.arms
        if contrast is None or arms is None:
            return
        decided = is_measured() & probe.detector.detected()
        chosen = part.filter(decided, pl.col(arms.column).is_in(list(dict(contrast.sides))))
        for some in chosen.iter_slices(ANSWERS_PER_STEP):
            answers = _with_cells(contrast, some, arms.column)
            self._cells.append(answers.group_by(CELL).agg(pl.len().cast(pl.Int64).alias("answers")))
            self._counts.append(_count_words(answers))
            self._prompts.append(_prompt_words(contrast, answers))
        if sum(counts.height for counts in self._counts) > ROWS_UNTIL_MERGED and len(self._counts) > 1:
            self._cells = [add_up(self._cells, CELL, "answers")]
            self._counts = [add_up(self._counts, [*CELL, "word"], "count")]
            self._prompts = [pl.concat(self._prompts).unique()]

    def compare(self) -> WordComparison | None:
        """The comparison of all words that were counted; None for a probe that does not ask for it."""
        contrast = self._probe.words
        if contrast is None or self._probe.arms is None:
            return None
        (first, first_name), (second, second_name) = contrast.sides
        table, answered = pl.DataFrame(schema=TABLE), 0
        if self._cells:
            left_out = _words_left_out(contrast, pl.concat(self._prompts))
            counted = pl.concat(self._counts).join(left_out, on="word", how="anti")
            table = compare_counts(pl.concat(self._cells), counted, (first, second))
            answered = int(pl.concat(self._cells)["answers"].sum())
        return WordComparison(
            sides=(first_name, second_name),
            matched=contrast.matched,
            answers=answered,
            table=table.with_columns(pl.col("side").replace(dict(contrast.sides))),
        )


def _split_words(text: pl.Expr) -> pl.Expr:
    """The words of visible text: letters and hyphens; "she's" is "she", "o'brien" is two words."""
    return text.str.replace_all(_SHORT_ENDING, "").str.extract_all(_WORD)


def _with_cells(contrast: WordContrast, answers: pl.DataFrame, arm: str) -> pl.DataFrame:
    """The answers with the unit, the stratum and the side that they belong to."""
    matched = [pl.col(name).cast(pl.String).fill_null("") for name in contrast.matched]
    return answers.with_columns(
        pl.col(contrast.unit).cast(pl.String).alias("unit"),
        pl.concat_str([pl.lit(""), *matched], separator="\0").alias("stratum"),
        pl.col(arm).alias("side"),
    )


def _count_words(answers: pl.DataFrame) -> pl.DataFrame:
    """In how many answers of each unit, stratum and side each word stands."""
    return (
        answers.lazy()
        .select(*CELL, _split_words(visible(pl.col(ANSWER))).list.unique().alias("word"))
        .explode("word")
        .filter(pl.col("word").str.len_chars() <= _MAX_LETTERS)
        .group_by(*CELL, "word")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .collect()
    )


def _prompt_words(contrast: WordContrast, answers: pl.DataFrame) -> pl.DataFrame:
    """The words of the prompts of each side, and of names, for which the side is null."""
    texts = [
        answers.select("side", _split_words(visible(pl.col(PROMPT))).alias("word")),
        *(
            answers.select(
                pl.lit(None, pl.String).alias("side"),
                _split_words(visible(pl.col(name).cast(pl.String))).alias("word"),
            )
            for name in contrast.names
        ),
    ]
    return pl.concat([table.explode("word").unique() for table in texts]).drop_nulls("word")


def _words_left_out(contrast: WordContrast, prompts: pl.DataFrame) -> pl.DataFrame:
    """Names, the words that name the arm, and those that stand only in the prompts of one side."""
    sides = pl.col("side").drop_nulls().n_unique()
    of_prompts = prompts.group_by("word").agg(sides.alias("sides"), pl.col("side").is_null().any().alias("name"))
    left_out = of_prompts.filter((pl.col("sides") == 1) | pl.col("name")).select("word")
    return pl.concat([left_out, pl.DataFrame({"word": contrast.ignored}, schema={"word": pl.String})])
