"""How often intervals cover and marks are right, at the sizes of the suites."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.calibration.answers import Asking
from benchmarks.calibration.models import EVEN, SETTLED, STRONG
from benchmarks.calibration.runs import (
    Row,
    covers,
    find_truth,
    share_asked_of,
    simulate_runs,
    take_turns,
)
from benchmarks.calibration.worlds import World, make_world
from equipoise.measuring.cells import CellTable
from equipoise.measuring.estimates import estimate_cells, find_errors, linearise
from equipoise.measuring.marks import look_level, look_sizes, mark
from equipoise.schema import Bounds, Estimate

WIDTHS = 30
"""Runs of which the width of the interval is compared with the plain linearised one."""
GATED = (EVEN, SETTLED, STRONG)
"""Models that are held against gates on all probes."""
PLAIN_QUANTILE = 1.959964


def study_coverage(
    table: str, sizes: Sequence[str], study: str, model: str, asking: Asking, runs: int
) -> list[Row]:
    """Simulate a model many times.

    `sizes` says what the size stands for: suites that ask so much, or the number of items. For
    suites the rows of some models hold the estimates of each run, too, so that gates on several
    probes can be judged.
    """
    world = make_world(study)
    bands = world.probe.marked_metrics()
    counts = {name: np.zeros(3) for name in bands}
    estimates: dict[str, list[list[float]]] = {name: [] for name in bands}
    ratios: dict[str, list[float]] = {name: [] for name in bands}
    share_asked = share_asked_of(world, asking)
    for _, chance, here, rng in take_turns(study, model, runs):
        truth = find_truth(world, chance, asking.words)
        for cells, _ in simulate_runs(world, chance, asking, here, rng):
            found = estimate_cells(cells, share_asked=share_asked)
            for name, own in bands.items():
                estimate = found[name]
                counts[name] += judge(estimate, own.mark(truth[name]), world, name, truth[name])
                estimates[name].append([*pack(estimate), _round(truth[name])])
            if asking.repetitions == 1 and len(estimates[name]) <= WIDTHS:
                _add_ratios(ratios, world, cells, found)
    about = {
        "table": table,
        "study": study,
        "model": model,
        "items": asking.items,
        "asked": str(asking),
        "words": asking.words,
        "runs": runs,
    }
    rows: list[Row] = []
    for name, count in counts.items():
        intervals, covered, wrong = (int(number) for number in count)
        values = np.array(estimates[name])
        found_row = {
            **about,
            "metric": name,
            "intervals": intervals,
            "covered": covered,
            "wrong": wrong,
            "width": float(np.median(ratios[name])) if ratios[name] else math.nan,
            "reach": _median(values[:, 2] - values[:, 0]),
        }
        is_gated = model in GATED and not sizes[0].isdigit()
        found_row["estimates"] = estimates[name] if is_gated else []
        rows += [{**found_row, "size": size} for size in sizes]
    return rows


def judge(
    estimate: Estimate, true_mark: str, world: World, metric: str, truth: float
) -> tuple[bool, bool, bool]:
    """Whether there is an interval, it covers, and the mark is certain and wrong."""
    said = mark(world.probe.marked_metrics()[metric], estimate)
    if said is None or said.too_few:
        return False, False, False
    return True, covers(estimate, truth), said.certain and said.best != true_mark


def pack(estimate: Estimate) -> list[float]:
    """Value, low end, high end and degrees of freedom, rounded as they are stored."""
    numbers = (estimate.value, estimate.low, estimate.high, estimate.degrees)
    return [_round(number) for number in numbers]


def pack_bounds(bounds: Bounds | None) -> list[float]:
    """Smallest and largest value, low end and high end; nothing if no answer is missing."""
    if bounds is None:
        return []
    numbers = (bounds.smallest, bounds.largest, bounds.low, bounds.high)
    return [_round(number) for number in numbers]


def _round(number: float) -> float:
    return float(f"{number:.8g}")


def _median(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else math.nan


def _add_ratios(
    ratios: Mapping[str, list[float]],
    world: World,
    cells: CellTable,
    found: Mapping[str, Estimate],
) -> None:
    """Add how many times as wide as the plain linearised interval each one is."""
    for name, plain in _plain_widths(world, cells).items():
        if plain > 0 and not math.isnan(found[name].low):
            ratios[name].append((found[name].high - found[name].low) / plain)


def _plain_widths(world: World, cells: CellTable) -> dict[str, float]:
    """The widths 2 · 1.96 √V without a pseudo-item and Student's t; ranges have none."""
    cells = replace(cells, pseudo_mass=1e-12)
    found = linearise(cells)
    widths = 2 * PLAIN_QUANTILE * find_errors(found, cells).standard_error
    return {
        metric.name: float(widths[found.place(metric.name)])
        for metric in world.probe.metrics
        if metric.bands and not metric.range_of and not metric.distance_of
    }


def study_looks(study: str, model: str, items: int, runs: int) -> list[Row]:
    """Ask until the marks are certain, many times."""
    sizes = look_sizes(items)
    bands = make_world(study).probe.marked_metrics()
    covered = dict.fromkeys(bands, 0)
    totals = np.zeros(4)
    for world, chance, here, rng in take_turns(study, model, runs):
        truth = find_truth(world, chance)
        for cells, _ in simulate_runs(world, chance, Asking(items=items), here, rng):
            look, size, found = _look_until_certain(world, cells, sizes, rng)
            marks = {name: mark(own, found[name]) for name, own in bands.items()}
            certain = {name: each.best for name, each in marks.items() if each and each.certain}
            is_wrong = any(best != bands[name].mark(truth[name]) for name, best in certain.items())
            totals += (look, size, len(certain) == len(bands), is_wrong)
            for name in bands:
                covered[name] += covers(found[name], truth[name])
    looks, asked, all_certain, wrong = totals
    return [
        {
            "table": "looks",
            "study": study,
            "model": model,
            "items": items,
            "runs": runs,
            "looks": looks / runs,
            "saved": 1 - asked / (items * runs),
            "certain": int(all_certain),
            "covered": min(covered.values()),
            "wrong": int(wrong),
        }
    ]


def _look_until_certain(
    world: World, cells: CellTable, sizes: list[int], rng: np.random.Generator
) -> tuple[int, int, dict[str, Estimate]]:
    """The number of looks, the items that were asked, and what was then found."""
    bands = world.probe.marked_metrics()
    shuffled = rng.permutation(np.repeat(np.arange(len(cells.weight)), cells.weight))
    found: dict[str, Estimate] = {}
    for size in sizes:
        places, counts = np.unique(shuffled[:size], return_counts=True)
        some = replace(cells.take(places), weight=counts)
        found = estimate_cells(some, look_level(sizes, size))
        marks = [mark(own, found[name]) for name, own in bands.items()]
        if all(each is not None and each.certain for each in marks):
            return sizes.index(size) + 1, size, found
    return len(sizes), sizes[-1], found
