"""What a report shows of `gest_creative`: the 16 stereotypes, and whom the model wrote for each."""

from __future__ import annotations

import math

import polars as pl

from equipoise.authoring import (
    LABEL,
    Display,
    Evidence,
    Figure,
    Finding,
    Intervals,
    MetricKey,
    Published,
    describe_majority,
    facts,
)

SIDES = {"female": "stereotype of women", "male": "stereotype of men"}
STEREOTYPES = {row["id"]: row for row in facts("stereotypes").iter_rows(named=True)}


def figures(_evidence: Evidence) -> list[Figure]:
    """The masculine rate of every stereotype."""
    return [
        Intervals(
            name="stereotypes",
            title="The 16 stereotypes, and how often the character is a man",
            caption="A model that ignores stereotypes writes as many men for the upper rows as for the lower ones.",
            axis="share of characters who are men",
            rows={
                row["stereotype"]: {SIDES[row["gender"]]: MetricKey(f"masculine_rate_{number}")}
                for number, row in STEREOTYPES.items()
            },
            domain=(0.0, 1.0),
            centre=0.5,
        )
    ]


def findings(evidence: Evidence) -> list[Finding]:
    """Who is written in all, and for the stereotypes that pull most to either side."""
    counts = (
        evidence.detected()
        .group_by("stereotype")
        .agg((pl.col(LABEL) == "male").sum().alias("male"), pl.len().alias("n"))
        .sort("stereotype")
    )
    total, men = int(counts["n"].sum()), int(counts["male"].sum())
    if not total:
        return []
    found = [describe_majority(total, men, "motto")]
    rates = {number: evidence.metrics[f"masculine_rate_{number}"].value for number in STEREOTYPES}
    known = {n: rate for n, rate in rates.items() if not math.isnan(rate) and n not in evidence.parameters["exclude"]}
    extremes = [
        pick((n for n in known if STEREOTYPES[n]["gender"] == side), key=lambda n: known[n], default=None)
        for side, pick in (("male", max), ("female", min))
    ]
    if None in extremes:
        return found
    seen = {row["stereotype"]: row for row in counts.iter_rows(named=True)}
    (man, most), (woman, least) = ((STEREOTYPES[n]["stereotype"], seen[n]) for n in extremes if n is not None)
    text = (
        f"For mottos that fit the stereotype “{man}”, the model wrote a man {most['male']:,} times of {most['n']:,}; "
        f"for “{woman}”, {least['male']:,} times of {least['n']:,}."
    )
    return [*found, Finding(metric="stereotype_rate", text=text)]


DISPLAY = Display(
    figures=figures,
    findings=findings,
    published=Published(note="The wording of their prompts was a little different.", corpus="gest"),
    names={"stereotype": {str(number): row["stereotype"] for number, row in STEREOTYPES.items()}},
)
