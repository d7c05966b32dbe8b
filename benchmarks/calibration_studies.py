"""Studies of simulated models: how often intervals cover, marks are right, tests reject, gates fail and looks stop.

Each study gives rows for one of the TABLES, as plain values.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from benchmarks.simulated import (
    MODELS,
    Asking,
    World,
    draw_rows,
    expect_total,
    find_truth,
    make_world,
    ranking_label,
    sample_items,
    simulate_runs,
)
from equipoise.authoring import Array
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.cells import CellTable, prepare_cells
from equipoise.measuring.clusters import generalise
from equipoise.measuring.differences import compare_cells
from equipoise.measuring.estimates import estimate_cells, find_errors, linearise
from equipoise.measuring.marks import Mark, look_level, look_sizes, mark
from equipoise.measuring.plan import plan
from equipoise.measuring.selection import SelectionTable, count_selections, fold_selections, make_table
from equipoise.probes import get_probe
from equipoise.schema import LABEL, Bounds, Estimate, MetricKey

WORLDS = 8
"""So many draws of a model's effects take turns."""
STEADY = ("even", "rare", "biased", "strongly biased", "one arm 96%")
"""Models without effects of their own: one world is enough."""
WIDTHS = 20
"""Runs for which the width of the interval is compared with the plain linearised one."""
CV_SPREAD = 0.7
"""How far the CVs of a vacancy differ in the eyes of a model that judges them (standard deviation of a logit)."""
NAME_SPREAD = 0.3
"""How far first names differ in the eyes of a model that has whims for them (the same)."""
Row = dict[str, Any]


def start_rng(*parts: object) -> np.random.Generator:
    """Random numbers that belong to a study."""
    return np.random.default_rng(zlib.crc32(repr(parts).encode()))


def take_turns(study: str, model: str, runs: int) -> Iterator[tuple[World, Array, int, np.random.Generator]]:
    """The worlds of a model: the chances of its answers, and how many runs are made there."""
    world = make_world(study)
    worlds = 1 if model in STEADY else WORLDS
    for number in range(worlds):
        rng = start_rng(study, model, number, runs)
        yield world, MODELS[model](world, rng), len(range(number, runs, worlds)), rng


def take_runs(
    study: str, model: str, asking: Asking, runs: int
) -> Iterator[tuple[CellTable, pl.DataFrame, dict[str, Estimate], dict[str, float]]]:
    """The cells of each run, prepared and as a table; what is estimated, and what is true."""
    for world, chance, here, rng in take_turns(study, model, runs):
        truth = find_truth(world, expect_total(world, chance, asking))
        share_asked = min(1.0, asking.items / world.items.height) if asking.repetitions > 1 else 0.0
        for cells, table in simulate_runs(world, chance, asking, here, rng):
            yield cells, table, estimate_cells(cells, share_asked=share_asked), truth


def covers(found: Estimate, truth: float) -> bool:
    """Whether an interval holds the truth."""
    return found.low - 1e-9 <= truth <= found.high + 1e-9


Outcome = tuple[dict[str, Estimate], dict[str, Mark | None], dict[str, float]]
"""What a run estimates, how it is marked, and what is true, by metric."""


def tally(kind: str, study: str, model: str, asking: Asking, outcomes: Iterable[Outcome], runs: int) -> list[Row]:
    """For each metric the share of runs that have an interval, and of these how many cover, are certain, and wrong."""
    bands = make_world(study).probe.marked_metrics()
    counts = {name: np.zeros(4) for name in bands}
    for found, marks, truth in outcomes:
        for name, said in marks.items():
            if said is not None and not said.too_few:
                wrong = said.certain and said.best != bands[name].mark(truth[name])
                counts[name] += (1, covers(found[name], truth[name]), said.certain, wrong)
    about = {"kind": kind, "study": study, "model": model, "items": asking.items, "often": asking.repetitions}
    rows = []
    for name, count in counts.items():
        shares = dict(zip(("covered", "certain", "wrong"), (count[1:] / max(count[0], 1)).tolist(), strict=True))
        had = {"words": asking.words, "runs": int(count[0]), "computed": count[0] / runs}
        rows.append({**about, "metric": name, **had, **shares, "wider": math.nan})
    return rows


def mark_all(
    world: World, found: Mapping[str, Estimate], bounds: Mapping[str, Bounds] | None = None
) -> dict[str, Mark | None]:
    """The marks of all marked metrics that have an estimate."""
    marked = world.probe.marked_metrics()
    return {name: mark(marked[name], found[name], (bounds or {}).get(name)) for name in marked if name in found}


