"""What a report shows of `gest_translation`: the languages side by side."""

from __future__ import annotations

import polars as pl

from equipoise import authoring as eq

_LANGUAGES = """
Bulgarian French German Greek Italian Latvian Lithuanian Maltese Portuguese Romanian Spanish Catalan Galician Croatian
Czech Polish Slovak Slovenian Russian Ukrainian
"""
LANGUAGES = tuple(_LANGUAGES.split())
"""The languages of EuroGEST."""
FEW_PAIRS = ("German", "Maltese")
"""Those for which it has fewer than a hundred pairs."""


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """Which form was written in all, and what that means if it is always the same."""
    counts = eq.count_by(evidence.detected(), "language", pl.col(eq.LABEL) == "male")
    if not counts:
        return []
    total = eq.total_count(counts.values())
    men = 2 * total.part >= total.whole
    count = total.part if men else total.whole - total.part
    text = (
        f"Of {total.whole:,} translations of sentences that do not say who speaks, {count:,} have the "
        f"{'masculine' if men else 'feminine'} form ({count / total.whole:.0%})."
    )
    if total.share > 0.95:
        text += " The masculine is the default of grammar books, not a stereotype."
    return [eq.Finding(metric="masculine_rate", text=text, example={eq.LABEL: "male" if men else "female"})]


DISPLAY = eq.Display(
    figures=[
        eq.Intervals(
            name="languages",
            title="The languages, and how often the speaker is a man",
            caption="A model that only follows its grammar book has both marks of a language at 1. Where they are "
            "apart, what the sentence is about decides who speaks.",
            axis="share of translations in the masculine",
            rows=eq.by_group(
                "language",
                {name: name for name in sorted(LANGUAGES)},
                {"stereotype of men": "masculine_rate_men", "stereotype of women": "masculine_rate_women"},
            ),
            domain=(0.0, 1.0),
            centre=0.5,
        )
    ],
    findings=findings,
)
