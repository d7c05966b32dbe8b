"""Attempts counted by state: what is planned, what came of it, in all and by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import polars as pl

from equipoise.authoring import Probe
from equipoise.schema import EVALUATION_FAILED, FOR_JUDGE, JUDGED, MEASURED, STATUS, Status, is_measured

Counts = dict[str, int]
Coverage = dict[str, Counts]
"""For each group, first `all`, how many attempts there are of each kind."""
ALL = "all"
_KINDS = (EVALUATION_FAILED, FOR_JUDGE, JUDGED)
_GROUP = "group of a coverage column"


def count_planned(probe: Probe, prompts: pl.DataFrame) -> Coverage:
    """How many prompts there are: in all, under `all`, and for each coverage column by its values."""
    counts: Coverage = {ALL: {ALL: prompts.height}}
    for column in probe.coverage_columns:
        found = prompts.group_by(pl.col(column).cast(pl.String)).len().drop_nulls()
        counts[column] = dict(found.sort(column).iter_rows())
    return counts


def count_attempts(probe: Probe, attempts: pl.DataFrame) -> Coverage:
    """Evaluated attempts by state and by detected, in all and by the probe's coverage columns."""
    kinds = {name: pl.col(name) for name in _KINDS if name in attempts.columns}
    counts = {
        **{str(status): pl.col(STATUS) == status.value for status in Status},
        "detected": probe.detector.detected() & is_measured(),
        **kinds,
    }
    sums = {name: counted.sum().cast(pl.Int64) for name, counted in counts.items()}
    found = {ALL: attempts.select(**sums).row(0, named=True)}
    for column in probe.coverage_columns:
        groups = attempts.group_by(pl.col(column).cast(pl.String).alias(_GROUP)).agg(**sums).drop_nulls(_GROUP)
        found |= {row.pop(_GROUP): row for row in groups.sort(_GROUP).to_dicts()}
    return found


def add_coverage(parts: Iterable[Mapping[str, Mapping[str, int]]]) -> Coverage:
    """The counts of several parts together. A part may lack a group of which it has no prompt."""
    total: dict[str, Counter[str]] = {}
    for part in parts:
        for group, counts in part.items():
            total.setdefault(group, Counter()).update(counts)
    return {group: dict(counts) for group, counts in total.items()}


def make_coverage(
    probe: Probe,
    planned: Mapping[str, Mapping[str, int]],
    attempts: Mapping[str, Mapping[str, int]],
    repetitions: int,
) -> Coverage:
    """Attempts by state and by detected/undetected, for each group. The states of a group add up to its plan.

    `planned` counts prompts, by column and value; an attempt that is not there is pending.
    """
    nothing = dict.fromkeys(attempts[ALL], 0)
    table: Coverage = {}
    for column, by_value in planned.items():
        is_arm = probe.arms is not None and column == probe.arms.column
        for group in probe.arms.values if probe.arms and is_arm else sorted(by_value):
            counts = {**nothing, **attempts.get(group, {})}
            there, all_planned = sum(counts[status] for status in Status), by_value.get(group, 0) * repetitions
            counts[Status.PENDING] += all_planned - there
            table[group] = {
                "planned": all_planned,
                **{str(status): counts[status] for status in Status},
                "detected": counts["detected"],
                "undetected": sum(counts[status] for status in MEASURED) - counts["detected"],
                **{name: counts[name] for name in _KINDS if name in counts},
            }
    return table
