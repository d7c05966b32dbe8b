"""Words of two sides compared by their counts: log-odds with an informative prior, matched, and tested.

For each word the odds that an answer holds it are compared between the sides, after Monroe, Colaresi and Quinn (2008):
to the answers of each side are added PRIOR_ANSWERS that hold the word as often as all answers do, so that rare words
must show more. Answers are compared within strata (the same template and race), and both sides get the same share of
answers from each: a word of one template is not one of the men only because more answers for men came from it.

Answers for one name share more than chance, so that taking them as independent would find words that are none. The test
adds up, for each name, how far its answers are from those of its stratum, and compares the difference of the sides with
the scatter of these sums, as if the sides were alike (a score test). Shares of false discoveries are by Benjamini and
Hochberg's rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array

PRIOR_ANSWERS = 50
MIN_UNITS = 10
"""A word is tested if the answers for this many names (units) hold it; each side must have as many names."""
VALUES_PER_BLOCK = 2_000_000
"""How many counts are held at a time. It does not change the numbers."""
TABLE = {
    "word": pl.String,
    "side": pl.String,
    "log_odds": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "first_share": pl.Float64,
    "second_share": pl.Float64,
    "answers": pl.Int64,
    "z": pl.Float64,
    "p": pl.Float64,
    "q": pl.Float64,
}
"""A table of words: the `side` that uses it more, by how much the log-odds of the first side are above those of the
second, the shares of their answers that hold it, and `q`, the share of false discoveries among the words up to it."""
CELL = ["unit", "stratum", "side"]
"""The columns that name a cell: the answers for one name, in one stratum, of one side."""


def add_up(tables: list[pl.DataFrame], keys: list[str], column: str) -> pl.DataFrame:
    """The tables as one, with the sum of a column for each combination of the keys."""
    return pl.concat(tables).group_by(keys).agg(pl.col(column).sum())


def compare_counts(cells: pl.DataFrame, counts: pl.DataFrame, sides: tuple[str, str]) -> pl.DataFrame:
    """One row of TABLE for each word that is tested.

    `cells` says how many answers each `unit`, `stratum` and `side` has, `counts` how many of them hold a `word`.
    """
    cells = add_up([cells], CELL, "answers").sort(CELL)
    cells = cells.filter(pl.col("side").n_unique().over("stratum") == 2).with_row_index("cell")
    units = dict(cells.group_by("side").agg(pl.col("unit").n_unique()).iter_rows())
    counts = add_up([counts], [*CELL, "word"], "count").join(cells.select(*CELL, "cell"), on=CELL)
    words = (
        counts.group_by("word")
        .agg(pl.col("unit").n_unique().alias("units"), pl.col("count").sum().alias("answers"))
        .filter(pl.col("units") >= MIN_UNITS, pl.col("answers") < cells["answers"].sum())
        .sort("word")
        .with_row_index("place")
    )
    if min(units.get(side, 0) for side in sides) < MIN_UNITS or words.is_empty():
        return pl.DataFrame(schema=TABLE)
    placed = counts.join(words.select("word", "place"), on="word")
    design = _Design(cells, sides[0])
    tested = pl.concat(
        [
            pl.DataFrame(design.test(placed.filter(pl.col("place").is_between(start, end, closed="left")), start, end))
            for start, end in _blocks(words.height, cells.height)
        ]
    )
    more = pl.when(pl.col("log_odds") > 0).then(pl.lit(sides[0])).otherwise(pl.lit(sides[1])).alias("side")
    # What stands in all answers of a stratum or in none of them, in every stratum, is no word to test.
    table = words.select("word", "answers").hstack(tested).filter(pl.col("z").is_not_nan()).with_columns(more)
    table = table.with_columns(pl.Series("q", _adjust(table["p"].to_numpy())))
    order = [pl.col("q"), pl.col("p"), -pl.col("log_odds").abs(), pl.col("word")]
    return table.sort(order).select(pl.col(name).cast(kind) for name, kind in TABLE.items())


def _blocks(words: int, cells: int) -> Iterator[tuple[int, int]]:
    size = max(1, VALUES_PER_BLOCK // cells)
    for start in range(0, words, size):
        yield start, min(words, start + size)


class _Design:
    """The cells (unit, stratum, side), and what each counts so that both sides have as many answers of each stratum."""

    def __init__(self, cells: pl.DataFrame, first: str) -> None:
        self.total = cells["answers"].to_numpy().astype(np.float64)
        self.is_first = (cells["side"] == first).to_numpy()
        self.stratum, strata = _number(cells["stratum"])
        self.unit, self.units = _number(cells["unit"])
        by_side = np.zeros((strata, 2))
        np.add.at(by_side, (self.stratum, self.is_first.astype(int)), self.total)
        shared = by_side.prod(axis=1) / by_side.sum(axis=1)
        # Scaled, so that all answers together weigh as much as before.
        scale = by_side.sum() / (2 * shared.sum())
        self.in_stratum = by_side.sum(axis=1)
        self.weight = scale * shared[self.stratum] / by_side[self.stratum, self.is_first.astype(int)]
        self.side_total = scale * shared.sum()
        self.correction = self.units / max(self.units - strata, 1)

    def test(self, placed: pl.DataFrame, start: int, end: int) -> Mapping[str, Array]:
        """The columns of some words, of which the counts are given by cell and place."""
        observed = np.zeros((len(self.total), end - start))
        observed[placed["cell"].to_numpy(), placed["place"].to_numpy() - start] = placed["count"].to_numpy()
        rate = _sum_rows(observed, self.stratum, len(self.in_stratum)) / self.in_stratum[:, None]
        weighted = observed * self.weight[:, None]
        first, second = weighted[self.is_first].sum(axis=0), weighted[~self.is_first].sum(axis=0)
        signed = np.where(self.is_first, self.weight, -self.weight)[:, None]
        by_unit = _sum_rows(signed * (observed - self.total[:, None] * rate[self.stratum]), self.unit, self.units)
        spread = np.sqrt(self.correction * (by_unit**2).sum(axis=0))
        z = np.divide(first - second, spread, out=np.full_like(spread, np.nan), where=spread > 0)
        prior = PRIOR_ANSWERS * (first + second) / (2 * self.side_total)
        whole = self.side_total + PRIOR_ANSWERS
        log_odds = _logit(first + prior, whole) - _logit(second + prior, whole)
        # The interval is as wide as the test says: it leaves out 0 exactly where z is beyond 1.96.
        level = (first + second + 2 * prior) / 2
        flat = spread * whole / (level * (whole - level))
        error = np.divide(np.abs(log_odds), np.abs(z), out=flat, where=np.abs(z) > 1e-6)
        return {
            "log_odds": log_odds,
            "low": log_odds - 1.959964 * error,
            "high": log_odds + 1.959964 * error,
            "first_share": first / self.side_total,
            "second_share": second / self.side_total,
            "z": z,
            "p": np.array([math.erfc(abs(value) / math.sqrt(2)) for value in z]),
        }


def _number(values: pl.Series) -> tuple[NDArray[np.int64], int]:
    """The values as numbers from 0, and how many there are."""
    numbers = (values.rank("dense") - 1).cast(pl.Int64).to_numpy()
    return numbers, int(numbers.max()) + 1


def _sum_rows(values: Array, group: NDArray[np.int64], groups: int) -> Array:
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(groups))
    result: Array = np.add.reduceat(values[order], starts, axis=0)
    return result


def _logit(part: Array, whole: float) -> Array:
    result: Array = np.log(part) - np.log(whole - part)
    return result


def _adjust(p: Array) -> Array:
    """Benjamini and Hochberg's adjusted p-values: at most this share of the words up to here are false discoveries."""
    order = np.argsort(p)[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1.0)
