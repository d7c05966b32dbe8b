"""Attempts to item rows, item rows to cells: equal rows are one cell with a weight."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from equipoise.authoring import Parameters, Probe
from equipoise.measuring.calling import running
from equipoise.schema import ITEM

WEIGHT = "weight"


def item_rows(probe: Probe, evaluated: pl.DataFrame) -> pl.DataFrame:
    """One row per item from its measured attempts: covariates, and how often each outcome occurred, by arm.

    `evaluated` holds whole items: `item`, the covariates, the arm, and the columns of the detector.
    """
    columns = {**probe.detector.tallies(), "attempts": pl.lit(1, dtype=pl.UInt32)}
    if probe.arms:
        columns = {
            f"{prefix}{name}": pl.when(pl.col(probe.arms.column) == arm).then(column).otherwise(0)
            for arm, prefix in probe.arms.prefixes.items()
            for name, column in columns.items()
        }
    with running(probe, "detector, covariates or arms"):
        return (
            evaluated.select(ITEM, *probe.covariates, **columns)
            .group_by(ITEM, maintain_order=True)
            .agg(*(pl.col(name).first() for name in probe.covariates), *(pl.col(name).sum() for name in columns))
        )


def statistics(probe: Probe, rows: pl.DataFrame, parameters: Parameters) -> pl.DataFrame:
    """The columns to be totalled, one row per item: the probe's slices and statistics, and what every probe counts."""
    prefixes = list(probe.arms.prefixes.values()) if probe.arms else [""]
    attempts = pl.sum_horizontal(f"{prefix}attempts" for prefix in prefixes)
    with running(probe, "statistics"):
        columns = {**probe.statistics(parameters), "items": pl.lit(1.0), "attempts": attempts}
        if probe.detector.labels:
            detected = pl.sum_horizontal(f"{prefix}{label}" for prefix in prefixes for label in probe.detector.labels)
            columns |= {"undetected": attempts - detected, "undetected_items": detected == 0}
            columns |= {
                f"read_as_{label}": pl.sum_horizontal(f"{prefix}{label}" for prefix in prefixes)
                for label in probe.detector.other_labels
            }
        return rows.select(*probe.slices, **{name: column.cast(pl.Float64) for name, column in columns.items()})


def cells(table: pl.DataFrame) -> pl.DataFrame:
    """Equal rows as one cell with a weight."""
    return table.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias(WEIGHT))


def merge_cells(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Cells of several batches as one table, in an order that does not depend on that of the items."""
    together = pl.concat(list(parts))
    keys = pl.exclude(WEIGHT)
    return together.group_by(keys).agg(pl.col(WEIGHT).sum()).sort(keys)
