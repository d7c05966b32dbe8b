"""Answers of simulated models, drawn as counts by item, and which of them are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.calibration.worlds import Places, World
from equipoise.authoring import Array
from equipoise.measuring.outcomes import ATTEMPTS, MISSING
from equipoise.measuring.summarise import WEIGHT

WORDS_OF_LIST = 7
"""Words of a list of `word_association` for each gender."""
NUMBERS = {"resume_score": (70.0, 20.0, 5.0), "salary_advice": (11.0, 0.2, 0.05)}
"""For a score and for the logarithm of an amount: the mean at a chance of 0.5, its slope in the
chance, and the standard deviation of one answer."""
LABELS = {"right": 1.0, "wrong": 0.6, "mixed": 0.2, "avoided": 0.2}
"""Of `pronoun_fidelity`: an answer that is not right is one of the others."""
SHARE_STEP = 2**20
"""Shares beside labels are multiples of 2 to the -20, as the detectors round them."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How a run asks."""

    items: int
    repetitions: int = 1
    """Items that are asked several times are drawn without replacement."""
    words: float = 20.0
    """Words of each inventory in a letter, on average."""
    shares: bool = False
    """Whether the chances themselves are read (`--probabilities`) instead of drawn answers."""

    def __str__(self) -> str:
        return f"{self.items} × {self.repetitions}" if self.repetitions > 1 else str(self.items)


ONE_SIDE = "one side"
"""First outcomes of men; without genders, where stereotypes lean to the first outcome."""
EVERYWHERE = "everywhere"
ABOVE_MEAN = "above the mean"
"""First outcomes where the stereotype leans farther to them than on average."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Which answers are lost, because of what they say.

    Of letters, those with more words of the first kind than the mean letter about such a person
    count as first outcomes; of numbers, those above the mean.
    """

    first: float
    """The share of the first outcomes that is lost, on this side."""
    others: float
    """The share of all other answers that is lost."""
    side: str = ONE_SIDE


NO_LOSS = Loss(first=0.0, others=0.0)


def lose_by_content(share: float) -> Loss:
    """Lose this share of the first outcomes on one side, and a tenth as many of all others."""
    return Loss(first=share, others=share / 10)


def lose_evenly(share: float) -> Loss:
    """Lose the same share of all answers."""
    return Loss(first=share, others=share)


@dataclass(frozen=True, kw_only=True)
class SlotAnswers:
    """The answers to one prompt of each of some items, before any is lost."""

    prefix: str
    there: NDArray[np.bool_]
    """Which of the items have this prompt."""
    prompts: Places
    counts: Array
    """How often each label was given, or how many words of each kind: item, outcome."""
    numbers: Array | None
    """The sum of the numbers, where answers are numbers."""


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
    parts = []
    for kind, share in zip(kinds, shares, strict=True):
        parts.append(rng.choice(np.flatnonzero(strata == kind), (runs, share)))
    return np.hstack(parts)


def draw_answers(
    world: World, chance: Array, items: Places, asking: Asking, rng: np.random.Generator | None
) -> list[SlotAnswers]:
    """The answers to the prompts of these items; without random numbers, as often as is expected.

    `chance` is that of each prompt, or of each slot and item.
    """
    slots = []
    for number, (prefix, places) in enumerate(world.slots):
        there = places[items] >= 0
        prompts = places[items][there]
        own = chance[number][there] if chance.ndim == 2 else chance[prompts]
        counts, numbers = _draw_slot(world, own, prompts, asking, rng)
        slots.append(
            SlotAnswers(prefix=prefix, there=there, prompts=prompts, counts=counts, numbers=numbers)
        )
    return slots


