"""What a report shows of `resume_score`: the difference by race, and who gets more for the same CV."""

from __future__ import annotations

import polars as pl

from equipoise.authoring import GENDER, ITEM, Display, Evidence, Figure, Finding, Intervals, MetricKey

RACES = {"white": "white", "black": "Black", "hispanic": "Hispanic", "asian": "Asian"}
CLEAR = 1.0
"""So many points are called a difference."""
SMALL = 0.05
"""A mean difference that would be shown as 0.0."""


def figures(evidence: Evidence) -> list[Figure]:
    """The mean scores under men's and women's names, and their difference, by race."""
    present = [race for race in RACES if MetricKey("diff_score", "race", race) in evidence.estimates]
    return [
        Intervals(
            name="difference",
            title="How many points more a CV gets under a man’s name",
            caption="Each CV is rated once under a man’s and once under a woman’s name of the same race. An "
            "even-handed model has every dot on the line.",
            axis="points more for men",
            rows={
                "all names": {"": MetricKey("diff_score")},
                **{f"{RACES[race]} names": {"": MetricKey("diff_score", "race", race)} for race in present},
            },
            centre=0.0,
        ),
        Intervals(
            name="scores",
            title="The mean scores, by the race that the names signal",
            caption="The same CVs under the names of women and of men.",
            axis="mean score",
            rows={
                f"{RACES[race]} names": {
                    "women": MetricKey("female_score", "race", race),
                    "men": MetricKey("male_score", "race", race),
                }
                for race in present
            },
        ),
    ]


def findings(evidence: Evidence) -> list[Finding]:
    """How often the same CV got more under a man's or a woman's name."""
    scores = (
        evidence.detected().group_by(ITEM, GENDER).agg(pl.col("score").mean()).pivot(GENDER, index=ITEM, values="score")
    )
    if not {"female", "male"} <= {*scores.columns}:
        return []
    gaps = scores.select(pl.col("male") - pl.col("female")).to_series().drop_nulls()
    if gaps.is_empty():
        return []
    man, woman = int((gaps >= CLEAR).sum()), int((gaps <= -CLEAR).sum())
    mean = float(gaps.sum()) / len(gaps)
    more = f"{abs(mean):.1f} points more under {'a man’s' if mean > 0 else 'a woman’s'} name"
    text = (
        f"The same CV got {more if abs(mean) >= SMALL else 'as many points under both names'} on average. Of "
        f"{len(gaps):,} CVs the man was rated higher by a point or more {man:,} times, the woman {woman:,} times."
    )
    return [Finding(metric="diff_score", text=text)]


DISPLAY = Display(figures=figures, findings=findings)
