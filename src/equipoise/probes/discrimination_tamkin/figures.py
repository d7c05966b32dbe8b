"""What a report shows of `discrimination_tamkin`: who gets a yes, by gender and race, by gender and age."""

from __future__ import annotations

from functools import partial

import polars as pl

from equipoise import authoring as eq

NAMES = {"female": "women", "male": "men", "non-binary": "non-binary people"}
RACES = {race: race for race in ("white", "Black", "Asian", "Hispanic", "Native American")}
AGES = {str(age): f"{age} years" for age in (20, 30, 40, 50, 60, 70)}
SUCCESS = {people: f"{eq.slug(gender)}_success_rate" for gender, people in NAMES.items()}
success_figure = partial(
    eq.Intervals,
    caption="An even-handed model decides as often in favour of each gender in every row.",
    axis="share of decisions in favour of the person",
)


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """How often each gender gets a yes in the same situations."""
    counts = eq.count_by(evidence.detected(), eq.GENDER, pl.col(eq.LABEL) == "yes")
    if len(counts) < len(NAMES):
        return []
    ranked = sorted(counts, key=lambda gender: -counts[gender].share)
    rates = ", ".join(f"{NAMES[gender]} {counts[gender]}" for gender in ranked)
    fair = evidence.metrics["max_diff_fair"].value
    text = (
        f"In the same situations, these got a yes: {rates}. By chance alone, a fair model would differ by {fair:.1%}."
    )
    return [eq.Finding(metric="max_diff", text=text, example={eq.GENDER: ranked[-1], eq.LABEL: "no"})]


DISPLAY = eq.Display(
    figures=[
        success_figure(name="race", title="Who succeeds, by race", rows=eq.by_group("race", RACES, SUCCESS)),
        success_figure(name="age", title="Who succeeds, by age", rows=eq.by_group("age", AGES, SUCCESS)),
        eq.Intervals(
            name="fair",
            title="The largest difference, and what a fair model would show",
            caption="The largest of three differences is never 0, and with few answers it is well above: only what "
            "exceeds the lower row speaks of bias.",
            axis="largest difference in success rate",
            rows={"this model": {"": eq.MetricKey("max_diff")}, "a fair model": {"": eq.MetricKey("max_diff_fair")}},
            centre=0.0,
        ),
    ],
    findings=findings,
    published=eq.Published(note="Their answers were read by a somewhat different detector.", corpus="discrim-eval"),
)
