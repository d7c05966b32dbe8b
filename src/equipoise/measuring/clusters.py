"""How far the numbers would carry over to other prompts like these: items that share something are not independent.

An interval over items speaks of these prompts. If the items come from 70 questions or 5 templates, another set of
questions or templates would scatter more. With Z_k the sum of the influences of cluster k of K

    V = K/(K-1) Σ Z_k²,   interval = centre ± t_{K-1} √V.

For F crossed columns V = ΣV_f - (F-1) V_items, at least the largest of them, with Satterthwaite's degrees of freedom.
Where a cluster is also a stratum (the sixteen stereotypes), its influences sum to zero. What scatters then are the
strata's own rates: V = Σ a² k s², over the groups of k strata that count to one side, a each, with s² the variance of
their rates; for a difference of two means that is the two-sample t of Welch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from equipoise.authoring import Array
from equipoise.measuring.interval import CellTable, Linearised, linearise, make_estimate
from equipoise.measuring.scatter import LEVEL, draw_normal, number_values, student_quantile, sum_rows
from equipoise.measuring.summarise import WEIGHT, statistics
from equipoise.schema import ITEM, Estimate, MetricKey

FEW_CLUSTERS = 10
"""With fewer clusters than this, nothing can be said about others like them."""


@dataclass(frozen=True, kw_only=True)
class Generalisation:
    """The interval of a metric for prompts like these, and the clusters that it takes into account."""

    low: float
    high: float
    clusters: Mapping[str, int]
    """How many groups each column has."""

    @property
    def too_few(self) -> list[str]:
        """The columns with so few groups that nothing can be said about others."""
        return [column for column, count in self.clusters.items() if count < FEW_CLUSTERS]


def generalise(
    cells: CellTable, table: pl.DataFrame, estimates: Mapping[MetricKey, Estimate], level: float = LEVEL
) -> dict[str, Generalisation]:
    """The intervals of the marked metrics for prompts like these; `table` has the same items with their clusters.

    Without clusters, each item is a cluster of its own.
    """
    probe, found = cells.probe, linearise(cells)
    # What is not a number makes the metric not computable, whatever its clusters are.
    columns = np.nan_to_num(statistics(probe, table, cells.parameters).to_numpy(), posinf=0.0, neginf=0.0)
    z = columns @ found.gradient * table[WEIGHT].to_numpy()[:, None]
    sums = {name: sum_rows(z, number_values(table[name])) for name in probe.clusters}
    counts = {name: len(groups) for name, groups in sums.items()} or {ITEM: int(found.items)}
    intervals = {}
    for metric in probe.metrics:
        estimate = estimates[MetricKey(metric.name)]
        if metric.bands is None or np.isnan(estimate.low):
            continue
        places = [found.names.index(name) for name in (metric.range_of or (metric.name,))]
        parts = {name: _cluster_covariance(z[:, places]) for name, z in sums.items()}
        if len(probe.strata) == 1 and probe.strata[0] in parts and not metric.range_of and len(found.possible_z):
            parts[probe.strata[0]] = _spread_of_strata(cells, found, places[0])
        covariance, degrees = _add_up(found.scatter(places).covariance(), list(parts.values()), found.items - 1)
        quantile = student_quantile(degrees, level)
        place = found.names.index(metric.name)
        if metric.range_of:
            ranges = np.ptp(draw_normal(covariance), axis=1) * quantile / student_quantile(np.inf, level)
            centre, reach = float(found.values[place]), float(np.quantile(ranges, level))
        else:
            centre, reach = float(found.centres[place]), quantile * float(np.sqrt(covariance[0, 0]))
        whole = make_estimate(metric, estimate.value, centre - reach, centre + reach, estimate.n)
        intervals[metric.name] = Generalisation(
            low=min(whole.low, estimate.low), high=max(whole.high, estimate.high), clusters=counts
        )
    return intervals


def _cluster_covariance(z: Array) -> tuple[Array, float]:
    """K/(K-1) Σ Z Z', and its degrees of freedom."""
    count = len(z)
    return z.T @ z * count / max(count - 1, 1), count - 1.0


def _add_up(by_item: Array, parts: Sequence[tuple[Array, float]], items: float) -> tuple[Array, float]:
    """The covariance of crossed clusters, and its degrees of freedom: without clusters, those of the items."""
    together = sum((part for part, _ in parts), (1 - len(parts)) * by_item)
    largest = max([by_item, together, *(part for part, _ in parts)], key=np.trace)
    weights = np.array([np.trace(part) for part, _ in parts])
    if not weights.any():
        return largest, items
    return largest, float(weights.sum() ** 2 / sum(weights**2 / [max(degrees, 1.0) for _, degrees in parts]))


def _spread_of_strata(cells: CellTable, found: Linearised, place: int) -> tuple[Array, float]:
    """The variance of a metric that averages strata, by the scatter of their own rates, and its degrees of freedom.

    A stratum counts a = the change of the metric if all its items go from the first outcome to the last; its rate is
    how much of that way they went. Strata that count to the same side are one group.
    """
    first, last, z = found.possible_z[0, :, place], found.possible_z[-1, :, place], found.z[:, place]
    weight = found.weight * cells.decided
    counts, gone = (np.bincount(cells.stratum, weights=weight * part) for part in (last - first, z - first))
    largest = np.abs(counts).max(initial=1e-300)
    counting = np.abs(counts) > 1e-6 * largest
    counts, rates = counts[counting], gone[counting] / counts[counting]
    groups = [group for group in (counts < 0, counts > 0) if group.sum() > 1]
    parts = [
        (np.array([[group.sum() * np.mean(counts[group]) ** 2 * rates[group].var(ddof=1)]]), group.sum() - 1.0)
        for group in groups
    ]
    return _add_up(np.zeros((1, 1)), parts, max((degrees for _, degrees in parts), default=1.0))
