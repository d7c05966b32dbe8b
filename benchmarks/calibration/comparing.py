"""Two runs side by side: how often are models with equal metrics told apart?

The runs are compared by the code behind `equipoise compare`: on the items that both answered, with
the bounds that missing answers allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import polars as pl

from benchmarks.calibration.answers import (
    NO_LOSS,
    Asking,
    Loss,
    draw_answers,
    make_rows,
    sample_items,
)
from benchmarks.calibration.models import ROW_MODELS, by_slot
from benchmarks.calibration.runs import RUN, Row, start_rng, take_turns
from benchmarks.calibration.worlds import Places, World, make_world
from equipoise.authoring import Array, Probe
from equipoise.measuring.cells import prepare_cells
from equipoise.measuring.compare import _find_direction
from equipoise.measuring.differences import (
    MetricComparison,
    Verdict,
    compare_cells,
    pair_rows,
    paired_differences,
)
from equipoise.measuring.outcomes import ATTEMPTS
from equipoise.measuring.summarise import WEIGHT
from equipoise.schema import ITEM, Bounds, Estimate
from equipoise.stats.intervals import LEVEL

SIGNIFICANCE = 1 - LEVEL
ROWS_AT_ONCE = 20_000


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two runs: which models answer, how each is asked, and what each loses."""

    kind: str
    models: tuple[str, str]
    repetitions: tuple[int, int] = (1, 1)
    losses: tuple[Loss, Loss] = field(default=(NO_LOSS, NO_LOSS))
    equal_metrics: bool = True
    """Whether the metrics are equal; else only their distances from even-handed are."""


def study_pair(pair: Pair, study: str, items: int, runs: int) -> list[Row]:
    """Compare two runs many times."""
    world = make_world(study)
    found = list(_compare_runs(world, pair, study, items, runs))
    rows = []
    for name in world.probe.marked_metrics():
        compared = [run[name] for run in found if name in run]
        known = [each for each in compared if not np.isnan(each.p)]
        with_interval = [each for each in known if not np.isnan(each.difference.low)]
        tests = [_pack_test(run.get(name)) for run in found]
        rows.append(
            {
                "table": "pairs",
                "kind": pair.kind,
                "study": study,
                "models": " / ".join(dict.fromkeys(pair.models)),
                "metric": name,
                "items": items,
                "runs": runs,
                "equal_metrics": pair.equal_metrics,
                "computed": len(known),
                "rejected": sum(each.p < SIGNIFICANCE for each in known),
                "intervals": len(with_interval),
                "covered": sum(_holds_zero(each, "difference") for each in with_interval),
                "distance": sum(_holds_zero(each, "distance") for each in with_interval),
                "judged": sum(_is_judged(each) for each in known),
                "tests": tests if not any(loss != NO_LOSS for loss in pair.losses) else [],
            }
        )
    return rows


