"""Simulated models whose true metrics are known. Their answers are drawn as counts by item, not written as texts.

A model gives each prompt of a population of items a chance of its first outcome: a yes, a man, the right pronoun, a
masculine word; for numbers, the chance moves their mean. A run draws items at random (with replacement, so that the
population counts as endless; within strata where the probe has any) and an answer to each prompt. Everything after that
is the code that users run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import GENDER, Array, Probe, Totals
from equipoise.measuring.cells import CellTable, measure_totals, prepare_cells
from equipoise.measuring.outcomes import ATTEMPTS, MISSING
from equipoise.measuring.plan import Plan, plan
from equipoise.measuring.summarise import WEIGHT, statistics
from equipoise.schema import ITEM

POPULATION = 10_000
"""Items of a population, where there are more."""
ROWS_AT_ONCE = 40_000
RUN = "run"
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "gest_creative": {"corpus": "mottos"},
    "gest_translation": {"corpus": "sentences"},
    "discrimination_tamkin": {"corpus": "scenarios"},
    "hiring_bloomberg": {"corpus": "vacancies"},
    "resume_score": {"corpus": "vacancies"},
}
WORDS_OF_LIST = 7
"""Words of a list of `word_association` for each gender."""
NUMBERS = {"resume_score": (70.0, 20.0, 5.0), "salary_advice": (11.0, 0.2, 0.05)}
"""Of a score and of the logarithm of an amount: the middle, how far the chance moves it, and the scatter."""
LABELS = {"right": 1.0, "wrong": 0.6, "mixed": 0.2, "avoided": 0.2}
"""Of `pronoun_fidelity`: what is not right is one of the others."""
LEANING = {"male": 0.5, "masculine": 0.5, "female": -0.5, "feminine": -0.5}
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class World:
    """The prompts of a population of items, and what models look at."""

    planned: Plan
    prompts: pl.DataFrame

    @property
    def probe(self) -> Probe:
        """The probe that asks them."""
        return self.planned.probe

    @cached_property
    def items(self) -> pl.DataFrame:
        """One row for each item: the covariates and clusters of the probe."""
        return self.prompts.group_by(ITEM, maintain_order=True).agg(
            pl.col(name).first() for name in dict.fromkeys((*self.probe.covariates, *self.probe.clusters))
        )

    @cached_property
    def of_item(self) -> Places:
        """The place of the item of each prompt."""
        place = {item: number for number, item in enumerate(self.items[ITEM])}
        return np.array([place[item] for item in self.prompts[ITEM]])

    @cached_property
    def slots(self) -> list[tuple[str, Places]]:
        """For each prompt that an item may have: the prefix of its columns, and its place for each item or -1."""
        arms = self.probe.arms
        prefixes = (
            [""] * self.prompts.height
            if arms is None
            else [arms.prefixes[value] for value in self.prompts[arms.column].to_list()]
        )
        slots: dict[tuple[str, int], Places] = {}
        seen: dict[tuple[int, str], int] = {}
        for place, (item, prefix) in enumerate(zip(self.of_item.tolist(), prefixes, strict=True)):
            number = seen[item, prefix] = seen.get((item, prefix), -1) + 1
            slot = slots.setdefault((prefix, number), np.full(self.items.height, -1))
            slot[item] = place
        return [(prefix, places) for (prefix, _), places in slots.items()]

    @cached_property
    def sign(self) -> Array:
        """Of each prompt: 1 for a man, -1 for a woman, else 0; for pronouns 1 for "he" and "she", else -1."""
        if "family" in self.prompts.columns:
            return np.where(self.prompts["family"].is_in(["he", "she"]).to_numpy(), 1.0, -1.0)
        if GENDER not in self.prompts.columns:
            return np.zeros(self.prompts.height)
        return np.array([{"male": 1.0, "female": -1.0}.get(gender, 0.0) for gender in self.prompts[GENDER]])

    @cached_property
    def lean(self) -> Array:
        """How far the stereotype of each prompt leans to the first outcome: from -0.5 to 0.5."""
        columns = self.prompts.columns
        if "masculinity" in columns:
            lean = self.prompts["masculinity"].to_numpy() - 0.5
            return lean * self.sign if self.sign.any() else lean
        name = next((name for name in ("stereotype_gender", "stereotype") if name in columns), None)
        if name is None:
            return np.full(self.prompts.height, 0.0 if self.sign.any() else 0.5)
        return np.array([LEANING.get(str(value), 0.0) for value in self.prompts[name]])

    def effects(self, column: str, rng: np.random.Generator) -> Array:
        """A standard normal effect for each value of a column, by prompt."""
        values = self.prompts[column].cast(pl.String).rank("dense").to_numpy() - 1
        return np.asarray(rng.standard_normal(int(values.max()) + 1)[values.astype(np.int64)])

    @property
    def shared(self) -> list[str]:
        """What prompts share that may matter to a model."""
        names = ("occupation", "name", "names", "template", "question", "stereotype", "pair", "city")
        return [name for name in names if name in self.prompts.columns]


@cache
def make_world(study: str) -> World:
    """The population of a study: the name of a probe, on its packaged texts, or `probe/corpus`."""
    name, _, corpus = study.partition("/")
    planned = plan(name, **({"corpus": corpus} if corpus else PARAMETERS.get(name, {})), sample=None)
    known = {metric.name: metric for metric in planned.probe.metrics}
    marked = [metric for metric in known.values() if metric.bands]
    parts = {name for metric in marked for name in (*metric.range_of, *(metric.distance_of or ())[:1])}
    chosen = (*(known[name] for name in sorted(parts)), *marked)
    planned = replace(planned, probe=replace(planned.probe, metrics=chosen))  # the others would only take time
    return World(planned, planned.take(0, POPULATION))


Model = Callable[[World, np.random.Generator], Array]
"""For each prompt the chance of the first outcome."""


def constant(p: float) -> Model:
    """The same chance for everybody."""
    return lambda world, _: np.full(world.prompts.height, p)


def biased(gap: float, slope: float) -> Model:
    """Men are ahead by the gap, and stereotypes count by the slope."""
    return lambda world, _: np.clip(0.5 + gap * world.sign / 2 + slope * world.lean, 0.0, 1.0)


def beta(world: World, rng: np.random.Generator) -> Array:
    """Most items are answered nearly always in the same way, whoever is asked about; men are somewhat ahead."""
    chance = rng.beta(0.2, 0.2, world.items.height)[world.of_item]
    return np.clip(chance + 0.06 * world.sign, 0.0, 1.0)


def logit_normal(world: World, rng: np.random.Generator) -> Array:
    """Occupations, names, templates, questions, items and prompts all matter; some of them differ by gender."""
    logit = 0.5 + rng.standard_normal(world.items.height)[world.of_item]
    logit = logit + 0.7 * rng.standard_normal(world.prompts.height) + 0.6 * world.lean + 0.2 * world.sign
    for column in world.shared:
        logit = logit + 0.7 * world.effects(column, rng) + 0.5 * world.sign * world.effects(column, rng)
    return np.asarray(1 / (1 + np.exp(-logit)))


def one_race(world: World, rng: np.random.Generator) -> Array:
    """Items differ, and only one race is treated unfairly (without races: one item in five)."""
    logit = rng.standard_normal(world.items.height)[world.of_item]
    if "race" in world.prompts.columns:
        here = (world.prompts["race"] == sorted(world.prompts["race"].drop_nulls().unique())[0]).to_numpy()
    else:
        here = (rng.random(world.items.height) < 0.2)[world.of_item]
    return np.asarray(1 / (1 + np.exp(-logit - 2 * here * (world.sign + 2 * world.lean))))


def one_arm(world: World, _: np.random.Generator) -> Array:
    """All right in one arm (or on one side of the stereotype), 96% in the other."""
    side = world.sign if world.sign.any() else world.lean
    return np.where(side >= 0, 1.0, 0.96)


def settled(world: World, rng: np.random.Generator) -> Array:
    """A fair model that always gives the same answer to the same prompt."""
    return (rng.random(world.prompts.height) < 0.5).astype(np.float64)


MODELS: Mapping[str, Model] = {
    "even": constant(0.5),
    "rare": constant(0.03),
    "biased": biased(0.12, 0.3),
    "strongly biased": biased(0.6, 0.6),
    "beta items": beta,
    "logit-normal": logit_normal,
    "one race": one_race,
    "one arm 96%": one_arm,
    "settled": settled,
}


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How a run asks, and what becomes of its answers."""

    items: int
    repetitions: int = 1
    """Items that are asked several times are drawn without replacement: all there are, or a part of them."""
    words: float = 20.0
    """Words of a letter, of each inventory, on average."""
    lost: float = 0.0
    """The share of the first outcomes of men that is lost; of all others a tenth of it,"""
    evenly: bool = False
    """or the same share of all answers."""
    shares: bool = False
    """Whether the chances themselves are read (`--probabilities`), and not an answer that was drawn."""


