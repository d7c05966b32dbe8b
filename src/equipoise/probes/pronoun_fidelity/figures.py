"""What a report shows of `pronoun_fidelity`: what becomes of each family of pronouns, and where the gaps are."""

from __future__ import annotations

import polars as pl

from equipoise import authoring as eq

PARTS = {"kept": "fidelity", "others used": "misgendering_rate", "none used": "avoidance_rate"}
WORK = {"women": "thought of as women’s work", "neither": "as neither’s", "men": "as men’s work"}
GAPS = {"they": "they_gap", "neopronouns": "neo_gap"}
FAMILIES = {row["family"]: row for row in eq.facts("pronouns").iter_rows(named=True)}
TITLES = {family: f"{row['nominative']}/{row['accusative']}" for family, row in FAMILIES.items()}


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """What happened to they and to neopronouns, beside he and she, in counts."""
    kinds = {family: row["kind"] for family, row in FAMILIES.items()}
    detected = evidence.detected().with_columns(kind=pl.col("family").replace_strict(kinds, return_dtype=pl.String))
    right, others, none = (
        eq.count_by(detected, "kind", pl.col(eq.LABEL).is_in(labels))
        for labels in (["right"], ["wrong", "mixed"], ["avoided"])
    )
    if "binary" not in right:
        return []
    binary = right["binary"]
    neopronouns = [TITLES[family] for family in evidence.parameters["families"] if kinds[family] == "neo"]
    called = {"neutral": "they/them", "neo": f"neopronouns such as {' or '.join(neopronouns[:2])}"}
    return [
        eq.Finding(
            metric=metric,
            text=f"Told that a person uses {called[kind]}, the model kept these pronouns in {right[kind].part:,} of "
            f"{right[kind].whole:,} texts, used others in {others[kind].part:,} and none in {none[kind].part:,}; "
            f"he/him and she/her were kept in {binary.part:,} of {binary.whole:,} texts.",
            example={"family": detected.filter(kind=kind)["family"][0], eq.LABEL: "wrong"},
        )
        for metric, kind in (("they_gap", "neutral"), ("neo_gap", "neo"))
        if kind in right
    ]


DISPLAY = eq.Display(
    figures=[
        eq.Intervals(
            name="families",
            title="What becomes of the pronouns that the model was told",
            caption="For each family of pronouns: how often the model kept them, used others for the person, or used "
            "none at all. A model that listens keeps every family as often as he and she.",
            axis="share of the texts",
            rows={
                title: {part: eq.MetricKey(f"{metric}_{family}") for part, metric in PARTS.items()}
                for family, title in TITLES.items()
            },
            domain=(0.0, 1.0),
        ),
        eq.Intervals(
            name="work",
            title="How much more often he and she are kept, by occupation",
            caption="The same gaps in occupations that people think of as women’s work, as neither’s, and as men’s. A "
            "gap that grows to one side shows that the occupation, not what was said, chose the pronoun.",
            axis="fidelity of he and she, less that of others",
            rows=eq.by_group("work", WORK, GAPS),
            centre=0.0,
        ),
    ],
    findings=findings,
)
