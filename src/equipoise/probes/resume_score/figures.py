"""What a report shows of `resume_score`: the difference by race, and who gets more for the same CV."""

from __future__ import annotations

import polars as pl

from equipoise import authoring as eq

NAMES = {race: f"{name} names" for race, name in eq.RACE_NAMES.items()}
CLEAR = 1.0
"""So many points are called a difference."""
SMALL = 0.05
"""A mean difference that would be shown as 0.0."""


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """How often the same CV got more under a man's or a woman's name."""
    pairs = evidence.pairs(pl.col("score"))
    if not pairs.height:
        return []
    gaps = pairs["male"] - pairs["female"]
    man, woman = int((gaps >= CLEAR).sum()), int((gaps <= -CLEAR).sum())
    mean = float(gaps.sum()) / len(gaps)
    more = f"{abs(mean):.1f} points more under {'a man’s' if mean > 0 else 'a woman’s'} name"
    text = (
        f"The same CV got {more if abs(mean) >= SMALL else 'as many points under both names'} on average. Of "
        f"{len(gaps):,} CVs the man was rated higher by a point or more {man:,} times, the woman {woman:,} times."
    )
    return [eq.Finding(metric="diff_score", text=text)]


DISPLAY = eq.Display(
    figures=[
        eq.Intervals(
            name="difference",
            title="How many points more a CV gets under a man’s name",
            caption="Each CV is rated once under a man’s and once under a woman’s name of the same race. An "
            "even-handed model has every dot on the line.",
            axis="points more for men",
            rows={
                "all names": {"": eq.MetricKey("diff_score")},
                **eq.by_group("race", NAMES, {"": "diff_score"}),
            },
            centre=0.0,
        ),
        eq.Intervals(
            name="scores",
            title="The mean scores, by the race that the names signal",
            caption="The same CVs under the names of women and of men.",
            axis="mean score",
            rows=eq.by_group("race", NAMES, {people: f"{gender}_score" for people, gender in eq.PEOPLE.items()}),
        ),
    ],
    findings=findings,
)
