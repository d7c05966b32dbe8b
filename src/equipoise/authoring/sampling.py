"""The seeded order in which items are drawn: the same on every machine and version, and any part of it at once.

A keyed permutation of 0 … size-1 (a Feistel network that is walked until the result is inside) gives the item at any
place without building the others, and every sample is a prefix of the larger ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.schema import ITEM

ROUNDS = 6
Places = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Items:
    """All items that a probe could ask about, in a seeded order that is never built whole unless it is small.

    `take(places, seed)` gives the items at these places of the order. The first k places are the sample of size k, so
    a larger sample contains the smaller one.
    """

    size: int
    take: Callable[[Places, int], pl.DataFrame]


def table_items(frame: pl.DataFrame, strata: Sequence[str] = ()) -> Items:
    """The items of a small table. With strata, every prefix of the order holds its fair share of each stratum."""

    def take(places: Places, seed: int) -> pl.DataFrame:
        order = shuffle(np.arange(frame.height), frame.height, seed)
        if strata:
            turn = frame.select(strata)[order].select(
                ((pl.int_range(pl.len()) + 0.5) / pl.len()).over(strata).alias("turn")
            )
            order = order[np.argsort(turn["turn"].to_numpy(), kind="stable")]
        return frame[order[places]]

    return Items(size=frame.height, take=take)


def same_by_item(prompts: pl.DataFrame, values: NDArray[Any]) -> NDArray[Any]:
    """One of the values for each prompt, the same for all prompts of an item. There must be as many as prompts."""
    places: Places = prompts[ITEM].rank("dense").to_numpy() - 1
    chosen: NDArray[Any] = values[places]
    return chosen


def shuffle(places: Places, size: int, seed: int, stream: Places | int = 0) -> Places:
    """The elements at these places of a seeded permutation of 0 … size-1; each stream is another permutation."""
    bits = max((size - 1).bit_length() + 1, 2) // 2
    low = np.uint64((1 << bits) - 1)
    value = places.astype(np.uint64)
    key = _mix(_mix(np.uint64(seed % 2**64)) ^ np.asarray(stream, dtype=np.uint64))
    key = np.broadcast_to(key, value.shape)
    outside = np.ones(value.shape, dtype=bool)
    while outside.any():
        left, right = value[outside] >> np.uint64(bits), value[outside] & low
        for round_ in range(ROUNDS):
            left, right = right, left ^ (_mix(right + key[outside] + np.uint64(round_ << 56)) & low)
        value[outside] = left << np.uint64(bits) | right
        outside = value >= np.uint64(size)
    return value.astype(np.int64)


def _mix(value: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014), a well-mixing bijection of 64 bits."""
    value = np.atleast_1d(value) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ value >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ value >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return value ^ value >> np.uint64(31)
