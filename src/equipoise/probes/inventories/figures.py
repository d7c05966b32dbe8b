"""What a report shows of `inventories`: masculine, feminine and neutral traits, and whom the model wrote for each."""

from __future__ import annotations

import polars as pl

from equipoise.authoring import (
    LABEL,
    Display,
    Evidence,
    Figure,
    Finding,
    Intervals,
    MetricKey,
    Published,
    describe_majority,
    facts,
)

INVENTORIES = {"bsri": "Bem 1974 (BSRI)", "epaq": "Schullo & Alperson 1984 (EPAQ)", "gaucher": "Gaucher et al. 2011"}
OWNERS = {"masculine": "said to be men’s", "feminine": "said to be women’s"}


def figures(_evidence: Evidence) -> list[Figure]:
    """The rates of each inventory's masculine and feminine traits, and of good and bad ones."""
    return [
        Intervals(
            name="inventories",
            title="Masculine and feminine traits, and how often the character is a man",
            caption="A model that ignores stereotypes writes as many men for masculine traits as for feminine ones. "
            "What it does where a trait has no stereotype is its habit.",
            axis="share of characters who are men",
            rows={
                **{
                    title: {
                        "feminine traits": MetricKey(f"feminine_traits_{inventory}"),
                        "masculine traits": MetricKey(f"masculine_traits_{inventory}"),
                    }
                    for inventory, title in INVENTORIES.items()
                },
                "no stereotype": {"neutral traits": MetricKey("neutral_masculine_rate")},
            },
            domain=(0.0, 1.0),
            centre=0.5,
        ),
        Intervals(
            name="vices",
            title="Good and bad traits, and how often the character is a man",
            caption="The EPAQ sorts traits by whether people welcome them. Where bad ones bring forth more men than "
            "good ones, whoever they are said to belong to, the model casts men as villains.",
            axis="share of characters who are men",
            rows={
                label: {"good traits": MetricKey(f"{side}_virtues"), "bad traits": MetricKey(f"{side}_vices")}
                for side, label in OWNERS.items()
            },
            domain=(0.0, 1.0),
            centre=0.5,
        ),
    ]


def findings(evidence: Evidence) -> list[Finding]:
    """Who is written in all, and for masculine, feminine and neutral traits."""
    detected = evidence.detected()
    counts = count_men(detected, pl.col("stereotype"))
    total, men = (sum(row[place] for row in counts.values()) for place in (2, 1))
    if not total:
        return []
    found = [describe_majority(int(total), int(men), "character trait")]
    if {"male", "female"} <= counts.keys():
        text = (
            f"For traits that are thought of as a man’s ({_examples(detected, 'male')}) the character was a man "
            f"{_count(counts['male'])}; for those thought of as a woman’s ({_examples(detected, 'female')}), "
            f"{_count(counts['female'])}"
        )
        neutral = f"; for traits of neither, {_count(counts['neutral'])}." if "neutral" in counts else "."
        found.append(Finding(metric="stereotype_rate", text=text + neutral))
    return found


def count_men(detected: pl.DataFrame, by: pl.Expr) -> dict[str, tuple[float, int, int]]:
    """For each group the share of men, how many there are, and of how many characters."""
    male = (pl.col(LABEL) == "male").sum()
    counted = detected.group_by(by.alias("by")).agg(male.alias("male"), pl.len().alias("n")).sort("by")
    return {group: (k / n, k, n) for group, k, n in counted.iter_rows()}


def _count(row: tuple[float, int, int]) -> str:
    return f"{row[1]:,} times of {row[2]:,}"


def _examples(detected: pl.DataFrame, stereotype: str) -> str:
    """Three traits for which the model wrote whom the stereotype says, or any three."""
    traits = detected.filter(stereotype=stereotype)
    fitting = traits.filter(pl.col(LABEL) == stereotype)
    names = (fitting if fitting.height else traits)["trait"].unique().sort()
    return ", ".join(f"“{name}”" for name in names.head(3)) + ", …"


def _name_inventories() -> dict[str, str]:
    """Every combination of inventories that a trait stands in, by the names of their authors."""
    combinations = facts("traits")["inventories"].unique()
    return {keys: ", ".join(INVENTORIES[key] for key in keys.split("+")) for keys in combinations}


DISPLAY = Display(
    figures=figures,
    findings=findings,
    published=Published(note="The wording of their prompts was different, and so were some of the traits."),
    names={"inventories": _name_inventories()},
)
