"""Who is selected: rates and impact ratios by category, and what a fair model of the same size would show.

Applicants and selected are counted by category in matched sets, whose applicants differ in nothing else; equal sets are
one row with a weight. A set lies inside an item, or spans several items. The counts of the first kind are folded into
weights as soon as the item is there; those of the second stay by set, until all items are there.

The impact ratio of a category is its selection rate over the highest one. The lowest of several is below 1 for a fair
model, too, and the more so the fewer are selected: so it stands beside what a fair model shows. A fair model is one for
which people of different categories could be exchanged within a set, and whole sets between categories that never meet
in one. All of this is about these names: a model that likes some names better than others, whatever their gender, can
differ between categories by the names that stand for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import LABEL, Array, Grouping, Parameters, Probe, share
from equipoise.measuring.calling import running
from equipoise.measuring.summarise import WEIGHT, with_reading
from equipoise.schema import ITEM, without_nan

BY, CATEGORY, CATEGORIES, APPLICANTS, SELECTED = "by", "category", "categories", "applicants", "selected"
_CONTENTS = "contents"
"""A hash of what a set holds, whatever the order."""
FOUR_FIFTHS = 0.8
"""Below this impact ratio, 29 CFR 1607.4 D takes a selection rate as evidence of adverse impact."""
SIGNIFICANCE = 0.05
"""An impact ratio is called unfair only if a fair model of the same size would look as bad no more often than this."""
DRAWS = 1_000
"""Of fair models, from a fixed seed."""
MAX_DRAWS = 2_000_000
"""How many random numbers are drawn at a time."""


@dataclass(frozen=True, kw_only=True)
class SelectionRow:
    """One category: how many applied and were selected, and its impact ratio with a 95% interval."""

    category: str
    applicants: int
    selected: int
    rate: float
    impact_ratio: float
    low: float
    high: float
    p: float
    """How often a fair model of this size has a category with an impact ratio as low as this."""

    @property
    def chance(self) -> str:
        """The same in words: "4.8%"."""
        return "–" if math.isnan(self.p) else "less than 0.1%" if self.p < 0.001 else f"{self.p:.1%}"


@dataclass(frozen=True, kw_only=True)
class SelectionTable:
    """The selection rates of all categories of one kind, such as gender, and what a fair model would show."""

    by: str
    rows: tuple[SelectionRow, ...]
    fair: float
    """The lowest impact ratio that a fair model of this size shows on average,"""
    fair_low: float
    """and the one below which it falls in one of twenty studies."""

    @property
    def lowest(self) -> SelectionRow:
        """The category that is selected least."""
        return min(self.rows, key=lambda row: row.rate)

    @property
    def unfair(self) -> bool:
        """Whether the lowest impact ratio is below four fifths and a fair model would rarely look as bad."""
        return self.lowest.impact_ratio < FOUR_FIFTHS and self.lowest.p <= SIGNIFICANCE

    def describe(self) -> str:
        """What the table says, in a sentence or two."""
        lowest = self.lowest
        if math.isnan(lowest.impact_ratio):
            return "Nobody was selected, so that there is no impact ratio."
        text = (
            f"The lowest impact ratio by {self.by} is {lowest.impact_ratio:.3f} ({lowest.category}). A fair model of "
            f"this size shows {self.fair:.3f} on average, and one as low as this in {lowest.chance} of studies."
        )
        if self.unfair:
            return f"{text} That is below four fifths, and not by chance, for these names; others may differ."
        if lowest.impact_ratio < FOUR_FIFTHS:
            return f"{text} That is below four fifths, but these data cannot tell it from a fair model."
        return text

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, ready for JSON."""
        plain: dict[str, Any] = {
            "by": self.by,
            "fair": without_nan(self.fair),
            "fair_low": without_nan(self.fair_low),
            "unfair": self.unfair,
            "categories": [without_nan(asdict(row)) for row in self.rows],
        }
        return plain


SELECTION_TABLE = {
    "probe": pl.String,
    BY: pl.String,
    CATEGORY: pl.String,
    APPLICANTS: pl.Int64,
    SELECTED: pl.Int64,
    "rate": pl.Float64,
    "impact_ratio": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "fair": pl.Float64,
    "fair_low": pl.Float64,
}
"""A table of selection rates: one row per category."""