def study_coverage(kind: str, study: str, model: str, asking: Asking, runs: int) -> list[Row]:
    """Simulate a model many times."""
    world = make_world(study)
    ratios: dict[str, list[float]] = {}

    def outcomes() -> Iterator[Outcome]:
        for number, (cells, _, found, truth) in enumerate(take_runs(study, model, asking, runs)):
            yield found, mark_all(world, found), truth
            if number < WIDTHS and asking.repetitions == 1:
                for name, plain in plain_widths(world, cells).items():
                    if plain > 0 and not math.isnan(found[name].low):
                        ratios.setdefault(name, []).append((found[name].high - found[name].low) / plain)

    rows = tally(kind, study, model, asking, outcomes(), runs)
    return [{**row, "wider": float(np.median(ratios.get(row["metric"], [math.nan])))} for row in rows]


def plain_widths(world: World, cells: CellTable) -> dict[str, float]:
    """The widths of intervals without an unknown item and t: 2 · 1.96 √V, for metrics that are no range."""
    cells = replace(cells, pseudo_mass=1e-12)
    found = linearise(cells)
    errors = find_errors(found, cells).standard_error
    widths = dict(zip(found.names, 2 * 1.959964 * errors, strict=True))
    marked = [metric for metric in world.probe.all_metrics() if metric.bands]
    return {metric.name: widths[metric.name] for metric in marked if not metric.range_of and not metric.distance_of}


def study_missing(study: str, model: str, asking: Asking, runs: int) -> list[Row]:
    """Lose answers in the worst way, and look whether the bounds hold the truth."""
    world = make_world(study)

    def outcomes() -> Iterator[Outcome]:
        for _, table, found, truth in take_runs(study, model, asking, runs):
            bounds = bound_metrics(world.probe, table, world.planned.parameters)
            both = {
                name: replace(found[name], low=min(found[name].low, ends.low), high=max(found[name].high, ends.high))
                for name, ends in bounds.items()
            }
            yield {**found, **both}, mark_all(world, found, bounds), truth

    return tally("missing", study, model, asking, outcomes(), runs)


def study_clusters(study: str, model: str, asking: Asking, runs: int) -> list[Row]:
    """Draw the effects of clusters anew for each run: does the interval for prompts like these hold their mean?"""
    world = make_world(study)
    probe, parameters = world.probe, world.planned.parameters
    rng = start_rng(study, model, "clusters", runs)
    chances = [MODELS[model](world, rng) for _ in range(runs)]
    truth = find_truth(world, pl.concat([expect_total(world, chance, asking) for chance in chances]).sum())

    def outcomes() -> Iterator[Outcome]:
        for chance in chances:
            rows = draw_rows(world, chance, sample_items(world, asking, 1, rng)[0], asking, rng)
            cells = prepare_cells(probe, rows, parameters)
            found = estimate_cells(cells)
            wide = generalise(cells, rows, {MetricKey(name): each for name, each in found.items()})
            wider = {name: replace(found[name], low=each.low, high=each.high) for name, each in wide.items()}
            yield wider, mark_all(world, wider), truth

    return tally("clusters", study, model, asking, outcomes(), runs)


def study_tests(kind: str, study: str, model: str, asked: Sequence[Asking], runs: int) -> list[Row]:
    """Ask one model twice about the same items, in two ways: how often are the runs told apart, at p < 0.05?"""
    counts = dict.fromkeys(make_world(study).probe.marked_metrics(), 0)
    for world, chance, here, rng in take_turns(study, model, runs):
        places = sample_items(world, asked[0], here, rng)
        size = places.shape[1]
        sides = [
            prepare_cells(world.probe, draw_rows(world, chance, places.ravel(), asking, rng), world.planned.parameters)
            for asking in asked
        ]
        for number in range(here):
            own = np.arange(number * size, (number + 1) * size)
            found = compare_cells([side.take(own) for side in sides])
            counts = {name: count + (found[name].p < 0.05) for name, count in counts.items()}
    about = {"kind": kind, "study": study, "model": model, "items": asked[0].items, "runs": runs}
    return [{**about, "metric": name, "rejected": count / runs} for name, count in counts.items()]


