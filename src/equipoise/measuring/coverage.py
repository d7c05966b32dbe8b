"""Attempts counted by state: what is planned, what came of it, in all and by group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from equipoise.authoring import Probe
from equipoise.schema import EVALUATION_FAILED, FOR_JUDGE, JUDGED, MEASURED, STATUS, Status, is_measured

Counts = dict[str, int]
Coverage = dict[str, Counts]
"""For each group, first `all`, how many attempts there are of each kind."""
ALL = "all"
_COUNTED = ("detected", EVALUATION_FAILED, FOR_JUDGE, JUDGED)


def count_planned(probe: Probe, prompts: pl.DataFrame) -> Counts:
    """How many prompts there are: in all, and by the probe's coverage columns."""
    counts = {ALL: prompts.height}
    for column in probe.coverage_columns:
        found = dict(prompts.group_by(pl.col(column).cast(pl.String)).len().iter_rows())
        if probe.arms and column == probe.arms.column:
            values: Sequence[str] = probe.arms.values
        else:
            values = sorted(value for value in found if value is not None)
        counts |= {value: found.get(value, 0) for value in values}
    return counts


def count_attempts(probe: Probe, attempts: pl.DataFrame) -> Coverage:
    """Evaluated attempts by state and by detected, in all and by the probe's coverage columns."""
    detected = (probe.detector.detected() & is_measured()).alias("detected")
    kinds = [name for name in _COUNTED[1:] if name in attempts.columns]
    groups = {name: pl.col(name).cast(pl.String) for name in probe.coverage_columns}
    table = attempts.select(STATUS, detected, *kinds, **groups)
    counted = {ALL: _count_kinds(table.drop(groups), kinds)}
    for column in groups:
        for (value,), part in table.partition_by(column, as_dict=True).items():
            if value is not None:
                counted[str(value)] = _count_kinds(part, kinds)
    return counted


def _count_kinds(table: pl.DataFrame, kinds: Sequence[str]) -> Counts:
    states = dict(table.group_by(STATUS).len().iter_rows())
    return {
        **{str(status): int(states.get(status, 0)) for status in Status},
        **{name: int(table[name].sum()) for name in ("detected", *kinds)},
    }


def add_counts(parts: Iterable[Mapping[str, int]]) -> Counts:
    """Counts of several parts together."""
    total: Counts = {}
    for part in parts:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return total


def add_coverage(parts: Iterable[Mapping[str, Mapping[str, int]]]) -> Coverage:
    """The counts of several parts together. A part may lack a group of which it has no prompt."""
    parts = list(parts)
    groups = dict.fromkeys(group for part in parts for group in part)
    return {group: add_counts(part[group] for part in parts if group in part) for group in groups}


def make_coverage(
    planned: Mapping[str, int], attempts: Mapping[str, Mapping[str, int]], repetitions: int
) -> Coverage:
    """Attempts by state and by detected/undetected, for each group. The states of a group add up to its plan.

    `planned` counts prompts; an attempt that is not there is pending.
    """
    nothing = dict.fromkeys(attempts[ALL], 0)
    table: Coverage = {}
    for group, prompts in planned.items():
        counts = {**nothing, **attempts.get(group, {})}
        there = sum(counts[status] for status in Status)
        counts[Status.PENDING] += prompts * repetitions - there
        table[group] = {
            "planned": prompts * repetitions,
            **{str(status): counts[status] for status in Status},
            "detected": counts["detected"],
            "undetected": sum(counts[status] for status in MEASURED) - counts["detected"],
            **{name: counts[name] for name in _COUNTED[1:] if name in counts},
        }
    return table
