"""Attempts to item rows, item rows to cells: equal rows are one cell with a weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from equipoise.authoring import Array, Parameters, Probe
from equipoise.measuring.calling import running
from equipoise.measuring.outcomes import ATTEMPTS, MISSING
from equipoise.schema import ITEM, NEITHER, READING, is_measured
from equipoise.stats.variance import Labels

WEIGHT = "weight"
_PLANNED, _CLASSIFIED = "planned", "classified"
ROWS_AT_ONCE = 100_000
"""Up to this many rows, columns are made for several tables at once: for small ones that takes as long as for one."""


def item_rows(probe: Probe, prompts: pl.DataFrame, evaluated: pl.DataFrame, repetitions: int) -> pl.DataFrame:
    """One row per planned item: covariates, and for each arm the outcomes, `attempts` and `missing`.

    `prompts` are the planned prompts of whole items, `evaluated` the attempts at them with the columns
    of the detector. `attempts` counts the answers that are measured. `missing` counts the planned ones
    that were not classified: they are pending, failed, or say nothing that the detector reads.
    """
    is_classified = is_measured() & probe.detector.detected()
    counts = {
        **probe.detector.tallies(),
        ATTEMPTS: is_measured().cast(pl.UInt32),
        _CLASSIFIED: is_classified.cast(pl.UInt32),
    }
    shared = list(dict.fromkeys((*probe.covariates, *probe.clusters)))
    with running(probe, "detector, covariates or arms"):
        planned = _count_by_item(probe, prompts, {_PLANNED: pl.lit(repetitions, dtype=pl.UInt32)})
        found = _count_by_item(probe, evaluated, counts)
        covariates = prompts.group_by(ITEM, maintain_order=True).agg(pl.col(shared).first())
    rows = covariates.join(planned, on=ITEM, how="left", maintain_order="left")
    tallies = [name for name in found.columns if name != ITEM]
    rows = rows.join(found, on=ITEM, how="left", maintain_order="left")
    rows = rows.with_columns(pl.col(tallies).fill_null(0))
    missing = []
    for prefix in probe.prefixes:
        planned_answers = pl.col(f"{prefix}{_PLANNED}").cast(pl.Int64)
        unclassified = planned_answers - pl.col(f"{prefix}{_CLASSIFIED}")
        missing.append(unclassified.clip(0).cast(pl.UInt32).alias(f"{prefix}{MISSING}"))
    helpers = [f"{prefix}{name}" for prefix in probe.prefixes for name in (_PLANNED, _CLASSIFIED)]
    return rows.with_columns(missing).drop(helpers)


def answered_rows(probe: Probe, evaluated: pl.DataFrame) -> pl.DataFrame:
    """The rows of the items of some attempts, as if nothing but these attempts had been planned."""
    return item_rows(probe, evaluated, evaluated, 1)


def _count_by_item(probe: Probe, table: pl.DataFrame, counts: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """The sums of some columns for each item, and for each arm where the probe has arms."""
    columns = dict(counts)
    if probe.arms:
        columns = {}
        for arm, prefix in probe.arms.prefixes.items():
            is_arm = pl.col(probe.arms.column) == arm
            for name, column in counts.items():
                columns[f"{prefix}{name}"] = pl.when(is_arm).then(column).otherwise(0)
    rows = table.select(ITEM, **columns)
    return rows.group_by(ITEM).agg(pl.col(name).sum() for name in columns)


def is_answered(probe: Probe) -> pl.Expr:
    """Whether an item has an answer to measure."""
    return pl.sum_horizontal(f"{prefix}{ATTEMPTS}" for prefix in probe.prefixes) > 0


def with_reading(probe: Probe, parameters: Parameters) -> Parameters:
    """The parameters and the reading: a probe may count other answers as good than its founding page does."""
    return {**parameters, READING: probe.reading}


def statistics(probe: Probe, rows: pl.DataFrame, parameters: Parameters) -> pl.DataFrame:
    """The columns to be totalled, for each row: the probe's statistics, and what every probe counts."""
    attempts = pl.sum_horizontal(f"{prefix}{ATTEMPTS}" for prefix in probe.prefixes)
    with running(probe, "statistics"):
        columns = {**probe.statistics(with_reading(probe, parameters)), "items": pl.lit(1.0), ATTEMPTS: attempts}
        if probe.detector.labels:
            detected = _sum_labels(probe, probe.prefixes)
            columns |= {"undetected": attempts - detected, "undetected_items": detected == 0}
            if probe.prompts_per_item > 1:
                columns |= _count_prompts(probe)
            columns |= {
                f"read_as_{label}": pl.sum_horizontal(f"{prefix}{label}" for prefix in probe.prefixes)
                for label in probe.detector.counted_labels
            }
            for suffix, prefixes in probe.masses.items():
                columns[f"attempts{suffix}"] = pl.sum_horizontal(f"{prefix}{ATTEMPTS}" for prefix in prefixes)
                columns[f"{NEITHER}_mass{suffix}"] = pl.sum_horizontal(f"{prefix}{NEITHER}" for prefix in prefixes)
        return rows.select(**{name: column.cast(pl.Float64) for name, column in columns.items()})


def _sum_labels(probe: Probe, prefixes: Sequence[str]) -> pl.Expr:
    """How many attempts have a label that decides something."""
    return pl.sum_horizontal(f"{prefix}{label}" for prefix in prefixes for label in probe.detector.labels)


def _count_prompts(probe: Probe) -> dict[str, pl.Expr]:
    """Items and undetected items of a probe whose page calls each prompt an item."""
    asked = {prefix: pl.col(f"{prefix}{ATTEMPTS}") > 0 for prefix in probe.prefixes}
    return {
        "items": pl.sum_horizontal(asked.values()),
        "undetected_items": pl.sum_horizontal(
            was_asked & (_sum_labels(probe, [prefix]) == 0) for prefix, was_asked in asked.items()
        ),
    }


def stack_columns(probe: Probe, tables: Sequence[pl.DataFrame], parameters: Parameters) -> Array:
    """The statistics of each of several tables with the same rows but other outcomes: table, row, column."""
    size = max(1, ROWS_AT_ONCE // max(tables[0].height, 1))
    parts = [
        statistics(probe, pl.concat(tables[start : start + size], how="vertical_relaxed"), parameters)
        for start in range(0, len(tables), size)
    ]
    columns = np.concatenate([part.to_numpy(order="c") for part in parts])
    return columns.reshape(len(tables), tables[0].height, parts[0].width)


def cells(rows: pl.DataFrame) -> pl.DataFrame:
    """Equal rows of items as one cell with a weight."""
    return merge_cells([rows.drop(ITEM).with_columns(pl.lit(1, pl.Int64).alias(WEIGHT))])


def number_strata(probe: Probe, rows: pl.DataFrame) -> Labels:
    """For each row the number of its stratum, from 0."""
    if not probe.strata:
        return np.zeros(rows.height, dtype=np.int64)
    return rows.select(pl.struct(probe.strata).rank("dense")).to_series().cast(pl.Int64).to_numpy() - 1


def merge_cells(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Cells of several parts as one table, in an order that does not depend on that of the items."""
    keys = pl.exclude(WEIGHT)
    return pl.concat(list(parts)).group_by(keys).agg(pl.col(WEIGHT).sum()).sort(keys)


def without_clusters(probe: Probe, table: pl.DataFrame) -> pl.DataFrame:
    """Cells that clusters do not tell apart: far fewer."""
    return merge_cells([table.drop(name for name in probe.clusters if name not in probe.covariates)])