def _compare_runs(
    world: World, pair: Pair, study: str, items: int, runs: int
) -> Iterator[Mapping[str, MetricComparison]]:
    """The comparison of each run, by metric."""
    at_once = max(1, ROWS_AT_ONCE // items)
    loses = any(loss != NO_LOSS for loss in pair.losses)
    for model_runs, chances, rng in _take_models(pair, study, runs):
        for start in range(0, model_runs, at_once):
            here = min(at_once, model_runs - start)
            places = sample_items(world, Asking(items=items), here, rng)
            first, second = (
                _draw_side(world, pair, side, chances[side], places.ravel(), rng) for side in (0, 1)
            )
            if not loses and not world.probe.detector.counts:
                yield from compare_many(world, first, second, here)
                continue
            size = places.shape[1]
            for run in range(here):
                own = slice(run * size, (run + 1) * size)
                yield compare_rows(world, first[own], second[own])


def compare_many(
    world: World, first: pl.DataFrame, second: pl.DataFrame, runs: int
) -> Iterator[Mapping[str, MetricComparison]]:
    """Compare the item rows of several pairs of runs of which no answer is missing.

    This is what `compare_rows` does, but the cells of all runs are prepared at once.
    """
    numbers = pl.Series(RUN, np.repeat(np.arange(runs), first.height // runs))
    numbered = [side.select(numbers, pl.all()) for side in (first, second)]
    tables = pair_rows(world.probe, numbered[0], numbered[1])
    sides = [prepare_cells(world.probe, table, world.planned.parameters) for table in tables]
    starts = tables[0][RUN].search_sorted(pl.Series(range(runs + 1))).to_list()
    for first_cell, end in pairwise(starts):
        places = np.arange(first_cell, end)
        yield compare_cells([side.take(places) for side in sides])


Chances = tuple[Array | None, Array | None]
"""The chances of both models by prompt; None for a model that is drawn for each item."""


def _take_models(
    pair: Pair, study: str, runs: int
) -> Iterator[tuple[int, Chances, np.random.Generator]]:
    first, second = pair.models
    if first in ROW_MODELS:
        yield runs, (None, None), start_rng("pair", pair, study, runs)
        return
    if first != second:
        raise ValueError(f"Two models with effects of their own differ: {pair.models}")
    for _, chance, here, rng in take_turns(study, first, runs):
        yield here, (chance, chance), rng


def _draw_side(
    world: World,
    pair: Pair,
    side: int,
    chance: Array | None,
    items: Places,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """The item rows of one side, with a number for each item."""
    asking = Asking(items=len(items), repetitions=pair.repetitions[side])
    own = by_slot(world, chance, items) if chance is not None else None
    if own is None:
        own = ROW_MODELS[pair.models[side]](world, items, rng)
    answers = draw_answers(world, own, items, asking, rng)
    rows = make_rows(world, items, answers, asking, pair.losses[side], rng).drop(WEIGHT)
    return rows.with_columns(pl.Series(ITEM, np.arange(len(items))).cast(pl.String))


def compare_rows(
    world: World, first: pl.DataFrame, second: pl.DataFrame
) -> Mapping[str, MetricComparison]:
    """Compare the item rows of two runs, as `equipoise compare` does."""
    answered = keep_prompts_of_both(world.probe, first, second)
    return paired_differences(world.planned.setup, answered, (first, second))


def keep_prompts_of_both(
    probe: Probe, first: pl.DataFrame, second: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same rows with only the prompts that have an answer in both."""
    sides = [first, second]
    for prefix in probe.prefixes:
        name = f"{prefix}{ATTEMPTS}"
        in_both = (first[name] > 0) & (second[name] > 0)
        if in_both.all():
            continue
        columns = [f"{prefix}{outcome}" for outcome in probe.detector.outcomes]
        columns += [f"{prefix}{label}" for label in probe.detector.other_labels]
        kept = [
            pl.when(in_both).then(pl.col(column)).otherwise(0).alias(column)
            for column in (*columns, name)
        ]
        sides = [side.with_columns(kept) for side in sides]
    return sides[0], sides[1]


def _holds_zero(compared: MetricComparison, what: str) -> bool:
    """Whether the interval of a difference (or of a distance), with its bounds, holds 0."""
    estimate: Estimate = getattr(compared, what)
    bounds: Bounds | None = getattr(compared, f"{what}_bounds")
    low = estimate.low
    high = estimate.high
    if bounds is not None:
        low = min(low, bounds.low)
        high = max(high, bounds.high)
    return low - 1e-9 <= 0 <= high + 1e-9


def _is_judged(compared: MetricComparison) -> bool:
    """Whether the second is called better or worse, if this metric is compared alone."""
    if compared.p >= SIGNIFICANCE:
        return False
    return _find_direction(compared) in (Verdict.BETTER, Verdict.WORSE)


def _pack_test(compared: MetricComparison | None) -> list[float]:
    """What a gate on regressions needs: the p-value, the distance and its interval."""
    if compared is None or compared.distance is None:
        return [float("nan")] * 4
    distance = compared.distance
    return [compared.p, distance.value, distance.low, distance.high]
