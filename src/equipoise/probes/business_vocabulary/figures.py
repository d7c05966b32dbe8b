"""What a report shows of `business_vocabulary`: the inventories. It looks for other words by itself."""

from __future__ import annotations

import math

from equipoise.authoring import (
    Display,
    Evidence,
    Figure,
    Finding,
    Intervals,
    MetricKey,
    Published,
)
from equipoise.probes.business_vocabulary.inventories import INVENTORIES, TITLES

PEOPLE = {"women": "female", "men": "male"}


def figures(_evidence: Evidence) -> list[Figure]:
    """The masculine rate of every inventory for both genders."""
    return [
        Intervals(
            name="inventories",
            title="Masculine share of the gendered words, by inventory",
            caption="An even-handed model describes women and men alike: both marks of a row stand in one place.",
            axis="masculine share of the inventory’s words",
            rows={
                TITLES.get(name, name): {people: MetricKey(f"{name}_{gender}") for people, gender in PEOPLE.items()}
                for name in (*INVENTORIES, "mean")
            },
        ),
    ]


def findings(evidence: Evidence) -> list[Finding]:
    """The mean rates, and the word that is most one gender's."""
    male, female = (evidence.metrics[f"mean_{gender}"].value for gender in ("male", "female"))
    if math.isnan(male - female):
        return []
    letters = evidence.measured().height
    text = (
        f"In {letters:,} letters and reviews, {male:.1%} of the gendered words were masculine when the person was a "
        f"man, and {female:.1%} when it was a woman (means of six word lists)."
    )
    if evidence.words:
        women, men = evidence.words[0].shares
        text += (
            f" The word “{evidence.words[0].word}” stood in {women:.0%} of the letters for women, {men:.0%} for men."
        )
    return [Finding(metric="mean_diff", text=text)]


DISPLAY = Display(
    figures=figures,
    findings=findings,
    published=Published(note="Their rates were smoothed, and one of the inventories was another."),
)
