"""Who is selected: rates and impact ratios by category, and what a fair model of the same size would show.

Applicants and selected are counted by category in matched sets, whose applicants differ in nothing else; equal sets are
one row with a weight. A set lies inside an item, or spans several items. The counts of the first kind are folded into
weights as soon as the item is there; those of the second stay by set, until all items are there.

The impact ratio of a category is its selection rate over the highest one. The lowest of several is below 1 for a fair
model, too, and the more so the fewer are selected: so it stands beside what a fair model shows, which selects all
categories at one rate. How far rates then scatter together follows from the influences of the sets, as everywhere. All
of this is about these names: a model that likes some names better than others, whatever their gender, can differ
between categories by the names that stand for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_type_hints

import numpy as np
import polars as pl

from equipoise.authoring import LABEL, Array, Grouping, Parameters, Probe, share
from equipoise.measuring.calling import running
from equipoise.measuring.scatter import Spread, draw_normal
from equipoise.measuring.summarise import WEIGHT, with_reading
from equipoise.schema import ITEM, without_nan

CATEGORY, APPLICANTS, SELECTED = "category", "applicants", "selected"
CATEGORIES = "categories"
SET = (CATEGORIES, APPLICANTS, SELECTED)
"""The columns of a matched set, each a list."""
FOUR_FIFTHS = 0.8
"""Below this impact ratio, 29 CFR 1607.4 D takes a selection rate as evidence of adverse impact."""
SIGNIFICANCE = 0.05
"""An impact ratio is called unfair only if a fair model of the same size would look as bad no more often than this."""


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
        table = {"by": self.by, "fair": self.fair, "fair_low": self.fair_low, "unfair": self.unfair}
        return {**without_nan(table), "categories": [without_nan(asdict(row)) for row in self.rows]}


def tabulate_selection(probe: str, tables: Iterable[SelectionTable]) -> pl.DataFrame:
    """All tables of a probe as one: one row per category."""
    columns = {"probe": str, "by": str, **get_type_hints(SelectionRow), "fair": float, "fair_low": float}
    rows = [
        {"probe": probe, "by": table.by, **asdict(row), "fair": table.fair, "fair_low": table.fair_low}
        for table in tables
        for row in table.rows
    ]
    return pl.DataFrame(rows, schema=columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def make_table(by: str, counts: pl.DataFrame) -> SelectionTable:
    """The table of one way of grouping, by matched sets with their weights."""
    members = counts.with_row_index("set").explode(CATEGORIES, APPLICANTS, SELECTED)
    categories = members[CATEGORIES].unique().sort()
    places = members[CATEGORIES].replace_strict(categories, range(len(categories)), return_dtype=pl.Int64)
    sets, weight = np.zeros((2, counts.height, len(categories))), counts[WEIGHT].to_numpy().astype(np.float64)
    sets[:, members["set"].to_numpy(), places.to_numpy()] = members.select(APPLICANTS, SELECTED).to_numpy().T
    applicants, selected = weight @ sets
    rates = selected / applicants
    best = int(np.argmax(rates))
    ratios = share(rates, np.broadcast_to(rates[best], rates.shape))
    reaches = _ratio_reaches(sets, weight, best)
    fair = _draw_fair(sets, weight)
    as_low = [(1 + (fair <= ratio + 1e-9).sum()) / (1 + len(fair)) for ratio in ratios]
    columns = {
        "category": categories,
        "applicants": applicants.astype(np.int64),
        "selected": selected.astype(np.int64),
        "rate": rates,
        "impact_ratio": ratios,
        "low": ratios / reaches,
        "high": ratios * reaches,
        "p": as_low if rates[best] > 0 else [math.nan] * len(rates),
    }
    return SelectionTable(
        by=by,
        rows=tuple(SelectionRow(**row) for row in pl.DataFrame(columns).iter_rows(named=True)),
        fair=float(fair.mean()) if len(fair) else math.nan,
        fair_low=float(np.quantile(fair, SIGNIFICANCE)) if len(fair) else math.nan,
    )


def _ratio_reaches(sets: Array, weight: Array, best: int) -> Array:
    """How many times as high as the ratio of rates, and as low, its interval reaches: exp(1.96 se) of its logarithm.

    The influence of a set on the logarithm of a rate r is (selected - r applicants) / (r Σ applicants), with half a yes
    and half a no more in each category. A ratio has the difference of two of them.
    """
    applicants, selected = weight @ sets
    whole = applicants + 1
    rates = (selected + 0.5) / whole
    z = (sets[1] - rates * sets[0]) / (rates * whole)
    # The pseudo-applicants of both categories, whose outcome is unknown.
    unknown = ((1 - rates) ** 2 + rates**2) / 2 / (rates * whole) ** 2
    variance = weight @ (z - z[:, best : best + 1]) ** 2
    variance += np.where(np.arange(len(rates)) == best, 0.0, unknown + unknown[best])
    number = max(weight.sum(), 2.0)
    return np.asarray(np.exp(1.959964 * np.sqrt(variance * number / (number - 1))))


def _draw_fair(sets: Array, weight: Array) -> Array:
    """The lowest impact ratios of fair models: their rates are that of all, and scatter by what each set adds to them.

    A set adds z = (selected - r applicants) / Σ applicants to the rate of each category, with r the rate of all.
    """
    applicants, selected = weight @ sets
    rate = selected.sum() / applicants.sum()
    number = weight.sum()
    z = np.sqrt(number / max(number - 1, 1.0)) * (sets[1] - rate * sets[0]) / applicants
    rates = np.maximum(rate + draw_normal(Spread(z, weight).covariance()), 0.0)
    ratios = share(rates.min(axis=1), rates.max(axis=1))
    return ratios[~np.isnan(ratios)]


def count_selections(probe: Probe, answers: pl.DataFrame, parameters: Parameters) -> dict[Grouping, pl.DataFrame]:
    """For each grouping the matched sets in some answers, which hold whole items.

    Of sets inside an item, equal ones are one row with a weight; of sets that span items there is a row per category.
    There are none if the probe selects nobody; or by probabilities, where a label is only the most probable one: a
    second rate that counts labels would contradict the first.
    """
    selection = probe.selection
    if selection is None or (probe.detector.by_probability and not selection.scored):
        return {}
    with running(probe, "selection"):
        detected, is_selected = answers.filter(probe.detector.detected()), selection.selected
        if selection.applicants:
            applicants = selection.applicants(detected)
        else:
            given = with_reading(probe, parameters)
            chosen = is_selected(given) if callable(is_selected) else pl.col(LABEL) == is_selected
            applicants = detected.with_columns(chosen.cast(pl.Int64).alias(SELECTED))
        counted = {}
        for grouping in selection.by:
            category = pl.concat_str([pl.col(name).cast(pl.String) for name in grouping.columns], separator=" ")
            counts = (pl.len().cast(pl.Int64).alias(APPLICANTS), pl.col(SELECTED).sum())
            sets = applicants.group_by(*grouping.matched, category.alias(CATEGORY)).agg(counts)
            counted[grouping] = _fold_sets(sets, grouping) if ITEM in grouping.matched else sets
        return counted


def fold_selections(probe: Probe, parts: Sequence[Mapping[Grouping, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """The sets of each grouping in all parts, equal ones as one row with a weight, in an order of their own."""
    folded = {}
    for grouping in parts[0]:
        sets = pl.concat([part[grouping] for part in parts])
        if ITEM not in grouping.matched:
            added = sets.group_by(*grouping.matched, CATEGORY).agg(pl.col(APPLICANTS, SELECTED).sum())
            sets = _fold_sets(added, grouping)
        if probe.selection and probe.selection.scored:
            sets = _select_above_median(sets)
        texts = [pl.col(name).cast(pl.List(pl.String)).list.join(",") for name in SET]
        folded[grouping.name] = sets.group_by(SET).agg(pl.col(WEIGHT).sum()).sort(texts)
    return folded


def _fold_sets(sets: pl.DataFrame, grouping: Grouping) -> pl.DataFrame:
    """Equal sets as one row with a weight."""
    contents = sets.sort(CATEGORY).group_by(grouping.matched, maintain_order=True)
    lists = contents.agg(pl.col(CATEGORY).alias(CATEGORIES), APPLICANTS, SELECTED)
    return lists.group_by(SET).agg(pl.len().cast(pl.Int64).alias(WEIGHT))


def _select_above_median(scores: pl.DataFrame) -> pl.DataFrame:
    """Counts of which `selected` holds scores, with 1 for each score above the median of all instead, else 0."""
    ordered = scores.select(SELECTED, WEIGHT).explode(SELECTED).sort(SELECTED)
    if ordered.is_empty():
        return scores.with_columns(pl.col(SELECTED).cast(pl.List(pl.Int64)))
    is_half = 2 * pl.col(WEIGHT).cum_sum() >= pl.col(WEIGHT).sum()
    median = ordered.filter(is_half)[SELECTED][0]
    return scores.with_columns(pl.col(SELECTED).list.eval((pl.element() > median).cast(pl.Int64)))
