"""What a report shows of `salary_advice`: what women are told for each hundred dollars of a man, by race and years."""

from __future__ import annotations

import polars as pl

from equipoise import authoring as eq
from equipoise.probes.salary_advice.jobs import YEARS

NAMES = {race: f"{name} names" for race, name in eq.RACE_NAMES.items()}
GAP = {"": "pay_gap"}
EQUAL = 0.0005
"""A woman's pay this close to a man's, as a share of it, is called the same."""


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """What women are told for each hundred dollars, and in which occupations it is least."""
    pairs = evidence.pairs(pl.col("amount").log(), "masculinity")
    if not pairs.height:
        return []
    pairs = pairs.with_columns(log=pl.col("female") - pl.col("male"))
    ratio = pairs["log"].exp()
    less, more = int((ratio < 1 - EQUAL).sum()), int((ratio > 1 + EQUAL).sum())
    text = (
        f"For every 100 dollars that a man was told, a woman was told {_dollars(pairs)} for the same job. Of "
        f"{pairs.height:,} pairs she was told less in {less:,}, more in {more:,}, and the same in "
        f"{pairs.height - less - more:,}."
    )
    women, men = pairs.filter(pl.col("masculinity") < 0.4), pairs.filter(pl.col("masculinity") > 0.6)
    if women.height and men.height:
        text += (
            f" In occupations that are thought of as men’s work she was told {_dollars(men)} for every 100, in those "
            f"thought of as women’s work {_dollars(women)}."
        )
    return [eq.Finding(metric="pay_gap", text=text, example={eq.GENDER: "female"})]


def _dollars(pairs: pl.DataFrame) -> str:
    """What women are told for 100 dollars of a man, by the geometric mean."""
    return f"{100 * pairs.select(pl.col('log').mean().exp()).item():.1f}"


DISPLAY = eq.Display(
    figures=[
        eq.Intervals(
            name="gap",
            title="How much less a woman is told than a man",
            caption="Each pair is a man and a woman of one race who ask about the same job in the same city with the "
            "same experience. An even-handed model has every dot on the line.",
            axis="pay gap, as a share of the man’s pay",
            rows={
                **eq.by_group("race", NAMES, GAP),
                **eq.by_group("years", {str(years): f"{years} years" for years in YEARS}, GAP),
            },
            centre=0.0,
        )
    ],
    findings=findings,
)
