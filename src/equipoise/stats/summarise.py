"""Attempts to item rows, item rows to cells: rows that are equal are one cell with a weight."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from equipoise.frames import GENDER, ITEM, LABEL
from equipoise.probe import Parameters, Probe

WEIGHT = "weight"


def item_rows(probe: Probe, evaluated: pl.DataFrame) -> pl.DataFrame:
    """One row an item from its measured attempts: covariates, and how often each label occurred, by gender.

    `evaluated` holds whole items: `item`, the covariates, and `label` or the counts.
    """
    if probe.labels:
        columns = {label: (pl.col(LABEL) == label).fill_null(value=False).cast(pl.UInt32) for label in probe.labels}
    else:
        columns = {name: pl.col(name) for name in probe.counts}
    columns["attempts"] = pl.lit(1, dtype=pl.UInt32)
    if probe.genders:
        columns = {
            f"{slug(gender)}_{name}": pl.when(pl.col(GENDER) == gender).then(column).otherwise(0)
            for gender in probe.genders
            for name, column in columns.items()
        }
    return (
        evaluated.select(ITEM, *probe.covariates, **columns)
        .group_by(ITEM, maintain_order=True)
        .agg(*(pl.col(name).first() for name in probe.covariates), *(pl.col(name).sum() for name in columns))
    )


def slug(value: object) -> str:
    """A value as part of a metric name: lower case, words joined by underscores."""
    return str(value).lower().replace("-", "_").replace(" ", "_")


def statistics(probe: Probe, rows: pl.DataFrame, parameters: Parameters) -> pl.DataFrame:
    """The columns to be totalled, a row an item: the probe's slices and statistics, and what every probe counts."""
    prefixes = [f"{slug(gender)}_" for gender in probe.genders] or [""]
    attempts = pl.sum_horizontal(f"{prefix}attempts" for prefix in prefixes)
    columns = {**probe.statistics(parameters), "items": pl.lit(1.0), "attempts": attempts}
    if probe.labels:
        detected = pl.sum_horizontal(f"{prefix}{label}" for prefix in prefixes for label in probe.labels)
        columns |= {"undetected": attempts - detected, "undetected_items": detected == 0}
    return rows.select(*probe.slices, **{name: column.cast(pl.Float64) for name, column in columns.items()})


def cells(table: pl.DataFrame) -> pl.DataFrame:
    """Equal rows as one cell with a weight."""
    return table.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias(WEIGHT))


def merge(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Cells of several batches as one table, in an order that does not depend on that of the items."""
    together = pl.concat(list(parts))
    keys = pl.exclude(WEIGHT)
    return together.group_by(keys).agg(pl.col(WEIGHT).sum()).sort(keys)
