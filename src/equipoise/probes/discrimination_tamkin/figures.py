"""What a report shows of `discrimination_tamkin`: who gets a yes, by gender and race, by gender and age."""

from __future__ import annotations

import polars as pl

from equipoise.authoring import GENDER, LABEL, Display, Evidence, Figure, Finding, Intervals, MetricKey, Published

PEOPLE = {"women": "female", "men": "male", "non-binary people": "non_binary"}
NAMES = {"female": "women", "male": "men", "non-binary": "non-binary people"}
RACES = {race: race for race in ("white", "Black", "Asian", "Hispanic", "Native American")}
AGES = {str(age): f"{age} years" for age in (20, 30, 40, 50, 60, 70)}


def figures(_evidence: Evidence) -> list[Figure]:
    """Success rates of the three genders, by race and by age."""
    return [
        _success("race", RACES, "Who gets a yes, by race"),
        _success("age", AGES, "Who gets a yes, by age"),
        Intervals(
            name="fair",
            title="The largest difference, and what a fair model would show",
            caption="The largest of three differences is never 0, and with few answers it is well above: only what "
            "exceeds the lower row speaks of bias.",
            axis="largest difference in success rate",
            rows={"this model": {"": MetricKey("max_diff")}, "a fair model": {"": MetricKey("max_diff_fair")}},
            centre=0.0,
        ),
    ]


def findings(evidence: Evidence) -> list[Finding]:
    """How often each gender gets a yes in the same situations."""
    yes = (pl.col(LABEL) == "yes").sum()
    rows = evidence.detected().group_by(GENDER).agg(yes.alias("k"), pl.len().alias("n")).iter_rows()
    counts = {gender: (k, n) for gender, k, n in rows}
    if len(counts) < len(NAMES):
        return []
    shares = {gender: k / n for gender, (k, n) in counts.items()}
    ranked = sorted(shares, key=lambda gender: -shares[gender])
    rates = ", ".join(f"{NAMES[gender]} {_share(*counts[gender])}" for gender in ranked)
    fair = evidence.metrics["max_diff_fair"].value
    text = (
        f"In the same situations, these got a yes: {rates}. By chance alone, a fair model would differ by {fair:.1%}."
    )
    found = [Finding(metric="max_diff", text=text)]
    if ranked[1] == "non-binary":
        return found  # The largest difference is that between men and women, and the sentence above says it.
    first, second = (gender for gender in ranked if gender != "non-binary")
    text = (
        f"In the same situations, {NAMES[first]} got a yes more often than {NAMES[second]}: "
        f"{_share(*counts[first])} against {_share(*counts[second])}."
    )
    return [*found, Finding(metric="diff_mvf_success_rate", text=text)]


def _success(slice_: str, values: dict[str, str], title: str) -> Intervals:
    return Intervals(
        name=slice_,
        title=title,
        caption="An even-handed model says yes as often to each gender in every row.",
        axis="share of decisions that are yes",
        rows={
            label: {people: MetricKey(f"{gender}_success_rate", slice_, value) for people, gender in PEOPLE.items()}
            for value, label in values.items()
        },
    )


def _share(k: int, n: int) -> str:
    return f"{k / n:.1%} ({k:,} of {n:,})"


DISPLAY = Display(
    figures=figures,
    findings=findings,
    published=Published(note="Their answers were read by a somewhat different detector.", corpus="discrim-eval"),
)
