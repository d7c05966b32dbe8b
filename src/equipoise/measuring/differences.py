"""Two sets of answers to the same items: paired differences with the same weights for both, and a swap test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Parameters, Probe, Totals
from equipoise.measuring.influence import measure_totals
from equipoise.measuring.plan import Setup
from equipoise.measuring.resample import REPLICATES, estimate, prepare_cells, resample
from equipoise.measuring.summarise import WEIGHT, is_answered
from equipoise.measuring.weights import WEIGHTS_PER_BLOCK, CellTable, random_source
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
    # Clusters do not tell items apart here: with them, hardly any two items would be equal.
    clusters = [name for name in probe.clusters if name not in probe.covariates]
    first, second = (rows.filter(is_answered(probe)).drop(clusters, strict=False) for rows in (first, second))
    common = first.select(ITEM).join(second.select(ITEM), on=ITEM, how="semi").sort(ITEM)
    pairs = _pair_cells(first, second, common)
    sides = [prepare_cells(probe, side, parameters) for side in _sides(pairs, first.columns)]
    return compare_cells(probe, sides, parameters, replicates)


def compare_cells(
    probe: Probe, sides: Sequence[CellTable], parameters: Parameters, replicates: int = REPLICATES
) -> dict[str, Difference]:
    """Compare two tables of cells of the same items."""
    decided = sides[0].decided | sides[1].decided  # the same for both, so that they get the same weights
    sides = [replace(side, decided=decided) for side in sides]
    weight, seed = sides[0].weight, int(parameters["seed"])
    everything = [np.arange(len(weight))]
    totals = [resample(side, everything, replicates, seed, seed + number)[0] for number, side in enumerate(sides)]
    values = [
        measure_totals(probe, Totals(side.names, total), parameters) for side, total in zip(sides, totals, strict=True)
    ]
    swapped = [
        measure_totals(probe, Totals(sides[0].names, total), parameters)
        for total in _swap_totals(sides, replicates, seed)
    ]
    marked = probe.marked_metrics()
    different = (sides[0].columns != sides[1].columns).any(axis=1)
    return {
        metric.name: _difference(
            (values[0][metric.name], values[1][metric.name]),
            swapped[1][metric.name] - swapped[0][metric.name],
            marked[metric.name].distances if metric.name in marked else None,
            int(weight.sum()),
            int(weight[different].sum()),
        )
        for metric in probe.all_metrics()
    }


def _pair_cells(first: pl.DataFrame, second: pl.DataFrame, common: pl.DataFrame) -> pl.DataFrame:
    """Equal pairs of rows of the common items as one cell with a weight, in an order that depends only on them."""
    tables = [common.join(rows, on=ITEM, how="left", maintain_order="left").drop(ITEM) for rows in (first, second)]
    joint = tables[0].hstack(tables[1].rename({name: f"second.{name}" for name in tables[1].columns}))
    return joint.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias(WEIGHT)).sort(pl.exclude(WEIGHT))


def _sides(pairs: pl.DataFrame, columns: list[str]) -> Iterator[pl.DataFrame]:
    names = [name for name in columns if name != ITEM]
    yield pairs.select(*names, WEIGHT)
    yield pairs.select(*(pl.col(f"second.{name}").alias(name) for name in names), WEIGHT)


def _swap_totals(sides: Sequence[CellTable], replicates: int, seed: int) -> tuple[Array, Array]:
    """Totals of both sides after exchanging them at random, item by item: as if there were no difference."""
    first, second = sides
    whole = first.weight @ (first.columns + second.columns)
    different = (first.columns != second.columns).any(axis=1)
    gap, weight = (second.columns - first.columns)[different], first.weight[different]
    start = first.weight @ first.columns
    totals = [start[None]]
    totals += [start + swaps @ gap for swaps in _draw_swaps(weight, replicates, seed)]
    one = np.concatenate(totals)
    return one, whole - one


def _draw_swaps(weight: NDArray[np.int64], replicates: int, seed: int) -> Iterator[Array]:
    """For each replicate and cell how many of its items are exchanged: each with probability one half."""
    items, source = int(weight.sum()), random_source(seed, 0x73776170)
    if not items:
        yield np.zeros((replicates, 0))
        return
    if items > WEIGHTS_PER_BLOCK:
        rng = np.random.RandomState(source)
        for _ in range(replicates):
            yield np.round(weight / 2 + np.sqrt(weight) / 2 * rng.standard_normal(len(weight)))[None]
        return
    starts = np.concatenate([[0], np.cumsum(weight)[:-1]])
    words = -(-items // 64)
    block = max(1, WEIGHTS_PER_BLOCK // items)
    for begin in range(0, replicates, block):
        size = min(block, replicates - begin)
        raw = np.asarray(source.random_raw(size * words)).astype("<u8").view(np.uint8).reshape(size, -1)
        bits = np.unpackbits(raw, axis=1)[:, :items]
        yield np.add.reduceat(bits, starts, axis=1, dtype=np.float64)


def _difference(
    values: tuple[Array, Array],
    swapped: Array,
    distances: Callable[[Array], Array] | None,
    items: int,
    discordant: int,
) -> Difference:
    first, second = values
    # That one value is nearer to even-handed than another is not said by their difference when they lie on two sides.
    # Resampled with the same weights, the distances have a difference of their own.
    farther = None if distances is None else estimate(distances(second) - distances(first), items)
    return Difference(
        first=float(first[0]),
        second=float(second[0]),
        difference=estimate(second - first, items),
        p=_p_value(float(second[0] - first[0]), swapped[1:], discordant),
        distance=farther,
    )


def _p_value(observed: float, swapped: Array, discordant: int) -> float:
    """Two-sided: how often exchanging the two sides item by item gives a difference as large as the observed one.

    With m items that differ there are 2 to the m exchanges, of which two lie as far out as the most extreme: no p-value
    is smaller than that.
    """
    swapped = swapped[~np.isnan(swapped)]
    if np.isnan(observed) or not len(swapped):
        return float("nan")
    if not discordant:
        return 1.0
    as_far = np.abs(swapped) >= abs(observed) - 1e-12
    return min(1.0, max(float((1 + as_far.sum()) / (1 + len(swapped))), 2.0 ** (1 - discordant)))
