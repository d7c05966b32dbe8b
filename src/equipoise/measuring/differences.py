"""Two sets of answers to the same items: paired differences, with the same weights for both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from equipoise.authoring import Array, Totals
from equipoise.measuring.plan import Setup
from equipoise.measuring.resample import REPLICATES, estimate, measure_totals, resample
from equipoise.measuring.summarise import WEIGHT, cells, merge_cells, statistics
from equipoise.schema import ITEM, Estimate


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A metric of two sets of answers on the items both have: each value, second minus first, and a p-value."""

    first: float
    second: float
    difference: Estimate
    p: float
    distance: Estimate | None
    """How much farther from even-handed the second is, for a marked metric."""


def paired_differences(
    setup: Setup, first: pl.DataFrame, second: pl.DataFrame, replicates: int = REPLICATES
) -> dict[str, Difference]:
    """Compare two tables of item rows on their common items: every metric of the probe, without slices."""
    probe, parameters = setup.probe, setup.parameters
    common = first.select(ITEM).join(second.select(ITEM), on=ITEM, how="semi").sort(ITEM)
    tables = [
        statistics(probe, common.join(rows, on=ITEM, how="left", maintain_order="left"), parameters).drop(probe.slices)
        for rows in (first, second)
    ]
    names = tables[0].columns
    joint = merge_cells([cells(tables[0].hstack(tables[1].rename({name: f"second.{name}" for name in names})))])
    columns, weight = joint.select(pl.exclude(WEIGHT)).to_numpy(), joint[WEIGHT].to_numpy()
    (totals,) = resample(columns, weight, [np.arange(joint.height)], replicates, int(parameters["random_seed"]))
    width = len(names)
    values = [
        measure_totals(probe, Totals(names, totals[:, side]), parameters)
        for side in (slice(None, width), slice(width, None))
    ]
    marked = probe.marked_metrics()
    return {
        metric.name: _difference(
            values[0][metric.name],
            values[1][metric.name],
            marked[metric.name].distances if metric.name in marked else None,
            common.height,
        )
        for metric in probe.all_metrics()
    }


def _difference(first: Array, second: Array, distances: Callable[[Array], Array] | None, items: int) -> Difference:
    # That one value is nearer to even-handed than another is not said by their difference when they lie on two sides.
    # Resampled with the same weights, the distances have a difference of their own.
    farther = None if distances is None else estimate(distances(second) - distances(first), items)
    return Difference(
        first=float(first[0]),
        second=float(second[0]),
        difference=estimate(second - first, items),
        p=_p_value(second - first, items),
        distance=farther,
    )


def _p_value(gaps: Array, items: int) -> float:
    """Two-sided: how rarely the replicates of the difference, centred on 0, lie as far out as what was observed.

    A bootstrap of n items that all differ in the same way has no spread and would be certain with one item. Exchanging
    the two sides item by item has 2 to the n outcomes, of which two lie as far out: no p-value is smaller than that.
    """
    observed, replicates = gaps[0], gaps[1:][~np.isnan(gaps[1:])]
    if np.isnan(observed) or not len(replicates):
        return float("nan")
    as_far = np.abs(replicates - observed) >= abs(observed) * (1 - 1e-12)
    return max(float((1 + as_far.sum()) / (1 + len(replicates))), 2.0 ** (1 - items))
