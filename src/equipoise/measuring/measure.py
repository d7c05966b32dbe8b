"""From evaluated attempts to a result: summarise, total, measure, mark; and count what the numbers rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import polars as pl

from equipoise.authoring import Parameters, Probe
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.clusters import cluster_totals, generalise, merge_totals
from equipoise.measuring.coverage import ALL, Coverage, add_coverage, count_attempts, count_planned, make_coverage
from equipoise.measuring.interval import LEVEL, estimate_groups, prepare_cells
from equipoise.measuring.marks import decided_share, look_level, mark
from equipoise.measuring.plan import Setup, count_population
from equipoise.measuring.result import Matching, Result
from equipoise.measuring.selection import Selections, SelectionSums, add_selections, fold_selections, sum_selections
from equipoise.measuring.summarise import WEIGHT, cells, is_answered, item_rows, merge_cells
from equipoise.schema import MetricKey, Status, is_measured

MAX_ATTEMPTS_IN_MEMORY = 250_000
"""A result keeps up to this many evaluated attempts. More are evaluated again when they are looked at."""

PARTS_ADDED_AT_ONCE = 20
"""Their sums are kept until then: to add them one by one takes longer."""


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What a result is made of, summed over whole items.

    All of it are sums of whole numbers, or distinct rows with whole weights. So sums of any parts, added in any order,
    are those of the whole, to the last bit.
    """

    cells: pl.DataFrame
    clusters: Mapping[str, pl.DataFrame]
    selections: SelectionSums | None


def sum_items(probe: Probe, attempts: pl.DataFrame, parameters: Parameters) -> Sums:
    """The sums of evaluated attempts, which hold whole items in the order of the plan."""
    rows = item_rows(probe, attempts)
    return Sums(
        cells=cells(probe, rows),
        clusters=cluster_totals(probe, rows, parameters),
        selections=sum_selections(probe, attempts.filter(is_measured()), parameters),
    )


def add_sums(parts: Iterable[Sums]) -> Sums:
    """The sums of several parts together, in an order that does not depend on theirs."""
    parts = list(parts)
    selections = [part.selections for part in parts if part.selections is not None]
    return Sums(
        cells=merge_cells(part.cells for part in parts),
        clusters=merge_totals(part.clusters for part in parts),
        selections=add_selections(selections) if selections else None,
    )


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
    sums: list[Sums] = []
    slices: list[pl.DataFrame] = []
    planned: list[Coverage] = []
    counted: list[Coverage] = []
    kept: list[pl.DataFrame] | None = []
    for part in parts():
        sums.append(sum_items(probe, part.attempts, parameters))
        if len(sums) >= PARTS_ADDED_AT_ONCE:
            sums = [add_sums(sums)]
        slices.append(part.prompts.select(probe.slices).unique())
        planned.append(count_planned(probe, part.prompts))
        counted.append(count_attempts(probe, part.attempts))
        if kept is not None:
            kept.append(part.attempts.filter(is_measured()))
            kept = kept if sum(map(len, kept)) <= MAX_ATTEMPTS_IN_MEMORY else None
    coverage = make_coverage(probe, add_coverage(planned), add_coverage(counted), setup.repetitions)
    return make_result(
        setup,
        add_sums(sums),
        slices=pl.concat(slices),
        coverage=coverage,
        matching=matching or _match_all(coverage[ALL]),
        attempts=partial(_find_answers, parts) if kept is None else pl.concat(kept),
        looks=looks,
    )


def make_result(
    setup: Setup,
    sums: Sums,
    *,
    slices: pl.DataFrame,
    coverage: Mapping[str, Mapping[str, int]],
    matching: Matching,
    attempts: pl.DataFrame | Callable[[], Iterable[pl.DataFrame]],
    looks: Sequence[int] = (),
) -> Result:
    """The result of the sums over all items. `slices` holds the values of the slices that are planned."""
    probe, parameters = setup.probe, setup.parameters
    table = sums.cells
    level = look_level(looks, setup.drawn or 0) if looks else LEVEL
    population = count_population(setup) if setup.repetitions > 1 else None
    estimates, complete = estimate_groups(probe, table, parameters, planned=slices, level=level, population=population)
    bounds = bound_metrics(probe, table, parameters, level)
    answered = table.filter(is_answered(probe))
    prepared = prepare_cells(probe, answered, parameters)
    generalised = (
        generalise(probe, sums.clusters, prepared, estimates, parameters, level) if sums.clusters or population else {}
    )
    return Result(
        setup=setup,
        estimates=estimates,
        items=int(answered[WEIGHT].sum()),
        complete=complete,
        level=level,
        looks=tuple(looks),
        bounds=bounds,
        generalised=generalised,
        marks={
            name: mark(bands, estimates[MetricKey(name)], bounds.get(name), decided_share(probe, estimates))
            for name, bands in probe.marked_metrics().items()
        },
        coverage=coverage,
        matching=matching,
        selections=Selections(fold_selections(probe, sums.selections)) if sums.selections else None,
        attempts=attempts,
    )


def _find_answers(parts: Callable[[], Iterable[Part]]) -> Iterator[pl.DataFrame]:
    return (attempts.filter(is_measured()) for _, attempts in parts())


def _match_all(counts: dict[str, int]) -> Matching:
    """The matching of a run, where every answer already stands with its prompt."""
    missing = counts[Status.PENDING]
    answered = counts["planned"] - missing
    return Matching(read=answered, matched=answered, surplus=0, unknown=0, missing=missing)