def _draw_slot(
    world: World, chance: Array, prompts: Places, asking: Asking, rng: np.random.Generator | None
) -> tuple[Array, Array | None]:
    detector = world.probe.detector
    repetitions = asking.repetitions
    if detector.counts:
        return _draw_words(world, chance, asking, rng), None
    if detector.number:
        middle, width, deviation = NUMBERS[world.probe.name]
        mean = middle + width * (chance - 0.5)
        if rng is not None:
            mean = mean + rng.normal(0, deviation / np.sqrt(repetitions), len(chance))
        return np.full((len(chance), 1), float(repetitions)), mean * repetitions
    labels = _label_chances(world, chance, prompts)
    if rng is None:
        return labels * repetitions, None
    return rng.multinomial(repetitions, labels).astype(np.float64), None


def _draw_words(
    world: World, chance: Array, asking: Asking, rng: np.random.Generator | None
) -> Array:
    detector = world.probe.detector
    counts = np.zeros((len(chance), len(detector.counts)))
    is_letter = world.probe.name != "word_association"
    mean_words = (asking.words if is_letter else WORDS_OF_LIST) * asking.repetitions
    for first, second in detector.opposites:
        words = np.full(len(chance), float(mean_words))
        first_words = words * chance
        if rng is not None:
            if is_letter:
                words = rng.poisson(words).astype(np.float64)
            first_words = rng.binomial(words.astype(np.int64), chance).astype(np.float64)
        counts[:, detector.counts.index(first)] = first_words
        counts[:, detector.counts.index(second)] = words - first_words
    return counts


def _label_chances(world: World, chance: Array, prompts: Places) -> Array:
    """The chance of each label: prompt, label."""
    labels = world.probe.detector.labels
    if world.probe.name == "hiring_bloomberg":
        man, woman = np.moveaxis(_bloomberg_labels(world)[prompts], 2, 0)
        return np.asarray(man * chance[:, None] + woman * (1 - chance[:, None]))
    if len(labels) == 2:
        first = first_outcomes(world, prompts)
        return np.where(first, chance[:, None], 1 - chance[:, None])
    others = [(1 - chance) * LABELS[label] for label in labels[1:]]
    return np.column_stack([chance, *others])


def first_outcomes(world: World, prompts: Places) -> NDArray[np.bool_]:
    """Which labels are first outcomes: prompt, label. For decisions, the answer that is good."""
    labels = world.probe.detector.labels
    is_first = np.zeros((len(prompts), len(labels)), dtype=bool)
    if world.probe.name == "hiring_bloomberg":
        is_first[:] = ["_male_" in label for label in labels]
    elif "good" in world.prompts.columns:
        good = world.prompts["good"].to_numpy()[prompts]
        is_first[:] = good[:, None] == np.array(labels)
    else:
        is_first[:, 0] = True
    return is_first


@cache
def _bloomberg_labels(world: World) -> Array:
    """The label of each ranking if the man is first, and if the woman is: prompt, label, way."""
    labels = world.probe.detector.labels
    chances = np.zeros((world.prompts.height, len(labels), 2))
    for place, (genders, races) in enumerate(world.prompts.select("genders", "races").iter_rows()):
        for way, letter in enumerate("mf"):
            where = genders.index(letter)
            label = ranking_label(races[where], letter, is_first=where == 0)
            chances[place, labels.index(label), way] = 1.0
    return chances


def ranking_label(race: str, gender: str, *, is_first: bool) -> str:
    """The label of a ranking of `hiring_bloomberg` that puts such an applicant first."""
    races = {"w": "white", "b": "black", "h": "hispanic", "a": "asian"}
    genders = {"m": "male", "f": "female"}
    place = "at_a" if is_first else "after_a"
    return f"{races[race]}_{genders[gender]}_{place}"


