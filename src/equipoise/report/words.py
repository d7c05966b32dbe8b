"""Which words the answers for one arm use more than those for the other.

An answer counts once, however often it repeats a word. The other words in it do not matter, as they would if shares of
all words were compared: one more phrase in letters for women would make every other word rarer there.

For each word the odds that an answer holds it are compared between the sides, after Monroe, Colaresi and Quinn (2008):
to the answers of each side are added PRIOR_ANSWERS that hold the word as often as all answers do, so that rare words
must show more. Answers are compared within strata (the same template and race), and both sides get the same share of
answers from each: a word of one template is not one of the men only because more answers for men came from it.

Answers for one name share more than chance, so that taking them as independent would find words that are none. The test
adds up, for each name, how far its answers are from those of its stratum, and compares the difference of the sides with
the scatter of these sums, as if the sides were alike (a score test). At most 5% of the words that are shown are false
discoveries, by Benjamini and Hochberg's rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from equipoise.authoring import Array, Probe, visible
from equipoise.measuring.clusters import number_values
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, PROMPT, is_measured
from equipoise.stats.intervals import LEVEL, normal_p_value, student_quantile
from equipoise.stats.multiple_testing import benjamini_hochberg
from equipoise.stats.variance import divide, sum_by_label

FALSE_DISCOVERIES = 0.05
PRIOR_ANSWERS = 50
MIN_UNITS = 10
"""A word is tested if the answers for this many names (units) hold it; each side must have as many names."""
VALUES_PER_BLOCK = 2_000_000
"""How many counts are tested at a time. It does not change the numbers."""
TABLE = {
    **dict.fromkeys(("word", "side"), pl.String),
    **dict.fromkeys(("log_odds", "low", "high", "first_share", "second_share"), pl.Float64),
    "answers": pl.Int64,
    **dict.fromkeys(("z", "p", "q"), pl.Float64),
}
"""A table of words: the `side` that uses it more, by how much the log-odds of the first side are above those of the
second, the shares of their answers that hold it, and `q`, the share of false discoveries among the words up to it."""
CELL = ["unit", "stratum", "side"]
"""The columns that name a cell: the answers for one name, in one stratum, of one side."""
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


def compare_words(run: Run, probe: str) -> WordComparison | None:
    """The words that differ between the arms of a probe, in the answers of a run."""
    return discover_words(run.setup(probe).probe, run.transcript_batches(probe))


def discover_words(probe: Probe, parts: Iterable[pl.DataFrame]) -> WordComparison | None:
    """Compare the words of the answers for both sides; None for a probe that does not ask for it.

    The parts hold attempts with prompts, covariates and answers, evaluated: answers that decide nothing are no letters.
    Names, words that name the arm, and words that stand only in the prompts of one side are left out.
    """
    contrast, arms = probe.words, probe.arms
    if contrast is None or arms is None:
        return None
    (first, first_name), (second, second_name) = contrast.sides
    decided = is_measured() & probe.detector.detected() & pl.col(arms.column).is_in([first, second])
    matched = [pl.col(name).cast(pl.String).fill_null("") for name in contrast.matched]
    cells = pl.DataFrame(schema={**dict.fromkeys(CELL, pl.String), "answers": pl.Int64})
    words = pl.DataFrame(schema={**dict.fromkeys((*CELL, "word"), pl.String), "answers": pl.Int64})
    of_prompts = pl.DataFrame(schema={"side": pl.String, "word": pl.String})
    for part in parts:
        answers = part.filter(decided).with_columns(
            pl.col(contrast.unit).cast(pl.String).alias("unit"),
            pl.concat_str([pl.lit(""), *matched], separator="\0").alias("stratum"),
            pl.col(arms.column).cast(pl.String).alias("side"),
        )
        split = answers.select(*CELL, _split_words(ANSWER).list.unique()).explode("word")
        split = split.filter(pl.col("word").str.len_chars() <= _MAX_LETTERS)
        # Added up at once: the words of all letters would fill the memory.
        cells, words = (
            _add_up(pl.concat([before, rows.with_columns(answers=pl.lit(1, pl.Int64))]))
            for before, rows in ((cells, answers.select(CELL)), (words, split))
        )
        names = [answers.select(pl.lit(None, pl.String).alias("side"), _split_words(name)) for name in contrast.names]
        texts = [table.explode("word") for table in (answers.select("side", _split_words(PROMPT)), *names)]
        of_prompts = pl.concat([of_prompts, *texts]).drop_nulls("word").unique()
    of_one_side = (pl.col("side").drop_nulls().n_unique() == 1) | pl.col("side").is_null().any()
    left_out = of_prompts.group_by("word").agg(of_one_side.alias("left out")).filter("left out")["word"].to_list()
    counted = words.filter(~pl.col("word").is_in([*left_out, *contrast.ignored]))
    table = compare_counts(cells, counted, (first, second))
    return WordComparison(
        sides=(first_name, second_name),
        matched=contrast.matched,
        answers=int(cells["answers"].sum()),
        table=table.with_columns(pl.col("side").replace(dict(contrast.sides))),
    )


def _split_words(column: str) -> pl.Expr:
    """The words of visible text: letters and hyphens; "she's" is "she", "o'brien" is two words."""
    text = visible(pl.col(column).cast(pl.String))
    return text.str.replace_all(_SHORT_ENDING, "").str.extract_all(_WORD).alias("word")


def _add_up(counts: pl.DataFrame) -> pl.DataFrame:
    return counts.group_by(pl.exclude("answers")).agg(pl.col("answers").sum())


def compare_counts(cells: pl.DataFrame, counts: pl.DataFrame, sides: tuple[str, str]) -> pl.DataFrame:
    """One row of TABLE for each word that is tested.

    `cells` says how many answers each `unit`, `stratum` and `side` has, `counts` how many of them hold a `word`.
    """
    cells = _add_up(cells).sort(CELL)
    cells = cells.filter(pl.col("side").n_unique().over("stratum") == 2).with_row_index("cell")
    units = dict(cells.group_by("side").agg(pl.col("unit").n_unique()).iter_rows())
    counts = _add_up(counts).join(cells.select(*CELL, "cell"), on=CELL)
    words = (
        counts.group_by("word")
        .agg(pl.col("unit").n_unique().alias("units"), pl.col("answers").sum())
        .filter(pl.col("units") >= MIN_UNITS, pl.col("answers") < cells["answers"].sum())
        .sort("word")
        .with_row_index("place")
    )
    if min(units.get(side, 0) for side in sides) < MIN_UNITS or words.is_empty():
        return pl.DataFrame(schema=TABLE)
    placed = counts.join(words.select("word", "place"), on="word")
    size = max(1, VALUES_PER_BLOCK // cells.height)
    blocks = []
    for start in range(0, words.height, size):
        observed = np.zeros((cells.height, min(size, words.height - start)))
        held = placed.filter(pl.col("place").is_between(start, start + size, closed="left"))
        observed[held["cell"].to_numpy(), held["place"].to_numpy() - start] = held["answers"].to_numpy()
        blocks.append(pl.DataFrame(_test_words(cells, sides[0], observed)))
    # What stands in all answers of a stratum or in none of them, in every stratum, is no word to test.
    table = words.select("word", "answers").hstack(pl.concat(blocks)).filter(pl.col("z").is_not_nan())
    table = table.with_columns(
        pl.when(pl.col("log_odds") > 0).then(pl.lit(sides[0])).otherwise(pl.lit(sides[1])).alias("side"),
        pl.Series("q", benjamini_hochberg(table["p"].to_numpy())),
    )
    order = [pl.col("q"), pl.col("p"), -pl.col("log_odds").abs(), pl.col("word")]
    return table.sort(order).select(pl.col(name).cast(kind) for name, kind in TABLE.items())


def _test_words(cells: pl.DataFrame, first_side: str, observed: Array) -> dict[str, Array]:
    """The columns of some words, by how many answers of each cell hold them: cell, word."""
    total = cells["answers"].to_numpy().astype(np.float64)
    is_first = (cells["side"] == first_side).to_numpy()
    stratum, unit = number_values(cells["stratum"]), number_values(cells["unit"])
    by_side = sum_by_label(np.where([~is_first, is_first], total, 0.0).T, stratum)
    shared = by_side.prod(axis=1) / by_side.sum(axis=1)
    # Both sides get as many answers of each stratum; all answers together weigh as much as before.
    scale = by_side.sum() / (2 * shared.sum())
    weight = scale * shared[stratum] / by_side[stratum, is_first.astype(int)]
    side_total, units = scale * shared.sum(), cells["unit"].n_unique()

    rate = sum_by_label(observed, stratum) / by_side.sum(axis=1)[:, None]
    weighted = observed * weight[:, None]
    first, second = weighted[is_first].sum(axis=0), weighted[~is_first].sum(axis=0)
    signed = np.where(is_first, weight, -weight)[:, None]
    by_unit = sum_by_label(signed * (observed - total[:, None] * rate[stratum]), unit)
    spread = np.sqrt(units / max(units - len(by_side), 1) * (by_unit**2).sum(axis=0))
    z = divide(first - second, spread)

    prior = PRIOR_ANSWERS * (first + second) / (2 * side_total)
    whole = side_total + PRIOR_ANSWERS
    odds = [np.log(held + prior) - np.log(whole - held - prior) for held in (first, second)]
    log_odds = odds[0] - odds[1]
    # The interval is as wide as the test says: it leaves out 0 exactly where z is beyond 1.96.
    level = (first + second + 2 * prior) / 2
    flat = spread * whole / (level * (whole - level))
    error = np.divide(np.abs(log_odds), np.abs(z), out=flat, where=np.abs(z) > 1e-6)
    half_width = float(student_quantile(np.inf, LEVEL)) * error
    return {
        "log_odds": log_odds,
        "low": log_odds - half_width,
        "high": log_odds + half_width,
        "first_share": first / side_total,
        "second_share": second / side_total,
        "z": z,
        "p": normal_p_value(z),
    }