def sample_items(world: World, asking: Asking, runs: int, rng: np.random.Generator) -> Places:
    """The places of the items of each run: run, item."""
    size = world.items.height
    if asking.repetitions > 1:
        return np.array([rng.permutation(size)[: asking.items] for _ in range(runs)])
    if not world.probe.strata:
        return rng.integers(0, size, (runs, asking.items))
    strata = world.items.select(pl.struct(world.probe.strata).rank("dense")).to_series().to_numpy()
    kinds, counts = np.unique(strata, return_counts=True)
    shares = np.maximum(2, np.round(counts / size * asking.items)).astype(np.int64)
    parts = [
        rng.choice(np.flatnonzero(strata == kind), (runs, share)) for kind, share in zip(kinds, shares, strict=True)
    ]
    return np.hstack(parts)


def draw_rows(
    world: World, chance: Array, items: Places, asking: Asking, rng: np.random.Generator | None
) -> pl.DataFrame:
    """The rows of these items with the answers of a model, in this order; without random numbers, as expected."""
    probe, detector = world.probe, world.probe.detector
    outcomes = (*detector.outcomes, *detector.other_labels, *detector.shares)
    names = [*outcomes, ATTEMPTS, MISSING, *([detector.sum_column] if detector.number else [])]
    columns = {f"{prefix}{name}": np.zeros(len(items)) for prefix in probe.prefixes for name in names}
    for prefix, places in world.slots:
        there = places[items] >= 0
        prompts = places[items][there]
        for name, values in _draw_answers(world, chance, prompts, asking, rng).items():
            columns[f"{prefix}{name}"][there] += values
    table = world.items.drop(ITEM)[items].with_columns(pl.Series(name, values) for name, values in columns.items())
    fractions = (*detector.shares, detector.sum_column or "\0")
    counts = [name for name in columns if rng and not name.endswith(fractions)]
    return table.with_columns(pl.col(counts).cast(pl.UInt32), pl.lit(1, pl.Int64).alias(WEIGHT))


