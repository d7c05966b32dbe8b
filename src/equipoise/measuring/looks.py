"""Looks: how far a run that stops when its marks are certain is asked at a time, and how sure it must be each time.

Whoever looks several times and stops when it suits is wrong more often than whoever looks once. So each look spends a
part of the error: together the looks spend what one interval of 95% would.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

SPENT = (0.005, 0.005, 0.01, 0.01, 0.02)
"""The error of each look; fewer looks have the last of them."""
FEWEST_ITEMS = 20
"""The first look has at least so many items, if there are as many: with fewer, hardly a mark is certain."""


def look_sizes(items: int) -> list[int]:
    """Up to five sizes, each about twice the one before; the last is all items."""
    sizes = [items]
    while len(sizes) < len(SPENT) and sizes[0] >= 2 * FEWEST_ITEMS:
        sizes.insert(0, -(-sizes[0] // 2))
    return sizes


def look_number(sizes: Sequence[int], items: int) -> int:
    """Which look, counted from 1, a run of so many items is at."""
    return min(bisect_left(sizes, items), len(sizes) - 1) + 1


def look_level(sizes: Sequence[int], items: int) -> float:
    """The level of the intervals at the look of this size: 0.995 at the first of five, 0.98 at the last."""
    return 1 - SPENT[len(SPENT) - len(sizes) + look_number(sizes, items) - 1]
