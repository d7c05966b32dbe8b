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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from equipoise.authoring import Array
from equipoise.measuring.gammas import draw_gammas
from equipoise.measuring.products import multiply
from equipoise.measuring.threads import work_in_threads

FEW_ITEMS = 100
"""Below this many items, weights are corrected for their number, and a group of a slice draws its own."""
MOST_PSEUDO_ITEMS = 2
"""One for a single arm, two for a pair; three would swamp a dozen items. Where many arms with many labels are averaged,
one is enough: each arm has its own unknown outcome in it, and together they would pull as if there were several."""
STRATA_PER_PSEUDO_ITEM = 8
"""A metric that averages strata gets one pseudo-item for this many strata: each gets a part of it."""
WEIGHTS_PER_BLOCK = 2**18
"""How many weights each thread draws at a time. It bounds the memory and does not change the numbers."""
PARTS = 8
"""Into how many parts the replicates are divided, however many threads there are: not even the last bit depends on
that, and a thread that is done early takes another part."""

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


def split_rows(cells: CellTable, replicates: int) -> list[range]:
    """The replicates in parts that can be drawn alone; in one part if they must be drawn one after another."""
    size = -(-replicates // PARTS) if _has_many_items(cells) else replicates
    return [range(first, min(first + size, replicates)) for first in range(0, replicates, max(size, 1))]


def draw_weights(cells: CellTable, rows: range, seed: int) -> Iterator[tuple[int, Array]]:
    """Weights of the cells for these replicates, in blocks: for a cell of w items the sum of w weights.

    A block comes with its first replicate, and is overwritten by the next one.
    """
    if not len(cells.weight):
        return
    scale = _stratum_scaling(cells)
    blocks = draw_gammas if _has_many_items(cells) else partial(_draw_few, _concentration(cells))
    for first, drawn in blocks(cells.weight, rows, _seed_sequence(seed, 0x626F6F74), WEIGHTS_PER_BLOCK):
        yield first, scale(drawn)


def _draw_few(
    concentration: Array, weight: NDArray[np.int64], rows: range, seed: np.random.SeedSequence, per_block: int
) -> Iterator[tuple[int, Array]]:
    """Gamma values of any shape, one row after another."""
    random = np.random.RandomState(np.random.PCG64(seed))
    for first in rows[:: max(1, per_block // len(weight))]:
        size = min(max(1, per_block // len(weight)), rows.stop - first)
        # A small shape can give 0, and a stratum of nothing but 0 has no mean.
        yield first, np.maximum(random.standard_gamma(weight * concentration, size=(size, len(weight))), 1e-200)


def add_pseudo_items(cells: CellTable, groups: Sequence[Cells], totals: Sequence[Array], seed: int) -> None:
    """Add an item whose outcome is unknown to the totals of each group: to each row one, if any outcome is possible."""
    random, replicates = np.random.RandomState(random_source(seed, 0x70736575)), len(totals[0])
    donors = random.random_sample(replicates)
    shape = min(0.5, cells.pseudo_items / max(len(cells.outcomes), 1))
    masses = random.standard_gamma(shape, size=(replicates, len(cells.outcomes)))

    def add(number: int) -> None:
        group, total = groups[number], totals[number]
        if not len(group) or not len(cells.outcomes):
            return
        if len(np.unique(cells.stratum[group])) > 1:
            total += _spread_pseudo_items(cells, group, replicates, seed)
            return
        cumulated = np.cumsum(cells.weight[group].astype(np.float64))
        donor = group[np.searchsorted(cumulated, donors * cumulated[-1], side="right")]
        part = np.empty_like(total)
        for mass, columns in zip(masses.T, cells.outcomes, strict=True):
            np.take(columns, donor, axis=0, out=part, mode="clip")
            part *= mass[:, None]
            total += part

    work_in_threads(add, range(len(groups)))


def _spread_pseudo_items(cells: CellTable, group: Cells, replicates: int, seed: int) -> Array:
    """Pseudo-items of a metric that averages strata.

    Each stratum has a part of one, with outcomes of its own: a whole one would swamp the few items there, and one that
    is the same in all strata would cancel in the difference of two of them. A stratum with a single item, whose scatter
    nobody knows, gets a whole one.
    """
    random, outcomes = np.random.RandomState(random_source(seed, 0x70736575)), cells.outcomes[:, group]
    here, weight, decided = cells.stratum[group], cells.weight[group], cells.decided[group]
    strata = np.unique(here)
    means = np.stack(
        [np.average(outcomes[:, here == one], axis=1, weights=weight[here == one].astype(float)) for one in strata]
    )
    items = np.array([weight[(here == one) & decided].sum() for one in strata])
    part = max(1 / len(strata), 1 / STRATA_PER_PSEUDO_ITEM)
    mass = np.where(items <= 1, 1 + part, part)
    shapes = np.repeat(mass / len(outcomes), len(outcomes))
    masses = random.standard_gamma(shapes, size=(replicates, len(shapes)))
    return multiply(masses, means.reshape(len(shapes), -1))


def _has_many_items(cells: CellTable) -> bool:
    return bool((_concentration(cells) == 1).all())


def _concentration(cells: CellTable) -> Array:
    """The shape of the weight of one item in each cell: 1, or (n-2)/n in a stratum with few items.

    Weights of this shape make the replicates of a mean scatter by s²/n with the unbiased s²; with shape 1 the factor is
    (n-1)/(n+1), a third for two items.
    """
    counts = np.bincount(cells.stratum, weights=cells.weight * cells.decided)
    n = counts[cells.stratum]
    return np.where(n < FEW_ITEMS, np.maximum((n - 2) / np.maximum(n, 1), 0.02), 1.0)


def _stratum_scaling(cells: CellTable) -> Callable[[Array], Array]:
    """Scales weights so that every stratum has as much as in the data; they are left alone if there is only one."""
    strata, place = np.unique(cells.stratum, return_inverse=True)
    if len(strata) == 1:
        return lambda weights: weights
    one_hot = np.eye(len(strata))[place]
    there = cells.weight @ one_hot
    return lambda weights: weights * (there / multiply(weights, one_hot))[:, place]


def random_source(seed: int, stream: int) -> np.random.PCG64:
    """Random bits that are the same on every machine and for every version of numpy; each stream has its own."""
    return np.random.PCG64(_seed_sequence(seed, stream))


def _seed_sequence(seed: int, stream: int) -> np.random.SeedSequence:
    return np.random.SeedSequence([seed, stream])
