"""Sets of numbers as ranges do what sets do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from equipoise.measuring.blocks import Ranges

NUMBERS = st.sets(st.integers(0, 60))


def ranges_of(numbers: set[int]) -> Ranges:
    return Ranges.of(np.array(sorted(numbers, reverse=True), dtype=np.int64))


def numbers_of(ranges: Ranges) -> list[int]:
    return [number for start, end in zip(ranges.starts, ranges.ends, strict=True) for number in range(start, end)]


@given(NUMBERS)
def test_ranges_hold_their_numbers_and_do_not_touch(numbers: set[int]) -> None:
    ranges = ranges_of(numbers)
    assert numbers_of(ranges) == sorted(numbers)
    assert ranges.size == len(numbers)
    assert (ranges.starts[1:] > ranges.ends[:-1]).all()


@given(NUMBERS, NUMBERS)
def test_common_numbers_are_found(one: set[int], other: set[int]) -> None:
    assert numbers_of(ranges_of(one).common(ranges_of(other))) == sorted(one & other)


@given(NUMBERS, NUMBERS)
def test_sets_without_common_numbers_are_united(one: set[int], other: set[int]) -> None:
    united = ranges_of(one).unite(ranges_of(other - one))
    assert numbers_of(united) == sorted(one | other)
    assert (united.starts[1:] > united.ends[:-1]).all()
