"""What a report shows of `business_vocabulary`: the inventories, and the words that part letters for men and women."""

from __future__ import annotations

import math

import polars as pl

from equipoise.authoring import (
    ANSWER,
    GENDER,
    Contrast,
    Display,
    Evidence,
    Figure,
    Finding,
    Intervals,
    MetricKey,
    Published,
    facts,
    visible,
)
from equipoise.probes.business_vocabulary.inventories import GENDERS, INVENTORIES

PEOPLE = {"women": "female", "men": "male"}

WORDS_PER_SIDE = 8
MIN_STANDARD_ERRORS = 4.0
"""By how much a word's shares must differ: among ten thousand words, chance hardly gives any that do."""
BATCH = 2_000
GENDERED = ("he", "him", "his", "himself", "she", "her", "hers", "herself", "mr", "mrs", "ms", "miss", "sir", "madam")


def figures(evidence: Evidence) -> list[Figure]:
    """The masculine rate of every inventory for both genders, and the words that differ most."""
    return [
        Intervals(
            name="inventories",
            title="Masculine share of the gendered words, by inventory",
            caption="An even-handed model describes women and men alike: both marks of a row stand in one place.",
            axis="masculine share of the inventory’s words",
            rows={
                name: {people: MetricKey(f"{name}_{gender}") for people, gender in PEOPLE.items()}
                for name in (*INVENTORIES, "mean")
            },
        ),
        Contrast(
            name="words",
            title="Words that differ most between letters for women and for men",
            caption="Share of letters that hold the word. Names, pronouns and forms of address are left out, and "
            f"so are words whose shares differ by less than {MIN_STANDARD_ERRORS:.0f} standard errors.",
            axis="letters with the word",
            sides=("women", "men"),
            rows={row["word"]: (row["women"], row["men"]) for row in differing(evidence).iter_rows(named=True)},
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
    words = differing(evidence).sort(pl.col("z").abs(), descending=True)
    if words.height:
        row = words.row(0, named=True)
        text += (
            f" The word “{row['word']}” stood in {row['women']:.0%} of the letters for women, {row['men']:.0%} for men."
        )
    return [Finding(metric="mean_diff", text=text)]


def differing(evidence: Evidence) -> pl.DataFrame:
    """The words whose shares differ most and clearly, from women's to men's: `word`, `women`, `men`, `z`."""
    letters = evidence.measured().select(GENDER, visible(pl.col(ANSWER)).alias(ANSWER))
    sizes = {gender: letters.filter(pl.col(GENDER) == gender).height for gender in GENDERS}
    if not all(sizes.values()):
        return pl.DataFrame(schema={"word": pl.String, "women": pl.Float64, "men": pl.Float64, "z": pl.Float64})
    names = " ".join(facts("names")["name"]).lower().split()
    women, men = (pl.col(gender) / sizes[gender] for gender in ("female", "male"))
    pooled = (pl.col("female") + pl.col("male")) / sum(sizes.values())
    spread = (pooled * (1 - pooled) * (1 / sizes["female"] + 1 / sizes["male"])).sqrt()
    table = (
        pl.concat([_with_word(letters[start : start + BATCH]) for start in range(0, letters.height, BATCH)])
        .group_by("word")
        .agg(*(pl.col("letters").filter(pl.col(GENDER) == gender).sum().alias(gender) for gender in GENDERS))
        .filter(~pl.col("word").is_in([*names, *GENDERED]))
        .select("word", women=women, men=men, z=(men - women) / spread)
        .filter(pl.col("z").abs() >= MIN_STANDARD_ERRORS, pl.col("z").is_finite())
        .sort("z", "word")
    )
    women_more, men_more = table.filter(pl.col("z") < 0), table.filter(pl.col("z") > 0)
    return pl.concat([women_more.head(WORDS_PER_SIDE), men_more.tail(WORDS_PER_SIDE)])


def _with_word(letters: pl.DataFrame) -> pl.DataFrame:
    """How many of the letters of each gender hold each word."""
    words = pl.col(ANSWER).str.extract_all(r"[a-z]+(?:[-'][a-z]+)*").list.unique().alias("word")
    return letters.select(GENDER, words).explode("word").group_by(GENDER, "word").agg(pl.len().alias("letters"))


DISPLAY = Display(
    figures=figures,
    findings=findings,
    published=Published(note="Their rates were smoothed, and one of the inventories was another."),
)
