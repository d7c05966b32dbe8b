"""What missing answers leave open: the smallest and the largest value that a metric could have.

Every missing answer could have gone any way. L is the metric of the table in which each went the way
that makes the metric smallest, U that of the table in which each made it largest (Horowitz and Manski
2000). A rate, a difference, a mean of rates and a free slope are linear in each answer once all are
filled in, so each goes the way of its influence, and L and U are exact. The bounds of a slope are those
of the free slope or of the limited one, whichever reach farther. For metrics of other kinds it is a
search. A missing number is taken to be within a declared distance of every other number of its item,
and a missing answer that would have been counted in words to have a declared number of them, all on
one side; or more, if the answers that were read go farther.

L and U are estimates, too: their intervals are found like that of the value, on the filled tables.
[lower end for L, upper end for U] covers all values between the true bounds with probability 0.95 or more.
(Imbens and Manski's shorter interval, 1.645 instead of 1.96 standard errors where much is missing,
would get shorter as more answers are deleted.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from equipoise.authoring import Array, Metric, Parameters, Probe
from equipoise.measuring.cells import (
    CellTable,
    Places,
    labels_of_repetitions,
    lacks_answers,
    prepare_cells,
)
from equipoise.measuring.contrasts import Contrast, contrasts_of_value, subtract
from equipoise.measuring.estimates import (
    Linearised,
    differentiate_metrics,
    find_errors,
    gaps_to_largest,
    has_enough,
    linearise,
    upper_ends,
)
from equipoise.measuring.outcomes import MISSING, filled_outcomes, ways_of_missing
from equipoise.measuring.summarise import WEIGHT, is_answered, stack_columns
from equipoise.schema import Bounds, MetricKey
from equipoise.stats.bounds import extreme_fill
from equipoise.stats.contrasts import count_candidates
from equipoise.stats.intervals import LEVEL, fold
from equipoise.stats.variance import Labels

ROUNDS = 2
"""Rounds of the search for the extreme fill: one is enough where a metric is linear in the answers."""
DOWN, UP = -1.0, 1.0
UNKNOWN = Bounds(low=-np.inf, smallest=-np.inf, largest=np.inf, high=np.inf)
"""Nothing is known of how far missing answers could move a metric."""


@dataclass(frozen=True)
class MissingAnswers:
    """Cells of all planned items, and how their columns change with what missing answers would say."""

    cells: CellTable
    """The cells, with the missing answers left out."""
    base: Array
    """The columns if all missing answers went the first way: cell, column."""
    changes: Array
    """How the columns change if those of an arm go another way: arm, way, cell, column; 0 for the first way."""
    missing: Array
    """How many answers are missing: arm, cell."""
    ways: Sequence[str]
    """The ways in which a missing answer could have gone."""

    def take(self, places: Places) -> MissingAnswers:
        """Some of the cells, in this order."""
        return replace(
            self,
            cells=self.cells.take(places),
            base=self.base[places],
            changes=self.changes[:, :, places],
            missing=self.missing[:, places],
        )

    def fill(self, contrast: Contrast, side: float) -> CellTable:
        """The cells with each missing answer filled in so that a contrast is smallest or largest."""
        columns = self.base + self.changes.mean(axis=1).sum(axis=0)
        weight = self.cells.weight.astype(np.float64)
        for _ in range(ROUNDS):
            _, gradients = differentiate_metrics(self.cells, weight @ columns)
            gradient = subtract(gradients, [contrast])[:, 0]
            columns, ways = extreme_fill(self.base, self.changes, side * np.nan_to_num(gradient))
        return replace(
            self.cells,
            columns=columns,
            # `whole` stays: an answer that is filled in was not seen.
            decided=self.cells.decided | (self.missing.sum(axis=0) > 0),
            label_counts=self._fill_counts(ways),
        )

    def _fill_counts(self, ways: Labels) -> Array:
        """How often the answers had each label, with the missing ones: they go to the labels in their order."""
        counts = self.cells.label_counts.copy()
        rows = np.arange(counts.shape[2])
        labels = labels_of_repetitions(self.cells.probe)
        numbers = [labels.index(way) for way in self.ways] if labels else []
        for arm in range(len(counts)):
            chosen = np.array(numbers)[ways[arm]]
            counts[arm, chosen, rows] += self.missing[arm]
        return counts


def find_missing(
    probe: Probe, table: pl.DataFrame, parameters: Parameters, *, by_every_label: bool = False
) -> MissingAnswers | None:
    """The missing answers of the cells of all planned items; None if nothing is missing.

    The ends of the scale that a detector declares bound the marked metrics. Others may rest on any
    label: `by_every_label` lets a missing answer have each of them.
    """
    names = [f"{prefix}{MISSING}" for prefix in probe.prefixes]
    missing = table.select(names).to_numpy().T.astype(np.float64)
    filling = probe
    if by_every_label and probe.detector.labels:
        filling = replace(probe, detector=replace(probe.detector, opposites=()))
    ways = ways_of_missing(filling)
    if not missing.any() or not ways:
        return None
    base, *others = stack_columns(probe, [*filled_outcomes(filling, table)], parameters)
    changes = (np.array(others) - base).reshape(len(probe.prefixes), -1, *base.shape)
    first_way = np.zeros_like(changes[:, :1])
    return MissingAnswers(
        cells=prepare_cells(probe, table, parameters),
        base=base,
        changes=np.concatenate([first_way, changes], axis=1),
        missing=missing,
        ways=ways,
    )


def bound_metrics(
    probe: Probe,
    table: pl.DataFrame,
    parameters: Parameters,
    level: float = LEVEL,
    share_asked: float = 0.0,
) -> dict[str, Bounds]:
    """For each marked metric, and for its distance from even-handed, what missing answers could make of it.

    `table` has the cells of all planned items. There are no bounds if nothing is missing.
    """
    answers = find_missing(probe, table, parameters)
    if answers is None:
        return {}
    bounds = {}
    for metric in probe.metrics:
        if metric.bands is None:
            continue
        bound = bound_metric(answers, metric, level, share_asked)
        if bound is not None:
            bounds[metric.name] = bound
    for metric in probe.metrics:
        if metric.distance_of and metric.distance_of[0] in bounds:
            base, centre = metric.distance_of
            bounds[metric.name] = _fold_around(bounds[base], centre)
    return bounds


def bound_keys(
    probe: Probe,
    table: pl.DataFrame,
    parameters: Parameters,
    keys: Iterable[MetricKey],
    level: float = LEVEL,
    population: int | None = None,
) -> dict[MetricKey, Bounds]:
    """The bounds of any metrics, over all items or for groups of slices, that lack answers.

    `table` has the cells of all planned items, `population` counts the items if they are
    asked several times. What cannot be bounded is UNKNOWN.
    """
    metrics = {metric.name: metric for metric in probe.all_metrics()}
    marked = find_missing(probe, table, parameters)
    unmarked = None
    if _is_filled_in_full(probe):
        unmarked = find_missing(probe, table, parameters, by_every_label=True)
    lacks = table.select(lacks_answers(probe)).to_series().to_numpy()
    bounds = {}
    for key in keys:
        places = _find_members(table, key)
        if not lacks[places].any():
            continue
        metric = metrics[key.metric]
        base = metric
        if metric.distance_of:
            base = metrics[metric.distance_of[0]]
        answers = unmarked if base.bands is None else marked
        bound = UNKNOWN
        if answers is not None:
            share_asked = _find_share_asked(probe, table, places, population)
            bound = _bound_if_exact(answers.take(places), base, level, share_asked)
        if metric.distance_of and bound != UNKNOWN:
            bound = _fold_around(bound, metric.distance_of[1])
        bounds[key] = bound
    return bounds


def _bound_if_exact(
    answers: MissingAnswers,
    metric: Metric,
    level: float,
    share_asked: float,
) -> Bounds:
    """The bounds of a metric; UNKNOWN if the search for its extreme fills is known to fail."""
    bound = bound_metric(answers, metric, level, share_asked)
    if bound is None or _is_interaction(answers, metric):
        return UNKNOWN
    if not _holds_value(bound, answers, metric):
        return UNKNOWN
    return bound


def _is_interaction(answers: MissingAnswers, metric: Metric) -> bool:
    """Whether what a missing answer adds depends on another one: together they flip a case."""
    answers_per_item = answers.missing.sum(axis=0)
    return bool(metric.of_pairs and (answers_per_item > 1).any())


def _holds_value(bound: Bounds, answers: MissingAnswers, metric: Metric) -> bool:
    """Whether bounds hold the value on the answers that are there.

    A search for the extreme fill may miss both ends where a metric has a kink, such as the lower
    over the higher of two rates. What misses the value is no bound.
    """
    linearised = linearise(answers.cells)
    value = linearised.values[linearised.place(metric.name)]
    if np.isnan(value):
        return True
    return bool(bound.smallest - 1e-9 <= value <= bound.largest + 1e-9)


def _is_filled_in_full(probe: Probe) -> bool:
    """Whether a missing answer is filled in with all that any metric could rest on.

    Missing words go to one side of each pair of opposites. What they would have been otherwise, such
    as a word that was skipped, is not filled in.
    """
    opposites = {name for pair in probe.detector.opposites for name in pair}
    return {*probe.detector.counts} <= opposites


def _find_members(table: pl.DataFrame, key: MetricKey) -> Places:
    """The rows of a group of a slice, or all."""
    if key.slice is None:
        return np.arange(table.height)
    belongs = [value is not None and str(value) == key.group for value in table[key.slice]]
    return np.flatnonzero(belongs)


def _find_share_asked(
    probe: Probe,
    table: pl.DataFrame,
    places: Places,
    population: int | None,
) -> float:
    """The share of the items of a group that has answers; 0 where the population is unknown.

    A group has as large a part in the population as in the plan.
    """
    if not population:
        return 0.0
    weight = table[WEIGHT].to_numpy()
    answered = weight * table.select(is_answered(probe)).to_series().to_numpy()
    planned_share = weight[places].sum() / weight.sum()
    return min(1.0, float(answered[places].sum() / (population * planned_share)))


def _fold_around(bounds: Bounds, centre: float) -> Bounds:
    """The bounds of the distance of a metric from a centre."""
    low, high = fold(bounds.low - centre, bounds.high - centre)
    smallest, largest = fold(bounds.smallest - centre, bounds.largest - centre)
    return Bounds(low=low, high=high, smallest=smallest, largest=largest)


def bound_metric(
    answers: MissingAnswers, metric: Metric, level: float = LEVEL, share_asked: float = 0.0
) -> Bounds | None:
    """The bounds of one metric; None if it is not computable."""
    names = [each.name for each in answers.cells.probe.all_metrics()]
    extremes = _Extremes.find(answers, contrasts_of_value(metric, names))
    ends = np.array([-np.inf, *extremes.values(), np.inf])
    if extremes.have_enough(metric):
        low, high = extremes.interval(level, 0.0 if metric.of_pairs else share_asked)
        ends[0] = min(low, ends[1])
        ends[3] = max(high, ends[2])
    if np.isnan(ends).any():
        return None
    low, smallest, largest, high = np.clip(ends, *metric.domain).tolist()
    return Bounds(low=low, high=high, smallest=smallest, largest=largest)


@dataclass(frozen=True)
class _Extremes:
    """Some contrasts whose largest is a metric, each as small and as large as missing answers can make it."""

    contrasts: Sequence[Contrast]
    at_largest: dict[Contrast, tuple[CellTable, Linearised]]
    """The filled cells in which each contrast, and its opposite, is at its largest."""

    @classmethod
    def find(cls, answers: MissingAnswers, contrasts: Sequence[Contrast]) -> _Extremes:
        """Fill in the missing answers for each contrast and its opposite."""
        at_largest = {}
        for contrast in {*contrasts, *(each.opposite for each in contrasts)}:
            cells = answers.fill(contrast, UP)
            at_largest[contrast] = cells, linearise(cells)
        return cls(contrasts, at_largest)

    def have_enough(self, metric: Metric) -> bool:
        """Whether there are enough items for intervals, whatever the missing answers say."""
        return all(has_enough(linearised, metric) for _, linearised in self.at_largest.values())

    def values(self) -> tuple[float, float]:
        """The smallest and the largest value of the metric."""
        return max(self._smallest_values()), max(map(self._largest_value, self.contrasts))

    def interval(self, level: float, share_asked: float) -> tuple[float, float]:
        """The lower end of the interval of the smallest value, and the upper end of that of the largest."""
        smallest = np.array(self._smallest_values())
        best = self.contrasts[int(np.argmax(smallest))]
        _, linearised = self.at_largest[best.opposite]
        largest = np.array([self._largest_value(contrast) for contrast in self.contrasts])
        errors = gaps_to_largest(linearised.contrast(self.contrasts))
        candidates = count_candidates(smallest, errors, largest)
        lows = []
        highs = []
        for contrast in self.contrasts:
            lows.append(-self._upper_end(contrast.opposite, 1 - (1 - level) / candidates, share_asked))
            highs.append(self._upper_end(contrast, level, share_asked))
        return max(lows), max(highs)

    def _smallest_values(self) -> list[float]:
        """Of each contrast: that of its opposite at its largest, with the other sign."""
        return [-self._largest_value(contrast.opposite) for contrast in self.contrasts]

    def _largest_value(self, contrast: Contrast) -> float:
        """The largest value of a contrast, with slopes limited or free."""
        cells, linearised = self.at_largest[contrast]
        free, _ = differentiate_metrics(cells, cells.weight.astype(np.float64) @ cells.columns)
        return float(subtract(np.array([linearised.values, free]), [contrast]).max())

    def _upper_end(self, contrast: Contrast, level: float, share_asked: float) -> float:
        """The upper end of the interval of a contrast at its largest."""
        cells, linearised = self.at_largest[contrast]
        single = linearised.contrast([contrast])
        return float(upper_ends(single, find_errors(single, cells, share_asked), level)[0])
