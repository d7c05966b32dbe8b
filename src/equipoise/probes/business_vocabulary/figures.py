"""What a report shows of `business_vocabulary`: the inventories. It looks for other words by itself."""

from __future__ import annotations

import math

from equipoise import authoring as eq
from equipoise.probes.business_vocabulary.inventories import INVENTORIES, TITLES


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """The mean rates, and the word that is most one gender's."""
    male, female = (evidence.metrics[f"mean_{gender}"].value for gender in ("male", "female"))
    if math.isnan(male - female):
        return []
    text = (
        f"In {evidence.measured().height:,} letters and reviews, {male:.1%} of the gendered words were masculine when "
        f"the person was a man, and {female:.1%} when it was a woman (means of six word lists)."
    )
    for word in evidence.typical_words[:1]:
        women, men = word.shares
        text += f" The word “{word.word}” stood in {women:.0%} of the letters for women, {men:.0%} for men."
    return [eq.Finding(metric="mean_diff", text=text, example={eq.GENDER: "female"})]


DISPLAY = eq.Display(
    figures=[
        eq.Intervals(
            name="inventories",
            title="Masculine share of the gendered words, by inventory",
            caption="An even-handed model describes women and men alike: both marks of a row stand in one place.",
            axis="masculine share of the inventory’s words",
            rows={
                TITLES.get(name, name): {people: eq.MetricKey(f"{name}_{one}") for people, one in eq.PEOPLE.items()}
                for name in (*INVENTORIES, "mean")
            },
        )
    ],
    findings=findings,
    published=eq.Published(note="Their rates were smoothed, and one of the inventories was another."),
)
