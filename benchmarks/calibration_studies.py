"""Studies of simulated models: how often intervals cover, marks are right, tests reject, gates fail and looks stop."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
    sample_items,
    simulate_runs,
)
from equipoise.authoring import Array, Metric
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.clusters import cluster_totals, generalise, merge_totals
from equipoise.measuring.differences import compare_cells
from equipoise.measuring.interval import CellTable, estimate_cells, linearise, prepare_cells
from equipoise.measuring.marks import Mark, look_level, look_sizes, mark
from equipoise.schema import ITEM, Bounds, Estimate, MetricKey

WORLDS = 8
"""So many draws of a model's effects take turns."""
STEADY = ("even", "rare", "biased", "strongly biased", "one arm 96%")
"""Models without effects of their own: one world is enough."""
WIDTHS = 20
"""Runs for which the width of the interval is compared with the plain linearised one."""


@dataclass(frozen=True, kw_only=True)
class Covered:
    """How often the interval of a marked metric covers the truth, and how often its mark is certain and wrong."""

    kind: str
    study: str
    model: str
    asking: Asking
    metric: str
    computed: float
    """The share of runs that have an interval; the others are of these."""
    covered: float
    certain: float
    wrong: float
    runs: int
    """How many have an interval."""
    wider: float = math.nan
    """How many times as wide as the plain linearised interval it is, in the median."""


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """How often two runs of one model are told apart, at p < 0.05."""

    study: str
    model: str
    items: int
    kind: str
    metric: str
    rejected: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class Decided:
    """How the marks of one probe in a suite come out, run by run: the best and the worst band of each metric."""

    suite: str
    study: str
    model: str
    asking: Asking
    marks: list[dict[str, tuple[str, str]]]
    reach: Mapping[str, float]
    """How far the interval reaches above the value, in the median."""


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """What happens if a probe is asked until its marks are certain."""

    study: str
    model: str
    items: int
    looks: float
    saved: float
    certain: float
    covered: float
    """For the marked metric that is covered least often."""
    wrong: float
    runs: int


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


def covers(found: Estimate | Bounds, truth: float) -> bool:
    """Whether an interval holds the truth."""
    return found.low - 1e-9 <= truth <= found.high + 1e-9


def share_drawn(world: World, asking: Asking) -> float:
    """The share of all items that is in a run, where each was asked several times."""
    return min(1.0, asking.items / world.items.height) if asking.repetitions > 1 else 0.0


class Tally:
    """Counts runs of a study, metric by metric: with an interval, covered, certain, certain and wrong."""

    def __init__(self, world: World) -> None:
        self.bands = world.probe.marked_metrics()
        self.counts = {name: np.zeros(4) for name in self.bands}
        self.runs = 0

    def add(self, name: str, found: Estimate | Bounds, said: Mark | None, truth: float) -> None:
        """Count one metric of a run."""
        if said is None or said.too_few:
            return
        wrong = said.certain and said.best != self.bands[name].mark(truth)
        self.counts[name] += (1, covers(found, truth), said.certain, wrong)

    def rows(
        self, kind: str, study: str, model: str, asking: Asking, wider: Mapping[str, float] | None = None
    ) -> list[Covered]:
        """The shares, for each metric that has an interval in enough of the runs."""
        return [
            Covered(
                kind=kind,
                study=study,
                model=model,
                asking=asking,
                metric=name,
                computed=count[0] / self.runs,
                covered=count[1] / max(count[0], 1),
                certain=count[2] / max(count[0], 1),
                wrong=count[3] / max(count[0], 1),
                runs=int(count[0]),
                wider=(wider or {}).get(name, math.nan),
            )
            for name, count in self.counts.items()
        ]


def study_coverage(kind: str, study: str, model: str, asking: Asking, runs: int) -> list[Covered]:
    """Simulate a model many times."""
    tally = Tally(make_world(study))
    widths: dict[str, list[float]] = {name: [] for name in tally.bands}
    for world, chance, here, rng in take_turns(study, model, runs):
        truth = find_truth(world, expect_total(world, chance, asking))
        for cells, _ in simulate_runs(world, chance, asking, here, rng):
            tally.runs += 1
            parameters = world.planned.parameters
            found = estimate_cells(world.probe, cells, parameters, drawn=share_drawn(world, asking))
            for name, bands in tally.bands.items():
                tally.add(name, found[name], mark(bands, found[name]), truth[name])
            if tally.runs <= WIDTHS and asking.repetitions == 1:
                for name, plain in plain_widths(world, cells).items():
                    if plain > 0 and not math.isnan(found[name].low):
                        widths[name].append((found[name].high - found[name].low) / plain)
    wider = {name: float(np.median(ratios)) for name, ratios in widths.items() if ratios}
    return tally.rows(kind, study, model, asking, wider)


def plain_widths(world: World, cells: CellTable) -> dict[str, float]:
    """The widths of intervals without an unknown item and t: 2 · 1.96 √V, for metrics that are no range."""
    plain = replace(cells, mass=0.0)
    found = linearise(world.probe, plain, world.planned.parameters)
    variance = found.scatter().variance()
    marked: list[Metric] = [metric for metric in world.probe.all_metrics() if metric.bands]
    return {
        metric.name: 2 * 1.959964 * math.sqrt(variance[found.names.index(metric.name)])
        for metric in marked
        if not metric.range_of and not metric.distance_of
    }


