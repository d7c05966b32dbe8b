"""Simulated models whose true metrics are known: their answers as cells, many runs at once.

Labels (or words of letters) are drawn directly: reading texts is another matter. Everything after that is the code that
users run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from equipoise.authoring import GENDER, Array, Probe, Totals
from equipoise.measuring.marks import Mark, mark
from equipoise.measuring.outcomes import ATTEMPTS, MISSING
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.resample import LEVEL, estimate_totals, measure_totals, prepare_cells, total_groups
from equipoise.measuring.result import Matching, Result
from equipoise.measuring.summarise import WEIGHT, statistics
from equipoise.measuring.weights import CellTable, take_cells
from equipoise.schema import ITEM, Estimate, MetricKey, Status

TOKENS = 20
"""Gendered words of a simulated letter, for each inventory."""
ROWS_AT_ONCE = 20_000
SAMPLES = 20
"""So many samples of items take turns."""
POPULATION = 20_000
"""Items that stand for all there are, where there are more."""
Chance = Callable[[pl.DataFrame], Array]
"""For each prompt how likely the first label of the detector is (of a letter: a masculine word)."""


def constant(p: float) -> Chance:
    """The same chance for everybody."""
    return lambda prompts: np.full(prompts.height, p)


def gap(middle: float, difference: float) -> Chance:
    """Men get the middle and half the difference, women the middle less half of it, others the middle."""
    sides = {"male": difference / 2, "female": -difference / 2}
    return lambda prompts: np.array([middle + sides.get(gender, 0.0) for gender in prompts[GENDER]])


def slope(steepness: float) -> Chance:
    """The more masculine the occupation, the likelier a man (or for a woman's application, the less likely a yes)."""

    def chance(prompts: pl.DataFrame) -> Array:
        lean = steepness * (prompts["masculinity"].to_numpy() - 0.5)
        if GENDER in prompts.columns:
            lean = np.where((prompts[GENDER] == "male").to_numpy(), lean, -lean)
        return np.clip(0.5 + lean, 0.0, 1.0)

    return chance


def strata(difference: float) -> Chance:
    """Stereotypes of men bring forth men, those of women bring forth women."""
    return lambda prompts: np.where((prompts["stereotype_gender"] == "male").to_numpy(), 0.5, -0.5) * difference + 0.5


def settled(share: float) -> Chance:
    """A model that is sure of every item: this share of them is always answered with the first label."""

    def chance(prompts: pl.DataFrame) -> Array:
        return np.array([float(hash_share(item) < share) for item in prompts[ITEM]])

    return chance


def hash_share(text: str) -> float:
    """A number between 0 and 1 that belongs to the text, the same everywhere."""
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 % 2**32
    return (value * 2654435761 % 2**32) / 2**32


@dataclass(frozen=True, kw_only=True)
class Study:
    """A probe, the models it is asked with, and the sizes."""

    probe: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Chance]
    sizes: Sequence[int]


RATES = {f"p = {p:g}": constant(p) for p in (0.0, 0.02, 0.1, 0.5, 0.9, 1.0)}
GAPS = {f"men {difference:+g}": gap(0.5, difference) for difference in (0.04, 0.12, 0.3, 0.75)}
STUDIES = {
    "jobs_lum": Study(
        probe="jobs_lum",
        models=RATES | {f"slope {b:g}": slope(b) for b in (0.1, 0.3, 0.75)} | {"settled": settled(0.5)},
        sizes=(5, 12, 24, 60, 339),
    ),
    "gest_creative": Study(
        probe="gest_creative",
        parameters={"corpus": "mottos"},
        models=RATES | {f"stereotypes {d:g}": strata(d) for d in (0.1, 0.4, 0.75)},
        sizes=(32, 48, 80, 432),
    ),
    "hiring_an": Study(
        probe="hiring_an",
        models=RATES | GAPS | {f"slope {b:g}": slope(b) for b in (0.1, 0.6)} | {"settled": settled(0.5)},
        sizes=(5, 12, 24, 60, 500),
    ),
    "discrimination_tamkin": Study(
        probe="discrimination_tamkin",
        parameters={"corpus": "scenarios"},
        models=RATES | GAPS | {"settled": settled(0.5)},
        sizes=(5, 12, 60, 500),
    ),
    "business_vocabulary": Study(
        probe="business_vocabulary",
        models={"fair": gap(0.6, 0.0)}
        | {f"men {d:+g}": gap(0.5, d) for d in (0.0, 0.04, 0.2, 0.65)}
        | {"p = 0.95": gap(0.95, 0.0)},
        sizes=(12, 24, 60, 400),
    ),
}


@cache
def make_plan(study: str, size: int | None, seed: int) -> tuple[Plan, pl.DataFrame]:
    """A plan of a study and its prompts."""
    planned = _plan_all(study)
    items = size or planned.items
    planned = replace(planned, items=items, parameters={**planned.parameters, "sample_k": items, "random_seed": seed})
    return planned, planned.prompts()


@cache
def _plan_all(study: str) -> Plan:
    return plan(study, **STUDIES[study].parameters)


def _arms(probe: Probe, prompts: pl.DataFrame) -> list[str]:
    """What the columns of each prompt begin with in the row of its item."""
    if probe.arms is None:
        return [""] * prompts.height
    return [probe.arms.prefixes[value] for value in prompts[probe.arms.column]]


