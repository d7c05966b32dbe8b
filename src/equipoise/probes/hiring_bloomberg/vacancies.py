"""The packaged corpus `vacancies`: advertisements with comparable CVs, written for this suite; and how it is drawn.

Below are the designs of `hiring_bloomberg`: who meets whom over which CVs. Every item is drawn by its number alone, so
that millions need not be built, and a larger sample contains the smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise import authoring as eq


def read_vacancies(raw: bytes) -> pl.DataFrame:
    """One row per vacancy: the occupation with its masculinity, the ad, and eight CVs."""
    rated = eq.facts("occupations").select("occupation", "masculinity")
    return pl.read_ndjson(raw).join(rated, on="occupation", how="left", maintain_order="left")


VACANCIES = eq.Corpus(name="vacancies", read=read_vacancies, file=files(__package__) / "vacancies.jsonl")


def vacancy_items(vacancies: pl.DataFrame, races: Sequence[str], ways: int) -> eq.Items:
    """Items of a vacancy, a race, and the number of a way to fill it.

    Round after round over all vacancies, so that a small sample has many of them; the races go round with them.
    """
    strata = vacancies.height * len(races)

    def take(places: NDArray[np.int64], seed: int) -> pl.DataFrame:
        turn, vacancy = np.divmod(places % strata, vacancies.height)
        vacancy = eq.shuffle(vacancy, vacancies.height, seed)
        race = (turn + vacancy) % len(races)
        way = eq.shuffle(places // strata, ways, seed, race * vacancies.height + vacancy)
        return pl.DataFrame({"way": way, "race": pl.Series(races)[race]}).hstack(vacancies[vacancy])

    return eq.Items(size=strata * ways, take=take)


def describe_candidate(title: str, name: str, cv: str) -> str:
    """A candidate in a prompt: a title such as a letter, the name if there is one, and the CV."""
    return "\n".join(filter(None, [title, name and f"Name: {name}", cv]))


def write_prompt(vacancy: Mapping[str, str], *parts: str) -> str:
    """The position and its ad, and below it the other parts."""
    return "\n\n".join(filter(None, [f"Open position: {vacancy['occupation']}", vacancy["ad"], *parts]))


GENDERS = ("male", "female")
CVS = 8
"""CVs for each vacancy."""
STEPS = (1, 3, 5, 7)
"""Steps by which the CVs are gone through: each visits all eight."""
MASKS = tuple(mask for mask in combinations(range(CVS), CVS // 2) if 0 in mask)
"""The places of the four men in a panel; the complement of each is the second prompt."""


class Person(NamedTuple):
    """A candidate: a name and what it signals."""

    name: str
    gender: str
    race: str


def pick(gender: str, race: str, number: int) -> Person:
    """The person of this gender and race with this number, counted round and round."""
    return Person(eq.people.name_pool(gender, race)[number % eq.people.NAMES], gender, race)


Drawn = tuple[list[int], list[list[Person]]]
"""The CVs in the order of the letters, and for each prompt the people in that order."""


def draw_pairs(way: int, race: str) -> Drawn:
    """One man and one woman over two CVs; two prompts, the names swapped."""
    way, man = divmod(way, eq.people.NAMES)
    first, second = divmod(way, CVS - 1)
    woman = man + 7 * first + 31 * second
    people = [pick("male", race, man), pick("female", race, woman)]
    return [first, second + (second >= first)], [people, people[::-1]]


def draw_anonymous(way: int, race: str) -> Drawn:
    """The same two CVs without names: one prompt, and only we know who would have been whom."""
    cvs, prompts = draw_pairs(way, race)
    return cvs, [prompts[way % 2]]


def draw_panel(way: int, race: str) -> Drawn:
    """Four men and four women of one race over eight CVs: a mask and its complement."""
    way, start = divmod(way, eq.people.NAMES)
    way, mask = divmod(way, len(MASKS))
    men, women = (
        [pick(gender, race, start + 13 * i + 5 * side) for i in range(4)] for side, gender in enumerate(GENDERS)
    )
    prompts = []
    for inside, outside in ((men, women), (women, men)):
        queues = iter(inside), iter(outside)
        prompts.append([next(queues[place not in MASKS[mask]]) for place in range(CVS)])
    return _order(way), prompts


def draw_crossed(way: int, _race: str) -> Drawn:
    """One name of each race and gender over eight CVs: eight prompts, so that every group has every CV and place."""
    way, start = divmod(way, eq.people.NAMES)
    # In the order of the tables of selection, where a fair model is one whose groups could be moved round.
    groups = [(gender, race) for race in sorted(eq.people.RACES) for gender in sorted(GENDERS)]
    people = [pick(gender, race, start + 11 * place) for place, (gender, race) in enumerate(groups)]
    shifts = [(start + number) % CVS for number in range(CVS)]  # no group has always the first prompt
    return _order(way), [people[shift:] + people[:shift] for shift in shifts]


def _order(way: int) -> list[int]:
    """One of 32 orders of the eight CVs."""
    start, step = way % CVS, STEPS[way // CVS % len(STEPS)]
    return [(start + step * place) % CVS for place in range(CVS)]


ORDERS = CVS * len(STEPS)
DESIGNS: dict[str, tuple[int, Callable[[int, str], Drawn]]] = {
    "pairs": (CVS * (CVS - 1) * eq.people.NAMES, draw_pairs),
    "panel": (ORDERS * len(MASKS) * eq.people.NAMES, draw_panel),
    "crossed": (ORDERS * eq.people.NAMES, draw_crossed),
    "anonymous": (CVS * (CVS - 1) * eq.people.NAMES, draw_anonymous),
}
"""How many ways there are to fill a vacancy, and which CVs and people the way of a number has."""
