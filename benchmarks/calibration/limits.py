"""Models whose metrics lie just beside the limits between two marks: are marks certain and wrong?

A mark is most easily wrong where the metric is at a limit. Lost answers pull it across the limit:
if answers that raise the metric are lost, a model that favours men looks better than it is, and a
model that favours women looks worse. So models just beyond a limit favour men here, and models just
inside it favour women. The other two combinations would be pulled away from the limit; if answers
that lower the metric were lost instead, they would be the mirror image of these two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import product

import numpy as np
import polars as pl
from scipy.optimize import brentq

from benchmarks.calibration.answers import NO_LOSS, Asking, Loss, lose_by_content, make_rows
from benchmarks.calibration.coverage import pack, pack_bounds
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
from equipoise.authoring import Array, Bands
from equipoise.authoring.metrics import MARKS
from equipoise.measuring.bounds import MissingAnswers, bound_metric, bound_metrics, find_missing
from equipoise.measuring.estimates import estimate_cells
from equipoise.measuring.marks import Mark, mark, nearest_and_farthest
from equipoise.measuring.outcomes import ATTEMPTS, MISSING
from equipoise.measuring.summarise import WEIGHT
from equipoise.schema import Bounds, Estimate

BESIDE = 0.001
"""How far from a limit the true metrics are."""
REACHED = 1e-5
"""A limit is reached if the true metric is this near to where it should be."""
STEP = 0.05
ROUNDS = 4
NOISE = 0.1
"""The standard deviation of chances between prompts."""
COMBINATIONS = ((True, 1.0), (False, -1.0))
"""Beyond a limit or inside it, and the side: 1 favours men."""
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


def pulled_by_loss(study: str, metric: str) -> str:
    """What a loss must pull to pull this metric: the parameter of `steer` that moves it most.

    A metric without a parameter of its own follows the others.
    """
    parameters = sensitive_parameters(study)
    return parameters.get(metric, next(iter(parameters.values())))


def lose_across(share: float, what: str, *, beyond: bool, side: float) -> Loss:
    """Lose this share of all answers, those above all that pull the metric across its limit."""
    if not share:
        return NO_LOSS
    favours_men = side > 0
    return lose_by_content(share, what, lowers=beyond != favours_men)


def study_limits(
    study: str, limit: int, losses: Sequence[float], items: int, runs: int
) -> list[Row]:
    """Models just beyond a limit and just inside it, with these shares of all answers lost."""
    rows = []
    for beyond, side in COMBINATIONS:
        targets = choose_limits(study, limit, beyond=beyond, side=side)
        chance = steer(study, find_steering(study, targets))
        truth = find_truth(make_world(study), chance)
        counts = _count_wrong(study, chance, truth, losses, items, runs, (beyond, side))
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
                    "where": "beyond" if beyond else "inside",
                    "favours": "men" if side > 0 else "women",
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
    combination: tuple[bool, float],
) -> dict[tuple[float, str], tuple[int, int]]:
    """For each loss and metric: how many marks are certain, and how many of these are wrong.

    The same answers are drawn for all losses. Each metric is pulled by a loss of its own.
    """
    world = make_world(study)
    bands = world.probe.marked_metrics()
    beyond, side = combination
    asking = Asking(items=items)
    metrics_of: dict[tuple[float, Loss], list[str]] = {}
    for share, name in product(losses, bands):
        what = pulled_by_loss(study, name)
        loss = lose_across(share, what, beyond=beyond, side=side)
        metrics_of.setdefault((share, loss), []).append(name)
    counts = {(share, name): (0, 0) for share in losses for name in bands}
    rng = start_rng("limits", study, combination, items, runs, sorted(truth.items()))
    for places, here, answers in draw_batches(world, chance, asking, runs, rng):
        for (share, loss), names in metrics_of.items():
            rows = make_rows(world, places, answers, asking, loss, rng)
            found = []
            tables = []
            for cells, table in split_runs(world, rows, here, asking):
                found.append(estimate_cells(cells))
                tables.append(table)
            for name in names:
                own = [estimates[name] for estimates in found]
                is_wrong = _wrong_mark(bands[name], truth[name])
                marks = mark_runs(world, name, own, tables, is_wrong)
                certain, wrong = counts[share, name]
                certain += sum(said is not None and said.certain for said in marks)
                wrong += sum(is_wrong(said) for said in marks)
                counts[share, name] = certain, wrong
    return counts


def _wrong_mark(bands: Bands, truth: float) -> Callable[[Mark | None], bool]:
    """What says whether a mark is certain and wrong."""
    true_mark = bands.mark(truth)

    def is_wrong(said: Mark | None) -> bool:
        return said is not None and said.certain and said.best != true_mark

    return is_wrong


def mark_runs(
    world: World,
    metric: str,
    found: Sequence[Estimate],
    tables: Sequence[pl.DataFrame],
    is_suspect: Callable[[Mark | None], bool],
) -> list[Mark | None]:
    """The marks of a metric in some runs, with the bounds of missing answers and the share read.

    Bounds only make a mark less certain. They take the most time, and so they are computed only
    where the mark without them is suspect; else the mark without them stands here.
    """
    bands = world.probe.marked_metrics()[metric]
    read_shares = [find_read_share(world, table) for table in tables]
    marks = [
        mark(bands, estimate, None, share)
        for estimate, share in zip(found, read_shares, strict=True)
    ]
    suspects = [run for run, said in enumerate(marks) if is_suspect(said)]
    bounds = bound_runs(world, metric, [tables[run] for run in suspects])
    for run, bound in zip(suspects, bounds, strict=True):
        marks[run] = mark(bands, found[run], bound, read_shares[run])
    return marks


def bound_runs(world: World, metric: str, tables: Sequence[pl.DataFrame]) -> list[Bounds | None]:
    """The bounds of a metric in some runs, each asked once."""
    (own,) = (each for each in world.probe.metrics if each.name == metric)
    return [
        None if answers is None else bound_metric(answers, own)
        for answers in _find_missing_answers(world, tables)
    ]


def _find_missing_answers(
    world: World, tables: Sequence[pl.DataFrame]
) -> list[MissingAnswers | None]:
    """The missing answers of each run; where answers are labels, those of all runs at once."""
    probe = world.probe
    parameters = world.planned.parameters
    if probe.detector.counts or probe.detector.number:
        return [find_missing(probe, table, parameters) for table in tables]
    together = find_missing(probe, pl.concat(tables), parameters) if tables else None
    if together is None:
        return [None] * len(tables)
    ends = np.cumsum([table.height for table in tables])
    found: list[MissingAnswers | None] = []
    for table, end in zip(tables, ends, strict=True):
        own = np.arange(end - table.height, end)
        found.append(together.take(own))
    return found


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
    suites: Sequence[str],
    study: str,
    asking: Asking,
    limit: int,
    side: float,
    share_lost: float,
    runs: int,
) -> list[Row]:
    """The estimates of a model whose metrics all lie just inside the same limit, where they can.

    Answers that pull the first metric across the limit are likelier to be lost.
    """
    world = make_world(study)
    targets = {
        name: target_of(world, name, limit, beyond=False, side=side)
        for name in world.probe.marked_metrics()
    }
    chance = steer(study, find_steering(study, targets))
    truth = find_truth(world, chance)
    what = pulled_by_loss(study, next(iter(targets)))
    loss = lose_across(share_lost, what, beyond=False, side=side)
    rng = start_rng("gate", suites, study, limit, side, share_lost, runs)
    share_asked = share_asked_of(world, asking)
    estimates: dict[str, list[list[float]]] = {name: [] for name in targets}
    for cells, table in simulate_runs(world, chance, asking, runs, rng, loss):
        found = estimate_cells(cells, share_asked=share_asked)
        decided = [name for name in targets if _decides(world, name, found[name], limit)]
        bounds: Mapping[str, Bounds] = {}
        if share_lost and decided:
            # Bounds make nothing decided, and take the most time.
            parameters = {**world.planned.parameters, "repeat": asking.repetitions}
            bounds = bound_metrics(world.probe, table, parameters, share_asked=share_asked)
        for name in targets:
            packed = [*pack(found[name]), truth[name]]
            estimates[name].append([*packed, *pack_bounds(bounds.get(name))])
    model = f"just inside {MARKS[limit + 1]}, favours {'men' if side > 0 else 'women'}"
    return [
        {
            "table": "gate limits",
            "size": suite,
            "items": asking.items,
            "study": study,
            "model": model,
            "rule": MARKS[limit + 1],
            "lost": share_lost,
            "metric": name,
            "target": abs(targets[name]) if is_one_sided(world, name) else targets[name],
            "truth": truth[name],
            "runs": runs,
            "estimates": estimates[name],
        }
        for suite in suites
        for name in targets
    ]


def _decides(world: World, metric: str, estimate: Estimate, limit: int) -> bool:
    """Whether an interval lies beyond a limit, or inside it."""
    bands = world.probe.marked_metrics()[metric]
    nearest, farthest = nearest_and_farthest(bands, estimate.low, estimate.high)
    is_beyond = bands.distance(nearest) > bands.limits[limit]
    is_inside = bands.distance(farthest) <= bands.limits[limit]
    return is_beyond or is_inside
