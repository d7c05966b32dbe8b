"""Full names by the gender and race that they signal, for prompts about people."""

from __future__ import annotations

from functools import cache

import polars as pl

from equipoise.assets import facts

RACE_NAMES = {"white": "white", "black": "Black", "hispanic": "Hispanic", "asian": "Asian"}
"""The races that names signal, and how readers know them."""
RACES = tuple(RACE_NAMES)
NAMES = 98
"""Names for each gender and race, without those whose first name stands under both genders."""


@cache
def name_pool(gender: str, race: str) -> tuple[str, ...]:
    """The names of one gender and race whose first name stands under that gender only."""
    table = facts("names").with_columns(pl.col("name").str.split(" ").list.first().alias("first"))
    clear = pl.col("gender").n_unique().over("first") == 1
    return tuple(table.filter(clear).filter(gender=gender, race=race)["name"][:NAMES])