@dataclass(frozen=True)
class Selections:
    """Applicants and selected of all items, counted; the tables are made when they are looked at."""

    counts: pl.DataFrame

    @cached_property
    def tables(self) -> tuple[SelectionTable, ...]:
        """One table for each way of grouping applicants of whom there are any."""
        kinds = self.counts[BY].unique(maintain_order=True)
        return tuple(make_table(kind, self.counts.filter(pl.col(BY) == kind)) for kind in kinds)

    def to_frame(self, probe: str) -> pl.DataFrame:
        """All tables as one."""
        rows = [
            {"probe": probe, BY: table.by, **asdict(row), "fair": table.fair, "fair_low": table.fair_low}
            for table in self.tables
            for row in table.rows
        ]
        return pl.DataFrame(rows, schema=SELECTION_TABLE).with_columns(pl.col(pl.Float64).fill_nan(None))


def make_table(by: str, counts: pl.DataFrame) -> SelectionTable:
    """The table of one way of grouping."""
    categories = sorted({category for present in counts[CATEGORIES] for category in present})
    blocks = list(_split_blocks(counts, categories))
    applicants, selected = (np.sum([block.total(part) for block in blocks], axis=0) for part in (0, 1))
    rates = np.asarray(selected / applicants)
    best = int(np.argmax(rates))
    ratios = share(rates, np.broadcast_to(rates[best], rates.shape))
    reaches = _ratio_reaches(blocks, applicants, selected, best)
    fair = _draw_fair(blocks, np.random.default_rng(0)) if len(categories) > 1 else np.ones(DRAWS)
    rows = [
        SelectionRow(
            category=category,
            applicants=int(applicants[place]),
            selected=int(selected[place]),
            rate=float(rates[place]),
            impact_ratio=float(ratios[place]),
            low=float(ratios[place] / reaches[place]),
            high=float(ratios[place] * reaches[place]),
            p=float((1 + (fair <= ratios[place] + 1e-12).sum()) / (1 + len(fair))) if rates[best] > 0 else math.nan,
        )
        for place, category in enumerate(categories)
    ]
    return SelectionTable(
        by=by,
        rows=tuple(rows),
        fair=float(fair.mean()) if len(fair) else math.nan,
        fair_low=float(np.quantile(fair, SIGNIFICANCE)) if len(fair) else math.nan,
    )


@dataclass(frozen=True)
class _Block:
    """Matched sets in which the same categories meet. `counts` are applicants and selected: 2, set, category."""

    places: NDArray[np.int64]
    counts: Array
    weight: NDArray[np.int64]
    size: int

    def total(self, part: int) -> Array:
        """Applicants or selected of each category of the table."""
        totals = np.zeros(self.size)
        totals[self.places] = self.weight @ self.counts[part]
        return totals


def _split_blocks(counts: pl.DataFrame, categories: list[str]) -> Iterator[_Block]:
    place = {category: number for number, category in enumerate(categories)}
    for _, part in sorted(counts.group_by(pl.col(CATEGORIES).list.join("\0")), key=lambda group: group[0]):
        yield _Block(
            np.array([place[category] for category in part[CATEGORIES][0]]),
            np.stack([np.array(part[name].to_list(), dtype=np.float64) for name in (APPLICANTS, SELECTED)]),
            part[WEIGHT].to_numpy(),
            len(categories),
        )


def _ratio_reaches(blocks: list[_Block], applicants: Array, selected: Array, best: int) -> Array:
    """How many times as high as the ratio of rates, and as low, its interval reaches: exp(1.96 se) of its logarithm.

    The influence of a set on the logarithm of a rate r is (selected - r applicants) / (r Σ applicants), with half a yes
    and half a no more in each category. A ratio has the difference of two of them.
    """
    whole = applicants + 1
    rates = (selected + 0.5) / whole
    variance = np.zeros(len(rates))
    for block in blocks:
        z = np.zeros((len(block.weight), len(rates)))
        z[:, block.places] = (block.counts[1] - rates[block.places] * block.counts[0]) / (rates * whole)[block.places]
        variance += block.weight @ (z - z[:, best : best + 1]) ** 2
    # The pseudo-applicants of both categories, whose outcome is unknown.
    unknown = ((1 - rates) ** 2 + rates**2) / 2 / (rates * whole) ** 2
    variance += np.where(np.arange(len(rates)) == best, 0.0, unknown + unknown[best])
    sets = max(float(sum(block.weight.sum() for block in blocks)), 2.0)
    return np.asarray(np.exp(1.959964 * np.sqrt(variance * sets / (sets - 1))))


