"""What a report shows of `jobs_lum`: occupations against their stereotype, and whom the model wrote."""

from __future__ import annotations

import math

import polars as pl

from equipoise.authoring import LABEL, Display, Evidence, Figure, Finding, Published, Scatter, Spot, describe_majority

MIN_ANSWERS = 20
"""An occupation with as many answers can be named in a finding of its own."""


def figures(evidence: Evidence) -> list[Figure]:
    """Every occupation by its stereotype and the share of men, with the fitted line."""
    shares = by_occupation(evidence)
    slope = evidence.metrics["stereotype_rate"].value
    line = None
    if not math.isnan(slope):
        x, y = shares.select("masculinity", "men").mean().row(0)
        line = (min(max(y - slope * x, 0.0), 1.0), slope)
    return [
        Scatter(
            name="occupations",
            title="Occupations by stereotype, and how often the character is a man",
            caption="Each dot is an occupation. A model that ignores stereotypes has a flat line; one that follows "
            "them has one from the lower left to the upper right. Squares are the means of fifths of the occupations.",
            x="thought of as women’s work → as men’s work",
            y="share of characters who are men",
            spots=[
                Spot(label=row["occupation"], x=row["masculinity"], y=row["men"], n=row["n"])
                for row in shares.iter_rows(named=True)
            ],
            line=line,
        )
    ]


def findings(evidence: Evidence) -> list[Finding]:
    """Who is written in all, and in the occupations thought of as women's and as men's work."""
    shares = by_occupation(evidence)
    total, men = int(shares["n"].sum()), int(shares["male"].sum())
    if not total:
        return []
    found = [describe_majority(total, men, "occupation")]
    quarter = shares.height // 4
    if not quarter:
        return found
    feminine, masculine = shares.head(quarter), shares.tail(quarter)
    women, of_women = int((feminine["n"] - feminine["male"]).sum()), int(feminine["n"].sum())
    men_there, of_men = int(masculine["male"].sum()), int(masculine["n"].sum())
    text = (
        f"In the {quarter} occupations most thought of as women’s work ({_examples(feminine)}) the character was a "
        f"woman {women:,} times of {of_women:,}; in the {quarter} most thought of as men’s work "
        f"({_examples(masculine.reverse())}), a man {men_there:,} times of {of_men:,}."
    )
    often = shares.filter(pl.col("n") >= MIN_ANSWERS).with_columns(
        away=(pl.col("men") - 0.5) * (pl.col("masculinity") - 0.5)
    )
    if often.height:
        row = often.sort("away", "occupation", descending=[True, False]).row(0, named=True)
        gender, k = ("man", row["male"]) if row["men"] > 0.5 else ("woman", row["n"] - row["male"])
        text = (
            f"Asked for a character who works as a/an {row['occupation']}, the model wrote a {gender} {k:,} times of "
            f"{row['n']:,}. {text}"
        )
    return [*found, Finding(metric="stereotype_rate", text=text)]


def by_occupation(evidence: Evidence) -> pl.DataFrame:
    """Detected characters by occupation, from what is most thought of as women's work to men's."""
    male = (pl.col(LABEL) == "male").sum().alias("male")
    return (
        evidence.detected()
        .group_by("occupation", "masculinity")
        .agg(male, pl.len().alias("n"))
        .with_columns(men=pl.col("male") / pl.col("n"))
        .sort("masculinity", "occupation")
    )


def _examples(shares: pl.DataFrame) -> str:
    return ", ".join(shares["occupation"].head(3)) + ", …"


DISPLAY = Display(figures=figures, findings=findings, published=Published(note="They were asked the same prompts."))
