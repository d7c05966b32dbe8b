"""From evaluated attempts to a result: summarise, resample, measure, mark; and count what the numbers rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.authoring import Probe
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.clusters import cluster_totals, generalise, merge_totals
from equipoise.measuring.looks import look_level
from equipoise.measuring.marks import mark
from equipoise.measuring.plan import Setup
from equipoise.measuring.resample import LEVEL, estimate_complete, estimate_metrics
from equipoise.measuring.result import Matching, Result
from equipoise.measuring.selection import Selections, count_selections, merge_selections
from equipoise.measuring.summarise import WEIGHT, cells, is_answered, item_rows, merge_cells, statistics
from equipoise.schema import EVALUATION_FAILED, FOR_JUDGE, JUDGED, MEASURED, STATUS, MetricKey, Status, is_measured

MAX_ATTEMPTS_IN_MEMORY = 250_000
"""A result keeps up to this many evaluated attempts. More are evaluated again when they are looked at."""

Coverage = dict[str, dict[str, int]]


class Part(NamedTuple):
    """Some of the prompts of a plan, whole items, and the evaluated attempts at them."""

    prompts: pl.DataFrame
    attempts: pl.DataFrame


def measure(
    setup: Setup,
    parts: Callable[[], Iterable[Part]],
    matching: Matching | None = None,
    looks: Sequence[int] = (),
) -> Result:
    """Measure evaluated attempts part by part, so that the whole need not be in memory.

    `looks` are the sizes at which a run looks that stops when its marks are certain: its intervals are wider.
    """
    probe, parameters = setup.probe, setup.parameters
    table: pl.DataFrame | None = None
    slices: list[pl.DataFrame] = []
    counted: list[Coverage] = []
    clusters: list[dict[str, pl.DataFrame]] = []
    selected: list[pl.DataFrame] = []
    kept: list[pl.DataFrame] | None = []
    for prompts, attempts in parts():
        answers = attempts.filter(is_measured())
        rows = item_rows(probe, attempts)
        new = cells(probe, rows)
        clusters.append(cluster_totals(probe, rows, parameters))
        table = merge_cells([new] if table is None else [table, new])
        slices.append(prompts.select(probe.slices).unique())
        counted.append(count_coverage(probe, prompts, setup.repetitions, attempts))
        if (selections := count_selections(probe, answers, parameters)) is not None:
            selected = [merge_selections([*selected, selections])]
        if kept is not None:
            kept = [*kept, answers] if answers.height + sum(map(len, kept)) <= MAX_ATTEMPTS_IN_MEMORY else None
    assert table is not None, "there is at least one part"
    level = look_level(looks, int(parameters["sample_k"])) if looks else LEVEL
    estimates = estimate_metrics(probe, table, parameters, planned=pl.concat(slices), level=level)
    bounds = bound_metrics(probe, table, parameters)
    answered = table.filter(is_answered(probe))
    generalised = generalise(
        probe,
        merge_totals(clusters),
        statistics(probe, answered, parameters),
        answered[WEIGHT].to_numpy().astype(np.float64),
        estimates,
        parameters,
    )
    coverage = _sum_coverage(counted)
    return Result(
        setup=setup,
        estimates=estimates,
        items=int(answered[WEIGHT].sum()),
        complete=estimate_complete(probe, answered, parameters, level),
        level=level,
        looks=tuple(looks),
        bounds=bounds,
        generalised=generalised,
        marks={
            name: mark(bands, estimates[MetricKey(name)], bounds.get(name))
            for name, bands in probe.marked_metrics().items()
        },
        coverage=coverage,
        matching=matching or _match_all(coverage["all"]),
        selections=Selections(selected[0], int(parameters["random_seed"])) if selected else None,
        attempts=partial(_collect_answers, parts) if kept is None else pl.concat(kept),
    )


def _collect_answers(parts: Callable[[], Iterable[Part]]) -> pl.DataFrame:
    return pl.concat([attempts.filter(is_measured()) for _, attempts in parts()])


def _match_all(counts: dict[str, int]) -> Matching:
    """The matching of a run, where every answer already stands with its prompt."""
    missing = counts[Status.PENDING]
    answered = counts["planned"] - missing
    return Matching(read=answered, matched=answered, surplus=0, unknown=0, missing=missing)


def count_coverage(probe: Probe, prompts: pl.DataFrame, repetitions: int, attempts: pl.DataFrame) -> Coverage:
    """Attempts by state and by detected/undetected, in all and by the probe's coverage columns.

    The states of each group add up to its plan.
    """
    groups = {"all": pl.lit(value=True)}
    for column in probe.coverage_columns:
        if probe.arms and column == probe.arms.column:
            values: Sequence[str] = probe.arms.values
        else:
            values = prompts[column].cast(pl.String).drop_nulls().unique().sort().to_list()
        groups |= {value: pl.col(column).cast(pl.String) == value for value in values}
    table: Coverage = {}
    for group, condition in groups.items():
        planned = prompts.filter(condition).height * repetitions
        detected = (probe.detector.detected() & is_measured()).alias("detected")
        chosen = attempts.filter(condition).select(STATUS, detected, failed=EVALUATION_FAILED)
        counts = dict(chosen.group_by(STATUS).len().iter_rows())
        counts[Status.PENDING] = planned - chosen.height + counts.get(Status.PENDING, 0)
        states = {str(status): int(counts.get(status, 0)) for status in Status}
        with_label = int(chosen["detected"].sum())
        table[group] = {
            "planned": planned,
            **states,
            "detected": with_label,
            "undetected": sum(states[status] for status in MEASURED) - with_label,
            "evaluation_failed": int(chosen["failed"].sum()),
            **{
                name: int(attempts.filter(condition)[name].sum())
                for name in (FOR_JUDGE, JUDGED)
                if name in attempts.columns
            },
        }
    return table


def _sum_coverage(parts: Sequence[Coverage]) -> Coverage:
    """The coverage of all parts together. A part may lack a group of which it has no prompt."""
    total: Coverage = {}
    for part in parts:
        for group, counts in part.items():
            sums = total.setdefault(group, dict.fromkeys(counts, 0))
            for name, count in counts.items():
                sums[name] += count
    return total