def make_rows(
    world: World,
    items: Places,
    answers: Sequence[SlotAnswers],
    asking: Asking,
    loss: Loss = NO_LOSS,
    rng: np.random.Generator | None = None,
) -> pl.DataFrame:
    """One row for each of these items, in this order, with the answers that are not lost."""
    probe = world.probe
    detector = probe.detector
    names = [*detector.outcomes, *detector.other_labels, *detector.shares, ATTEMPTS, MISSING]
    if detector.number:
        names.append(detector.sum_column)
    columns = {
        f"{prefix}{name}": np.zeros(len(items)) for prefix in probe.prefixes for name in names
    }
    for slot in answers:
        for name, values in _tabulate(world, slot, asking, loss, rng).items():
            columns[f"{slot.prefix}{name}"][slot.there] += values
    # Shares and sums of numbers are fractions, and so are expected counts.
    fractions = (*detector.shares, *([detector.sum_column] if detector.number else []))
    is_drawn = rng is not None and not asking.shares
    counted = [name for name in columns if is_drawn and not name.endswith(fractions)]
    table = world.items[items].drop("item")
    table = table.with_columns(pl.Series(name, values) for name, values in columns.items())
    return table.with_columns(pl.col(counted).cast(pl.UInt32), pl.lit(1, pl.Int64).alias(WEIGHT))


def _tabulate(
    world: World, slot: SlotAnswers, asking: Asking, loss: Loss, rng: np.random.Generator | None
) -> Mapping[str, Array]:
    """What is counted of the answers to a prompt of each item."""
    detector = world.probe.detector
    lost = _draw_lost(world, slot, asking, loss, rng)
    kept = slot.counts - lost
    whole = np.full(len(slot.prompts), float(asking.repetitions))
    found: dict[str, Array] = {ATTEMPTS: whole}
    found |= {name: kept[:, place] for place, name in enumerate(detector.outcomes)}
    if detector.counts:
        # A lost letter is no answer at all. An answer whose label is lost is one that says nothing.
        is_lost = (lost.sum(axis=1) > 0).astype(np.float64)
        return {**found, ATTEMPTS: whole - is_lost, MISSING: is_lost}
    if slot.numbers is not None:
        found[detector.sum_column] = slot.numbers * kept[:, 0] / asking.repetitions
    for name, of_label in detector.shares.items():
        shares = [round(of_label[label] * SHARE_STEP) / SHARE_STEP for label in detector.labels]
        found[name] = kept @ np.array(shares)
    return {**found, MISSING: lost.sum(axis=1)}


def _draw_lost(
    world: World, slot: SlotAnswers, asking: Asking, loss: Loss, rng: np.random.Generator | None
) -> Array:
    """How many of the counted answers, or words, of each item are lost: item, outcome."""
    if rng is None or not loss.first:
        return np.zeros_like(slot.counts)
    detector = world.probe.detector
    here = _is_on_side(world, slot.prompts, loss.side)
    if detector.labels and not detector.number:
        is_first = here[:, None] & first_outcomes(world, slot.prompts)
        risk = np.where(is_first, loss.first, loss.others)
        return rng.binomial(slot.counts.astype(np.int64), risk).astype(np.float64)
    if asking.repetitions > 1:
        raise ValueError("Letters and numbers are lost one by one: ask each prompt once.")
    content = slot.numbers
    if content is None:
        firsts = [detector.counts.index(first) for first, _ in detector.opposites]
        seconds = [detector.counts.index(second) for _, second in detector.opposites]
        first_words = slot.counts[:, firsts].sum(axis=1)
        content = first_words / np.maximum(first_words + slot.counts[:, seconds].sum(axis=1), 1.0)
    is_first = content > content.mean()
    risk = np.where(here & is_first, loss.first, loss.others)
    is_lost = rng.random(len(risk)) < risk
    return slot.counts * is_lost[:, None]


def _is_on_side(world: World, prompts: Places, side: str) -> NDArray[np.bool_]:
    if side == EVERYWHERE:
        return np.ones(len(prompts), dtype=bool)
    if side == ABOVE_MEAN:
        return np.asarray(world.lean[prompts] > world.lean.mean())
    return np.asarray(world.sign[prompts] + world.lean[prompts] > 0)
