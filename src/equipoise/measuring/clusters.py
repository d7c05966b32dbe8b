"""How far the numbers would carry over to other prompts like these: items that share something are not independent.

An interval over items speaks of these prompts. If the items come from 70 questions or 5 templates, another set of
questions or templates would scatter more. The influence of each item on a metric, summed over the items of a cluster,
says how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from equipoise.authoring import Array, Parameters, Probe
from equipoise.measuring.calling import running
from equipoise.measuring.influence import find_influences
from equipoise.measuring.summarise import is_answered, statistics
from equipoise.schema import Estimate, MetricKey

CLUSTER = "cluster"
UNIT = 2.0**-60
"""Totals of clusters are whole multiples of this: sums of whole numbers do not depend on the order of the items."""
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


def cluster_totals(probe: Probe, rows: pl.DataFrame, parameters: Parameters) -> dict[str, pl.DataFrame]:
    """For each cluster column the totals of its groups, in units. They add up over parts of the data, exactly."""
    answered = rows.filter(is_answered(probe))
    with running(probe, "statistics"):
        # What is not a number makes the metric not computable, whatever its clusters are.
        units = (pl.all().fill_nan(0.0).fill_null(0.0) / UNIT).round().cast(pl.Int128)
        columns = statistics(probe, answered, parameters).select(units)
    clusters = answered.select(pl.col(name).cast(pl.String).alias(f"{CLUSTER} {name}") for name in probe.clusters)
    if not clusters.width:
        return {}
    # What is in the same clusters of all kinds is added up first, as it is in each of them.
    totals = columns.hstack(clusters).group_by(clusters.columns).sum()
    return {
        name: totals.select(pl.col(f"{CLUSTER} {name}").alias(CLUSTER), *columns.columns).group_by(CLUSTER).sum()
        for name in probe.clusters
    }


def merge_totals(parts: Iterable[Mapping[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """The totals of clusters of several parts together, in units."""
    parts = list(parts)
    return {name: pl.concat([part[name] for part in parts]).group_by(CLUSTER).sum().sort(CLUSTER) for name in parts[0]}


def generalise(
    probe: Probe,
    totals: Mapping[str, pl.DataFrame],
    cells: pl.DataFrame,
    weight: Array,
    estimates: Mapping[MetricKey, Estimate],
    parameters: Parameters,
) -> dict[str, Generalisation]:
    """The intervals of the marked metrics for prompts like these: those over items, stretched.

    `totals` are those of the clusters, in units, sorted by cluster; `cells` are the statistics of the cells.
    For crossed columns the variances are added and what is counted twice is taken off: V = ΣV_f - (r-1)·V_item, and at
    least the largest part.
    """
    if not totals or not len(weight):
        return {}
    names = cells.columns
    columns = cells.to_numpy()
    total = weight @ columns
    found = {}
    never_negative = {metric.name for metric in probe.metrics if metric.range_of or metric.distance_of}
    for metric, influence in find_influences(probe, probe.marked_metrics(), parameters, names, total).items():
        estimate = estimates[MetricKey(metric)]
        if np.isnan(estimate.low):
            continue
        by_item = float(weight @ (columns @ influence) ** 2)
        by_cluster = []
        for groups in totals.values():
            sums = (groups.select(pl.col(names).cast(pl.Float64)).to_numpy() * UNIT) @ influence
            by_cluster.append(float(sums @ sums) * len(sums) / max(len(sums) - 1, 1))
        variance = max(sum(by_cluster) - (len(by_cluster) - 1) * by_item, *by_cluster, by_item)
        stretch = np.sqrt(variance / by_item) if by_item > 0 else 1.0
        low = estimate.value - stretch * (estimate.value - estimate.low)
        found[metric] = Generalisation(
            low=float(max(low, 0.0) if metric in never_negative else low),
            high=float(estimate.value + stretch * (estimate.high - estimate.value)),
            clusters={name: groups.height for name, groups in totals.items()},
        )
    return found
