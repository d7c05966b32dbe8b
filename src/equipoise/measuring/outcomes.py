"""Item rows with other outcomes: what an unknown item could have said, and what missing answers could have said."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from equipoise.authoring import Probe

ATTEMPTS, MISSING = "attempts", "missing"
MOST_OUTCOMES = 32
"""Many arms with many labels can go more ways than this; then so many are drawn."""
SIDES = ("down", "up")
"""The ways of a number."""


def possible_outcomes(probe: Probe, rows: pl.DataFrame) -> tuple[list[Mapping[str, str]], list[pl.DataFrame]]:
    """The rows as if all attempts of an item had gone one way: one table for each combination of ways of the arms,
    or for some of them. The ways come first; counts have none.

    For labels, an arm goes to one of the labels; for counts, all words go to one side of their opposites; for numbers,
    each arm lies half a spread above or below what was read of it.
    """
    if probe.detector.counts:
        sides = [_one_sided(probe, side) for side in (0, 1)]
        return [], [rows.with_columns(**columns) for columns in sides if columns]
    ways = _draw_ways(probe)
    return ways, [rows.with_columns(**_assign(probe, way, keep=False)) for way in ways]


def filled_outcomes(probe: Probe, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows as if all missing answers of an arm had one label: one table for each combination of extreme labels.

    For numbers they lie above or below the level of their item: as far as the arms of any item are apart.
    """
    return [rows.with_columns(**_assign(probe, way, keep=True)) for way in _ways(probe, extreme_ways(probe))]


def ways_of_arm(probe: Probe) -> tuple[str, ...]:
    """The ways in which an arm can go: a label, or for numbers up or down."""
    return SIDES if probe.detector.number else probe.detector.labels


def extreme_ways(probe: Probe) -> tuple[str, ...]:
    """The ways that bound what a missing answer could have said: the opposite labels, if there are any, or all."""
    return probe.detector.opposites[0] if probe.detector.opposites else ways_of_arm(probe)


def has_many_outcomes(probe: Probe) -> bool:
    """Whether its arms can go more ways than are looked at."""
    return math.prod([len(ways_of_arm(probe))] * len(probe.prefixes)) > MOST_OUTCOMES


def _ways(probe: Probe, of_arm: Sequence[str]) -> Iterator[Mapping[str, str]]:
    for ways in itertools.product(of_arm, repeat=len(probe.prefixes)):
        yield dict(zip(probe.prefixes, ways, strict=True))


def _draw_ways(probe: Probe) -> list[Mapping[str, str]]:
    """All ways in which the arms can go or, if there are too many, some that are spread over each arm."""
    of_arm = ways_of_arm(probe)
    if not has_many_outcomes(probe):
        return list(_ways(probe, of_arm))
    rng = np.random.RandomState(0)  # the same everywhere: these are not random results, only a choice
    # One end of a scale as often as all that is not that end, so that unknown items pull a share towards one half.
    ends = probe.detector.opposites[0][:1] if probe.detector.opposites else ()
    rest = [way for way in of_arm if way not in ends]
    half = MOST_OUTCOMES // 2 if ends else 0
    spread = [*ends * half, *(rest[place % len(rest)] for place in range(MOST_OUTCOMES - half))]
    columns = [[spread[place] for place in rng.permutation(MOST_OUTCOMES)] for _ in probe.prefixes]
    return [dict(zip(probe.prefixes, way, strict=True)) for way in zip(*columns, strict=True)]


def _assign(probe: Probe, way: Mapping[str, str], *, keep: bool) -> dict[str, pl.Expr]:
    columns: dict[str, pl.Expr] = {}
    for prefix, side in way.items():
        chosen = probe.detector.labels[0] if probe.detector.number else side
        missing = pl.col(f"{prefix}{MISSING}")
        decided = pl.sum_horizontal(f"{prefix}{label}" for label in probe.detector.labels)
        # A possible outcome weighs as much as what the item decided, so that undetected answers change nothing.
        whole = decided + missing if keep else pl.max_horizontal(decided, (missing > 0).cast(pl.UInt32))
        for label in probe.detector.labels:
            name = f"{prefix}{label}"
            extra = missing if label == chosen else pl.lit(0, dtype=pl.UInt32)
            columns[name] = pl.col(name) + extra if keep else (whole if label == chosen else pl.lit(0, pl.UInt32))
        if not probe.detector.by_probability:  # a probability of other words is there whatever the labels get
            columns |= {f"{prefix}{label}": pl.lit(0, dtype=pl.UInt32) for label in probe.detector.other_labels}
        columns[f"{prefix}{ATTEMPTS}"] = whole
        for name, of_label in probe.detector.shares.items():
            share = pl.lit(of_label[chosen])
            columns[f"{prefix}{name}"] = pl.col(f"{prefix}{name}") + missing * share if keep else whole * share
        if probe.detector.number:
            total, sign = f"{prefix}{probe.detector.sum_column}", 1 if side == SIDES[1] else -1
            mean = _mean_numbers(probe)[probe.prefixes.index(prefix)].fill_null(_level(probe))
            known = pl.col(total) + missing * (_level(probe) + sign * _reach(probe))
            columns[total] = known if keep else whole * (mean + sign * probe.detector.number.spread / 2)
    return columns


def _mean_numbers(probe: Probe) -> list[pl.Expr]:
    """For each arm the mean of the numbers that were read; null if there is none."""
    (label,) = probe.detector.labels
    return [
        pl.when(pl.col(f"{prefix}{label}") > 0).then(
            pl.col(f"{prefix}{probe.detector.sum_column}") / pl.col(f"{prefix}{label}")
        )
        for prefix in probe.prefixes
    ]


def _level(probe: Probe) -> pl.Expr:
    """The level of an item: the mean of its arms; if nothing was read of it, that of all items."""
    level = pl.mean_horizontal(_mean_numbers(probe))
    return level.fill_null(level.mean()).fill_null(0.0)


def _reach(probe: Probe) -> pl.Expr:
    """How far a missing number may lie from the level of its item: as far as the arms of any item are apart."""
    assert probe.detector.number is not None
    means = _mean_numbers(probe)
    apart = (pl.max_horizontal(means) - pl.min_horizontal(means)).max()
    reach = pl.max_horizontal(apart.fill_null(0.0), pl.lit(probe.detector.number.spread))
    # Where no arm is known, two unknown ones are no farther apart than those that are known.
    return pl.when(pl.any_horizontal(mean.is_not_null() for mean in means)).then(reach).otherwise(reach / 2)


def _one_sided(probe: Probe, side: int) -> dict[str, pl.Expr]:
    columns: dict[str, pl.Expr] = {}
    for prefix, pair in itertools.product(probe.prefixes, probe.detector.opposites):
        names = [f"{prefix}{name}" for name in pair]
        columns[names[side]] = pl.sum_horizontal(names)
        columns[names[1 - side]] = pl.lit(0, dtype=pl.UInt32)
    return columns