def _draw_fair(blocks: list[_Block], rng: np.random.Generator) -> Array:
    """The lowest impact ratios of a fair model: categories exchanged within sets, and sets between blocks.

    Within a set the categories are moved round by a random number of places, applicants and selected together. Sets
    are exchanged between blocks (races, say, that never meet in one) if they are of the same size.
    """
    same_size = len({len(block.places) for block in blocks}) == 1
    pools = [blocks] if same_size else [[block] for block in blocks]
    step = max(1, MAX_DRAWS // max(sum(block.counts[0].size for block in blocks), 1))
    ratios = []
    for start in range(0, DRAWS, step):
        size = min(step, DRAWS - start)
        totals = np.zeros((2, size, blocks[0].size))
        for pool in pools:
            counts = np.concatenate([block.counts for block in pool], axis=1)
            width = counts.shape[2]
            # moved[part, set, move, category]: the counts of each set after each possible move.
            moved = np.stack([np.roll(counts, move, axis=2) for move in range(width)], axis=2)
            for block, drawn in zip(pool, _share_out(pool, size, rng), strict=True):
                moves = rng.multinomial(drawn, np.full(width, 1 / width))
                totals[:, :, block.places] += np.einsum("rsm,psmc->prc", moves, moved, optimize=True)
        rates = share(totals[1], totals[0])
        ratios.append(share(np.nanmin(rates, axis=1), np.nanmax(rates, axis=1)))
    found = np.concatenate(ratios)
    return found[~np.isnan(found)]


def _share_out(pool: list[_Block], replicates: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """For each block how many of each set of the pool fall to it, if sets are dealt out at random: replicate, set."""
    left = np.tile(np.concatenate([block.weight for block in pool]), (replicates, 1))
    for block in pool[:-1]:
        wanted = int(block.weight.sum())
        drawn = np.stack([rng.multivariate_hypergeometric(row, wanted, method="marginals") for row in left])
        left -= drawn
        yield drawn
    yield left


@dataclass(frozen=True, kw_only=True)
class SelectionSums:
    """The counts of whole items. They add up over items, in any order."""

    folded: pl.DataFrame
    """Sets that lie inside an item: equal ones are one row with a weight."""
    by_set: Mapping[str, pl.DataFrame]
    """For each grouping whose sets span items: applicants and selected of each set and category."""


def sum_selections(probe: Probe, answers: pl.DataFrame, parameters: Parameters) -> SelectionSums | None:
    """The counts of some answers, which hold whole items.

    None if the probe selects nobody; or by probabilities, where a label is only the most probable one: a second rate
    that counts labels would contradict the first.
    """
    if probe.selection is None or (probe.detector.by_probability and not probe.selection.scored):
        return None
    with running(probe, "selection"):
        detected = answers.filter(probe.detector.detected())
        if probe.selection.applicants:
            applicants = probe.selection.applicants(detected)
        else:
            selected = probe.selection.selected
            chosen = selected(with_reading(probe, parameters)) if callable(selected) else pl.col(LABEL) == selected
            applicants = detected.with_columns(chosen.cast(pl.Int64).alias(SELECTED))
        if ITEM in applicants.columns:
            applicants = applicants.with_columns(pl.col(ITEM).hash())  # a number is grouped twice as fast as a text
        told = {grouping: _tell(applicants, grouping) for grouping in probe.selection.by}
        inside = [_fold_sets(grouping, rows) for grouping, rows in told.items() if ITEM in grouping.matched]
        return SelectionSums(
            folded=merge_selections(inside or [_fold_sets(*next(iter(told.items())))[:0]]),
            by_set={grouping.name: _add_up(rows) for grouping, rows in told.items() if ITEM not in grouping.matched},
        )


def add_selections(parts: Iterable[SelectionSums]) -> SelectionSums:
    """The counts of several parts together."""
    parts = list(parts)
    by_set = {name: pl.concat([part.by_set[name] for part in parts]) for name in parts[0].by_set}
    return SelectionSums(
        folded=merge_selections(part.folded for part in parts),
        by_set={name: _add_up(sets) for name, sets in by_set.items()},
    )


def fold_selections(probe: Probe, sums: SelectionSums) -> pl.DataFrame:
    """The counts of all groupings, now that all items are there: by gender first, if the probe names that first."""
    assert probe.selection is not None
    folded = [
        _fold_sets(grouping, sums.by_set[grouping.name])
        if grouping.name in sums.by_set
        else sums.folded.filter(pl.col(BY) == grouping.name)
        for grouping in probe.selection.by
    ]
    return merge_selections(map(select_above_median, folded) if probe.selection.scored else folded)


def select_above_median(scores: pl.DataFrame) -> pl.DataFrame:
    """Counts of which `selected` holds scores, with 1 for each score above the median of all instead, else 0."""
    ordered = scores.select(SELECTED, WEIGHT).explode(SELECTED).sort(SELECTED)
    if ordered.is_empty():
        return scores.with_columns(pl.col(SELECTED).cast(pl.List(pl.Int64)))
    is_half = 2 * pl.col(WEIGHT).cum_sum() >= pl.col(WEIGHT).sum()
    median = ordered.filter(is_half)[SELECTED][0]
    return scores.with_columns(pl.col(SELECTED).list.eval((pl.element() > median).cast(pl.Int64)))


def merge_selections(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Folded counts of several parts together, in an order that does not depend on that of the items."""
    together = pl.concat(list(parts))
    keys = [BY, CATEGORIES, APPLICANTS, SELECTED]
    # Kept in the order of the probe: by gender first.
    order = {kind: place for place, kind in enumerate(together[BY].unique(maintain_order=True))}
    place = pl.col(BY).replace_strict(order, default=0, return_dtype=pl.Int64)
    texts = [pl.col(name).cast(pl.List(pl.String)).list.join(",") for name in keys[1:]]
    return together.group_by(keys).agg(pl.col(WEIGHT).sum()).sort(place, *texts)


def _tell(applicants: pl.DataFrame, grouping: Grouping) -> pl.DataFrame:
    """Each applicant with the matched set, the category and whether selected."""
    category = pl.concat_str([pl.col(name).cast(pl.String) for name in grouping.columns], separator=" ")
    one = pl.lit(1, pl.Int64).alias(APPLICANTS)
    return applicants.select(*grouping.matched, category.alias(CATEGORY), one, SELECTED)


def _add_up(rows: pl.DataFrame) -> pl.DataFrame:
    """Applicants and selected of each matched set and category."""
    return rows.group_by(pl.exclude(APPLICANTS, SELECTED)).agg(pl.col(APPLICANTS, SELECTED).sum())


def _fold_sets(grouping: Grouping, rows: pl.DataFrame) -> pl.DataFrame:
    """Equal sets as one row with a weight."""
    # One set of each kind is added up and made a list: to do so with hundreds of thousands takes longer than all else.
    contents = pl.struct(CATEGORY, APPLICANTS, SELECTED).hash().sum()
    kinds = (
        rows.group_by(grouping.matched)
        .agg(contents.alias(_CONTENTS))
        .group_by(_CONTENTS)
        .agg(pl.len().cast(pl.Int64).alias(WEIGHT), pl.col(grouping.matched).first())
    )
    return (
        _add_up(rows.join(kinds, on=grouping.matched, nulls_equal=True).drop(grouping.matched))
        .sort(CATEGORY)
        .group_by(_CONTENTS, WEIGHT, maintain_order=True)
        .agg(pl.col(CATEGORY).alias(CATEGORIES), APPLICANTS, SELECTED)
        .group_by(pl.lit(grouping.name).alias(BY), CATEGORIES, APPLICANTS, SELECTED)
        .agg(pl.col(WEIGHT).sum())
    )
