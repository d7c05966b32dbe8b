"""A plan in blocks of items, so that some of it can be made and counted without the rest; its attempts as numbers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Probe
from equipoise.measuring.coverage import ALL, Coverage, count_planned
from equipoise.measuring.plan import Plan
from equipoise.schema import ID

Numbers = NDArray[np.int64]
ITEMS_PER_BLOCK = 5_000
_BITS = 44
"""The number of an attempt is that of its block, followed by so many bits for its place in the block."""


@dataclass(frozen=True, kw_only=True)
class PlannedBlock:
    """What is planned in one block of items."""

    prompts: Coverage
    """How many there are: in all, and for each coverage column by its values."""
    digest: str
    """Of the ids of the prompts: equal blocks of equal plans have the same."""

    @property
    def size(self) -> int:
        """How many prompts it has."""
        return self.prompts[ALL][ALL]

    @classmethod
    def of(cls, probe: Probe, prompts: pl.DataFrame) -> Self:
        """The block of these prompts."""
        digest = hashlib.blake2b("".join(prompts[ID]).encode(), digest_size=10)
        return cls(prompts=count_planned(probe, prompts), digest=digest.hexdigest())


def count_blocks(items: int) -> int:
    """How many blocks so many items make."""
    return -(-items // ITEMS_PER_BLOCK)


def take_block(planned: Plan, number: int) -> pl.DataFrame:
    """The prompts of one block of a plan."""
    return planned.take(number * ITEMS_PER_BLOCK, (number + 1) * ITEMS_PER_BLOCK)


def number_attempts(blocks: Any, places: Any, repetitions: Any, planned: int) -> Numbers:
    """The numbers of attempts in a plan.

    They are repetitions, of which so many are planned, of the prompts at these places of their blocks.
    """
    within = np.asarray(places, dtype=np.int64) * planned + np.asarray(repetitions, dtype=np.int64) - 1
    return np.asarray(blocks, dtype=np.int64) * (1 << _BITS) + within


def locate_attempts(numbers: Any) -> tuple[Any, Any]:
    """The block of each number of an attempt, and its place in that block."""
    return numbers >> _BITS, numbers & ((1 << _BITS) - 1)


def find_attempt(planned: Plan, number: int) -> tuple[str, int]:
    """The id of the prompt and the repetition of the attempt with this number."""
    block, within = locate_attempts(number)
    place, repetition = divmod(within, planned.repetitions)
    return str(take_block(planned, block)[ID][place]), repetition + 1


@dataclass(frozen=True, eq=False)
class Ranges:
    """A set of whole numbers as ranges: millions of neighbours are one range, and two sets are united in one pass.

    The numbers from each of the `starts` to before the end at the same place; sorted, and none of them touch."""

    starts: Numbers
    ends: Numbers

    @classmethod
    def of(cls, numbers: Numbers) -> Self:
        """The ranges of numbers, of which none stands twice."""
        numbers = np.sort(numbers.astype(np.int64))
        begins = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 2) != 1)
        return cls(numbers[begins], numbers[np.append(begins[1:] - 1, len(numbers) - 1)[: len(begins)]] + 1)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return int((self.ends - self.starts).sum())

    def common(self, other: Ranges) -> Ranges:
        """The numbers that are in both."""
        starts, ends = self._sorted_with(other)
        before = np.maximum.accumulate(ends)[:-1]
        overlaps = starts[1:] < before
        return Ranges(starts[1:][overlaps], np.minimum(before, ends[1:])[overlaps])

    def unite(self, other: Ranges) -> Ranges:
        """The numbers of both, of which none is common."""
        starts, ends = self._sorted_with(other)
        apart = starts[1:] != ends[:-1]
        return Ranges(starts[np.insert(apart, 0, True)[: len(starts)]], ends[np.append(apart, True)[: len(ends)]])

    def _sorted_with(self, other: Ranges) -> tuple[Numbers, Numbers]:
        starts = np.concatenate([self.starts, other.starts])
        order = np.argsort(starts, kind="stable")
        return starts[order], np.concatenate([self.ends, other.ends])[order]
