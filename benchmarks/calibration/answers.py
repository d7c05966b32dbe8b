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


LEVEL = "shift"
GAP = "gap"
SLOPE = "slope"
"""What a loss of answers pulls, by the names that `models.steer` has for them: the share of first
outcomes, how far men are ahead, and how much stereotypes count."""
TIMES = 10.0
"""How many times as likely an answer that raises what is pulled is lost by its content."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Which answers are lost, because of what they say.

    First outcomes raise the level. Men's first outcomes and women's other outcomes raise the gap.
    First outcomes where the stereotype leans to them more than on average, and other outcomes
    elsewhere, raise the slope. Of letters, those that are more masculine than the mean of all
    letters count as first outcomes; of numbers, those above the mean.
    """

    raising: float
    """The chance to lose an answer that raises what is pulled."""
    others: float
    """The chance to lose any other answer."""
    what: str
    """What is pulled: LEVEL, GAP or SLOPE."""
    lowers: bool = False
    """Whether answers that lower it stand in the place of those that raise it."""
    share: float | None = None
    """The share of all answers that is lost, in expectation: the chances are scaled to that.
    None leaves them as they are."""


NO_LOSS = Loss(raising=0.0, others=0.0, what=LEVEL)


def lose_by_content(share: float, what: str, *, lowers: bool = False) -> Loss:
    """Lose this share of all answers: above all those that raise (or lower) something."""
    return Loss(raising=TIMES, others=1.0, what=what, lowers=lowers, share=share)


def lose_evenly(share: float) -> Loss:
    """Lose the same share of all answers, whatever they say."""
    return Loss(raising=1.0, others=1.0, what=LEVEL, share=share)


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
    lost = _draw_lost(world, answers, asking, loss, rng)
    for slot, lost_of_slot in zip(answers, lost, strict=True):
        for name, values in _tabulate(world, slot, lost_of_slot, asking).items():
            columns[f"{slot.prefix}{name}"][slot.there] += values
    # Shares and sums of numbers are fractions, and so are expected counts.
    fractions = (*detector.shares, *([detector.sum_column] if detector.number else []))
    is_drawn = rng is not None and not asking.shares
    counted = [name for name in columns if is_drawn and not name.endswith(fractions)]
    table = world.items[items].drop("item")
    table = table.with_columns(pl.Series(name, values) for name, values in columns.items())
    return table.with_columns(pl.col(counted).cast(pl.UInt32), pl.lit(1, pl.Int64).alias(WEIGHT))


def _tabulate(world: World, slot: SlotAnswers, lost: Array, asking: Asking) -> Mapping[str, Array]:
    """What is counted of the answers to a prompt of each item."""
    detector = world.probe.detector
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
    world: World,
    answers: Sequence[SlotAnswers],
    asking: Asking,
    loss: Loss,
    rng: np.random.Generator | None,
) -> list[Array]:
    """For each slot how many answers, or words, of each item are lost: item, outcome."""
    if rng is None or loss == NO_LOSS:
        return [np.zeros_like(slot.counts) for slot in answers]
    one_by_one = not _has_labels(world)
    if one_by_one and asking.repetitions > 1:
        raise ValueError("Letters and numbers are lost one by one: ask each prompt once.")
    raising = find_raising(world, answers, loss)
    counts = [np.ones((len(slot.counts), 1)) if one_by_one else slot.counts for slot in answers]
    risk_of_raising, risk_of_others = _scale_risks(loss, counts, raising)
    lost = []
    for slot, number, is_raising in zip(answers, counts, raising, strict=True):
        risk = np.where(is_raising, risk_of_raising, risk_of_others)
        drawn = rng.binomial(number.astype(np.int64), risk).astype(np.float64)
        # With a letter all its words are lost.
        lost.append(slot.counts * drawn if one_by_one else drawn)
    return lost


def _has_labels(world: World) -> bool:
    """Whether answers are labels, and neither words nor numbers."""
    detector = world.probe.detector
    return bool(detector.labels) and not detector.number


def find_raising(
    world: World, answers: Sequence[SlotAnswers], loss: Loss
) -> list[NDArray[np.bool_]]:
    """For each slot which answers raise what the loss pulls: item, label (or one column)."""
    direction = _find_direction(world, loss.what)
    if loss.lowers:
        direction = -direction
    if _has_labels(world):
        is_first = [first_outcomes(world, slot.prompts) for slot in answers]
    else:
        contents = [_measure_content(world, slot) for slot in answers]
        mean = np.concatenate(contents).mean()
        is_first = [content[:, None] > mean for content in contents]
    found = []
    for slot, first in zip(answers, is_first, strict=True):
        own = direction[slot.prompts][:, None]
        found.append(np.where(own > 0, first, ~first) & (own != 0))
    return found


def _find_direction(world: World, what: str) -> Array:
    """For each prompt 1 where first outcomes raise it, -1 where they lower it, else 0."""
    if what == GAP:
        return world.sign
    if what == SLOPE:
        return np.asarray(np.sign(world.lean - world.lean.mean()))
    return np.ones(world.prompts.height)


def _measure_content(world: World, slot: SlotAnswers) -> Array:
    """The number of each answer, or the share of masculine words of each letter."""
    if slot.numbers is not None:
        return slot.numbers
    detector = world.probe.detector
    firsts = [detector.counts.index(first) for first, _ in detector.opposites]
    seconds = [detector.counts.index(second) for _, second in detector.opposites]
    first_words = slot.counts[:, firsts].sum(axis=1)
    words = first_words + slot.counts[:, seconds].sum(axis=1)
    return np.asarray(first_words / np.maximum(words, 1.0))


def _scale_risks(
    loss: Loss, counts: Sequence[Array], raising: Sequence[NDArray[np.bool_]]
) -> tuple[float, float]:
    """The chances to lose an answer that raises what is pulled, and any other.

    Where even the loss of all that raise it is too little, more of the others are lost.
    """
    if loss.share is None:
        return loss.raising, loss.others
    total = 0.0
    of_raising = 0.0
    for number, is_raising in zip(counts, raising, strict=True):
        total += float(number.sum())
        of_raising += float(np.where(is_raising, number, 0.0).sum())
    wanted = loss.share * total
    factor = wanted / (loss.raising * of_raising + loss.others * (total - of_raising))
    if factor * loss.raising <= 1:
        return factor * loss.raising, factor * loss.others
    return 1.0, (wanted - of_raising) / (total - of_raising)