def study_missing(study: str, model: str, asking: Asking, runs: int) -> list[Covered]:
    """Lose answers in the worst way, and look whether the bounds hold the truth."""
    tally = Tally(make_world(study))
    for world, chance, here, rng in take_turns(study, model, runs):
        truth = find_truth(world, expect_total(world, chance, asking))
        for cells, table in simulate_runs(world, chance, asking, here, rng):
            tally.runs += 1
            parameters = world.planned.parameters
            found = estimate_cells(world.probe, cells, parameters)
            bounds = bound_metrics(world.probe, table, parameters)
            for name, bands in tally.bands.items():
                within = bounds.get(name)
                both = found[name]
                if within:
                    both = replace(both, low=min(both.low, within.low), high=max(both.high, within.high))
                tally.add(name, both, mark(bands, found[name], within), truth[name])
    return tally.rows("missing", study, model, asking)


def study_clusters(study: str, model: str, asking: Asking, runs: int) -> list[Covered]:
    """Draw the effects of clusters anew for each run: does the interval for prompts like these hold their mean?"""
    world = make_world(study)
    probe, parameters = world.probe, world.planned.parameters
    rng = start_rng(study, model, "clusters", runs)
    chances = [MODELS[model](world, rng) for _ in range(runs)]
    truth = find_truth(world, pl.concat([expect_total(world, chance, asking) for chance in chances]).sum())
    tally = Tally(world)
    for chance in chances:
        tally.runs += 1
        rows = draw_rows(world, chance, sample_items(world, asking, 1, rng)[0], asking, rng)
        cells = prepare_cells(probe, rows, parameters)
        found = estimate_cells(probe, cells, parameters)
        named = rows.with_columns(pl.int_range(pl.len()).cast(pl.String).alias(ITEM))
        totals = merge_totals([cluster_totals(probe, named, parameters)])
        wide = generalise(probe, totals, cells, {MetricKey(name): each for name, each in found.items()}, parameters)
        for name, bands in tally.bands.items():
            if name in wide:
                each = replace(found[name], low=wide[name].low, high=wide[name].high)
                tally.add(name, each, mark(bands, each), truth[name])
    return tally.rows("clusters", study, model, asking)


def study_tests(kind: str, study: str, model: str, asked: Sequence[Asking], runs: int) -> list[Rejected]:
    """Ask one model twice about the same items, in two ways: how often are the runs told apart?"""
    marked = make_world(study).probe.marked_metrics()
    counts = dict.fromkeys(marked, 0)
    for world, chance, here, rng in take_turns(study, model, runs):
        places = sample_items(world, asked[0], here, rng)
        size = places.shape[1]
        sides = [
            prepare_cells(world.probe, draw_rows(world, chance, places.ravel(), asking, rng), world.planned.parameters)
            for asking in asked
        ]
        for number in range(here):
            own = np.arange(number * size, (number + 1) * size)
            found = compare_cells(world.probe, [side.take(own) for side in sides], world.planned.parameters)
            for name in marked:
                counts[name] += found[name].p < 0.05
    return [
        Rejected(
            study=study,
            model=model,
            items=asked[0].items,
            kind=kind,
            metric=name,
            rejected=count / runs,
            runs=runs,
        )
        for name, count in counts.items()
    ]


def study_marks(suite: str, study: str, model: str, asking: Asking, runs: int) -> Decided:
    """The marks of many runs, to be judged by gates."""
    said, reaches = [], []
    bands = make_world(study).probe.marked_metrics()
    for world, chance, here, rng in take_turns(study, model, runs):
        for cells, _ in simulate_runs(world, chance, asking, here, rng):
            found = estimate_cells(world.probe, cells, world.planned.parameters, drawn=share_drawn(world, asking))
            marks = {name: mark(own, found[name]) for name, own in bands.items()}
            said.append({name: (each.best, each.worst) for name, each in marks.items() if each is not None})
            reaches.append({name: found[name].high - found[name].value for name in bands})
    return Decided(
        suite=suite,
        study=study,
        model=model,
        asking=asking,
        marks=said,
        reach={name: float(np.nanmedian([reach[name] for reach in reaches])) for name in bands},
    )


def study_looks(study: str, model: str, items: int, runs: int) -> Stopped:
    """Ask until the marks are certain, many times."""
    sizes = look_sizes(items)
    bands = make_world(study).probe.marked_metrics()
    covered = dict.fromkeys(bands, 0)
    looks = asked = certain = wrong = 0
    for world, chance, here, rng in take_turns(study, model, runs):
        truth = find_truth(world, expect_total(world, chance, Asking(items=items)))
        for cells, _ in simulate_runs(world, chance, Asking(items=items), here, rng):
            shuffled = rng.permutation(np.repeat(np.arange(len(cells.weight)), cells.weight))
            for look, size in enumerate(sizes, 1):
                own, counts = np.unique(shuffled[:size], return_counts=True)
                some = replace(cells.take(own), weight=counts)
                found = estimate_cells(world.probe, some, world.planned.parameters, look_level(sizes, size))
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
    return Stopped(
        study=study,
        model=model,
        items=items,
        looks=looks / runs,
        saved=1 - asked / (items * runs),
        certain=certain / runs,
        covered=min(covered.values()) / runs,
        wrong=wrong / runs,
        runs=runs,
    )
