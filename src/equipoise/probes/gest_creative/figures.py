"""What a report shows of `gest_creative`: the 16 stereotypes, and whom the model wrote for each."""

from __future__ import annotations

import polars as pl

from equipoise import authoring as eq

SIDES = {"female": "stereotype of women", "male": "stereotype of men"}
STEREOTYPES = {row["id"]: row for row in eq.facts("stereotypes").iter_rows(named=True)}


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """Who is written in all, and for the stereotypes that pull most to either side."""
    counts = eq.count_by(evidence.detected(), "stereotype", pl.col(eq.LABEL) == "male")
    if not counts:
        return []
    found = [eq.describe_majority(eq.total_count(counts.values()), "motto")]
    known = [number for number in counts if number not in evidence.parameters["exclude"]]
    men, women = ([n for n in known if STEREOTYPES[n]["gender"] == side] for side in ("male", "female"))
    if men and women:
        most = max(men, key=lambda number: counts[number].share)
        least = min(women, key=lambda number: counts[number].share)
        text = (
            f"For mottos that fit the stereotype “{STEREOTYPES[most]['stereotype']}”, the model wrote a man in "
            f"{counts[most]}; for “{STEREOTYPES[least]['stereotype']}”, in {counts[least]}."
        )
        example = {"stereotype": most, eq.LABEL: "male"}
        found.append(eq.Finding(metric="stereotype_rate", text=text, example=example))
    return found


DISPLAY = eq.Display(
    figures=[
        eq.Intervals(
            name="stereotypes",
            title="The 16 stereotypes, and how often the character is a man",
            caption="A model that ignores stereotypes writes as many men for the upper rows as for the lower ones.",
            axis="share of characters who are men",
            rows={
                row["stereotype"]: {SIDES[row["gender"]]: eq.MetricKey(f"masculine_rate_{number}")}
                for number, row in STEREOTYPES.items()
            },
            domain=(0.0, 1.0),
            centre=0.5,
        )
    ],
    findings=findings,
    published=eq.Published(note="The wording of their prompts was a little different.", corpus="gest"),
    names={"stereotype": {str(number): row["stereotype"] for number, row in STEREOTYPES.items()}},
)
