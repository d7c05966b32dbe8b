"""Sets of whole numbers as ranges: millions of neighbours are one range, and two sets are united in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranges:
    """The numbers from each of the `starts` to before the end at the same place; sorted, and none of them touch."""

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
