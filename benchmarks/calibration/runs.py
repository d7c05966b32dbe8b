"""Many runs of a simulated model: cells ready to be measured, and the true metrics."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from benchmarks.calibration.answers import (
    NO_LOSS,
    Asking,
    Loss,
    SlotAnswers,
    draw_answers,
    make_rows,
    sample_items,
)
from benchmarks.calibration.models import MODELS, WITHOUT_EFFECTS
from benchmarks.calibration.worlds import Places, World, make_world
from equipoise.authoring import Array, Totals
from equipoise.measuring.cells import CellTable, measure_totals, prepare_cells
from equipoise.measuring.outcomes import MISSING
from equipoise.measuring.summarise import WEIGHT, is_answered, statistics
from equipoise.schema import Bounds, Estimate

WORLDS = 8
"""The effects of a model are drawn this many times, and its runs take turns."""
ROWS_AT_ONCE = 40_000
RUN = "run"
Row = dict[str, Any]
"""What a study found, as plain values: `table` says which table of the page it belongs to."""


Findings = Mapping[str, Sequence[Row]]
"""The rows of each table."""


def start_rng(*parts: object) -> np.random.Generator:
    """Random numbers that belong to a study."""
    return np.random.default_rng(zlib.crc32(repr(parts).encode()))


def take_turns(
    study: str, model: str, runs: int
) -> Iterator[tuple[World, Array, int, np.random.Generator]]:
    """For each draw of a model's effects: its chances, and how many runs are made with them."""
    world = make_world(study)
    worlds = 1 if model in WITHOUT_EFFECTS else min(WORLDS, runs)
    for number in range(worlds):
        rng = start_rng(study, model, number, runs)
        yield world, MODELS[model](world, rng), len(range(number, runs, worlds)), rng


def expect_total(world: World, chance: Array, words: float = 20.0) -> pl.DataFrame:
    """The totals of the population if it were asked again and again: one row."""
    items = np.arange(world.items.height)
    once = Asking(items=len(items), words=words)
    rows = make_rows(world, items, draw_answers(world, chance, items, once, None), once)
    return statistics(world.probe, rows, world.planned.parameters).sum()


def measure_truth(world: World, total: pl.DataFrame) -> dict[str, float]:
    """The marked metrics of totals."""
    totals = Totals(total.columns, total.to_numpy())
    found = measure_totals(world.probe, totals, world.planned.parameters)
    return {name: float(found[name][0]) for name in world.probe.marked_metrics()}


def find_truth(world: World, chance: Array, words: float = 20.0) -> dict[str, float]:
    """The marked metrics of a model."""
    return measure_truth(world, expect_total(world, chance, words))


def share_asked_of(world: World, asking: Asking) -> float:
    """The share of all items that is asked, where each is asked several times; else 0."""
    if asking.repetitions == 1:
        return 0.0
    return min(1.0, asking.items / world.items.height)


def draw_batches(
    world: World, chance: Array, asking: Asking, runs: int, rng: np.random.Generator
) -> Iterator[tuple[Places, int, list[SlotAnswers]]]:
    """The items of several runs, how many runs these are, and the answers."""
    places = sample_items(world, asking, runs, rng)
    at_once = max(1, ROWS_AT_ONCE // places.shape[1])
    answers_rng = None if asking.shares else rng
    for start in range(0, runs, at_once):
        some = places[start : start + at_once]
        items = some.ravel()
        yield items, len(some), draw_answers(world, chance, items, asking, answers_rng)


def split_runs(
    world: World, rows: pl.DataFrame, runs: int, asking: Asking
) -> Iterator[tuple[CellTable, pl.DataFrame]]:
    """The cells of each run: prepared from its answers, and as a table of all planned items."""
    probe = world.probe
    parameters = {**world.planned.parameters, "repeat": asking.repetitions}
    clusters = [name for name in probe.clusters if name not in probe.covariates]
    number = pl.Series(RUN, np.repeat(np.arange(runs), rows.height // runs))
    rows = rows.drop(clusters).with_columns(number)
    table = rows.group_by(pl.exclude(WEIGHT)).agg(pl.col(WEIGHT).sum())
    table = table.sort(RUN, pl.exclude(RUN, WEIGHT))
    answered = table.filter(is_answered(probe))
    starts = _run_starts(table, runs)
    answered_starts = _run_starts(answered, runs)
    # Where answers are words, or some numbers are missing, cells depend on their whole run.
    has_missing = bool(table.select(pl.sum_horizontal(_missing_columns(world)).sum()).item())
    is_separate = bool(probe.detector.counts) or (bool(probe.detector.number) and has_missing)
    prepared = None if is_separate else prepare_cells(probe, answered, parameters)
    for run in range(runs):
        first, end = answered_starts[run : run + 2]
        if prepared is None:
            cells = prepare_cells(probe, answered[first:end].drop(RUN), parameters)
        else:
            cells = prepared.take(np.arange(first, end))
        yield cells, table[starts[run] : starts[run + 1]].drop(RUN)


def _missing_columns(world: World) -> list[str]:
    return [f"{prefix}{MISSING}" for prefix in world.probe.prefixes]


def _run_starts(table: pl.DataFrame, runs: int) -> Sequence[int]:
    return table[RUN].search_sorted(pl.Series(range(runs + 1))).to_list()


def simulate_runs(
    world: World,
    chance: Array,
    asking: Asking,
    runs: int,
    rng: np.random.Generator,
    loss: Loss = NO_LOSS,
) -> Iterator[tuple[CellTable, pl.DataFrame]]:
    """The cells of each run, prepared and as a table."""
    for items, here, answers in draw_batches(world, chance, asking, runs, rng):
        rows = make_rows(world, items, answers, asking, loss, rng)
        yield from split_runs(world, rows, here, asking)


def covers(found: Estimate, truth: float) -> bool:
    """Whether an interval holds the truth."""
    return found.low - 1e-9 <= truth <= found.high + 1e-9


def unite(found: Estimate, bounds: Bounds | None) -> Estimate:
    """An interval united with the bounds of the missing answers."""
    if bounds is None:
        return found
    return replace(found, low=min(found.low, bounds.low), high=max(found.high, bounds.high))
