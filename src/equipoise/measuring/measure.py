"""From evaluated attempts to a result: summarise, total, measure, mark; and count what the numbers rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from equipoise.authoring import Probe
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.cells import Places, prepare_cells
from equipoise.measuring.clusters import generalise
from equipoise.measuring.estimates import estimate_cells, estimate_groups
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.marks import look_level, mark_metrics
from equipoise.measuring.plan import Setup
from equipoise.measuring.result import NOTHING_MATCHED, Matching, Result
from equipoise.measuring.selection import Sets, count_selections, fold_selections
from equipoise.measuring.summarise import cells, is_answered, item_rows, merge_cells, without_clusters
from equipoise.schema import (
    EVALUATION_FAILED,
    FOR_JUDGE,
    JUDGED,
    LABEL,
    PROMPT,
    READ_DIFFERENTLY,
    STATUS,
    Status,
    is_measured,
)
from equipoise.stats.intervals import LEVEL

ALL = "all"
"""The group of all attempts."""
_GROUP = "arm"
_FLAGS = (EVALUATION_FAILED, FOR_JUDGE, JUDGED, READ_DIFFERENTLY)
BATCHES_MERGED_AT_ONCE = 20
"""To merge the cells of each batch with all before it takes ten times as long for ten million answers."""
MAX_ATTEMPTS_IN_MEMORY = 250_000
"""A result keeps up to this many evaluated attempts. More are evaluated again when they are looked at."""


class Batch(NamedTuple):
    """Some of the prompts of a plan, whole items, and the evaluated attempts at them."""

    prompts: pl.DataFrame
    attempts: pl.DataFrame


def measure(
    setup: Setup,
    batches: Callable[[], Iterable[Batch]],
    matching: Matching = NOTHING_MATCHED,
    looks: Sequence[int] = (),
) -> Result:
    """Measure evaluated attempts batch by batch, so that the whole need not be in memory.

    `looks` are the sizes at which a run looks that stops when its marks are certain: its intervals are wider.
    """
    probe = setup.probe
    parameters = setup.parameters
    gathered = _gather(setup, batches())
    folded = without_clusters(probe, gathered.table)
    rows = folded.filter(is_answered(probe))
    level = look_level(looks, setup.items) if looks else LEVEL
    population = setup.population if setup.repetitions > 1 else None
    prepared = prepare_cells(probe, rows, parameters)
    share_asked = prepared.share_of(population)
    estimates = estimate_groups(prepared, rows, folded, level, population)
    whole = prepared.take(_find_whole_items(probe, rows))
    of_whole = {}
    if len(whole.weight):
        of_whole = estimate_cells(whole, level, whole.share_of(population))
    bounds = bound_metrics(probe, folded, parameters, level, share_asked)
    generalised = {}
    if probe.clusters or population:
        clustered = rows
        if probe.clusters:
            clustered = gathered.table.filter(is_answered(probe))
        generalised = generalise(prepared, clustered, estimates, level, bounds)
    return Result(
        setup=setup,
        estimates=estimates,
        items=int(prepared.weight.sum()),
        whole_items={name: of_whole[name] for name in probe.marked_metrics() if of_whole},
        level=level,
        looks=tuple(looks),
        bounds=bounds,
        generalised=generalised,
        marks=mark_metrics(probe, estimates, bounds, gathered.coverage[ALL]),
        coverage=gathered.coverage,
        matching=matching,
        selections=gathered.selections,
        attempts=partial(find_answers, batches) if gathered.attempts is None else gathered.attempts,
        rows=partial(find_rows, setup, batches) if gathered.rows is None else gathered.rows,
    )


@dataclass(frozen=True, kw_only=True)
class _Gathered:
    """What all batches together hold."""

    table: pl.DataFrame
    """The cells of all planned items."""
    coverage: Mapping[str, Mapping[str, int]]
    selections: Mapping[str, Sets]
    attempts: pl.DataFrame | None
    """The measured attempts; None if there are too many to keep."""
    rows: pl.DataFrame | None
    """A row for each planned item, likewise."""


def _gather(setup: Setup, batches: Iterable[Batch]) -> _Gathered:
    """Summarise attempts batch by batch."""
    probe = setup.probe
    tables: list[pl.DataFrame] = []
    kept: list[tuple[pl.DataFrame, pl.DataFrame]] | None = []
    kept_attempts = 0
    coverage = []
    selections = []
    for prompts, attempts in batches:
        rows = item_rows(probe, prompts, attempts, setup.repetitions)
        tables.append(cells(rows))
        if len(tables) >= BATCHES_MERGED_AT_ONCE:
            tables = [merge_cells(tables)]
        coverage.append(_count_attempts(probe, prompts, attempts, setup.repetitions))
        measured = attempts.filter(is_measured())
        counted = count_selections(probe, measured, setup.parameters, prompts, setup.repetitions)
        selections.append(counted)
        kept_attempts += measured.height
        if kept is not None:
            kept.append((measured, rows))
        if kept_attempts > MAX_ATTEMPTS_IN_MEMORY:
            kept = None
    return _Gathered(
        table=merge_cells(tables),
        coverage=_add_coverage(probe, coverage),
        selections=fold_selections(probe, selections),
        attempts=None if kept is None else pl.concat([measured for measured, _ in kept]),
        rows=None if kept is None else pl.concat([rows for _, rows in kept]),
    )


def _find_whole_items(probe: Probe, rows: pl.DataFrame) -> Places:
    """The rows of items of which every arm was decided: like with like, where some answers are missing.

    There are none if no item is whole, or all are.
    """
    if len(probe.prefixes) < 2 or not probe.detector.labels:
        return np.arange(0)
    decided = (pl.sum_horizontal(f"{prefix}{name}" for name in probe.detector.labels) > 0 for prefix in probe.prefixes)
    places = np.flatnonzero(rows.select(pl.all_horizontal(decided)).to_series().to_numpy())
    return places if len(places) < rows.height else places[:0]


def find_answers(batches: Callable[[], Iterable[Batch]]) -> Iterator[pl.DataFrame]:
    """The attempts that are measured, batch by batch."""
    return (attempts.filter(is_measured()) for _, attempts in batches())


def find_rows(setup: Setup, batches: Callable[[], Iterable[Batch]]) -> Iterator[pl.DataFrame]:
    """A row for each planned item, batch by batch."""
    for prompts, attempts in batches():
        yield item_rows(setup.probe, prompts, attempts, setup.repetitions)


def _count_attempts(probe: Probe, prompts: pl.DataFrame, attempts: pl.DataFrame, repetitions: int) -> pl.DataFrame:
    """Planned and evaluated attempts by state and by detected/undetected, in all and by arm."""
    detected = probe.detector.detected()
    counted = {
        **{str(status): pl.col(STATUS) == status.value for status in Status},
        "detected": is_measured() & detected,
        "undetected": is_measured() & ~detected,
        **{name: pl.col(name) for name in _FLAGS if name in attempts.columns},
    }
    tables = []
    for group in (pl.lit(ALL), *map(pl.col, probe.arm_columns)):
        named = group.cast(pl.String).alias(_GROUP)
        planned = prompts.group_by(named).agg((pl.len() * repetitions).cast(pl.Int64).alias("planned"))
        sums = (is_counted.sum().cast(pl.Int64).alias(name) for name, is_counted in counted.items())
        found = attempts.group_by(named).agg(sums)
        tables.append(planned.join(found, on=_GROUP, how="left").drop_nulls(_GROUP).fill_null(0))
    return pl.concat(tables)


def _add_coverage(probe: Probe, batches: Iterable[pl.DataFrame]) -> dict[str, dict[str, int]]:
    """The counts of all batches. The states of a group add up to its plan: an attempt that is not there is pending."""
    ended = pl.sum_horizontal(status.value for status in Status if status is not Status.PENDING)
    pending = (pl.col("planned") - ended).alias(Status.PENDING.value)
    total = pl.concat(list(batches)).group_by(_GROUP).sum().sort(_GROUP).with_columns(pending)
    found = {row.pop(_GROUP): row for row in total.to_dicts()}
    nothing = dict.fromkeys(found[ALL], 0)
    arms = probe.arms.values if probe.arms else ()
    return {group: found.get(group, nothing) for group in (ALL, *arms, *found)}


# The same answers by the other reading: a number that depends on the reading should be seen to.


def measure_other_reading(setup: Setup, batches: Callable[[], Iterable[Batch]]) -> Result | None:
    """The result by the other detector of a probe, without slices and clusters; None where there is only one.

    The attempts of each batch have the texts of their prompts and answers, and what the setup's own reading
    found in them. How many answers the two read differently is counted in the coverage.
    """
    reading = setup.probe.other_reading
    if reading is None:
        return None
    probe = replace(setup.probe.read_by(reading), slices=(), clusters=())
    # What a judge said belongs to neither reading.
    other = replace(setup, probe=probe, judge=None)
    return measure(other, lambda: (_read_again(setup, probe, batch) for batch in batches()))


def _read_again(setup: Setup, other: Probe, batch: Batch) -> Batch:
    """Attempts by the other reading, and whether both give different decided labels, numbers or counts."""
    detector = setup.probe.detector
    attempts = batch.attempts.drop(*detector.columns, EVALUATION_FAILED, strict=False)
    before = batch.attempts
    if setup.judge:
        before = evaluate(detector, attempts)
    after = evaluate(other.detector, attempts).drop(PROMPT)
    first = before.select(_outcomes(setup.probe))
    second = after.select(_outcomes(other))
    shared = [name for name in first.columns if name in second.columns]
    different = pl.any_horizontal(first[name].ne_missing(second[name]) for name in shared)
    return Batch(batch.prompts.drop(PROMPT), after.with_columns(different.alias(READ_DIFFERENTLY)))


def _outcomes(probe: Probe) -> list[pl.Expr]:
    """What the metrics rest on: the label if it decides something, or the number, or the counts."""
    if probe.detector.number:
        return [pl.col(probe.detector.number.name)]
    if probe.detector.counts:
        return [pl.col(name) for name in probe.detector.counts]
    return [pl.when(probe.detector.detected()).then(pl.col(LABEL).cast(pl.String)).alias(LABEL)]
