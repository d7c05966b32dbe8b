"""Models whose metrics lie just beside the limits between two marks: are marks certain and wrong?

A mark is most easily wrong where the metric is at a limit. Lost answers pull it across the limit:
those that are lost because they favour men make a model that favours men look better than it is,
and a model that favours women look worse. So models just beyond a limit favour men here, and models
just inside it favour women.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import polars as pl
from scipy.optimize import brentq

from benchmarks.calibration.answers import NO_LOSS, Asking, lose_by_content, make_rows
from benchmarks.calibration.coverage import pack
from benchmarks.calibration.models import STEERED_BY
from benchmarks.calibration.models import steer as steer_exactly
from benchmarks.calibration.runs import (
    Row,
    draw_batches,
    find_truth,
    share_asked_of,
    simulate_runs,
    split_runs,
    start_rng,
)
from benchmarks.calibration.worlds import World, make_world
from equipoise.authoring import Array
from equipoise.authoring.metrics import MARKS
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.estimates import estimate_cells
from equipoise.measuring.marks import Mark, mark
from equipoise.measuring.outcomes import ATTEMPTS, MISSING
from equipoise.measuring.summarise import WEIGHT
from equipoise.schema import Estimate

BESIDE = 0.001
"""How far from a limit the true metrics are."""
REACHED = 1e-5
"""A limit is reached if the true metric is this near to where it should be."""
STEP = 0.05
ROUNDS = 4
NOISE = 0.1
"""The standard deviation of chances between prompts."""
MAX_STEERING = {"shift": 0.5, "gap": 1.0, "slope": 3.0}


def target_of(world: World, metric: str, limit: int, *, beyond: bool, side: float) -> float:
    """The value just beyond a limit, or just inside it, on one side of even-handed."""
    bands = world.probe.marked_metrics()[metric]
    distance = bands.limits[limit] + (BESIDE if beyond else -BESIDE)
    return bands.centre + side * distance


def is_one_sided(world: World, metric: str) -> bool:
    """Whether a metric has no negative values: a range of rates."""
    return any(each.name == metric and each.range_of for each in world.probe.metrics)


@cache
def _prompt_noise(study: str) -> Array:
    """How far the chance of each prompt is from what it shares with others, for words and numbers.

    With it, letters and numbers differ enough for it to matter which of them are lost.
    """
    world = make_world(study)
    detector = world.probe.detector
    if not detector.counts and not detector.number:
        return np.zeros(world.prompts.height)
    return NOISE * start_rng("noise", study).standard_normal(world.prompts.height)


def steer(study: str, steering: Mapping[str, float]) -> Array:
    """The chances of a model with these parameters."""
    world = make_world(study)
    return np.clip(steer_exactly(world, steering) + _prompt_noise(study), 0.0, 1.0)


@cache
def sensitive_parameters(study: str) -> dict[str, str]:
    """For each marked metric the parameter of `steer` that moves it most, each for one metric."""
    world = make_world(study)
    before = find_truth(world, steer(study, {}))
    changes = {}
    for parameter in STEERED_BY:
        after = find_truth(world, steer(study, {parameter: STEP}))
        changes[parameter] = {name: abs(after[name] - before[name]) for name in before}
    chosen: dict[str, str] = {}
    for name in before:
        free = [parameter for parameter in STEERED_BY if parameter not in chosen.values()]
        moved = {parameter: changes[parameter][name] for parameter in free}
        best = max(free, key=moved.__getitem__)
        if moved[best] > REACHED:
            chosen[name] = best
    return chosen


def find_steering(study: str, targets: Mapping[str, float]) -> dict[str, float]:
    """The parameters with which the metrics are nearest to their targets."""
    world = make_world(study)
    steering = dict.fromkeys(STEERED_BY, 0.0)
    parameters = sensitive_parameters(study)
    for _ in range(ROUNDS):
        for metric, parameter in parameters.items():
            steering[parameter] = _solve(study, steering, parameter, metric, targets[metric])
        truth = find_truth(world, steer(study, steering))
        if all(abs(truth[name] - targets[name]) < REACHED / 10 for name in parameters):
            break
    return steering


def _solve(
    study: str, steering: Mapping[str, float], parameter: str, metric: str, target: float
) -> float:
    """The value of one parameter at which a metric has its target, or at which it is nearest to it.

    A range is not negative. A negative target of it is the range with women ahead.
    """
    world = make_world(study)
    lowest = -MAX_STEERING[parameter]
    highest = MAX_STEERING[parameter]
    if is_one_sided(world, metric):
        lowest, highest = (0.0, highest) if target > 0 else (lowest, 0.0)

    def miss(value: float) -> float:
        truth = find_truth(world, steer(study, {**steering, parameter: value}))[metric]
        return truth - (abs(target) if is_one_sided(world, metric) else target)

    at_lowest = miss(lowest)
    at_highest = miss(highest)
    if at_lowest * at_highest > 0:
        return lowest if abs(at_lowest) < abs(at_highest) else highest
    return float(brentq(miss, lowest, highest, xtol=1e-9, rtol=1e-12))


def choose_limits(study: str, limit: int, *, beyond: bool, side: float) -> dict[str, float]:
    """The targets of all marked metrics: the first at this limit, the others at the next ones.

    A model can hardly have its rate and its slope at the last limit at the same time.
    """
    world = make_world(study)
    metrics = [*world.probe.marked_metrics()]
    parameters = sensitive_parameters(study)
    targets = {}
    for number, metric in enumerate(metrics):
        # A metric without a parameter of its own follows the others.
        shifted = limit + number if metric in parameters else limit
        targets[metric] = target_of(world, metric, shifted % 3, beyond=beyond, side=side)
    return targets


def study_limits(
    study: str, limit: int, losses: Sequence[float], items: int, runs: int
) -> list[Row]:
    """Models just beyond a limit and just inside it, with these shares of answers lost."""
    rows = []
    for beyond, side in ((True, 1.0), (False, -1.0)):
        targets = choose_limits(study, limit, beyond=beyond, side=side)
        chance = steer(study, find_steering(study, targets))
        truth = find_truth(make_world(study), chance)
        where = "beyond" if beyond else "inside"
        counts = _count_wrong(study, chance, truth, losses, items, runs, where)
        for (loss, metric), (certain, wrong) in counts.items():
            target = targets[metric]
            if is_one_sided(make_world(study), metric):
                target = abs(target)
            rows.append(
                {
                    "table": "limits",
                    "study": study,
                    "metric": metric,
                    "items": items,
                    "loss": loss,
                    "where": where,
                    "target": target,
                    "truth": truth[metric],
                    "reached": abs(truth[metric] - target) < REACHED,
                    "runs": runs,
                    "certain": certain,
                    "wrong": wrong,
                }
            )
    return rows


def _count_wrong(
    study: str,
    chance: Array,
    truth: Mapping[str, float],
    losses: Sequence[float],
    items: int,
    runs: int,
    where: str,
) -> dict[tuple[float, str], tuple[int, int]]:
    """For each loss and metric: how many marks are certain, and how many of these are wrong.

    The same answers are drawn for all losses.
    """
    world = make_world(study)
    bands = world.probe.marked_metrics()
    asking = Asking(items=items)
    counts = {(loss, name): (0, 0) for loss in losses for name in bands}
    rng = start_rng("limits", study, where, items, runs, sorted(truth.items()))
    for places, here, answers in draw_batches(world, chance, asking, runs, rng):
        for share in losses:
            loss = lose_by_content(share) if share else NO_LOSS
            rows = make_rows(world, places, answers, asking, loss, rng)
            for cells, table in split_runs(world, rows, here, asking):
                found = estimate_cells(cells)
                marks = mark_run(world, table, found, truth, is_lossy=share > 0)
                for name, said in marks.items():
                    certain, wrong = counts[share, name]
                    if said is not None and said.certain:
                        certain += 1
                        wrong += said.best != bands[name].mark(truth[name])
                    counts[share, name] = certain, wrong
    return counts


def mark_run(
    world: World,
    table: pl.DataFrame,
    found: Mapping[str, Estimate],
    truth: Mapping[str, float],
    *,
    is_lossy: bool,
) -> dict[str, Mark | None]:
    """The marks of a run, with the bounds of its missing answers and the share that was read.

    Bounds only make a mark less certain. They take the most time, and so they are computed only if
    a mark would be certain and wrong without them; else the mark without them stands here.
    """
    bands = world.probe.marked_metrics()
    read_share = find_read_share(world, table) if is_lossy else 1.0
    marks = {name: mark(own, found[name], None, read_share) for name, own in bands.items()}
    suspects = [
        name
        for name, said in marks.items()
        if said is not None and said.certain and said.best != bands[name].mark(truth[name])
    ]
    if not suspects or not is_lossy:
        return marks
    bounds = bound_metrics(world.probe, table, world.planned.parameters)
    return {
        name: mark(own, found[name], bounds.get(name), read_share) for name, own in bands.items()
    }


def find_read_share(world: World, table: pl.DataFrame) -> float:
    """The share of the planned answers that could be classified."""
    prefixes = world.probe.prefixes
    missing = pl.sum_horizontal(pl.col(f"{prefix}{MISSING}") for prefix in prefixes)
    attempts = pl.sum_horizontal(pl.col(f"{prefix}{ATTEMPTS}") for prefix in prefixes)
    weight = pl.col(WEIGHT)
    lost, answered = table.select((missing * weight).sum(), (attempts * weight).sum()).row(0)
    # Lost letters are not among the attempts, lost labels and numbers are.
    planned = answered + lost if world.probe.detector.counts else answered
    return float(1 - lost / planned)


# All metrics just inside the limit of a gate


def study_gate_limits(
    suites: Sequence[str], study: str, asking: Asking, limit: int, runs: int
) -> list[Row]:
    """The estimates of a model whose metrics all lie just inside the same limit, where they can."""
    world = make_world(study)
    targets = {
        name: target_of(world, name, limit, beyond=False, side=1.0)
        for name in world.probe.marked_metrics()
    }
    chance = steer(study, find_steering(study, targets))
    truth = find_truth(world, chance)
    rng = start_rng("gate", suites, study, limit, runs)
    share_asked = share_asked_of(world, asking)
    estimates: dict[str, list[list[float]]] = {name: [] for name in targets}
    for cells, _ in simulate_runs(world, chance, asking, runs, rng):
        found = estimate_cells(cells, share_asked=share_asked)
        for name in targets:
            estimates[name].append([*pack(found[name]), truth[name]])
    return [
        {
            "table": "gate limits",
            "size": suite,
            "items": asking.items,
            "study": study,
            "model": f"just inside {MARKS[limit + 1]}",
            "metric": name,
            "target": targets[name],
            "truth": truth[name],
            "runs": runs,
            "estimates": estimates[name],
        }
        for suite in suites
        for name in targets
    ]
