"""The interval for prompts like these: items that share something are not independent of each other.

An interval over items speaks of these prompts. If the items come from 70 questions or 5 templates,
another set of questions or templates would vary more. `equipoise.stats.clusters` has the variances; the
interval is centre ± t √V, with t for the effective number of clusters less one (of crossed factors
the smallest).

Where a cluster is also a stratum (the sixteen stereotypes), its influences sum to zero. What varies then
are the rates of the strata: V = Σ a² k s², summed over the two sides, each with k strata of coefficient a,
and s² the variance of their rates; for a difference of two means that is Welch's two-sample t.

Where no item went to one side of all the others (every template says "yes"), the rule of three counts
clusters instead of items: that end is at least 3.7 c from the value, with c the change that one cluster
can make. Clusters that differ from all others, but are so rare that none was drawn, can still go unseen.

With an effective number of clusters below MIN_CLUSTERS there is no interval: too few to generalise.
Five clusters of about the same size are enough; forty of which one has a sixth of all items are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from equipoise.authoring import Array, Metric
from equipoise.measuring.cells import CellTable, is_decided
from equipoise.measuring.contrasts import Contrast, contrasts_of_value, subtract
from equipoise.measuring.estimates import MIN_SEEN_SHARE, Linearised, find_unseen_changes, linearise
from equipoise.measuring.outcomes import possible_outcomes
from equipoise.measuring.summarise import WEIGHT, stack_columns, statistics
from equipoise.schema import ITEM, Bounds, Estimate, MetricKey
from equipoise.stats.clusters import (
    cluster_covariance,
    crossed_covariance,
    effective_clusters,
    welch_variance,
)
from equipoise.stats.contrasts import count_candidates
from equipoise.stats.intervals import (
    LEVEL,
    clip_interval,
    student_quantile,
    zero_count_changes,
    zero_count_margin,
)
from equipoise.stats.variance import Labels, covariance, sum_by_label

MIN_CLUSTERS = 4.5
"""With a smaller effective number of clusters, nothing can be said of others. Five equal ones have 5.

