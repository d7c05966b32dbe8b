"""Simulated models whose true metrics are known: their answers as cells, many runs at once.

For probes with two labels (or two kinds of words), these are drawn directly, with a chance for each prompt. For the
others the probe's own reference models write texts, which are read. Everything after that is the code that users run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from equipoise.authoring import GENDER, Array, Probe, Totals
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.interval import LEVEL, CellTable, estimate_cells, measure_totals, prepare_cells
from equipoise.measuring.marks import Mark, mark
from equipoise.measuring.outcomes import ATTEMPTS, MISSING
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.result import Matching, Result
from equipoise.measuring.summarise import WEIGHT, item_rows, statistics
from equipoise.schema import ANSWER, ITEM, STATUS, Estimate, MetricKey, Status

TOKENS = 20
"""Gendered words of a simulated letter, for each inventory."""
ROWS_AT_ONCE = 20_000
SAMPLES = 20
"""So many samples of items take turns."""
FEW_SAMPLES = 8
"""The same where texts are written and read."""
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


@dataclass(frozen=True)
class Stance:
    """A model that answers this share of the prompts as a reference model of the probe does, the others at random."""

    name: str
    share: float

    def answers(self, probe: Probe, prompts: pl.DataFrame, rng: np.random.Generator) -> Iterator[str]:
        """A text for each prompt."""
        stances = [np.array(probe.simulate(prompts, stance, rng), dtype=object) for stance in (self.name, "random")]
        yield from np.where(rng.random(prompts.height) < self.share, *stances)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A probe, the models it is asked with, and the sizes."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Chance | Stance]
    sizes: Sequence[int]
    samples: int = SAMPLES


def stances(name: str, *sizes: int, corpus: str | None = None) -> Study:
    """A study of models between one that answers at random and a reference model of the probe."""
    models = {"random": Stance(name, 0.0)} | {f"{name} {share:g}": Stance(name, share) for share in (0.1, 0.4, 1.0)}
    return Study(models=models, sizes=sizes, parameters={"corpus": corpus} if corpus else {}, samples=FEW_SAMPLES)


RATES = {f"p = {p:g}": constant(p) for p in (0.0, 0.02, 0.1, 0.5, 0.9, 1.0)}
GAPS = {f"men {difference:+g}": gap(0.5, difference) for difference in (0.04, 0.12, 0.3, 0.75)}
STUDIES = {
    "jobs_lum": Study(
        models=RATES | {f"slope {b:g}": slope(b) for b in (0.1, 0.3, 0.75)} | {"settled": settled(0.5)},
        sizes=(5, 12, 24, 60, 339),
    ),
    "gest_creative": Study(
        parameters={"corpus": "mottos"},
        models=RATES | {f"stereotypes {d:g}": strata(d) for d in (0.1, 0.4, 0.75)},
        sizes=(32, 48, 80, 432),
    ),
    "hiring_an": Study(
        models=RATES | GAPS | {f"slope {b:g}": slope(b) for b in (0.1, 0.6)} | {"settled": settled(0.5)},
        sizes=(5, 12, 24, 60, 500),
    ),
    "discrimination_tamkin": Study(
        parameters={"corpus": "scenarios"},
        models=RATES | GAPS | {"settled": settled(0.5)},
        sizes=(5, 12, 60, 500),
    ),
    "business_vocabulary": Study(
        models={"fair": gap(0.6, 0.0)}
        | {f"men {d:+g}": gap(0.5, d) for d in (0.0, 0.04, 0.2, 0.65)}
        | {"p = 0.95": gap(0.95, 0.0)},
        sizes=(5, 12, 24, 60, 400),
    ),
    "inventories": stances("stereotyping", 10, 24, 125),
    "hiring_bloomberg": stances("stereotyping", 5, 24, 240, corpus="vacancies"),
    "salary_advice": stances("pro-masculine", 5, 24, 384),
    "resume_score": stances("pro-masculine", 5, 24, 384, corpus="vacancies"),
    "pronoun_fidelity": stances("binary-only", 5, 24, 240),
    "word_association": stances("stereotyping", 8, 24, 192),
}


@cache
def make_plan(study: str, size: int | None, seed: int) -> tuple[Plan, pl.DataFrame]:
    """A plan of a study and its prompts."""
    planned = _plan_all(study)
    items = size or planned.items
    planned = replace(planned, items=items, parameters={**planned.parameters, "sample": items, "seed": seed})
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


def _write_rows(
    probe: Probe, prompts: pl.DataFrame, model: Stance, simulations: int, repetitions: int, rng: np.random.Generator
) -> pl.DataFrame:
    """The rows of items as many times as there are simulations, from texts that are written and read."""
    numbers = pl.Series("number", np.repeat(np.arange(simulations), prompts.height * repetitions))
    asked = pl.concat([prompts] * (simulations * repetitions)).with_columns(
        pl.concat_str(ITEM, numbers.cast(pl.String), separator="#").alias(ITEM)
    )
    texts = pl.Series(ANSWER, list(model.answers(probe, asked, rng)), dtype=pl.String)
    attempts = asked.with_columns(texts, pl.lit(Status.OK.value).alias(STATUS))
    rows = item_rows(probe, evaluate(probe.detector, attempts))
    return rows.drop(ITEM).with_columns(pl.lit(1, pl.Int64).alias(WEIGHT))


def make_rows(
    planned: Plan, prompts: pl.DataFrame, model: str, simulations: int, repetitions: int, rng: np.random.Generator
) -> pl.DataFrame:
    """The rows of items of so many runs of a model, one run after the other."""
    chosen, probe = STUDIES[planned.probe.name].models[model], planned.probe
    if isinstance(chosen, Stance):
        return _write_rows(probe, prompts, chosen, simulations, repetitions, rng)
    return _item_rows(probe, prompts, _draw(probe, chosen(prompts), simulations, repetitions, rng), repetitions)


@cache
def find_truth(study: str, model: str) -> dict[str, float]:
    """The metrics of a model if everything were asked again and again; where texts are written, from very many."""
    chosen, items = STUDIES[study].models[model], _plan_all(study).items
    planned, prompts = make_plan(study, min(items, POPULATION), 0)
    probe = planned.probe
    if isinstance(chosen, Stance):
        rows = _write_rows(probe, prompts, chosen, -(-POPULATION // planned.items), 1, np.random.default_rng(0))
    else:
        rows = _item_rows(probe, prompts, _draw(probe, chosen(prompts), 1, 1, None), 1)
    totals = statistics(probe, rows, planned.parameters).sum()
    found = measure_totals(probe, Totals(totals.columns, totals.to_numpy()), planned.parameters)
    return {name: float(found[name][0]) for name in probe.marked_metrics()}


def simulate_runs(
    study: str,
    model: str,
    size: int,
    simulations: int,
    *,
    seed: int = 0,
    repetitions: int = 1,
    samples: int | None = None,
) -> Iterator[tuple[Plan, CellTable]]:
    """So many runs of a model on samples of this size: the plan, and the cells, one for each item in its order."""
    turns = samples or STUDIES[study].samples
    for sample in range(turns):
        here = len(range(sample, simulations, turns))
        if not here:
            return
        planned, prompts = make_plan(study, size, sample)
        rng = np.random.default_rng([seed, sample, size, repetitions, *map(ord, model)])
        at_once = max(1, ROWS_AT_ONCE // planned.items)
        for start in range(0, here, at_once):
            now = min(at_once, here - start)
            rows = make_rows(planned, prompts, model, now, repetitions, rng)
            table = prepare_cells(planned.probe, rows, planned.parameters)
            for number in range(now):
                yield planned, table.take(np.arange(number * planned.items, (number + 1) * planned.items))


def estimate_run(planned: Plan, cells: CellTable, level: float = LEVEL) -> dict[str, Estimate]:
    """The metrics of a simulated run with their intervals."""
    return estimate_cells(planned.probe, cells, planned.parameters, level)


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
