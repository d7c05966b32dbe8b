"""How often a fair model's impact ratio is called unfair, at several sizes: `python -m benchmarks.selection`.

Every study is simulated from the plan of `hiring_bloomberg` by fair models: one that picks at random, one that judges
the CVs (and so tends to pick the same CV whatever the name), and one that likes some names better than others,
whatever their gender and race. At most 5% of the studies and chance may be called unfair; by the four-fifths rule
alone, many are below 0.8. With whims for names more are: what is called unfair is so for these names.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator

import numpy as np
import polars as pl

import equipoise
from benchmarks.processes import markdown_table
from equipoise.measuring.selection import SelectionTable, fold_selections, make_table, sum_selections
from equipoise.probes import get_probe
from equipoise.schema import LABEL

PROBE = get_probe("hiring_bloomberg")
STUDIES = 200
SIZES = (1_000,)
PROMPTS = {"pairs": 2, "crossed": 8}
CV_SPREAD = 0.7
"""How far the CVs of a vacancy differ in the eyes of a model that judges them (standard deviation of a logit)."""
NAME_SPREAD = 0.3
"""How far first names differ in the eyes of a model that has whims for them (the same)."""
MODELS = ("judges CVs", "at random", "whims for names")
RACES = {"w": "white", "b": "black", "h": "hispanic", "a": "asian"}
HEAD = ("by", "called unfair", "below 0.8", "mean lowest", "“fair”")
GENDERS = {"m": "male", "f": "female"}


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
    sums = sum_selections(PROBE, prompts.with_columns(pl.Series(LABEL, labels)), {})
    assert sums is not None
    counts = fold_selections(PROBE, sums)
    kinds = counts["by"].unique(maintain_order=True)
    return [make_table(kind, counts.filter(by=kind)) for kind in kinds]


def measure_size(design: str, rankings: int, model: str, studies: int) -> Iterator[tuple[str, ...]]:
    """One row per grouping: the shares of fair studies that are called unfair, and that are below four fifths."""
    items = -(-rankings // PROMPTS[design])
    prompts = equipoise.plan(PROBE, design=design, sample=items).prompts()[:rankings]
    for same in zip(*(simulate_tables(prompts, model, study) for study in range(studies)), strict=True):
        called = np.mean([table.unfair for table in same])
        lowest = np.array([table.lowest.impact_ratio for table in same])
        fair = np.mean([table.fair for table in same])
        figures = (f"{called:.1%}", f"{(lowest < 0.8).mean():.0%}", f"{lowest.mean():.3f}", f"{fair:.3f}")
        yield (design, model, f"{rankings:,}", same[0].by, *figures)


def main() -> None:
    """Print one row per design, model, size and grouping."""
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES
    cases = itertools.product(PROMPTS, SIZES, MODELS)
    rows = [row for design, rankings, model in cases for row in measure_size(design, rankings, model, studies)]
    print(markdown_table(("design", "fair model", "rankings", *HEAD), rows))


if __name__ == "__main__":
    main()
