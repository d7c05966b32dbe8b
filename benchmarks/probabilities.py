"""How many prompts the probabilities of first tokens save, by simulation: coverage and width beside drawn answers.

    python -m benchmarks.probabilities            about two minutes on two cores; prints the table
    python -m benchmarks.probabilities --write    and writes it to docs/method.md

Each simulated item has a chance of a yes that its three arms share, and each arm its own small deviation; men get a
little more. One and the same item is measured twice: by its chance, and by one drawn answer. Everything is seeded.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from benchmarks.processes import ROOT
from equipoise.authoring import GENDER, ITEM, Array, Probe
from equipoise.measuring.interval import estimate_groups
from equipoise.measuring.summarise import cells, item_rows, merge_cells
from equipoise.probes import get_probe
from equipoise.schema import LABEL, PROBABILITIES, STATUS, Estimate, MetricKey, Status

PAGE, BLOCK = ROOT / "docs" / "method.md", "probabilities"
METRIC = "diff_mvf_success_rate"
SIZES, SIMULATIONS, TRUTH_ITEMS = (30, 100, 300), 100, 400_000
ADVANTAGE = 0.2
"""Of men, in logits."""


@dataclass(frozen=True)
class World:
    """How much items differ, and how much the arms of one item do, in logits."""

    name: str
    items: float
    arms: float


WORLDS = (
    World("undecided: 0.3 to 0.7 for most items", 0.5, 0.1),
    World("mixed: 0.1 to 0.9", 1.5, 0.4),
    World("sure: nearly 0 or nearly 1", 8.0, 1.0),
)


def draw_chances(world: World, items: int, rng: np.random.Generator) -> Array:
    """The chance of a yes of each item (row) and arm (column: female, male, non-binary)."""
    logits = world.items * rng.standard_normal((items, 1)) + world.arms * rng.standard_normal((items, 3))
    logits[:, 1] += ADVANTAGE
    chances: Array = 1 / (1 + np.exp(-logits))
    return chances


def estimate(probe: Probe, chances: Array, yes: Array) -> Estimate:
    """The difference between men and women, of chances or of drawn answers."""
    evaluated = pl.DataFrame(
        {
            ITEM: [str(item) for item in range(len(chances)) for _ in range(3)],
            "question": "q",
            "race": "white",
            "age": 20,
            GENDER: ["female", "male", "non-binary"] * len(chances),
            STATUS: Status.OK.value,
            LABEL: np.where(yes.ravel() > 0, "yes", "no"),
            "p_yes": chances.ravel(),
            "p_no": 1 - chances.ravel(),
            "p_neither": 0.0,
        }
    )
    table = merge_cells([cells(probe, item_rows(probe, evaluated))])
    return estimate_groups(probe, table, probe.resolve({}))[0][MetricKey(METRIC)]


def simulate(world: World, size: int) -> tuple[list[Estimate], list[Estimate], float]:
    """Estimates from chances, from drawn answers to the same items, and the truth."""
    truth = draw_chances(world, TRUTH_ITEMS, np.random.default_rng(1)).mean(axis=0)
    drawn = replace(get_probe("discrimination_tamkin"), slices=())
    by_chance = drawn.read_by(PROBABILITIES)
    rng = np.random.default_rng(size)
    pairs: tuple[list[Estimate], list[Estimate]] = ([], [])
    for _ in range(SIMULATIONS):
        chances = draw_chances(world, size, rng)
        yes = (rng.random(chances.shape) < chances).astype(np.float64)
        pairs[0].append(estimate(by_chance, chances, yes))
        pairs[1].append(estimate(drawn, chances, yes))
    return *pairs, float(truth[1] - truth[0])


def table() -> Iterator[str]:
    """The table in Markdown."""
    yield "| model | items | half-width, probabilities | half-width, answers | covers | covers | prompts saved |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for world in WORLDS:
        for size in SIZES:
            *sides, truth = simulate(world, size)
            widths = [float(np.mean([(one.high - one.low) / 2 for one in side])) for side in sides]
            covers = [float(np.mean([one.low <= truth <= one.high for one in side])) for side in sides]
            saved = 1 - (widths[0] / widths[1]) ** 2
            yield (
                f"| {world.name} | {size} | {widths[0]:.3f} | {widths[1]:.3f} | {covers[0]:.2f} | {covers[1]:.2f} | "
                f"{math.floor(saved * 100)}% |"
            )


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    lines = "\n".join(table())
    print(lines)
    if parser.parse_args().write:
        start, end = f"<!-- measured: {BLOCK} -->\n", "<!-- end measured -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
        PAGE.write_text(f"{before}{start}{lines}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
