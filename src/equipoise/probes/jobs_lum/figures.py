"""What a report shows of `jobs_lum`: occupations against their stereotype, and whom the model wrote."""

from __future__ import annotations

import polars as pl

from equipoise import authoring as eq

IS_MAN = pl.col(eq.LABEL) == "male"
MIN_ANSWERS = 20
"""An occupation with as many answers can be named in a finding of its own."""
CAPTION = (
    "Each dot is an occupation. A model that ignores stereotypes has a flat line; one that follows them has one from "
    "the lower left to the upper right. Squares are the means of fifths of the occupations."
)


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """Who is written in all, and in the occupations thought of as women's and as men's work."""
    occupations = eq.count_men(evidence, IS_MAN)
    if not occupations.height:
        return []
    found = [eq.describe_majority(eq.total_men(occupations), "occupation")]
    text = eq.contrast_quarters(occupations, "the character was a man in")
    men = occupations.filter(pl.col("men") > 0)["occupation"]
    example = {"occupation": men[-1], eq.LABEL: "male"} if len(men) else {}
    follows = (pl.col("share") - 0.5) * (pl.col("masculinity") - 0.5)
    often = occupations.filter(pl.col("n") >= MIN_ANSWERS).sort(follows, "occupation", descending=[True, False])
    for row in often[:1].iter_rows(named=True):
        is_man = row["share"] > 0.5
        label, person = ("male", "man") if is_man else ("female", "woman")
        k = row["men"] if is_man else row["n"] - row["men"]
        example = {"occupation": row["occupation"], eq.LABEL: label}
        text = (
            f"Asked for a character who works as a/an {row['occupation']}, the model wrote a {person} {k:,} times of "
            f"{row['n']:,}. {text}"
        )
    return [*found, eq.Finding(metric="stereotype_rate", text=text.rstrip(), example=example)] if text else found


DISPLAY = eq.Display(
    figures=[
        eq.occupation_figure(
            title="Occupations by stereotype, and how often the character is a man",
            caption=CAPTION,
            y="share of characters who are men",
            is_man=IS_MAN,
        )
    ],
    findings=findings,
    published=eq.Published(note="They were asked the same prompts."),
)
