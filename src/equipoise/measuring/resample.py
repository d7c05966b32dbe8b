"""Cells to metrics with intervals: 1,000 replicates are one matrix product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Parameters, Probe, Totals, share
from equipoise.measuring.calling import running
from equipoise.measuring.summarise import WEIGHT
from equipoise.schema import Estimate, MetricKey

REPLICATES = 1_000
LEVEL = 0.95
WEIGHTS_PER_BLOCK = 1_000_000
"""How many weights are drawn at a time. It bounds the memory and does not change the numbers."""
MAX_PRODUCTS, MAX_CELLS = 2**18, 256
"""Up to this many products, and this many cells at a time, BLAS works in one thread."""
ITEMS_PER_CELL = 10
"""Up to this many items per cell they are drawn one by one, which is faster then."""

Cells = NDArray[np.int64]
"""The places of some cells in their table."""


def estimate_metrics(
    probe: Probe,
    table: pl.DataFrame,
    parameters: Parameters,
    replicates: int = REPLICATES,
    *,
    planned: pl.DataFrame | None = None,
) -> dict[MetricKey, Estimate]:
    """Every metric over all items and over each group of each slice, as found in the data or in what was planned."""
    groups = _slice_groups(probe, table, table if planned is None else planned)
    totals = total_groups(probe, table, list(groups.values()), replicates, seed=int(parameters["random_seed"]))
    estimates = {}
    for (column, group), total in zip(groups, totals, strict=True):
        values = measure_totals(probe, total, parameters)
        for metric in probe.all_metrics():
            items = int(total[metric.n][0])
            estimates[MetricKey(metric.name, column, group)] = estimate(values[metric.name], items)
    return estimates


def _slice_groups(
    probe: Probe, table: pl.DataFrame, planned: pl.DataFrame
) -> dict[tuple[str | None, str | None], Cells]:
    """The cells of all the data, under (None, None), and of each group of each slice; a group may have no cell."""
    groups: dict[tuple[str | None, str | None], Cells] = {(None, None): np.arange(table.height)}
    for column in probe.slices:
        for value in planned[column].drop_nulls().unique().sort():
            groups[column, str(value)] = np.flatnonzero((table[column] == value).to_numpy())
    return groups


def total_groups(
    probe: Probe, table: pl.DataFrame, groups: Sequence[Cells], replicates: int, *, seed: int
) -> list[Totals]:
    """The totals of a table of cells for each group of them."""
    columns = table.select(pl.exclude(WEIGHT, *probe.slices))
    totals = resample(columns.to_numpy(), table[WEIGHT].to_numpy(), groups, replicates, seed)
    return [Totals(columns.columns, values) for values in totals]


def resample(
    columns: Array, weight: NDArray[np.int64], groups: Sequence[Cells], replicates: int, seed: int
) -> list[Array]:
    """Totals for each group of cells: row 0 of the data as they are, then one row per replicate.

    The replicates share their weights over the groups, and over whatever else is in the columns. Cells that are in the
    same groups are totalled once, and the groups are sums of these totals.
    """
    member = np.zeros((len(groups), len(weight)), dtype=bool)
    for number, group in enumerate(groups):
        member[number, group] = True
    order = np.lexsort(member)
    columns, weight, member = columns[order], weight[order], member[:, order]
    changes = 1 + np.flatnonzero((member[:, 1:] != member[:, :-1]).any(axis=0))
    bounds = [0, *changes.tolist(), len(weight)] if len(weight) else []
    totals = [np.zeros((replicates + 1, columns.shape[1])) for _ in groups]
    first = 0
    for weights in chain([weight[None].astype(np.float64)], _draw_weights(weight, replicates, seed)):
        rows = slice(first, first + len(weights))
        for start, end in pairwise(bounds):
            part = _product(weights[:, start:end], columns[start:end])
            for place in np.flatnonzero(member[:, start]):
                totals[place][rows] += part
        first += len(weights)
    return totals


def _product(weights: Array, columns: Array) -> Array:
    """The matrix product in pieces so small that BLAS does not split them over threads.

    Its threads would wait for each other longer than they work: fifty times as long on a busy machine.
    """
    result = np.zeros((len(weights), columns.shape[1]))
    height = max(1, MAX_PRODUCTS // (MAX_CELLS * columns.shape[1]))
    for left in range(0, len(columns), MAX_CELLS):
        right = slice(left, left + MAX_CELLS)
        for top in range(0, len(weights), height):
            rows = slice(top, top + height)
            result[rows] += weights[rows, right] @ columns[right]
    return result


def _draw_weights(weight: NDArray[np.int64], replicates: int, seed: int) -> Iterator[Array]:
    """Bootstrap weights of the cells, in blocks: how often each is drawn when n items are drawn with replacement.

    Drawn item by item, or where the items are many times as many as the cells, as one multinomial over the cells.
    """
    if not len(weight):
        yield np.zeros((replicates, 0))
        return
    source = np.random.PCG64(np.random.SeedSequence([seed, 0x626F6F74]))
    items = int(weight.sum())
    block = max(1, WEIGHTS_PER_BLOCK // max(items, len(weight)))
    sizes = [min(block, replicates - start) for start in range(0, replicates, block)]
    if items <= ITEMS_PER_CELL * len(weight):
        cell = np.repeat(np.arange(len(weight)), weight)
        for size in sizes:
            yield _count_cells(cell[_draw_places(source, size, items)], len(weight))
    else:
        # A Generator's multinomial changes with the version of numpy (2.5 did); RandomState is frozen by its promise.
        rng = np.random.RandomState(source)
        for size in sizes:
            yield rng.multinomial(items, weight / items, size=size).astype(np.float64)


def _draw_places(source: np.random.PCG64, replicates: int, items: int) -> NDArray[np.int64]:
    """For each replicate one random place among the items per item: 32 random bits each, scaled to their number."""
    bits = np.asarray(source.random_raw(replicates * (-(-items // 2)))).reshape(replicates, -1)
    halves = np.concatenate([bits >> np.uint64(32), bits & np.uint64(0xFFFFFFFF)], axis=1)[:, :items]
    return (halves * np.uint64(items) >> np.uint64(32)).view(np.int64)


def _count_cells(cells: NDArray[np.int64], size: int) -> Array:
    """For each row how often each cell stands in it."""
    cells += np.arange(0, len(cells) * size, size)[:, None]
    return np.bincount(cells.ravel(), minlength=len(cells) * size).reshape(-1, size).astype(np.float64)


def measure_totals(probe: Probe, total: Totals, parameters: Parameters) -> dict[str, Array]:
    """The probe's metrics from totals and, where answers have labels, how much was not detected."""
    with running(probe, "measure"):
        values = dict(probe.measure(total, parameters))
    if probe.detector.labels:
        values["undetected_rate_attempts"] = share(total["undetected"], total["attempts"])
        values["undetected_rate_items"] = share(total["undetected_items"], total["items"])
    for label in probe.detector.other_labels:
        values[f"{label}_rate"] = share(total[f"read_as_{label}"], total["attempts"])
    return values


def estimate(values: Array, items: int) -> Estimate:
    """The value (first) with the percentile interval of its replicates (the rest)."""
    value, replicates = float(values[0]), values[1:]
    replicates = np.sort(replicates[~np.isnan(replicates)])
    if np.isnan(value) or not len(replicates):
        return Estimate(value=value, low=np.nan, high=np.nan, n=items)
    low, high = (_percentile(replicates, part) for part in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value=value, low=low, high=high, n=items)


def _percentile(ordered: Array, part: float) -> float:
    """Linear-interpolated percentile of sorted values; faster than np.quantile for one value."""
    place = part * (len(ordered) - 1)
    below, above = ordered[int(place)], ordered[min(int(place) + 1, len(ordered) - 1)]
    return float(below + (above - below) * (place % 1))
