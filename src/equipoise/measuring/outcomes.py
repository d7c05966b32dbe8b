"""Item rows with other outcomes: what an unknown item could have said, and what missing answers could have said."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import polars as pl

from equipoise.authoring import Probe

ATTEMPTS, MISSING = "attempts", "missing"


def possible_outcomes(probe: Probe, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows as if all attempts of an item had gone one way: one table for each combination of ways of the arms.

    For labels, an arm goes to one of the labels; for counts, all words go to one side of their opposites.
    """
    if probe.detector.counts:
        return [rows.with_columns(**columns) for columns in (_one_sided(probe, side) for side in (0, 1)) if columns]
    return [rows.with_columns(**_assign(probe, way, keep=False)) for way in _ways(probe)]


def filled_outcomes(probe: Probe, rows: pl.DataFrame) -> list[pl.DataFrame]:
    """The rows as if all missing answers of an arm had one label: one table for each combination of labels."""
    return [rows.with_columns(**_assign(probe, way, keep=True)) for way in _ways(probe)]


def _ways(probe: Probe) -> Iterator[Mapping[str, str]]:
    for labels in itertools.product(probe.detector.labels, repeat=len(probe.prefixes)):
        yield dict(zip(probe.prefixes, labels, strict=True))


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