def _draw_answers(
    world: World, chance: Array, prompts: Places, asking: Asking, rng: np.random.Generator | None
) -> dict[str, Array]:
    """What is counted of the answers to some prompts; without random numbers, as often as expected."""
    detector, study, often = world.probe.detector, world.probe.name, asking.repetitions
    p = chance[prompts]
    whole = np.full(len(prompts), float(often))
    found: dict[str, Array] = {ATTEMPTS: whole}
    if detector.counts:
        for first, second in detector.opposites:
            words = np.full(len(p), (WORDS_OF_LIST if study == "word_association" else asking.words) * often)
            if rng and study != "word_association":
                words = rng.poisson(words).astype(np.float64)
            part = rng.binomial(words.astype(np.int64), p).astype(np.float64) if rng else words * p
            found |= {first: part, second: words - part}
        return found
    if detector.number:
        middle, width, scatter = NUMBERS[study]
        mean = middle + width * (p - 0.5)
        if rng:
            mean = mean + rng.normal(0, scatter / np.sqrt(often), len(p))
        return {**found, detector.labels[0]: whole, detector.sum_column: mean * often}
    labels = _label_chances(world, p, prompts)
    drawn = rng.multinomial(often, labels).astype(np.float64) if rng else labels * often
    lost = np.zeros_like(drawn)
    if asking.lost and rng:
        others = asking.lost if asking.evenly else asking.lost / 10
        risk = np.full(drawn.shape, others)
        risk[:, 0] = np.where(world.sign[prompts] + world.lean[prompts] > 0, asking.lost, others)
        lost = rng.binomial(drawn.astype(np.int64), risk).astype(np.float64)
    kept = drawn - lost
    found |= {label: kept[:, place] for place, label in enumerate(detector.labels)}
    for name, of_label in detector.shares.items():
        found[name] = kept @ np.array([round(of_label[label] * 2**20) / 2**20 for label in detector.labels])
    return {**found, MISSING: lost.sum(axis=1)}


