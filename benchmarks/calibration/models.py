"""Models whose true metrics are known.

A model gives each prompt a chance of its first outcome: a good decision, a man, the right pronoun,
a masculine word; for numbers, the chance moves their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.calibration.worlds import Places, World
from equipoise.authoring import Array

Model = Callable[[World, np.random.Generator], Array]
"""For each prompt the chance of the first outcome."""
RowModel = Callable[[World, Places, np.random.Generator], Array]
"""For some drawn items the chance of the first outcome: slot, item. Each draw of an item is new."""


def constant(chance: float) -> Model:
    """The same chance for everybody."""
    return lambda world, _: np.full(world.prompts.height, chance)


def biased(gap: float, slope: float) -> Model:
    """Men are ahead by the gap, and stereotypes count by the slope."""
    return lambda world, _: steer(world, {"gap": gap, "slope": slope})


STEERED_BY = ("shift", "gap", "slope")


def steer(world: World, steering: Mapping[str, float]) -> Array:
    """The chances 0.5 + shift + gap · sign/2 + slope · lean, between 0 and 1.

    The shift is for everybody, the gap for men, and the slope for those of whom it is expected.
    """
    chance = 0.5 + steering.get("shift", 0.0) + steering.get("gap", 0.0) * world.sign / 2
    return np.clip(chance + steering.get("slope", 0.0) * world.lean, 0.0, 1.0)


def beta_items(world: World, rng: np.random.Generator) -> Array:
    """Most items are answered nearly always alike; men are somewhat ahead."""
    chance = rng.beta(0.2, 0.2, world.items.height)[world.item_of_prompt]
    return np.clip(chance + 0.06 * world.sign, 0.0, 1.0)


def logit_normal(world: World, rng: np.random.Generator) -> Array:
    """Occupations, names, templates, questions, items and prompts matter, also by gender."""
    logit = 0.5 + rng.standard_normal(world.items.height)[world.item_of_prompt]
    logit = logit + 0.7 * rng.standard_normal(world.prompts.height)
    logit = logit + 0.6 * world.lean + 0.2 * world.sign
    for column in world.shared:
        logit = logit + 0.7 * world.effects(column, rng)
        logit = logit + 0.5 * world.sign * world.effects(column, rng)
    return np.asarray(1 / (1 + np.exp(-logit)))


def one_arm(world: World, _: np.random.Generator) -> Array:
    """All right in one arm (or on one side of the stereotype), 96% in the other."""
    side = world.sign if world.sign.any() else world.lean
    return np.where(side >= 0, 1.0, 0.96)


def settled(world: World, rng: np.random.Generator) -> Array:
    """A fair model that always gives the same answer to the same prompt."""
    return (rng.random(world.prompts.height) < 0.5).astype(np.float64)


EVEN = "even"
SETTLED = "settled"
BETA = "beta items"
CLUSTERS = "clusters"
STRONG = "strongly biased"
ONE_ARM = "one arm 96%"
MODELS: Mapping[str, Model] = {
    EVEN: constant(0.5),
    SETTLED: settled,
    BETA: beta_items,
    CLUSTERS: logit_normal,
    STRONG: biased(0.6, 0.6),
    ONE_ARM: one_arm,
}
WITHOUT_EFFECTS = (EVEN, STRONG, ONE_ARM)
"""Models that draw nothing for themselves."""


# Models to which each drawn item is new, so that their true metrics are exactly those of "even".


def _slot_shape(world: World, items: Places) -> tuple[int, int]:
    return len(world.slots), len(items)


def coin(world: World, items: Places, _: np.random.Generator) -> Array:
    """Every answer is drawn with a chance of one half."""
    return np.full(_slot_shape(world, items), 0.5)


def sure(world: World, items: Places, rng: np.random.Generator) -> Array:
    """Every item has one answer, whoever is asked about: of half of the items the first outcome."""
    answers = (rng.random(len(items)) < 0.5).astype(np.float64)
    return np.broadcast_to(answers, _slot_shape(world, items))


def even_beta(world: World, items: Places, rng: np.random.Generator) -> Array:
    """Most items are answered nearly always alike, whoever is asked about, and nobody is ahead."""
    chance = rng.beta(0.2, 0.2, len(items))
    return np.broadcast_to(chance, _slot_shape(world, items))


def rarely_far_apart(world: World, items: Places, rng: np.random.Generator) -> Array:
    """For numbers: men get much less in one of 31 items, and a little more in all others.

    On average nobody is ahead.
    """
    is_rare = rng.random(len(items)) < 1 / 31
    is_man = by_slot(world, world.sign, items) > 0
    return np.asarray(0.5 + np.where(is_man, np.where(is_rare, -1.5, 0.05), 0.0))


def leaning(side: float) -> RowModel:
    """A coin that leans to men (or, with -1, to women) by 0.2."""

    def chance(world: World, items: Places, _: np.random.Generator) -> Array:
        steering = {"gap": 0.2 * side} if world.sign.any() else {"shift": 0.1 * side}
        return by_slot(world, steer(world, steering), items)

    return chance


def by_slot(world: World, chance: Array, items: Places) -> Array:
    """The chances of prompts as those of drawn items: slot, item."""
    return np.stack([chance[places[items]] for _, places in world.slots])


ROW_MODELS: Mapping[str, RowModel] = {
    "coin": coin,
    "sure of each item": sure,
    "even beta items": even_beta,
    "rarely far apart": rarely_far_apart,
    "leaning to men": leaning(1.0),
    "leaning to women": leaning(-1.0),
}
