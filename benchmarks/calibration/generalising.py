"""Intervals for prompts like these: do they hold the mean over the population of clusters?

The effects of clusters are drawn anew for each run, and the truth is the mean over all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from benchmarks.calibration.answers import Asking, draw_answers, make_rows, sample_items
from benchmarks.calibration.models import MODELS
from benchmarks.calibration.runs import (
    Row,
    covers,
    expect_total,
    find_truth,
    measure_truth,
    start_rng,
)
from benchmarks.calibration.worlds import Places, World, make_world
from equipoise.authoring import Array
from equipoise.measuring.cells import CellTable, prepare_cells
from equipoise.measuring.clusters import generalise
from equipoise.measuring.estimates import estimate_cells
from equipoise.schema import Estimate, MetricKey

STUDY = "jobs_lum"
"""The probe whose items are put into clusters: it has none of its own."""
ITEMS = 400
SECOND_FACTOR = 40
"""The clusters of the second factor, where two are crossed."""
DRAWS_OF_TRUTH = 2_000
TOPIC = "topic"
FORM = "form"
EQUAL = "equal"
DOUBLED = "half are twice as large"
DOMINANT = "one has half"
FALLING = "sizes fall like 1/k"
EXTREME = "Beta"


@dataclass(frozen=True, kw_only=True)
class Design:
    """How the items are put into clusters."""

    clusters: int
    sizes: str
    """How the items are spread: EQUAL, DOUBLED, DOMINANT or FALLING."""
    is_crossed: bool = False
    deviation: float = 0.5
    """The standard deviation of the effects of clusters, on the logit."""
    is_extreme: bool = False
    """Whether each cluster has a chance of its own instead, mostly near 0 or 1 (Beta 0.2, 0.2)."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with the clusters."""
        return (TOPIC, FORM) if self.is_crossed else (TOPIC,)

    def shares(self) -> Array:
        """The share of the items in each cluster."""
        shares = np.ones(self.clusters)
        if self.sizes == DOUBLED:
            shares[: self.clusters // 2] = 2.0
        if self.sizes == DOMINANT:
            shares[0] = max(self.clusters - 1, 1)
        if self.sizes == FALLING:
            shares = 1 / np.arange(1, self.clusters + 1)
        return np.asarray(shares / shares.sum())


def study_designs(design: Design, runs: int) -> list[Row]:
    """Put the items of a probe into clusters with effects on the rate and on the slope."""
    world = make_world(STUDY)
    probe = replace(world.probe, clusters=design.columns)
    rng = start_rng("designs", design, runs)
    truth = find_truth(world, _mean_chance(world, design, rng))
    found = []
    for _ in range(runs):
        items = rng.integers(0, world.items.height, ITEMS)
        members = _assign(design, rng)
        if design.is_extreme:
            topics = members[TOPIC]
            chance = rng.beta(0.2, 0.2, int(topics.max()) + 1)[topics]
        else:
            logit = _logit(world, items, _draw_effects(design, members, rng))
            chance = 1 / (1 + np.exp(-logit))
        asking = Asking(items=ITEMS)
        answers = draw_answers(world, chance[None, :], items, asking, rng)
        rows = make_rows(world, items, answers, asking, rng=rng)
        rows = rows.with_columns(pl.Series(name, values) for name, values in members.items())
        cells = prepare_cells(probe, rows, world.planned.parameters)
        found.append(_widen(cells.probe.marked_metrics(), rows, cells))
    about = {
        "table": "designs",
        "sizes": design.sizes,
        "clusters": design.clusters,
        "factors": "two" if design.is_crossed else "one",
        "effects": EXTREME if design.is_extreme else f"{design.deviation:g}",
    }
    return _count(about, found, truth, runs)


def _assign(design: Design, rng: np.random.Generator) -> dict[str, Places]:
    """The cluster of each item, for each factor."""
    edges = np.round(np.cumsum(design.shares()) * ITEMS)
    members = {TOPIC: np.searchsorted(edges, np.arange(ITEMS), side="right")}
    if design.is_crossed:
        members[FORM] = rng.permutation(np.arange(ITEMS) % SECOND_FACTOR)
    return members


def _draw_effects(
    design: Design, members: dict[str, Places], rng: np.random.Generator
) -> tuple[Array, Array]:
    """The effects of each item's clusters on the logit, and on the slope of its stereotype."""
    level = np.zeros(ITEMS)
    slope = np.zeros(ITEMS)
    for labels in members.values():
        count = int(labels.max()) + 1
        level += design.deviation * rng.standard_normal(count)[labels]
        slope += design.deviation * rng.standard_normal(count)[labels]
    return level, slope


def _logit(world: World, items: Places, effects: tuple[Array, Array]) -> Array:
    level, slope = effects
    return np.asarray(0.4 + level + (1.0 + 2.0 * slope) * world.lean[items])


def _mean_chance(world: World, design: Design, rng: np.random.Generator) -> Array:
    """The chance of each item, on average over all clusters."""
    if design.is_extreme:
        return np.full(world.items.height, 0.5)
    factors = len(design.columns)
    deviation = design.deviation * np.sqrt(factors)
    level = deviation * rng.standard_normal((DRAWS_OF_TRUTH, 1))
    slope = deviation * rng.standard_normal((DRAWS_OF_TRUTH, 1))
    logit = 0.4 + level + (1.0 + 2.0 * slope) * world.lean
    # Each draw with its mirror image: the mean of the effects is exactly 0.
    mirrored = 0.4 - level + (1.0 - 2.0 * slope) * world.lean
    chance = (1 / (1 + np.exp(-logit)) + 1 / (1 + np.exp(-mirrored))) / 2
    return np.asarray(chance.mean(axis=0))


def study_clusters(study: str, model: str, items: int, runs: int) -> list[Row]:
    """The same for the clusters that a probe has: questions, templates, names, occupations."""
    world = make_world(study)
    asking = Asking(items=items)
    rng = start_rng("clusters", study, model, runs)
    totals = []
    found = []
    for _ in range(runs):
        chance = MODELS[model](world, rng)
        totals.append(expect_total(world, chance))
        places = sample_items(world, asking, 1, rng)[0]
        answers = draw_answers(world, chance, places, asking, rng)
        rows = make_rows(world, places, answers, asking, rng=rng)
        cells = prepare_cells(world.probe, rows, world.planned.parameters)
        found.append(_widen(world.probe.marked_metrics(), rows, cells))
    truth = measure_truth(world, pl.concat(totals).sum())
    about = {"table": "clusters", "study": study, "model": model, "items": items}
    return _count(about, found, truth, runs)


def _widen(names: Iterable[str], rows: pl.DataFrame, cells: CellTable) -> dict[str, Estimate]:
    """The estimates with their intervals for prompts like these."""
    found = estimate_cells(cells)
    keyed = {MetricKey(name): estimate for name, estimate in found.items()}
    wide = generalise(cells, rows, keyed)
    return {
        name: replace(found[name], low=wide[name].low, high=wide[name].high)
        for name in names
        if name in wide
    }


def _count(
    about: Row, found: Iterable[dict[str, Estimate]], truth: dict[str, float], runs: int
) -> list[Row]:
    """For each metric how many runs have an interval, and how many of these hold the truth."""
    rows = []
    runs_found = list(found)
    for name, value in truth.items():
        known = [run[name] for run in runs_found if name in run and not np.isnan(run[name].low)]
        covered = sum(covers(estimate, value) for estimate in known)
        widths = [estimate.high - estimate.low for estimate in known]
        rows.append(
            {
                **about,
                "metric": name,
                "truth": value,
                "runs": runs,
                "intervals": len(known),
                "covered": covered,
                "half": float(np.median(widths)) / 2 if widths else float("nan"),
            }
        )
    return rows
