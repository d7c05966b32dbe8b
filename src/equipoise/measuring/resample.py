"""Cells to metrics with intervals: 10,000 replicates are one matrix product.

Every item gets a random weight, and one pseudo-item whose outcome is unknown is added: for each of its K possible
outcomes a mass Gamma(1/K), at the covariates of a random item. For a single rate that is Jeffreys' interval; for every
other metric it keeps the interval open where few items happen to agree. A cell of w equal items gets one Gamma draw.
With fewer than 100 items the weights are more spread (Gamma((n-2)/n) for each instead of Gamma(1)), so that the
replicates of a mean scatter as widely as the mean itself does. `docs/method.md` says why, `make calibrate` shows
that it covers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Metric, Parameters, Probe, Totals, share
from equipoise.measuring.calling import running
from equipoise.measuring.outcomes import ATTEMPTS, possible_outcomes
from equipoise.measuring.summarise import WEIGHT, is_answered, statistics
from equipoise.schema import Estimate, MetricKey

REPLICATES = 10_000
LEVEL = 0.95
FEW_ITEMS = 100
"""Below this many items, weights are corrected for their number, and a group of a slice draws its own."""
STRATA_PER_PSEUDO_ITEM = 8
"""A metric that averages strata gets one pseudo-item, spread over all of them, for this many strata."""
WEIGHTS_PER_BLOCK = 1_000_000
"""How many weights are drawn at a time. It bounds the memory and does not change the numbers."""
MAX_PRODUCTS, MAX_CELLS = 2**18, 256
"""Up to this many products, and this many cells at a time, BLAS works in one thread."""
ITEMS_PER_CELL = 10
"""Up to this many items per cell they are drawn one by one, which is faster then."""

Cells = NDArray[np.int64]
"""The places of some cells in their table."""


@dataclass(frozen=True, kw_only=True)
class CellTable:
    """Cells ready to be resampled: columns to be totalled, weights, and what an unknown item could have said."""

    names: Sequence[str]
    columns: Array
    weight: NDArray[np.int64]
    decided: NDArray[np.bool_]
    """Whether the items of the cell enter any metric."""
    stratum: NDArray[np.int64]
    outcomes: NDArray[np.float64]
    """The columns of each cell for each possible outcome: outcome, cell, column."""


def estimate_metrics(
    probe: Probe,
    table: pl.DataFrame,
    parameters: Parameters,
    replicates: int = REPLICATES,
    *,
    planned: pl.DataFrame | None = None,
) -> dict[MetricKey, Estimate]:
    """Every metric over all items and over each group of each slice, as found in the data or in what was planned."""
    answered = table.filter(is_answered(probe))
    cells = prepare_cells(probe, answered, parameters)
    groups = _slice_groups(probe, answered, answered if planned is None else planned)
    seed = int(parameters["random_seed"])
    estimates = {}
    for (column, group), total in zip(
        groups, total_groups(cells, list(groups.values()), replicates, seed), strict=True
    ):
        values = measure_totals(probe, total, parameters)
        for name, estimate in _estimate_all(probe, total, values).items():
            estimates[MetricKey(name, column, group)] = estimate
    return estimates


def prepare_cells(probe: Probe, table: pl.DataFrame, parameters: Parameters) -> CellTable:
    """The statistics of cells, as they are and for each possible outcome."""
    columns = statistics(probe, table, parameters)
    possible = [statistics(probe, rows, parameters).to_numpy() for rows in possible_outcomes(probe, table)]
    strata = table.select(pl.struct(probe.strata).rank("dense") - 1) if probe.strata else None
    return CellTable(
        names=columns.columns,
        columns=columns.to_numpy(),
        weight=table[WEIGHT].to_numpy(),
        decided=table.select(_is_decided(probe)).to_series().to_numpy(),
        stratum=strata.to_series().cast(pl.Int64).to_numpy()
        if strata is not None
        else np.zeros(table.height, np.int64),
        outcomes=np.stack(possible) if possible else np.zeros((0, *columns.shape)),
    )


def _is_decided(probe: Probe) -> pl.Expr:
    prefixes = probe.arms.prefixes.values() if probe.arms else [""]
    return pl.sum_horizontal(f"{prefix}{name}" for prefix in prefixes for name in probe.detector.outcomes) > 0


def _slice_groups(
    probe: Probe, table: pl.DataFrame, planned: pl.DataFrame
) -> dict[tuple[str | None, str | None], Cells]:
    """The cells of all the data, under (None, None), and of each group of each slice; a group may have no cell."""
    groups: dict[tuple[str | None, str | None], Cells] = {(None, None): np.arange(table.height)}
    for column in probe.slices:
        for value in planned[column].drop_nulls().unique().sort():
            groups[column, str(value)] = np.flatnonzero((table[column] == value).fill_null(value=False).to_numpy())
    return groups


def total_groups(cells: CellTable, groups: Sequence[Cells], replicates: int, seed: int) -> list[Totals]:
    """The totals of each group of cells: row 0 of the data as they are, then one row per replicate.

    Groups with many items share the weights of the first group, which holds all cells; those with few draw their own.
    """
    items = [int(cells.weight[group][cells.decided[group]].sum()) for group in groups]
    shared = [number for number, count in enumerate(items) if number == 0 or count >= FEW_ITEMS]
    totals: dict[int, Array] = dict(
        zip(shared, resample(cells, [groups[number] for number in shared], replicates, seed), strict=True)
    )
    for number, group in enumerate(groups):
        if number not in totals:
            few = _take_cells(cells, group)
            (totals[number],) = resample(few, [np.arange(len(group))], replicates, seed + number)
    return [Totals(cells.names, totals[number]) for number in range(len(groups))]


def _take_cells(cells: CellTable, places: Cells) -> CellTable:
    return CellTable(
        names=cells.names,
        columns=cells.columns[places],
        weight=cells.weight[places],
        decided=cells.decided[places],
        stratum=cells.stratum[places],
        outcomes=cells.outcomes[:, places],
    )


def resample(
    cells: CellTable, groups: Sequence[Cells], replicates: int, seed: int, pseudo_seed: int | None = None
) -> list[Array]:
    """Totals for each group of cells, with one set of weights for all of them, and a pseudo-item in each."""
    member = np.zeros((len(groups), len(cells.weight)), dtype=bool)
    for number, group in enumerate(groups):
        member[number, group] = True
    # Cells that are in the same groups stand together: they are totalled once, and the groups are sums of these totals.
    order = np.lexsort(member)
    ordered, member = _take_cells(cells, order), member[:, order]
    changes = 1 + np.flatnonzero((member[:, 1:] != member[:, :-1]).any(axis=0))
    bounds = [0, *changes.tolist(), len(order)] if len(order) else []
    totals = [np.zeros((replicates + 1, cells.columns.shape[1])) for _ in groups]
    first = 0
    for weights in chain([ordered.weight[None].astype(np.float64)], _draw_weights(ordered, replicates, seed)):
        rows = slice(first, first + len(weights))
        for start, end in pairwise(bounds):
            part = _product(weights[:, start:end], ordered.columns[start:end])
            for place in np.flatnonzero(member[:, start]):
                totals[place][rows] += part
        first += len(weights)
    for total, group in zip(totals, groups, strict=True):
        if len(group) and len(cells.outcomes):
            total[1:] += _draw_pseudo_items(cells, group, replicates, seed if pseudo_seed is None else pseudo_seed)
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


def _draw_pseudo_items(cells: CellTable, group: Cells, replicates: int, seed: int) -> Array:
    """For each replicate the totals of an item whose outcome is unknown."""
    rng = np.random.RandomState(random_source(seed, 0x70736575))
    outcomes, weight = cells.outcomes[:, group], cells.weight[group].astype(np.float64)
    if len(np.unique(cells.stratum[group])) > 1:
        return _spread_pseudo_items(cells, group, outcomes, replicates, rng)
    cumulated = np.cumsum(weight)
    donor = np.searchsorted(cumulated, rng.random_sample(replicates) * cumulated[-1], side="right")
    masses = rng.standard_gamma(1 / len(outcomes), size=(replicates, len(outcomes)))
    concentrated: Array = np.einsum("rk,krc->rc", masses, outcomes[:, donor])
    return concentrated


def _spread_pseudo_items(
    cells: CellTable, group: Cells, outcomes: Array, replicates: int, rng: np.random.RandomState
) -> Array:
    """Pseudo-items of a metric that averages strata.

    They are spread evenly over the strata: concentrated in one, they would swamp the few items there. A stratum with a
    single item, whose scatter nobody knows, gets one of its own.
    """
    here, weight, decided = cells.stratum[group], cells.weight[group], cells.decided[group]
    strata = np.unique(here)
    means = np.stack(
        [np.average(outcomes[:, here == one], axis=1, weights=weight[here == one].astype(float)) for one in strata]
    )
    size = (replicates, len(outcomes))
    mass = max(1.0, len(strata) / STRATA_PER_PSEUDO_ITEM)
    total: Array = rng.standard_gamma(mass / len(outcomes), size=size) @ means.mean(axis=0)
    for one, mean in zip(strata, means, strict=True):
        if weight[(here == one) & decided].sum() <= 1:
            total += rng.standard_gamma(1 / len(outcomes), size=size) @ mean
    return total


def _draw_weights(cells: CellTable, replicates: int, seed: int) -> Iterator[Array]:
    """Weights of the cells, in blocks: for a cell of w items the sum of w weights."""
    weight = cells.weight
    if not len(weight):
        yield np.zeros((replicates, 0))
        return
    items = int(weight.sum())
    block = max(1, WEIGHTS_PER_BLOCK // max(min(items, ITEMS_PER_CELL * len(weight)), len(weight)))
    sizes = [min(block, replicates - start) for start in range(0, replicates, block)]
    source = random_source(seed, 0x626F6F74)
    concentration = _concentration(cells)
    if (concentration < 1).any():
        rng = np.random.RandomState(source)
        for size in sizes:
            yield _within_strata(rng.standard_gamma(weight * concentration, size=(size, len(weight))), cells)
    elif items <= ITEMS_PER_CELL * len(weight):
        starts = np.concatenate([[0], np.cumsum(weight)[:-1]])
        for size in sizes:
            drawn = _exponentials(source, size, items)
            yield _within_strata(drawn if items == len(weight) else np.add.reduceat(drawn, starts, axis=1), cells)
    else:
        rng = np.random.RandomState(source)
        for size in sizes:
            yield _within_strata(_large_gammas(rng, weight, size), cells)


def _concentration(cells: CellTable) -> Array:
    """The shape of the weight of one item in each cell: 1, or (n-2)/n in a stratum with few items.

    Weights of this shape make the replicates of a mean scatter by s²/n with the unbiased s²; with shape 1 the factor is
    (n-1)/(n+1), a third for two items.
    """
    counts = np.bincount(cells.stratum, weights=cells.weight * cells.decided)
    n = counts[cells.stratum]
    return np.where(n < FEW_ITEMS, np.maximum((n - 2) / np.maximum(n, 1), 0.02), 1.0)


def _within_strata(weights: Array, cells: CellTable) -> Array:
    """The weights scaled so that every stratum has as much as in the data; unchanged if there is only one."""
    strata, place = np.unique(cells.stratum, return_inverse=True)
    if len(strata) == 1:
        return weights
    weights = np.maximum(weights, 1e-200)  # a small shape can give 0, and a stratum of nothing but 0 has no mean
    one_hot = np.eye(len(strata))[place]
    drawn, there = weights @ one_hot, cells.weight @ one_hot
    return weights * (there / drawn)[:, place]


def _exponentials(source: np.random.PCG64, replicates: int, items: int) -> Array:
    """Standard exponential values from 32 random bits each: the same for every version of numpy."""
    bits = np.asarray(source.random_raw(replicates * (-(-items // 2)))).astype("<u8").view("<u4")
    uniform = bits.reshape(replicates, -1)[:, :items] + 0.5
    uniform *= 2.0**-32
    result: Array = np.log(uniform, out=uniform)
    return np.negative(result, out=result)


def _large_gammas(rng: np.random.RandomState, shape: NDArray[np.int64], replicates: int) -> Array:
    """Gamma values of large shapes, by Wilson and Hilferty's cube of a normal value."""
    normal = rng.standard_normal((replicates, len(shape)))
    root = 1 - 1 / (9 * shape) + normal / (3 * np.sqrt(shape))
    result: Array = shape * np.maximum(root, 0.0) ** 3
    return result


