"""What missing answers leave open: the smallest and the largest value that a metric could have.

Every missing answer could have gone any way. L is the metric of the table in which each went the way
that makes the metric smallest, U that of the table in which each made it largest (Horowitz and Manski
2000). A rate, a difference, a mean of rates and a free slope are linear in each answer once all are
filled in, so each goes the way of its influence, and L and U are exact. The bounds of a slope are those
of the free slope or of the limited one, whichever reach farther. For metrics of other kinds it is a
search. A missing number lies no farther from the others of its item than the arms of any item are
apart; a missing answer that would have been counted in words holds no more of any kind than any
answer that was read.

L and U are estimates, too: their intervals are found like that of the value, on the filled tables.
[lower end for L, upper end for U] holds everything between the true bounds, with at least 95%.
(Imbens and Manski's shorter interval, 1.645 instead of 1.96 standard errors where much is missing,
would become shorter when answers are deleted, and so make marks surer by missing data.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from equipoise.authoring import Array, Metric, Parameters, Probe
from equipoise.measuring.cells import CellTable, labels_of_repetitions, prepare_cells
from equipoise.measuring.estimates import (
    Contrast,
    differentiate_metrics,
    find_errors,
    gaps_to_largest,
    has_enough,
    linearise,
    lower_ends,
    ordered_pairs,
    upper_ends,
)
from equipoise.measuring.outcomes import MISSING, filled_outcomes, ways_of_missing
from equipoise.measuring.summarise import stack_columns
from equipoise.schema import Bounds
from equipoise.stats.contrasts import count_candidates
from equipoise.stats.intervals import LEVEL

ROUNDS = 2
"""How often the way of each answer is chosen: once is enough where a metric is linear in the answers."""
DOWN, UP = -1.0, 1.0


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

    def fill(self, contrast: Contrast, side: float) -> CellTable:
        """The cells with each missing answer filled in so that a contrast is smallest or largest."""
        columns = self.base + self.changes.mean(axis=1).sum(axis=0)
        weight = self.cells.weight.astype(np.float64)
        rows = np.arange(len(weight))
        for _ in range(ROUNDS):
            _, gradient = differentiate_metrics(self.cells, weight @ columns)
            direction = np.zeros(len(gradient))
            if contrast.plus is not None:
                direction += gradient[:, contrast.plus]
            if contrast.minus is not None:
                direction -= gradient[:, contrast.minus]
            gained = self.changes @ np.nan_to_num(direction)
            ways = np.argmax(side * gained, axis=1)
            columns = self.base.copy()
            for change, way in zip(self.changes, ways, strict=True):
                columns += change[way, rows]
        return replace(
            self.cells,
            columns=columns,
            decided=self.cells.decided | (self.missing.sum(axis=0) > 0),
            label_counts=self._fill_counts(ways),
        )

    def _fill_counts(self, ways: Array) -> Array:
        """How often the answers had each label, with the missing ones: they go to the labels in their order."""
        counts = self.cells.label_counts.copy()
        rows = np.arange(counts.shape[2])
        labels = labels_of_repetitions(self.cells.probe)
        numbers = [labels.index(way) for way in ways_of_missing(self.cells.probe)] if labels else []
        for arm in range(len(counts)):
            chosen = np.array(numbers)[ways[arm]]
            counts[arm, chosen, rows] += self.missing[arm]
        return counts


def find_missing(probe: Probe, table: pl.DataFrame, parameters: Parameters) -> MissingAnswers | None:
    """The missing answers of the cells of all planned items; None if nothing is missing."""
    names = [f"{prefix}{MISSING}" for prefix in probe.prefixes]
    missing = table.select(names).to_numpy().T.astype(np.float64)
    if not missing.any() or not ways_of_missing(probe):
        return None
    base, *others = stack_columns(probe, [*filled_outcomes(probe, table)], parameters)
    changes = (np.array(others) - base).reshape(len(probe.prefixes), -1, *base.shape)
    first_way = np.zeros_like(changes[:, :1])
    cells = prepare_cells(probe, table, parameters)
    return MissingAnswers(cells, base, np.concatenate([first_way, changes], axis=1), missing)


def bound_metrics(
    probe: Probe,
    table: pl.DataFrame,
    parameters: Parameters,
    level: float = LEVEL,
    share_asked: float = 0.0,
) -> dict[str, Bounds]:
    """For each marked metric the values it could have if the missing answers were known.

    `table` has the cells of all planned items. There are no bounds if nothing is missing.
    """
    answers = find_missing(probe, table, parameters)
    if answers is None:
        return {}
    bounds = {}
    for metric in probe.metrics:
        if metric.bands is None:
            continue
        found = bound_metric(answers, metric, level, share_asked)
        if found is not None:
            bounds[metric.name] = found
    return bounds


def bound_metric(
    answers: MissingAnswers, metric: Metric, level: float = LEVEL, share_asked: float = 0.0
) -> Bounds | None:
    """The bounds of one metric; None if it is not computable."""
    if metric.range_of:
        ends = _bound_range(answers, metric.range_of, level, share_asked)
    else:
        ends = _bound_plain(answers, metric, level, share_asked)
    if np.isnan(ends).any():
        return None
    low, smallest, largest, high = np.clip(ends, *metric.domain).tolist()
    return Bounds(low=low, high=high, smallest=smallest, largest=largest)


def _bound_plain(answers: MissingAnswers, metric: Metric, level: float, share_asked: float) -> Sequence[float]:
    """The lower end, the smallest and the largest value, and the upper end of a metric."""
    place = [each.name for each in answers.cells.probe.all_metrics()].index(metric.name)
    share = 0.0 if metric.of_pairs else share_asked
    contrast = Contrast(place, None)
    low_cells = answers.fill(contrast, DOWN)
    high_cells = answers.fill(contrast, UP)
    lowest = linearise(low_cells)
    highest = linearise(high_cells)
    smallest = min(lowest.values[place], _without_limits(low_cells)[place])
    largest = max(highest.values[place], _without_limits(high_cells)[place])
    if not (has_enough(lowest, metric) and has_enough(highest, metric)):
        return -np.inf, smallest, largest, np.inf
    lowest = lowest.contrast([contrast])
    highest = highest.contrast([contrast])
    low = float(lower_ends(lowest, find_errors(lowest, low_cells, share), level)[0])
    high = float(upper_ends(highest, find_errors(highest, high_cells, share), level)[0])
    return min(low, smallest), smallest, largest, max(high, largest)


def _without_limits(cells: CellTable) -> Array:
    """The metrics of filled cells with slopes free."""
    values, _ = differentiate_metrics(cells, cells.weight.astype(np.float64) @ cells.columns)
    return values


def _bound_range(answers: MissingAnswers, parts: Sequence[str], level: float, share_asked: float) -> Sequence[float]:
    """The same for the largest difference between two of some metrics."""
    pairs = ordered_pairs([each.name for each in answers.cells.probe.all_metrics()], parts)
    filled = [answers.fill(pair, UP) for pair in pairs]
    found = [linearise(cells) for cells in filled]
    largest = np.array([float(each.contrast([pair]).values[0]) for each, pair in zip(found, pairs, strict=True)])
    # The smallest value of a pair is that of the opposite pair at its largest, with the other sign.
    smallest = np.array([-largest[pairs.index(pair.opposite)] for pair in pairs])
    best = int(np.argmax(smallest))
    at_best = found[pairs.index(pairs[best].opposite)].contrast(pairs)
    candidates = count_candidates(smallest, gaps_to_largest(at_best))
    lows = []
    highs = []
    for cells, linearised, pair in zip(filled, found, pairs, strict=True):
        single = linearised.contrast([pair])
        errors = find_errors(single, cells, share_asked)
        highs.append(float(upper_ends(single, errors, level)[0]))
        lows.append(-float(upper_ends(single, errors, 1 - (1 - level) / candidates)[0]))
    return (
        max(0.0, *lows),
        max(0.0, float(smallest.max())),
        float(largest.max()),
        max(highs),
    )
