"""How far the numbers would carry over to other prompts like these: items that share something are not independent.

An interval over items speaks of these prompts. If the items come from 70 questions or 5 templates, another set of
questions or templates would scatter more. With Z_k the sum of the influences of cluster k of K

    V = K/(K-1) Σ Z_k²,   interval = centre ± t_{K-1} √V.

For F crossed columns V = ΣV_f - (F-1) V_items, at least the largest of them, with Satterthwaite's degrees of freedom.
Where a cluster is also a stratum (the sixteen stereotypes), its influences sum to zero. What scatters then are the
strata's own rates: V = Σ a² k s², over the groups of k strata that count alike, a each, with s² the variance of their
rates; for a difference of two means that is the two-sample t of Welch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from equipoise.authoring import Array, Metric, Parameters, Probe
from equipoise.measuring.calling import running
from equipoise.measuring.interval import (
    LEVEL,
    CellTable,
    Linearised,
    draw_normal,
    linearise,
    make_estimate,
    student_quantile,
)
from equipoise.measuring.summarise import is_answered, statistics
from equipoise.schema import ITEM, Estimate, MetricKey

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
    cells: CellTable,
    estimates: Mapping[MetricKey, Estimate],
    parameters: Parameters,
    level: float = LEVEL,
) -> dict[str, Generalisation]:
    """The intervals of the marked metrics for prompts like these.

    `totals` are those of the clusters, in units, sorted by cluster. Without any, each item is a cluster of its own.
    """
    found = linearise(probe, cells, parameters)
    counts = {name: groups.height for name, groups in totals.items()} or {ITEM: int(found.items)}
    sums = {
        name: (groups.select(pl.col(cells.names).cast(pl.Float64)).to_numpy() * UNIT) @ found.gradient
        for name, groups in totals.items()
    }
    intervals = {}
    for metric in probe.metrics:
        estimate = estimates[MetricKey(metric.name)]
        if metric.bands is None or np.isnan(estimate.low):
            continue
        reach, centre = _reach(probe, metric, cells, found, sums, level)
        whole = make_estimate(metric, estimate.value, centre - reach, centre + reach, estimate.n)
        intervals[metric.name] = Generalisation(
            low=min(whole.low, estimate.low), high=max(whole.high, estimate.high), clusters=counts
        )
    return intervals


def _reach(
    probe: Probe, metric: Metric, cells: CellTable, found: Linearised, sums: Mapping[str, Array], level: float
) -> tuple[float, float]:
    """How far the interval reaches from its centre, and the centre."""
    places = [found.names.index(name) for name in (metric.range_of or (metric.name,))]
    by_item = found.covariance(places)
    parts, degrees = [], []
    for column, of_cluster in sums.items():
        count = len(of_cluster)
        if (column,) == probe.strata and not metric.range_of:
            variance, freedom = _spread_of_strata(cells, found, places[0])
            parts.append(np.array([[variance]]))
        else:
            z = of_cluster[:, places]
            parts.append(z.T @ z * count / max(count - 1, 1))
            freedom = count - 1.0
        degrees.append(freedom)
    together = sum(parts, np.zeros_like(by_item)) - (len(parts) - 1) * by_item if parts else by_item
    largest = max([by_item, together, *parts], key=np.trace)
    weights = [float(np.trace(part)) for part in parts]
    freedom = (
        sum(weights) ** 2 / sum(w**2 / max(d, 1.0) for w, d in zip(weights, degrees, strict=True) if w)
        if any(weights)
        else found.items - 1
    )
    quantile = student_quantile(freedom, level)
    place = found.names.index(metric.name)
    if metric.range_of:
        drawn = draw_normal(largest)
        wider = quantile / student_quantile(np.inf, level)
        return float(wider * np.quantile(np.ptp(drawn, axis=1), level)), float(found.values[place])
    return quantile * float(np.sqrt(largest[0, 0])), float(found.centres[place])


def _spread_of_strata(cells: CellTable, found: Linearised, place: int) -> tuple[float, float]:
    """The variance of a metric that averages strata, by the scatter of their own rates, and its degrees of freedom.

    A stratum counts a = the change of the metric if all its items go from the first outcome to the last; its rate is
    how much of that way they went.
    """
    first, last, z = found.outcomes[0, :, place], found.outcomes[-1, :, place], found.z[:, place]
    weight = found.weight * cells.decided
    size = cells.stratum.max() + 1
    counts, gone = (
        np.bincount(cells.stratum, weights=weight * part, minlength=size) for part in (last - first, z - first)
    )
    counting = np.abs(counts) > 1e-6 * np.abs(counts).max(initial=0.0)
    counts, rates = counts[counting], gone[counting] / counts[counting]
    variances, freedoms = [], []
    for kind in np.unique(np.round(counts / np.abs(counts).max(initial=1e-300), 2)):
        alike = np.round(counts / np.abs(counts).max(), 2) == kind
        number = int(alike.sum())
        if number > 1:
            variances.append(float(number * np.mean(counts[alike]) ** 2 * rates[alike].var(ddof=1)))
            freedoms.append(number - 1)
    total = sum(variances)
    shares = [variance**2 / freedom for variance, freedom in zip(variances, freedoms, strict=True)]
    return total, total**2 / sum(shares) if total else float(max(freedoms, default=1))
