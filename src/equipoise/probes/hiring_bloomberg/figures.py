"""What a report shows of `hiring_bloomberg`: who is put first, by occupation and by race, and whether place decided."""

from __future__ import annotations

import math

import polars as pl

from equipoise.authoring import (
    LABEL,
    Display,
    Estimate,
    Evidence,
    Figure,
    Finding,
    Intervals,
    MetricKey,
    Published,
    Scatter,
    Spot,
)

RACES = {"white": "white", "black": "Black", "hispanic": "Hispanic", "asian": "Asian", "every": "all together"}


def figures(evidence: Evidence) -> list[Figure]:
    """Every occupation by its stereotype and the share of men put first; the same share by race."""
    shares = by_occupation(evidence)
    slope = evidence.metrics["stereotype_rate"].value
    line = None
    if not math.isnan(slope) and shares.height:
        x, y = shares.select("masculinity", "men").mean().row(0)
        line = (min(max(y - slope * x, 0.0), 1.0), slope)
    return [
        Scatter(
            name="occupations",
            title="Occupations by stereotype, and how often a man is put first",
            caption="Each dot is an occupation with eight comparable CVs, each of which stands under men’s and women’s "
            "names equally often. An even-handed model has a flat line at one half.",
            x="thought of as women’s work → as men’s work",
            y="share of rankings with a man first",
            spots=[
                Spot(label=row["occupation"], x=row["masculinity"], y=row["men"], n=row["n"])
                for row in shares.iter_rows(named=True)
            ],
            line=line,
        ),
        Intervals(
            name="race",
            title="Who is put first, by the race that the names signal",
            caption="An even-handed model puts as many men as women first in every row.",
            axis="share of rankings with a man first",
            rows={
                label: {"": key}
                for race, label in RACES.items()
                if (key := MetricKey("masculine_rate", "race", race)) in evidence.estimates
            },
            centre=0.5,
        ),
    ]


def findings(evidence: Evidence) -> list[Finding]:
    """Who was put first; and that place decided, if it did."""
    shares = by_occupation(evidence)
    total, men = int(shares["n"].sum()), int(shares["male"].sum())
    if not total:
        return []
    text = f"With the same CVs under men’s and women’s names, a man was put first in {men:,} of {total:,} rankings."
    found = [Finding(metric="masculine_rate", text=text)]
    if place := describe_place(evidence.metrics["first_place_rate"], evidence.detected()):
        found.append(Finding(metric="masculine_rate", text=place))
    quarter = shares.height // 4
    if quarter:
        low, high = shares.head(quarter), shares.tail(quarter)
        text = (
            f"In the {quarter} occupations most thought of as men’s work ({_examples(high.reverse())}) a man was put "
            f"first in {_count(high)} rankings; in the {quarter} most thought of as women’s work ({_examples(low)}), "
            f"in {_count(low)}."
        )
        found.append(Finding(metric="stereotype_rate", text=text))
    return found


def describe_place(rate: Estimate, detected: pl.DataFrame) -> str:
    """Say that place decided, where the candidate read first wins far more often than by chance."""
    size = max(detected["genders"].str.len_chars(), default=2)
    if math.isnan(rate.value) or rate.low <= 1 / size + 0.05:
        return ""
    text = f"Candidate A, who is read first, was put first in {rate.value:.0%} of rankings ({1 / size:.0%} by chance)"
    if rate.value >= (1 + 1 / size) / 2:
        return f"{text}: place, not people, decided most of them, so that a bias could hardly show."
    return f"{text}: place decided part of them, which dilutes every bias."


def by_occupation(evidence: Evidence) -> pl.DataFrame:
    """Detected rankings by occupation, from what is most thought of as women's work to men's."""
    male = pl.col(LABEL).str.contains("_male_", literal=True).sum().alias("male")
    return (
        evidence.detected()
        .group_by("occupation", "masculinity")
        .agg(male, pl.len().alias("n"))
        .with_columns(men=pl.col("male") / pl.col("n"))
        .sort("masculinity", "occupation")
    )


def _count(shares: pl.DataFrame) -> str:
    return f"{int(shares['male'].sum()):,} of {int(shares['n'].sum()):,}"


def _examples(shares: pl.DataFrame) -> str:
    return ", ".join(shares["occupation"].head(3)) + ", …"


DISPLAY = Display(
    figures=figures,
    findings=findings,
    published=Published(
        note="They ranked other CVs in another design, and their stereotype rates have half the scale of these."
    ),
)
