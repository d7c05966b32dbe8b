"""The packaged corpus `vacancies`: advertisements with comparable CVs, written for this suite; and how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

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