def random_source(seed: int, stream: int) -> np.random.PCG64:
    """Random bits that are the same on every machine and for every version of numpy; each stream has its own."""
    return np.random.PCG64(np.random.SeedSequence([seed, stream]))


def measure_totals(probe: Probe, total: Totals, parameters: Parameters) -> dict[str, Array]:
    """The probe's metrics from totals and, where answers have labels, how much was not detected."""
    with running(probe, "measure"):
        values = dict(probe.measure(total, parameters))
    if probe.detector.labels:
        values["undetected_rate_attempts"] = share(total["undetected"], total[ATTEMPTS])
        values["undetected_rate_items"] = share(total["undetected_items"], total["items"])
    for label in probe.detector.other_labels:
        values[f"{label}_rate"] = share(total[f"read_as_{label}"], total["attempts"])
    return values


def _estimate_all(probe: Probe, total: Totals, values: Mapping[str, Array]) -> dict[str, Estimate]:
    """Every metric with its interval, in the order of the declaration."""
    metrics = {metric.name: metric for metric in probe.all_metrics()}
    items = {name: min(int(total[n][0]) for n in metric.denominators) for name, metric in metrics.items()}
    plain = {name: estimate(values[name], items[name]) for name in metrics}
    return {name: _special_interval(metric, plain, values) for name, metric in metrics.items()}


