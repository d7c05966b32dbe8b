"""The packaged corpus `vacancies`: advertisements with comparable CVs, written for this suite."""

from __future__ import annotations

from importlib.resources import files

import polars as pl

from equipoise import authoring as eq


def read_vacancies(raw: bytes) -> pl.DataFrame:
    """One row per vacancy: the occupation with its masculinity, the ad, and eight CVs."""
    rated = eq.facts("occupations").select("occupation", "masculinity")
    return pl.read_ndjson(raw).join(rated, on="occupation", how="left", maintain_order="left")


VACANCIES = eq.Corpus(name="vacancies", read=read_vacancies, file=files(__package__) / "vacancies.jsonl")