With three, the interval would cover only 0.85 if clusters are nearly all or nothing (Beta 0.2, 0.2)."""
FEW_CLUSTERS = 10
"""With fewer clusters than this, the interval is shown with a note on how few there are."""
MAX_OUTCOMES_IN_MEMORY = 20_000_000
"""The possible outcomes of up to this many numbers are made at once."""


@dataclass(frozen=True, kw_only=True)
class Generalisation:
    """The interval of a metric for prompts like these, and the clusters that it takes into account.

    Without an interval (NaN) there are too few clusters to generalise.
    """

    low: float
    high: float
    clusters: Mapping[str, int]
    """How many groups each column has."""

    @property
    def has_interval(self) -> bool:
        """Whether there are enough clusters to say anything about others like them."""
        return not math.isnan(self.low)

    @property
    def few_clusters(self) -> list[str]:
        """The columns with so few groups that little, or nothing, can be said about others."""
        return [column for column, count in self.clusters.items() if count < FEW_CLUSTERS]


def generalise(
    cells: CellTable,
    table: pl.DataFrame,
    estimates: Mapping[MetricKey, Estimate],
    level: float = LEVEL,
    bounds: Mapping[str, Bounds] | None = None,
) -> dict[str, Generalisation]:
    """The intervals of the marked metrics for prompts like these.

    `table` has the items of the cells with their clusters. Without clusters, each item is its own.
    The intervals hold what missing answers to these prompts allow (`bounds`).
    """
    bounds = bounds or {}
    linearised = linearise(cells)
    clustered = _cluster(cells, table, linearised)
    intervals = {}
    for metric in cells.probe.metrics:
        estimate = estimates[MetricKey(metric.name)]
        if metric.bands is None or math.isnan(estimate.low):
            continue
        low, high = _interval(cells, linearised, clustered, metric, level)
        if not math.isnan(low):
            low, high = clip_interval(estimate.value, low, high, metric.domain)
            low = min(low, estimate.low)
            high = max(high, estimate.high)
            if metric.name in bounds:
                low = min(low, bounds[metric.name].low)
                high = max(high, bounds[metric.name].high)
        intervals[metric.name] = Generalisation(low=low, high=high, clusters=clustered.counts)
    return intervals


@dataclass(frozen=True, kw_only=True)
class _Clustered:
    """What the clusters of each factor add to the metrics."""

    sums: Mapping[str, Array]
    """For each factor: cluster, metric."""
    max_influences: Mapping[str, Array]
    """How far the items of each cluster can move each metric: cluster, metric."""
    possible: Mapping[str, Array]
    """What the items of each cluster would add if all of them had the same outcome: outcome, cluster, metric."""
    counts: Mapping[str, int]


def _cluster(cells: CellTable, table: pl.DataFrame, linearised: Linearised) -> _Clustered:
    """Sum what items add by cluster. Items of which nothing was classified say nothing of their cluster."""
    probe = cells.probe
    if not probe.clusters:
        return _Clustered(sums={}, max_influences={}, possible={}, counts={ITEM: int(linearised.items)})
    table = table.filter(is_decided(probe))
    # What is not a number makes the metric not computable, whatever its clusters are.
    columns = np.nan_to_num(statistics(probe, table, cells.parameters).to_numpy(), posinf=0.0, neginf=0.0)
    weight = table[WEIGHT].to_numpy()[:, None]
    influence = columns @ linearised.gradient * weight
    possible_influence = _possible_influence_of_items(cells, table, linearised)
    # Where that is not known, each item counts alike: then clusters are as large as they have items.
    max_influence = weight * np.ones(len(linearised.names))
    if possible_influence is not None:
        max_influence = weight * _max_influence_of_items(possible_influence)
    sums = {}
    max_influences = {}
    possible = {}
    for name in probe.clusters:
        labels = number_values(table[name])
        sums[name] = sum_by_label(influence, labels)
        max_influences[name] = sum_by_label(max_influence, labels)
        if possible_influence is not None:
            possible[name] = np.stack([sum_by_label(each * weight, labels) for each in possible_influence])
    counts = {name: len(of_factor) for name, of_factor in sums.items()}
    return _Clustered(sums=sums, max_influences=max_influences, possible=possible, counts=counts)


def _possible_influence_of_items(cells: CellTable, table: pl.DataFrame, linearised: Linearised) -> Array | None:
    """What an item of each row would add with each possible outcome: outcome, row, metric.

    None where no outcomes are known, or where there are too many items for the memory.
    """
    _, outcomes = possible_outcomes(cells.probe, table)
    size = len(outcomes) * table.height * len(cells.names)
    if not outcomes or size > MAX_OUTCOMES_IN_MEMORY:
        return None
    columns = np.nan_to_num(stack_columns(cells.probe, outcomes, cells.parameters))
    return np.asarray(columns @ linearised.gradient)


def _max_influence_of_items(possible_influence: Array) -> Array:
    """How far an item of each row can move each metric, whatever it answered: row, metric."""
    max_influence: Array = np.ptp(possible_influence, axis=0)
    return np.where(max_influence.max(axis=0, initial=0.0) > 0, max_influence, 1.0)


def number_values(values: pl.Series) -> Labels:
    """Equal values as one number, from 0."""
    ranks = values.cast(pl.String).fill_null("").rank("dense").cast(pl.Int64)
    return (ranks - 1).to_numpy()


def _interval(
    cells: CellTable, linearised: Linearised, clustered: _Clustered, metric: Metric, level: float
) -> tuple[float, float]:
    """The interval of one metric before it is cut to what the metric can be; NaN with too few clusters."""
    contrasts = contrasts_of_value(metric, linearised.names)
    contrasted = linearised.contrast(contrasts)
    is_plain = len(contrasts) == 1
    of_items = covariance(contrasted.contributions())
    parts = []
    degrees = linearised.items - 1
    for name, sums in clustered.sums.items():
        if [*cells.probe.strata] == [name] and is_plain and len(linearised.outcome_influence):
            between_strata, own_degrees = _variance_of_strata(cells, contrasted)
            parts.append(np.array([[between_strata]]))
        else:
            parts.append(cluster_covariance(subtract(sums, contrasts)))
            own_degrees = effective_clusters(_max_influence_on_contrasts(clustered.max_influences[name], contrasts)) - 1
        degrees = min(degrees, own_degrees)
    if degrees < MIN_CLUSTERS - 1 - 1e-9:
        return math.nan, math.nan
    total = of_items
    if parts:
        total = crossed_covariance(of_items, parts)
    variances = [np.diag(each) for each in (of_items, total, *parts)]
    errors = np.sqrt(np.maximum.reduce(variances))
    largest = int(np.argmax(contrasted.values))
    gaps = np.diag(total) + total[largest, largest] - 2 * total[largest]
    candidates = count_candidates(contrasted.values, np.sqrt(np.maximum(gaps, 0.0)))
    half_width_up = float(student_quantile(degrees, level)) * errors
    half_width_down = float(student_quantile(degrees, 1 - (1 - level) / candidates)) * errors
    below, above = _find_unseen_changes(cells, contrasted, clustered, contrasts)
    margin = zero_count_margin(level)
    lows = np.minimum(contrasted.centres - half_width_down, contrasted.values - margin * below)
    highs = np.maximum(contrasted.centres + half_width_up, contrasted.values + margin * above)
    return float(lows.max()), float(highs.max())


def _find_unseen_changes(
    cells: CellTable, contrasted: Linearised, clustered: _Clustered, contrasts: Sequence[Contrast]
) -> tuple[Array, Array]:
    """What one cluster can change downwards and upwards, where no item was seen to go there; else 0."""
    item_below, item_above = find_unseen_changes(contrasted, cells.probe.detector.number)
    below = np.zeros(len(contrasts))
    above = np.zeros(len(contrasts))
    for name, possible in clustered.possible.items():
        sums = subtract(clustered.sums[name], contrasts)
        possible_sums = subtract(possible, contrasts)
        every = np.ones(len(sums))
        changes = zero_count_changes(
            sums,
            possible_sums.min(axis=0),
            possible_sums.max(axis=0),
            every,
            every > 0,
            MIN_SEEN_SHARE,
        )
        below = np.maximum(below, changes[0])
        above = np.maximum(above, changes[1])
    return np.where(item_below > 0, below, 0.0), np.where(item_above > 0, above, 0.0)


def _max_influence_on_contrasts(max_influences: Array, contrasts: Sequence[Contrast]) -> Array:
    """How far each cluster can move any of some contrasts."""
    sums = [Contrast(each.plus, None) for each in contrasts if each.plus is not None]
    largest: Array = subtract(max_influences, sums).max(axis=1)
    return largest


def _variance_of_strata(cells: CellTable, linearised: Linearised) -> tuple[float, float]:
    """The variance of a metric that averages strata, by how their own rates vary, and its degrees of freedom.

    `linearised` holds this metric alone. The coefficient of a stratum is the change of the metric if all its items
    go from the first outcome to the last; its rate is the share of that change that was observed. Strata whose
    coefficients have the same sign are one group.
    """
    first = linearised.outcome_influence[0, :, 0]
    last = linearised.outcome_influence[-1, :, 0]
    weight = linearised.weight * cells.decided
    coefficients = np.bincount(cells.stratum, weights=weight * (last - first))
    observed_change = np.bincount(cells.stratum, weights=weight * (linearised.influence[:, 0] - first))
    is_nonzero = np.abs(coefficients) > 1e-6 * np.abs(coefficients).max(initial=1e-300)
    coefficients = coefficients[is_nonzero]
    rates = observed_change[is_nonzero] / coefficients
    sides = [
        (rates[coefficients < 0], coefficients[coefficients < 0]),
        (rates[coefficients > 0], coefficients[coefficients > 0]),
    ]
    return welch_variance(sides)
