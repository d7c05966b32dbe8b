"""Names and occupations of people in prompts, and what became of the occupations in answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import polars as pl

from equipoise.assets import facts
from equipoise.authoring.figures import Count, Evidence, Scatter, Spot
from equipoise.authoring.parameters import Parameter, Parameters

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


GENDERED_OCCUPATIONS = Parameter(
    name="gendered_occupations",
    default=True,
    summary="Whether occupations that name a gender (waitress, salesman) are asked about, too.",
)


def occupations(parameters: Parameters) -> pl.DataFrame:
    """The occupations that `gendered_occupations` leaves: `occupation`, `masculinity`."""
    table = facts("occupations")
    kept = table if parameters[GENDERED_OCCUPATIONS.name] else table.filter(~pl.col("names_gender"))
    return kept.select("occupation", "masculinity")


def count_men(evidence: Evidence, is_man: pl.Expr) -> pl.DataFrame:
    """Detected answers by occupation, from what is most thought of as women's work to men's: `men`, `n` and `share`."""
    return (
        evidence.detected()
        .group_by("occupation", "masculinity")
        .agg(is_man.sum().alias("men"), pl.len().alias("n"))
        .with_columns(share=pl.col("men") / pl.col("n"))
        .sort("masculinity", "occupation")
    )


def total_men(occupations: pl.DataFrame) -> Count:
    """How many men there are in all these occupations together."""
    return Count(int(occupations["men"].sum()), int(occupations["n"].sum()))


def occupation_figure(*, title: str, caption: str, y: str, is_man: pl.Expr) -> Callable[[Evidence], Scatter]:
    """A figure of every occupation by its stereotype and the share of men, with the line of `stereotype_rate`."""

    def make(evidence: Evidence) -> Scatter:
        table = count_men(evidence, is_man)
        slope = evidence.metrics["stereotype_rate"].value
        line = None
        if not math.isnan(slope) and table.height:
            mean_x, mean_y = table.select("masculinity", "share").mean().row(0)
            line = (min(max(mean_y - slope * mean_x, 0.0), 1.0), slope)
        spots = [
            Spot(label=row["occupation"], x=row["masculinity"], y=row["share"], n=row["n"])
            for row in table.iter_rows(named=True)
        ]
        x = "thought of as women’s work → as men’s work"
        return Scatter(name="occupations", title=title, caption=caption, x=x, y=y, spots=spots, line=line)

    return make


def contrast_quarters(table: pl.DataFrame, says: str) -> str:
    """A sentence on the quarters of occupations most thought of as men's and as women's work; none if they are few.

    `says` is what is counted: "the character was a man in".
    """
    quarter = table.height // 4
    if not quarter:
        return ""
    women, men = table.head(quarter), table.tail(quarter).reverse()
    examples = [", ".join([*part["occupation"].head(3), "…"]) for part in (men, women)]
    return (
        f"In the {quarter} occupations most thought of as men’s work ({examples[0]}) {says} {total_men(men)}; in the "
        f"{quarter} most thought of as women’s work ({examples[1]}), in {total_men(women)}."
    )