def _item_rows(probe: Probe, prompts: pl.DataFrame, counts: Mapping[str, Array], repetitions: int) -> pl.DataFrame:
    """Rows of items, as many times as there are simulations. `counts` has for each outcome simulation x prompt."""
    simulations = next(iter(counts.values())).shape[0]
    derived = probe.with_derived(prompts).group_by(ITEM, maintain_order=True)
    items = derived.agg(pl.col(name).first() for name in probe.covariates)
    place = {item: number for number, item in enumerate(items[ITEM])}
    of_item = np.array([place[item] for item in prompts[ITEM]])
    of_arm = np.array(_arms(probe, prompts))
    columns: dict[str, Array] = {}
    kind = np.float64 if next(iter(counts.values())).dtype == np.float64 else np.uint32
    for prefix in probe.prefixes:
        here = of_arm == prefix
        asked = np.zeros((simulations, items.height), kind)
        asked[:, of_item[here]] = repetitions
        columns[f"{prefix}{ATTEMPTS}"] = asked.ravel()
        columns[f"{prefix}{MISSING}"] = np.zeros(simulations * items.height, kind)
        for outcome in (*probe.detector.outcomes, *probe.detector.other_labels):
            table = np.zeros((simulations, items.height), kind)
            if outcome in counts:
                table[:, of_item[here]] = counts[outcome][:, here]
            columns[f"{prefix}{outcome}"] = table.ravel()
    tiled = pl.concat([items.drop(ITEM)] * simulations)
    weight = pl.Series(WEIGHT, np.ones(simulations * items.height, np.int64))
    return tiled.with_columns(**{name: pl.Series(values) for name, values in columns.items()}).with_columns(weight)


def _draw(
    probe: Probe, p: Array, simulations: int, repetitions: int, rng: np.random.Generator | None
) -> dict[str, Array]:
    """How often each outcome occurs: simulation x prompt. Without random numbers, as often as expected."""
    shape = (simulations, len(p))
    pairs = [probe.detector.labels[:2]] if probe.detector.labels else probe.detector.opposites
    trials = repetitions if probe.detector.labels else TOKENS * repetitions
    kind = np.float64 if rng is None else np.int64
    counts: dict[str, Any] = {}
    for first, second in pairs:
        found = np.broadcast_to(trials * p, shape) if rng is None else rng.binomial(trials, p, shape)
        counts |= {first: np.asarray(found, kind), second: np.asarray(trials - found, kind)}
    return counts


@cache
def find_truth(study: str, model: str) -> dict[str, float]:
    """The metrics of a model if everything were asked again and again."""
    planned, prompts = make_plan(study, POPULATION if study == "hiring_an" else None, 0)
    probe, p = planned.probe, STUDIES[study].models[model](prompts)
    rows = _item_rows(probe, prompts, _draw(probe, p, 1, 1, None), 1)
    totals = statistics(probe, rows, planned.parameters).sum()
    found = measure_totals(probe, Totals(totals.columns, totals.to_numpy()), planned.parameters)
    return {name: float(found[name][0]) for name in probe.marked_metrics()}


def simulate_runs(
    study: str, model: str, size: int, simulations: int, *, seed: int = 0, repetitions: int = 1, samples: int = SAMPLES
) -> Iterator[tuple[Plan, CellTable]]:
    """So many runs of a model on samples of this size: the plan, and the cells, one for each item in its order."""
    for sample in range(samples):
        here = len(range(sample, simulations, samples))
        if not here:
            return
        planned, prompts = make_plan(study, size, sample)
        probe, p = planned.probe, STUDIES[study].models[model](prompts)
        rng = np.random.default_rng([seed, sample, size, repetitions, *map(ord, model)])
        at_once = max(1, ROWS_AT_ONCE // planned.items)
        for start in range(0, here, at_once):
            now = min(at_once, here - start)
            rows = _item_rows(probe, prompts, _draw(probe, p, now, repetitions, rng), repetitions)
            table = prepare_cells(probe, rows, planned.parameters)
            for number in range(now):
                yield planned, take_cells(table, np.arange(number * planned.items, (number + 1) * planned.items))


def estimate_cells(
    planned: Plan, cells: CellTable, replicates: int, seed: int, level: float = LEVEL
) -> dict[str, Estimate]:
    """The metrics of a simulated run with their intervals."""
    (total,) = total_groups(cells, [np.arange(len(cells.weight))], replicates, seed)
    return estimate_totals(planned.probe, total, planned.parameters, level)


def mark_all(probe: Probe, estimates: Mapping[str, Estimate]) -> dict[str, Mark | None]:
    """The marks of a simulated run."""
    return {name: mark(bands, estimates[name]) for name, bands in probe.marked_metrics().items()}


def make_result(planned: Plan, estimates: Mapping[str, Estimate]) -> Result:
    """A simulated run as a result, in which nothing is missing."""
    counts = {status.value: 0 for status in Status}
    counts |= {"planned": planned.items, Status.OK: planned.items, "detected": planned.items, "undetected": 0}
    return Result(
        setup=planned.setup,
        estimates={MetricKey(name): estimate for name, estimate in estimates.items()},
        items=planned.items,
        bounds={},
        generalised={},
        marks=mark_all(planned.probe, estimates),
        coverage={"all": counts},
        matching=Matching(read=planned.items, matched=planned.items, surplus=0, unknown=0, missing=0),
        attempts=pl.DataFrame(),
    )
