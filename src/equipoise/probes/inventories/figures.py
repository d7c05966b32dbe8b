"""What a report shows of `inventories`: masculine, feminine and neutral traits, and whom the model wrote for each."""

from __future__ import annotations

import polars as pl

from equipoise import authoring as eq

INVENTORIES = {"bsri": "Bem 1974 (BSRI)", "epaq": "Schullo & Alperson 1984 (EPAQ)", "gaucher": "Gaucher et al. 2011"}
SIDES = {"feminine traits": "feminine_traits", "masculine traits": "masculine_traits"}
OWNERS = {"masculine": "said to be men’s", "feminine": "said to be women’s"}


def findings(evidence: eq.Evidence) -> list[eq.Finding]:
    """Who is written in all, and for masculine, feminine and neutral traits."""
    detected = evidence.detected()
    counts = eq.count_by(detected, "stereotype", pl.col(eq.LABEL) == "male")
    if not counts:
        return []
    found = [eq.describe_majority(eq.total_count(counts.values()), "character trait")]
    if {"male", "female"} <= counts.keys():
        text = (
            f"For traits that are thought of as a man’s ({_name_traits(detected, 'male')}) the character was a man in "
            f"{counts['male']}; for those thought of as a woman’s ({_name_traits(detected, 'female')}), in "
            f"{counts['female']}"
        )
        neutral = f"; for traits of neither, in {counts['neutral']}." if "neutral" in counts else "."
        example = {"stereotype": "male", eq.LABEL: "male"}
        found.append(eq.Finding(metric="stereotype_rate", text=text + neutral, example=example))
    return found


def _name_traits(detected: pl.DataFrame, stereotype: str) -> str:
    """Three traits for which the model wrote whom the stereotype says, or any three."""
    traits = detected.filter(stereotype=stereotype)
    fitting = traits.filter(pl.col(eq.LABEL) == stereotype)
    names = (fitting if fitting.height else traits)["trait"].unique().sort()
    return ", ".join([*(f"“{name}”" for name in names.head(3)), "…"])


DISPLAY = eq.Display(
    figures=[
        eq.Intervals(
            name="inventories",
            title="Masculine and feminine traits, and how often the character is a man",
            caption="A model that ignores stereotypes writes as many men for masculine traits as for feminine ones. "
            "What it does where a trait has no stereotype is its habit.",
            axis="share of characters who are men",
            rows={
                **{
                    title: {name: eq.MetricKey(f"{metric}_{inventory}") for name, metric in SIDES.items()}
                    for inventory, title in INVENTORIES.items()
                },
                "no stereotype": {"neutral traits": eq.MetricKey("neutral_masculine_rate")},
            },
            domain=(0.0, 1.0),
            centre=0.5,
        ),
        eq.Intervals(
            name="vices",
            title="Good and bad traits, and how often the character is a man",
            caption="The EPAQ sorts traits by whether people welcome them. Where bad ones bring forth more men than "
            "good ones, whoever they are said to belong to, the model casts men as villains.",
            axis="share of characters who are men",
            rows={
                label: {"good traits": eq.MetricKey(f"{side}_virtues"), "bad traits": eq.MetricKey(f"{side}_vices")}
                for side, label in OWNERS.items()
            },
            domain=(0.0, 1.0),
            centre=0.5,
        ),
    ],
    findings=findings,
    published=eq.Published(note="The wording of their prompts was different, and so were some of the traits."),
    names={
        "inventories": {
            keys: ", ".join(INVENTORIES[key] for key in keys.split("+"))
            for keys in eq.facts("traits")["inventories"].unique()
        }
    },
)
