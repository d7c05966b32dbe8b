"""How often a fair model's impact ratio is called unfair, at several sizes: `python -m benchmarks.selection`.

Every study is simulated from the plan of `hiring_bloomberg` by fair models: one that picks at random, one that judges
the CVs (and so tends to pick the same CV whatever the name), and one that likes some names better than others,
whatever their gender and race. At most 5% of the studies and chance may be called unfair; by the four-fifths rule
alone, many are below 0.8. With whims for names more are: what is called unfair is so for these names.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass

import numpy as np
import polars as pl

import equipoise
from equipoise.measuring.selection import SelectionTable, make_table
from equipoise.measuring.selection_counts import count_selections
from equipoise.probes import get_probe
from equipoise.schema import LABEL

PROBE = get_probe("hiring_bloomberg")
STUDIES = 150
SIZES = (100, 1_000)
PROMPTS = {"pairs": 2, "crossed": 8}
CV_SPREAD = 0.7
"""How far the CVs of a vacancy differ in the eyes of a model that judges them (standard deviation of a logit)."""
NAME_SPREAD = 0.3
"""How far first names differ in the eyes of a model that has whims for them (the same)."""
MODELS = ("judges CVs", "at random", "whims for names")
RACES = {"w": "white", "b": "black", "h": "hispanic", "a": "asian"}
GENDERS = {"m": "male", "f": "female"}


@dataclass(frozen=True)
class Row:
    """What the studies of one size show."""

    design: str
    model: str
    rankings: int
    by: str
    called: float
    below: float
    lowest: float
    fair: float


def simulate_tables(prompts: pl.DataFrame, model: str, study: int) -> list[SelectionTable]:
    """The tables of one fair study."""
    rng = np.random.default_rng([study, prompts.height])
    item = prompts["item"].rank("dense").to_numpy() - 1
    places = len(prompts["genders"][0])
    appeal = rng.normal(0, CV_SPREAD if model == "judges CVs" else 0.0, size=(int(item.max()) + 1, places))[item]
    if model == "whims for names":
        names = (
            prompts["names"].str.split("; ").explode().str.extract(r"^(\S+)").rank("dense").to_numpy().astype(np.int64)
            - 1
        )
        appeal = appeal + rng.normal(0, NAME_SPREAD, int(names.max()) + 1)[names].reshape(appeal.shape)
    winners = np.argmax(appeal + rng.gumbel(size=appeal.shape), axis=1)
    labels = [
        f"{RACES[races[place]]}_{GENDERS[genders[place]]}_{'at_a' if place == 0 else 'after_a'}"
        for place, genders, races in zip(winners, prompts["genders"], prompts["races"], strict=True)
    ]
    counts = count_selections(PROBE, prompts.with_columns(pl.Series(LABEL, labels)), {})
    assert counts is not None
    kinds = counts["by"].unique(maintain_order=True)
    return [make_table(kind, counts.filter(by=kind)) for kind in kinds]


def measure_size(design: str, rankings: int, model: str, studies: int = STUDIES) -> list[Row]:
    """The shares of fair studies that are called unfair, and that are below four fifths, for each grouping."""
    items = -(-rankings // PROMPTS[design])
    prompts = equipoise.plan(PROBE, design=design, sample=items).prompts()[:rankings]
    tables = [simulate_tables(prompts, model, study) for study in range(studies)]
    return [
        Row(
            design,
            model,
            rankings,
            same[0].by,
            float(np.mean([table.unfair for table in same])),
            float(np.mean([table.lowest.impact_ratio < 0.8 for table in same])),
            float(np.mean([table.lowest.impact_ratio for table in same])),
            float(np.mean([table.fair for table in same])),
        )
        for same in zip(*tables, strict=True)
    ]


def main() -> int:
    """Print one row per design, model, size and grouping."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES
    sys.stdout.write("| design | fair model | rankings | by | called unfair | below 0.8 | mean lowest | “fair” |\n")
    sys.stdout.write("| --- | --- | --- | --- | --- | --- | --- | --- |\n")
    for design in PROMPTS:
        for rankings, model in itertools.product(SIZES, MODELS):
            for row in measure_size(design, rankings, model, studies):
                sys.stdout.write(
                    f"| {row.design} | {row.model} | {row.rankings:,} | {row.by} | {row.called:.1%} | "
                    f"{row.below:.0%} | {row.lowest:.3f} | {row.fair:.3f} |\n"
                )
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
