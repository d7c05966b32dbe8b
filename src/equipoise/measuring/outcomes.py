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


def possible_outcomes(probe: Probe, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows as if all attempts of an item had gone one way: one table for each combination of ways of the arms,
    or for some of them.

    For labels, an arm goes to one of the labels; for counts, all words go to one side of their opposites.
    """
    if probe.detector.counts:
        return [rows.with_columns(**columns) for columns in (_one_sided(probe, side) for side in (0, 1)) if columns]
    return [rows.with_columns(**_assign(probe, way, keep=False)) for way in _draw_ways(probe)]


def filled_outcomes(probe: Probe, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows as if all missing answers of an arm had one label: one table for each combination of extreme labels."""
    return [rows.with_columns(**_assign(probe, way, keep=True)) for way in _ways(probe, extreme_labels(probe))]


def extreme_labels(probe: Probe) -> tuple[str, ...]:
    """The labels that bound what a missing answer could have said: the opposites, if there are any, or all."""
    return probe.detector.opposites[0] if probe.detector.opposites else probe.detector.labels


def has_many_outcomes(probe: Probe) -> bool:
    """Whether its arms can go more ways than are looked at."""
    return math.prod([len(probe.detector.labels)] * len(probe.prefixes)) > MOST_OUTCOMES


def _ways(probe: Probe, labels: Sequence[str]) -> Iterator[Mapping[str, str]]:
    for chosen in itertools.product(labels, repeat=len(probe.prefixes)):
        yield dict(zip(probe.prefixes, chosen, strict=True))


def _draw_ways(probe: Probe) -> list[Mapping[str, str]]:
    """All ways in which the arms can go or, if there are too many, some that are spread over each arm."""
    labels = probe.detector.labels
    if not has_many_outcomes(probe):
        return list(_ways(probe, labels))
    rng = np.random.RandomState(0)  # the same everywhere: these are not random results, only a choice
    # One end of a scale as often as all that is not that end, so that unknown items pull a share towards one half.
    end = probe.detector.opposites[0][0] if probe.detector.opposites else None
    rest = [label for label in labels if label != end]
    half = MOST_OUTCOMES // 2 if end is not None else 0
    even = [end] * half if end is not None else []
    even += [rest[place % len(rest)] for place in range(MOST_OUTCOMES - half)]
    columns = [[even[place] for place in rng.permutation(MOST_OUTCOMES)] for _ in probe.prefixes]
    return [dict(zip(probe.prefixes, way, strict=True)) for way in zip(*columns, strict=True)]


def _assign(probe: Probe, way: Mapping[str, str], *, keep: bool) -> dict[str, pl.Expr]:
    columns: dict[str, pl.Expr] = {}
    for prefix, chosen in way.items():
        missing = pl.col(f"{prefix}{MISSING}")
        decided = pl.sum_horizontal(f"{prefix}{label}" for label in probe.detector.labels)
        # A possible outcome weighs as much as what the item decided, so that undetected answers change nothing.
        whole = decided + missing if keep else pl.max_horizontal(decided, (missing > 0).cast(pl.UInt32))
        for label in probe.detector.labels:
            name = f"{prefix}{label}"
            extra = missing if label == chosen else pl.lit(0, dtype=pl.UInt32)
            columns[name] = pl.col(name) + extra if keep else (whole if label == chosen else pl.lit(0, pl.UInt32))
        if not probe.detector.words:  # a probability of other words is there whatever the labels get
            columns |= {f"{prefix}{label}": pl.lit(0, dtype=pl.UInt32) for label in probe.detector.other_labels}
        columns[f"{prefix}{ATTEMPTS}"] = whole
    return columns


def _one_sided(probe: Probe, side: int) -> dict[str, pl.Expr]:
    columns: dict[str, pl.Expr] = {}
    for prefix, pair in itertools.product(probe.prefixes, probe.detector.opposites):
        names = [f"{prefix}{name}" for name in pair]
        columns[names[side]] = pl.sum_horizontal(names)
        columns[names[1 - side]] = pl.lit(0, dtype=pl.UInt32)
    return columns
