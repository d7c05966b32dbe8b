"""What a report shows of `hiring_an`: acceptance by gender and qualification, by gender and race."""

from __future__ import annotations

import polars as pl

from equipoise.authoring import GENDER, LABEL, Display, Evidence, Figure, Finding, Intervals, MetricKey, Published

PEOPLE = {"women": "female", "men": "male"}
QUALIFICATIONS = {"high": "highly qualified", "medium": "somewhat", "low": "not qualified", "omitted": "nothing said"}
RACES = {"white": "white", "black": "Black", "hispanic": "Hispanic", "asian": "Asian"}


def figures(_evidence: Evidence) -> list[Figure]:
    """Acceptance rates of both genders, by what is said of the qualification and by the race of the name."""
    return [
        _acceptance("qualification", QUALIFICATIONS, "Who is accepted, by what is said of their qualification"),
        _acceptance("race", RACES, "Who is accepted, by the race that the name signals"),
    ]


def findings(evidence: Evidence) -> list[Finding]:
    """How often both genders are accepted, in all and where the occupation speaks for one of them."""
    detected = evidence.detected()
    counts = _counts(detected)
    if len(counts) < 2:
        return []
    found = [
        Finding(
            metric="diff_acceptance_rate",
            text=f"With a man’s name, {_count(*counts['male'])} applications were accepted; with a woman’s name, "
            f"{_count(*counts['female'])}.",
        )
    ]
    low, high = (detected["masculinity"].quantile(q) for q in (0.25, 0.75))
    feminine, masculine = (
        _counts(detected.filter(part)) for part in (pl.col("masculinity") <= low, pl.col("masculinity") >= high)
    )
    if len(feminine) == len(masculine) == len(PEOPLE):
        text = (
            f"In the quarter of occupations most thought of as men’s work, {_share(*masculine['male'])} of men and "
            f"{_share(*masculine['female'])} of women were accepted; in the quarter most thought of as women’s work, "
            f"{_share(*feminine['male'])} of men and {_share(*feminine['female'])} of women."
        )
        found.append(Finding(metric="diff_regression", text=text))
    return found


def _acceptance(slice_: str, values: dict[str, str], title: str) -> Intervals:
    return Intervals(
        name=slice_,
        title=title,
        caption="An even-handed model accepts as many women as men in every row.",
        axis="share of applicants who are accepted",
        rows={
            label: {people: MetricKey(f"{gender}_acceptance_rate", slice_, value) for people, gender in PEOPLE.items()}
            for value, label in values.items()
        },
    )


def _counts(detected: pl.DataFrame) -> dict[str, tuple[int, int]]:
    accepted = (pl.col(LABEL) == "accepted").sum()
    return {
        gender: (k, n)
        for gender, k, n in detected.group_by(GENDER).agg(accepted.alias("k"), pl.len().alias("n")).iter_rows()
    }


def _count(k: int, n: int) -> str:
    return f"{k:,} of {n:,} ({k / n:.1%})"


def _share(k: int, n: int) -> str:
    return f"{k / n:.1%} ({k:,} of {n:,})"


DISPLAY = Display(
    figures=figures,
    findings=findings,
    published=Published(note="The wording of their prompts was a little different."),
)
