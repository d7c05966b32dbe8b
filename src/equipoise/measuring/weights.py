"""Random weights for the cells of items, and the pseudo-item whose outcome is unknown.

Every item gets a random weight, and pseudo-items whose outcome is unknown are added: for each of their K possible
outcomes a mass Gamma(1/2), or Gamma(2/K) if there are more than four, at the covariates of a random item. For a single
rate that is Jeffreys' interval; for every other metric it keeps the interval open where few items happen to agree. A
cell of w equal items gets one Gamma draw.
With fewer than 100 items the weights are more spread (Gamma((n-2)/n) for each instead of Gamma(1)), so that the
replicates of a mean scatter as widely as the mean itself does. `docs/method.md` says why, `make calibrate` shows
that it covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.authoring import Array

FEW_ITEMS = 100
"""Below this many items, weights are corrected for their number, and a group of a slice draws its own."""
MOST_PSEUDO_ITEMS = 2
"""One for a single arm, two for a pair; three would swamp a dozen items. Where many arms with many labels are averaged,
one is enough: each arm has its own unknown outcome in it, and together they would pull as if there were several."""
STRATA_PER_PSEUDO_ITEM = 8
"""A metric that averages strata gets one pseudo-item for this many strata: each gets a part of it."""
WEIGHTS_PER_BLOCK = 1_000_000
"""How many weights are drawn at a time. It bounds the memory and does not change the numbers."""
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
    pseudo_items: int = MOST_PSEUDO_ITEMS


def take_cells(cells: CellTable, places: Cells) -> CellTable:
    """Some of the cells, in this order."""
    return CellTable(
        names=cells.names,
        columns=cells.columns[places],
        weight=cells.weight[places],
        decided=cells.decided[places],
        stratum=cells.stratum[places],
        outcomes=cells.outcomes[:, places],
        pseudo_items=cells.pseudo_items,
    )


def draw_weights(cells: CellTable, replicates: int, seed: int) -> Iterator[Array]:
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


def draw_pseudo_items(cells: CellTable, group: Cells, replicates: int, seed: int) -> Array:
    """For each replicate the totals of an item whose outcome is unknown."""
    rng = np.random.RandomState(random_source(seed, 0x70736575))
    outcomes, weight = cells.outcomes[:, group], cells.weight[group].astype(np.float64)
    if len(np.unique(cells.stratum[group])) > 1:
        return _spread_pseudo_items(cells, group, outcomes, replicates, rng)
    cumulated = np.cumsum(weight)
    donor = np.searchsorted(cumulated, rng.random_sample(replicates) * cumulated[-1], side="right")
    shape = min(0.5, cells.pseudo_items / len(outcomes))
    masses = rng.standard_gamma(shape, size=(replicates, len(outcomes)))
    concentrated: Array = np.einsum("rk,krc->rc", masses, outcomes[:, donor])
    return concentrated


def _spread_pseudo_items(
    cells: CellTable, group: Cells, outcomes: Array, replicates: int, rng: np.random.RandomState
) -> Array:
    """Pseudo-items of a metric that averages strata.

    Each stratum has a part of one, with outcomes of its own: a whole one would swamp the few items there, and one that
    is the same in all strata would cancel in the difference of two of them. A stratum with a single item, whose scatter
    nobody knows, gets a whole one.
    """
    here, weight, decided = cells.stratum[group], cells.weight[group], cells.decided[group]
    strata = np.unique(here)
    means = np.stack(
        [np.average(outcomes[:, here == one], axis=1, weights=weight[here == one].astype(float)) for one in strata]
    )
    items = np.array([weight[(here == one) & decided].sum() for one in strata])
    part = max(1 / len(strata), 1 / STRATA_PER_PSEUDO_ITEM)
    mass = np.where(items <= 1, 1 + part, part)
    shapes = np.repeat(mass / len(outcomes), len(outcomes))
    total: Array = rng.standard_gamma(shapes, size=(replicates, len(shapes))) @ means.reshape(len(shapes), -1)
    return total


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
    root = rng.standard_normal((replicates, len(shape)))
    # In place, and multiplied: a power takes as long as the drawing, and its last bit depends on the machine.
    root /= 3 * np.sqrt(shape)
    root += 1 - 1 / (9 * shape)
    np.maximum(root, 0.0, out=root)
    result: Array = root * root
    result *= root
    result *= shape
    return result


def random_source(seed: int, stream: int) -> np.random.PCG64:
    """Random bits that are the same on every machine and for every version of numpy; each stream has its own."""
    return np.random.PCG64(np.random.SeedSequence([seed, stream]))
