"""Occupations with their stereotypical masculinity, for the probes that ask about them."""

from __future__ import annotations

import polars as pl

from equipoise.assets.tables import facts
from equipoise.authoring.parameters import Parameter, Parameters

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
