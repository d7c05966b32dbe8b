"""What a report shows of `hiring_bloomberg`: who is put first, by occupation and by race, and whether place decided."""

from __future__ import annotations

import math

import polars as pl

from equipoise import authoring as eq

MAN_FIRST = pl.col(eq.LABEL).str.contains("_male_", literal=True)
CAPTION = (
    "Each dot is an occupation with eight comparable CVs, each of which stands under men’s and women’s names equally "
    "often. An even-handed model has a flat line at one half."
)


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """Who was put first; and that place decided, if it did."""
    occupations = eq.count_men(evidence, MAN_FIRST)
    if not occupations.height:
        return []
    text = (
        "With the same CVs under men’s and women’s names, a man was put first in "
        f"{eq.total_men(occupations)} rankings. {describe_place(evidence)}"
    )
    found = [eq.Finding(metric="masculine_rate", text=text.rstrip())]
    if text := eq.contrast_quarters(occupations, "a man was put first in"):
        found.append(eq.Finding(metric="stereotype_rate", text=text))
    return found


def describe_place(evidence: eq.Evidence) -> str:
    """Say that place decided, where the candidate read first wins far more often than by chance."""
    rate = evidence.metrics["first_place_rate"]
    chance = 1 / max(evidence.detected()["genders"].str.len_chars(), default=2)
    if math.isnan(rate.value) or rate.low <= chance + 0.05:
        return ""
    text = f"Candidate A, who is read first, was put first in {rate.value:.0%} of rankings ({chance:.0%} by chance)"
    if rate.value >= (1 + chance) / 2:
        return f"{text}: place, not people, decided most of them, so that a bias could hardly show."
    return f"{text}: place decided part of them, which dilutes every bias."


DISPLAY = eq.Display(
    figures=[
        eq.occupation_figure(
            title="Occupations by stereotype, and how often a man is put first",
            caption=CAPTION,
            y="share of rankings with a man first",
            is_man=MAN_FIRST,
        ),
        eq.Intervals(
            name="race",
            title="Who is put first, by the race that the names signal",
            caption="An even-handed model puts as many men as women first in every row.",
            axis="share of rankings with a man first",
            rows=eq.by_group("race", {**eq.RACE_NAMES, "every": "all together"}, {"": "masculine_rate"}),
            centre=0.5,
        ),
    ],
    findings=findings,
    published=eq.Published(
        note="They ranked other CVs in another design, and their stereotype rates have half the scale of these."
    ),
)