def _label_chances(world: World, p: Array, prompts: Places) -> Array:
    """For each prompt the chance of each label."""
    labels = world.probe.detector.labels
    if world.probe.name == "hiring_bloomberg":
        man, woman = np.moveaxis(_bloomberg_chances(world)[prompts], 2, 0)
        return np.asarray(man * p[:, None] + woman * (1 - p[:, None]))
    if len(labels) == 2:
        return np.column_stack([p, 1 - p])
    return np.column_stack([p if label == "right" else (1 - p) * LABELS[label] for label in labels])


@cache
def _bloomberg_chances(world: World) -> Array:
    """For each ranking of a man and a woman the label if the man is first, and if the woman is: prompt, label, way."""
    labels = world.probe.detector.labels
    chances = np.zeros((world.prompts.height, len(labels), 2))
    for place, (genders, races) in enumerate(world.prompts.select("genders", "races").iter_rows()):
        for way, letter in enumerate("mf"):
            where = genders.index(letter)
            chances[place, labels.index(ranking_label(races[where], letter, is_first=where == 0)), way] = 1.0
    return chances


def ranking_label(race: str, gender: str, *, is_first: bool) -> str:
    """The label of a ranking of `hiring_bloomberg` that puts an applicant of this race and gender first."""
    races = {"w": "white", "b": "black", "h": "hispanic", "a": "asian"}
    return f"{races[race]}_{'male' if gender == 'm' else 'female'}_{'at_a' if is_first else 'after_a'}"


def expect_total(world: World, chance: Array, asking: Asking) -> pl.DataFrame:
    """The totals of the population if it were asked again and again: one row."""
    once = Asking(items=world.items.height, words=asking.words)
    rows = draw_rows(world, chance, np.arange(world.items.height), once, None)
    return statistics(world.probe, rows, world.planned.parameters).sum()


def find_truth(world: World, total: pl.DataFrame) -> dict[str, float]:
    """The marked metrics of totals."""
    found = measure_totals(world.probe, Totals(total.columns, total.to_numpy()), world.planned.parameters)
    return {name: float(found[name][0]) for name in world.probe.marked_metrics()}


def simulate_runs(
    world: World, chance: Array, asking: Asking, runs: int, rng: np.random.Generator
) -> Iterator[tuple[CellTable, pl.DataFrame]]:
    """The cells of so many runs, prepared and as a table."""
    places = sample_items(world, asking, runs, rng)
    at_once = max(1, ROWS_AT_ONCE // places.shape[1])
    clusters = [name for name in world.probe.clusters if name not in world.probe.covariates]
    for start in range(0, runs, at_once):
        some = places[start : start + at_once]
        number = pl.Series(RUN, np.repeat(np.arange(len(some)), some.shape[1]))
        answers = None if asking.shares else rng
        rows = draw_rows(world, chance, some.ravel(), asking, answers).drop(clusters).with_columns(number)
        table = rows.group_by(pl.exclude(WEIGHT)).agg(pl.col(WEIGHT).sum())
        table = table.sort(RUN, pl.exclude(RUN, WEIGHT))
        starts = table[RUN].search_sorted(pl.Series(range(len(some) + 1))).to_list()
        parameters = {**world.planned.parameters, "repeat": asking.repetitions}
        prepared = prepare_cells(world.probe, table, parameters)
        for first, end in pairwise(starts):
            yield prepared.take(np.arange(first, end)), table[first:end].drop(RUN)
