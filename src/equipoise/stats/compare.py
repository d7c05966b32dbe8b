"""Two sets of answers to the same items: paired differences, with the same weights for both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from equipoise.frames import ITEM
from equipoise.probe import Array, Parameters, Probe, Totals
from equipoise.stats.resample import REPLICATES, Estimate, estimate, measure, resampled
from equipoise.stats.summarise import WEIGHT, cells, merge, statistics


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A metric of two sets of answers on the items both have: each value, second minus first, and a p-value."""

    first: float
    second: float
    difference: Estimate
    p: float


def differences(
    probe: Probe,
    first: pl.DataFrame,
    second: pl.DataFrame,
    parameters: Parameters,
    replicates: int = REPLICATES,
) -> dict[str, Difference]:
    """Compare two tables of item rows on their common items. Every metric of the probe, without slices."""
    shared = first.select(ITEM).join(second.select(ITEM), on=ITEM, how="semi").sort(ITEM)
    tables = [
        statistics(probe, shared.join(rows, on=ITEM, how="left", maintain_order="left"), parameters).drop(probe.slices)
        for rows in (first, second)
    ]
    names = tables[0].columns
    joint = merge([cells(tables[0].hstack(tables[1].rename({name: f"second.{name}" for name in names})))])
    columns, weight = joint.select(pl.exclude(WEIGHT)).to_numpy(), joint[WEIGHT].to_numpy()
    (totals,) = resampled(columns, weight, [np.arange(joint.height)], replicates, int(parameters["random_seed"]))
    width = len(names)
    values = [
        measure(probe, Totals(names, totals[:, side]), parameters) for side in (slice(None, width), slice(width, None))
    ]
    result = {}
    for metric in probe.all_metrics():
        a, b = values[0][metric.name], values[1][metric.name]
        gap = estimate(b - a, shared.height)
        p = _p_value(b - a, shared.height)
        result[metric.name] = Difference(first=float(a[0]), second=float(b[0]), difference=gap, p=p)
    return result


def _p_value(gaps: Array, items: int) -> float:
    """Two-sided: how rarely the replicates of the difference, centred on none, lie as far out as what was seen.

    Of n items that all differ in the same way, a bootstrap has no spread and would be sure with one. Exchanging the
    two sides item by item has 2 to the n outcomes, of which two lie as far out: no p-value is smaller than that.
    """
    seen, replicates = gaps[0], gaps[1:][~np.isnan(gaps[1:])]
    if np.isnan(seen) or not len(replicates):
        return float("nan")
    as_far = np.abs(replicates - seen) >= abs(seen) * (1 - 1e-12)
    return max(float((1 + as_far.sum()) / (1 + len(replicates))), 2.0 ** (1 - items))