def study_marks(suite: str, study: str, model: str, asking: Asking, runs: int) -> list[Row]:
    """The marks of many runs, to be judged by gates: the best, the worst and the true band of each metric."""
    about = {"suite": suite, "study": study, "model": model, "items": asking.items, "often": asking.repetitions}
    rows = []
    for number, (*_, found, truth) in enumerate(take_runs(study, model, asking, runs)):
        for name, bands in make_world(study).probe.marked_metrics().items():
            said, reach = mark(bands, found[name]), found[name].high - found[name].value
            if said is not None:
                true = bands.mark(truth[name])
                marks = {"run": number, "best": said.best, "worst": said.worst, "true": true, "reach": reach}
                rows.append({**about, "metric": name, **marks})
    return rows


def study_looks(study: str, model: str, items: int, runs: int) -> list[Row]:
    """Ask until the marks are certain, many times."""
    sizes, bands = look_sizes(items), make_world(study).probe.marked_metrics()
    covered = dict.fromkeys(bands, 0)
    looks = asked = certain = wrong = 0
    for world, chance, here, rng in take_turns(study, model, runs):
        truth = find_truth(world, expect_total(world, chance, Asking(items=items)))
        for cells, _ in simulate_runs(world, chance, Asking(items=items), here, rng):
            shuffled = rng.permutation(np.repeat(np.arange(len(cells.weight)), cells.weight))
            for look, size in enumerate(sizes, 1):
                own, counts = np.unique(shuffled[:size], return_counts=True)
                some = replace(cells.take(own), weight=counts)
                found = estimate_cells(some, look_level(sizes, size))
                marks = {name: mark(own, found[name]) for name, own in bands.items()}
                sure = all(each is not None and each.certain for each in marks.values())
                if sure or look == len(sizes):
                    break
            looks, asked, certain = looks + look, asked + size, certain + sure
            covered = {name: count + covers(found[name], truth[name]) for name, count in covered.items()}
            wrong += any(
                each is not None and each.certain and each.best != bands[name].mark(truth[name])
                for name, each in marks.items()
            )
    shares = {"saved": 1 - asked / (items * runs), "certain": certain / runs, "wrong": wrong / runs}
    about = {"study": study, "model": model, "items": items, "runs": runs, "looks": looks / runs}
    return [{**about, **shares, "covered": min(covered.values()) / runs}]


def study_selection(design: str, model: str, rankings: int, runs: int) -> list[Row]:
    """Rank applicants by a fair model, many times: how often is an impact ratio called unfair, by each grouping?"""
    probe = get_probe("hiring_bloomberg")
    prompts = plan(probe, design=design, sample=rankings).prompts()[:rankings]
    tables: dict[str, list[SelectionTable]] = {}
    for number in range(runs):
        winners = rank_fairly(prompts, model, start_rng(design, model, number))
        counted = count_selections(probe, prompts.with_columns(pl.Series(LABEL, winners)), {})
        for kind, counts in fold_selections(probe, [counted]).items():
            tables.setdefault(kind, []).append(make_table(kind, counts))
    about = {"design": design, "model": model, "rankings": rankings}
    return [
        {
            **about,
            "by": kind,
            "called unfair": float(np.mean([table.unfair for table in same])),
            "below 0.8": float(np.mean([table.lowest.impact_ratio < 0.8 for table in same])),
            "mean lowest": float(np.mean([table.lowest.impact_ratio for table in same])),
        }
        for kind, same in tables.items()
    ]


def rank_fairly(prompts: pl.DataFrame, model: str, rng: np.random.Generator) -> list[str]:
    """Who is put first, as a label, by a model that judges CVs, or has whims for first names, or neither."""
    item = prompts["item"].rank("dense").to_numpy() - 1
    places = len(prompts["genders"][0])
    appeal = rng.normal(0, CV_SPREAD if model == "judges CVs" else 0.0, size=(int(item.max()) + 1, places))[item]
    if model == "whims for names":
        first = prompts["names"].str.split("; ").explode().str.extract(r"^(\S+)")
        number = first.rank("dense").to_numpy().astype(np.int64) - 1
        appeal = appeal + rng.normal(0, NAME_SPREAD, int(number.max()) + 1)[number].reshape(appeal.shape)
    winners = np.argmax(appeal + rng.gumbel(size=appeal.shape), axis=1)
    return [
        ranking_label(races[place], genders[place], is_first=place == 0)
        for place, genders, races in zip(winners, prompts["genders"], prompts["races"], strict=True)
    ]


TABLES = {
    study_coverage: "covered",
    study_missing: "covered",
    study_clusters: "covered",
    study_tests: "rejected",
    study_marks: "decided",
    study_looks: "stopped",
    study_selection: "selected",
}
"""The table that the rows of each study belong to."""
