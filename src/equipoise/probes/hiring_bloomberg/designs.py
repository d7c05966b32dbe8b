"""Who meets whom over which CVs: the designs of `hiring_bloomberg`, each with its own items and prompts.

Every item is drawn by its number alone, so that millions need not be built, and a larger sample contains the smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Items, facts, shuffle

RACES = ("white", "black", "hispanic", "asian")
GENDERS = ("male", "female")
CVS = 8
"""CVs for each vacancy."""
NAMES = 98
"""Names for each gender and race, without those whose first name stands under both genders."""
STEPS = (1, 3, 5, 7)
"""Steps by which the CVs are gone through: each visits all eight."""
MASKS = tuple(mask for mask in combinations(range(CVS), CVS // 2) if 0 in mask)
"""The places of the four men in a panel; the complement of each is the second prompt."""


@dataclass(frozen=True)
class Person:
    """A candidate: a name and what it signals."""

    name: str
    gender: str
    race: str


@cache
def name_pool(gender: str, race: str) -> tuple[str, ...]:
    """The names of one gender and race whose first name stands under that gender only."""
    table = facts("names").with_columns(pl.col("name").str.split(" ").list.first().alias("first"))
    clear = pl.col("gender").n_unique().over("first") == 1
    return tuple(table.filter(clear).filter(gender=gender, race=race)["name"][:NAMES])


@dataclass(frozen=True)
class Design:
    """How many ways there are to fill a vacancy (and a race), and which CVs and people the way of a number has."""

    ways: int
    by_race: bool
    named: bool = True

    def draw(self, way: int, race: str) -> tuple[list[int], list[list[Person]]]:
        """The CVs in the order of the letters, and for each prompt the people in that order."""
        raise NotImplementedError


class Pairs(Design):
    """One man and one woman over two CVs; two prompts, the names swapped."""

    def draw(self, way: int, race: str) -> tuple[list[int], list[list[Person]]]:
        way, man = divmod(way, NAMES)
        first, second = divmod(way, CVS - 1)
        cvs = [first, second + (second >= first)]
        woman = (man + 7 * first + 31 * second) % NAMES
        people = [
            Person(name_pool(gender, race)[at], gender, race) for gender, at in zip(GENDERS, (man, woman), strict=True)
        ]
        return cvs, [people, people[::-1]]


class Anonymous(Pairs):
    """The same two CVs without names: one prompt, and only we know who would have been whom."""

    def draw(self, way: int, race: str) -> tuple[list[int], list[list[Person]]]:
        cvs, prompts = super().draw(way, race)
        return cvs, [prompts[way % 2]]


class Panel(Design):
    """Four men and four women of one race over eight CVs: a mask and its complement."""

    def draw(self, way: int, race: str) -> tuple[list[int], list[list[Person]]]:
        way, start = divmod(way, NAMES)
        way, mask = divmod(way, len(MASKS))
        people = {
            gender: [Person(name_pool(gender, race)[(start + 13 * i + 5 * side) % NAMES], gender, race) for i in range(4)]
            for side, gender in enumerate(GENDERS)
        }
        prompts = []
        for first in GENDERS:
            queues = {gender: iter(people[gender]) for gender in GENDERS}
            second = GENDERS[1 - GENDERS.index(first)]
            prompts.append([next(queues[first if place in MASKS[mask] else second]) for place in range(CVS)])
        return _order(way), prompts


class Crossed(Design):
    """One name of each race and gender over eight CVs: eight prompts, so that every group has every CV and place."""

    def draw(self, way: int, race: str) -> tuple[list[int], list[list[Person]]]:
        way, start = divmod(way, NAMES)
        groups = [(gender, other) for other in RACES for gender in GENDERS]
        people = [
            Person(name_pool(gender, other)[(start + 11 * place) % NAMES], gender, other)
            for place, (gender, other) in enumerate(groups)
        ]
        return _order(way), [people[shift:] + people[:shift] for shift in range(CVS)]


def _order(way: int) -> list[int]:
    """One of 32 orders of the eight CVs."""
    start, step = way % CVS, STEPS[way // CVS % len(STEPS)]
    return [(start + step * place) % CVS for place in range(CVS)]


ORDERS = CVS * len(STEPS)
DESIGNS: dict[str, Design] = {
    "pairs": Pairs(CVS * (CVS - 1) * NAMES, by_race=True),
    "panel": Panel(ORDERS * len(MASKS) * NAMES, by_race=True),
    "crossed": Crossed(ORDERS * NAMES, by_race=False),
    "anonymous": Anonymous(CVS * (CVS - 1) * NAMES, by_race=True, named=False),
}


def design_items(name: str, vacancies: pl.DataFrame) -> Items:
    """All items of a design: a vacancy, a race, and the number of a way to fill it. Strata take turns."""
    design = DESIGNS[name]
    races = RACES if design.by_race else ("every",)
    strata = vacancies.height * len(races)

    def take(places: NDArray[np.int64], seed: int) -> pl.DataFrame:
        # Vacancies first, so that a small sample has many of them; in an order that depends on the seed.
        stratum = shuffle(places % strata, strata, seed)
        vacancy, race = stratum % vacancies.height, stratum // vacancies.height
        way = shuffle(places // strata, design.ways, seed, stratum)
        return pl.DataFrame({"way": way, "race": pl.Series(races)[race]}).hstack(vacancies[vacancy])

    return Items(size=strata * design.ways, take=take)


def draw_people(name: str, items: pl.DataFrame) -> Iterator[tuple[dict[str, Any], list[int], Sequence[list[Person]]]]:
    """Each item with its CVs and, for each of its prompts, its people."""
    for row in items.iter_rows(named=True):
        yield row, *DESIGNS[name].draw(row["way"], row["race"])
