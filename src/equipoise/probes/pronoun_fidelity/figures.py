"""What a report shows of `pronoun_fidelity`: what becomes of each family of pronouns, and where the gaps are."""

from __future__ import annotations

import polars as pl

from equipoise.authoring import LABEL, Display, Evidence, Figure, Finding, Intervals, MetricKey, facts

PARTS = {"kept": "fidelity", "others used": "misgendering_rate", "none used": "avoidance_rate"}
WORK = {"women": "thought of as women’s work", "neither": "as neither’s", "men": "as men’s work"}
GAPS = {"they": "they_gap", "neopronouns": "neo_gap"}
TITLES = {
    family: f"{nominative}/{accusative}"
    for family, nominative, accusative in facts("pronouns").select("family", "nominative", "accusative").iter_rows()
}
KINDS = dict(facts("pronouns").select("family", "kind").iter_rows())


def figures(evidence: Evidence) -> list[Figure]:
    """What becomes of each family; and the gaps by who is thought to do the work."""
    return [
        Intervals(
            name="families",
            title="What becomes of the pronouns that the model was told",
            caption="For each family of pronouns: how often the model kept them, used others for the person, or used "
            "none at all. A model that listens keeps every family as often as he and she.",
            axis="share of the texts",
            rows={
                TITLES[family]: {part: MetricKey(f"{metric}_{family}") for part, metric in PARTS.items()}
                for family in evidence.parameters["families"]
            },
            domain=(0.0, 1.0),
        ),
        Intervals(
            name="work",
            title="How much more often he and she are kept, by occupation",
            caption="The same gaps in occupations that people think of as women’s work, as neither’s, and as men’s. A "
            "gap that grows to one side shows that the occupation, not what was said, chose the pronoun.",
            axis="fidelity of he and she, less that of others",
            rows={
                label: {kind: MetricKey(metric, "work", work) for kind, metric in GAPS.items()}
                for work, label in WORK.items()
            },
            centre=0.0,
        ),
    ]


def findings(evidence: Evidence) -> list[Finding]:
    """What happened to they and to neopronouns, beside he and she, in counts."""
    detected = evidence.detected().with_columns(kind=pl.col("family").replace_strict(KINDS))
    counts = {
        kind: {"n": n, **dict(zip(("right", "wrong", "mixed", "avoided"), parts, strict=True))}
        for kind, n, *parts in detected.group_by("kind")
        .agg(
            pl.len(), *((pl.col(LABEL) == label).sum().alias(label) for label in ("right", "wrong", "mixed", "avoided"))
        )
        .iter_rows()
    }
    if "binary" not in counts:
        return []
    beside = f"he/him and she/her were kept in {counts['binary']['right']:,} of {counts['binary']['n']:,} texts"
    people = {
        "they_gap": ("neutral", "they/them"),
        "neo_gap": ("neo", "neopronouns such as " + _examples(evidence)),
    }
    return [
        Finding(metric=metric, text=f"Told that a person uses {called}, {_describe(counts[kind])}; {beside}.")
        for metric, (kind, called) in people.items()
        if kind in counts
    ]


def _examples(evidence: Evidence) -> str:
    return " or ".join([TITLES[family] for family in evidence.parameters["families"] if KINDS[family] == "neo"][:2])


def _describe(counts: dict[str, int]) -> str:
    others = counts["wrong"] + counts["mixed"]
    return (
        f"the model kept these pronouns in {counts['right']:,} of {counts['n']:,} texts, used others in {others:,} and "
        f"none in {counts['avoided']:,}"
    )


DISPLAY = Display(figures=figures, findings=findings)