def _special_interval(metric: Metric, plain: Mapping[str, Estimate], values: Mapping[str, Array]) -> Estimate:
    """The interval of a distance is folded from that of its metric; that of a range is as wide as ranges scatter."""
    found = plain[metric.name]
    if math.isnan(found.value):
        return found
    if metric.distance_of:
        name, centre = metric.distance_of
        low, high = plain[name].low - centre, plain[name].high - centre
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return _with_interval(found, nearest, max(abs(low), abs(high)))
    if metric.range_of:
        parts = np.stack([values[name] for name in metric.range_of])
        deviations = parts[:, 1:] - parts[:, :1]
        ranges = deviations.max(axis=0) - deviations.min(axis=0)
        ranges = np.sort(ranges[~np.isnan(ranges)])
        if len(ranges):
            reach = _percentile(ranges, LEVEL)
            return _with_interval(found, max(0.0, found.value - reach), min(1.0, found.value + reach))
    return found


def _with_interval(found: Estimate, low: float, high: float) -> Estimate:
    low, high = min(low, found.value), max(high, found.value)
    return Estimate(value=found.value, low=low, high=high, n=found.n, defined=found.defined)


def estimate(values: Array, items: int) -> Estimate:
    """The value (first) with the percentile interval of its replicates (the rest), which always includes the value."""
    value, replicates = float(values[0]), values[1:]
    defined = np.sort(replicates[~np.isnan(replicates)])
    part = len(defined) / len(replicates) if len(replicates) else 0.0
    if np.isnan(value) or not len(defined):
        return Estimate(value=value, low=np.nan, high=np.nan, n=items, defined=0.0 if np.isnan(value) else part)
    low, high = (_percentile(defined, tail) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Estimate(value=value, low=min(low, value), high=max(high, value), n=items, defined=part)


def _percentile(ordered: Array, part: float) -> float:
    """Linear-interpolated percentile of sorted values; faster than np.quantile for one value."""
    place = part * (len(ordered) - 1)
    below, above = ordered[int(place)], ordered[min(int(place) + 1, len(ordered) - 1)]
    return float(below + (above - below) * (place % 1))
