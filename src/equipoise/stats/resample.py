"""Cells to metrics with intervals: 1,000 replicates are one matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

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
ALONE, WIDTH = 2**18, 256
"""Up to so many products, and so many cells at a time, BLAS works in one thread."""
FEW = 10
"""Up to so many items a cell they are drawn one by one, which is faster then."""


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

    The replicates share their weights over the groups, and over whatever else is in the columns. Cells that are in the
    same groups are totalled once, and the groups are sums of these totals.
    """
    member = np.zeros((len(groups), len(weight)), dtype=bool)
    for place, group in enumerate(groups):
        member[place, group] = True
    order = np.lexsort(member)
    columns, weight, member = columns[order], weight[order], member[:, order]
    changes = 1 + np.flatnonzero((member[:, 1:] != member[:, :-1]).any(axis=0))
    bounds = [0, *changes.tolist(), len(weight)] if len(weight) else []
    totals = [np.zeros((replicates + 1, columns.shape[1])) for _ in groups]
    first = 0
    for weights in chain([weight[None].astype(np.float64)], _weights(weight, replicates, seed)):
        rows = slice(first, first + len(weights))
        for start, end in pairwise(bounds):
            part = _product(weights[:, start:end], columns[start:end])
            for own in np.flatnonzero(member[:, start]):
                totals[own][rows] += part
        first += len(weights)
    return totals


def _product(weights: Array, columns: Array) -> Array:
    """The matrix product, in pieces too small for BLAS to share out: its threads wait for each other longer than they
    work, fifty times as long on a machine that has other things to do."""
    result = np.zeros((len(weights), columns.shape[1]))
    height = max(1, ALONE // (WIDTH * columns.shape[1]))
    for left in range(0, len(columns), WIDTH):
        right = slice(left, left + WIDTH)
        for top in range(0, len(weights), height):
            rows = slice(top, top + height)
            result[rows] += weights[rows, right] @ columns[right]
    return result


def _weights(weight: NDArray[np.int64], replicates: int, seed: int) -> Iterator[Array]:
    """Bootstrap weights of the cells, in blocks: how often each is met when n items are drawn with replacement.

    Drawn item by item, or where the items are many times as many as the cells, as one multinomial over the cells.
    """
    if not len(weight):
        yield np.zeros((replicates, 0))
        return
    source = np.random.PCG64(np.random.SeedSequence([seed, 0x626F6F74]))
    items = int(weight.sum())
    block = max(1, BLOCK // max(items, len(weight)))
    sizes = [min(block, replicates - start) for start in range(0, replicates, block)]
    if items <= FEW * len(weight):
        cell = np.repeat(np.arange(len(weight)), weight)
        for size in sizes:
            yield _counted(cell[_places(source, size, items)], len(weight))
    else:
        # A Generator's multinomial changes with the version of numpy (2.5 did); RandomState is frozen by its promise.
        rng = np.random.RandomState(source)
        for size in sizes:
            yield rng.multinomial(items, weight / items, size=size).astype(np.float64)


def _places(source: np.random.PCG64, replicates: int, items: int) -> NDArray[np.int64]:
    """A row of so many places among the items for each replicate: 32 random bits each, scaled to their number."""
    bits = np.asarray(source.random_raw(replicates * (-(-items // 2)))).reshape(replicates, -1)
    halves = np.concatenate([bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF)], axis=1)[:, :items]
    return (halves * np.uint64(items) >> np.uint64(32)).view(np.int64)


def _counted(cells: NDArray[np.int64], size: int) -> Array:
    """For each row how often each cell stands in it."""
    cells += np.arange(0, len(cells) * size, size)[:, None]
    return np.bincount(cells.ravel(), minlength=len(cells) * size).reshape(-1, size).astype(np.float64)


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
    replicates = np.sort(replicates[~np.isnan(replicates)])
    if np.isnan(value) or not len(replicates):
        return Estimate(value=value, low=np.nan, high=np.nan, n=items)
    low, high = (_percentile(replicates, share) for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value=value, low=low, high=high, n=items)


def _percentile(ordered: Array, share: float) -> float:
    """Where this share of the values lies below, between two of them in proportion: `np.quantile` without its ado."""
    place = share * (len(ordered) - 1)
    below, above = ordered[int(place)], ordered[min(int(place) + 1, len(ordered) - 1)]
    return float(below + (above - below) * (place % 1))
