"""Cells to metrics with intervals: 1,000 replicates are one matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.probe import Array, Parameters, Probe, Totals
from equipoise.stats.fit import share
from equipoise.stats.summarise import WEIGHT, slug

REPLICATES = 1_000
LEVEL = 0.95
BLOCK = 1_000_000
"""How many weights are drawn at a time: bounds the memory, and does not change the numbers."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A metric's value on all the data, its 95% percentile interval, and the items it rests on."""

    value: float
    low: float
    high: float
    n: int


def estimates(
    probe: Probe,
    table: pl.DataFrame,
    parameters: Parameters,
    replicates: int = REPLICATES,
    *,
    planned: pl.DataFrame | None = None,
) -> dict[str, Estimate]:
    """Every metric of the probe, on all the data and on each slice: of the data, or of what was planned."""
    seed = int(parameters["random_seed"])
    groups = slices(probe, table, table if planned is None else planned)
    columns = table.select(pl.exclude(WEIGHT, *probe.slices))
    totals = resampled(columns.to_numpy(), table[WEIGHT].to_numpy(), list(groups.values()), replicates, seed)
    result = {}
    for prefix, values in zip(groups, totals, strict=True):
        total = Totals(columns.columns, values)
        measured = measure(probe, total, parameters)
        for metric in probe.all_metrics():
            items = int(total[metric.n][0])
            result[prefix + metric.name] = estimate(measured[metric.name], items)
    return result


def slices(probe: Probe, table: pl.DataFrame, planned: pl.DataFrame) -> dict[str, NDArray[np.int64]]:
    """The cells of all the data (prefix "") and of each slice (prefix "race_white_" and the like), if only none."""
    groups = {"": np.arange(table.height)}
    for column in probe.slices:
        for value in planned[column].unique().sort():
            groups[f"{column}_{slug(value)}_"] = np.flatnonzero((table[column] == value).to_numpy())
    return groups


def resampled(
    columns: Array, weight: NDArray[np.int64], groups: list[NDArray[np.int64]], replicates: int, seed: int
) -> list[Array]:
    """Totals for each group of cells: row 0 of the data as they are, then a row a replicate.

    The replicates share their weights over the groups, and over whatever else is in the columns.
    """
    totals = [np.empty((replicates + 1, columns.shape[1])) for _ in groups]
    place = 0
    for weights in (weight[None].astype(np.float64), *_weights(weight, replicates, seed)):
        for group, total in zip(groups, totals, strict=True):
            total[place : place + len(weights)] = weights[:, group] @ columns[group]
        place += len(weights)
    return totals


def _weights(weight: NDArray[np.int64], replicates: int, seed: int) -> Iterator[Array]:
    """Bootstrap weights of the cells, in blocks: drawing n items with replacement is a multinomial over the cells."""
    if not len(weight):
        yield np.zeros((replicates, 0))
        return
    # A Generator's multinomial changes with the version of numpy (2.5 did); RandomState is frozen by its promise.
    rng = np.random.RandomState(np.random.PCG64(np.random.SeedSequence([seed, 0x626F6F74])))
    items = int(weight.sum())
    chances = weight / items
    block = max(1, BLOCK // len(weight))
    for start in range(0, replicates, block):
        yield rng.multinomial(items, chances, size=min(block, replicates - start)).astype(np.float64)


def measure(probe: Probe, total: Totals, parameters: Parameters) -> dict[str, Array]:
    """The probe's metrics from totals, and for probes with labels how much was not detected."""
    values = dict(probe.measure(total, parameters))
    if probe.labels:
        values["undetected_rate_attempts"] = share(total["undetected"], total["attempts"])
        values["undetected_rate_items"] = share(total["undetected_items"], total["items"])
    return values


def estimate(values: Array, items: int) -> Estimate:
    """The value (first) with the percentile interval of its replicates (the rest)."""
    value, replicates = float(values[0]), values[1:]
    replicates = replicates[~np.isnan(replicates)]
    if np.isnan(value) or not len(replicates):
        return Estimate(value=value, low=np.nan, high=np.nan, n=items)
    low, high = np.quantile(replicates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value=value, low=float(low), high=float(high), n=items)
