"""Do intervals united with the bounds of missing answers hold the truth, where it is hardest?

All lost answers would have said the same, so that the truth lies at the end of what they allow. How
wide that is is given in standard errors of the metric: it is narrow where one answer is lost, and
wide where many are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from benchmarks.calibration.answers import GAP, LEVEL, NO_LOSS, SLOPE, Asking, Loss
from benchmarks.calibration.models import MODELS, SETTLED, steer
from benchmarks.calibration.runs import (
    Row,
    covers,
    find_truth,
    share_asked_of,
    simulate_runs,
    start_rng,
    unite,
)
from benchmarks.calibration.worlds import World, make_world
from equipoise.authoring import Array
from equipoise.measuring.bounds import bound_metrics
from equipoise.measuring.estimates import estimate_cells, find_errors, linearise
from equipoise.measuring.marks import mark
from equipoise.measuring.outcomes import MISSING
from equipoise.measuring.summarise import WEIGHT

PILOTS = 20
PILOT_LOSS = 0.1
PILOT_ROUNDS = 4


@dataclass(frozen=True, kw_only=True)
class Question:
    """A metric, a model, and what the lost answers would have raised."""

    study: str
    metric: str
    what: str
    steering: Mapping[str, float] | None = None
    """None for the settled model, whose answers hold words of one kind only."""
    items: int = 400
    repetitions: int = 1

    @property
    def asking(self) -> Asking:
        """How a run asks."""
        return Asking(items=self.items, repetitions=self.repetitions)


QUESTIONS = {
    "rate": Question(study="jobs_lum", metric="masculine_rate", what=LEVEL, steering={}),
    "rate, asked 4 times": Question(
        study="jobs_lum",
        metric="masculine_rate",
        what=LEVEL,
        steering={},
        items=339,
        repetitions=4,
    ),
    "rare rate": Question(
        study="jobs_lum", metric="masculine_rate", what=LEVEL, steering={"shift": -0.4}
    ),
    "difference": Question(study="hiring_an", metric="diff_acceptance_rate", what=GAP, steering={}),
    "slope": Question(
        study="jobs_lum", metric="stereotype_rate", what=SLOPE, steering={"slope": 0.3}
    ),
    "range": Question(
        study="discrimination_tamkin", metric="max_diff", what=GAP, steering={"gap": 0.2}
    ),
    "score": Question(study="resume_score", metric="diff_score", what=GAP, steering={}),
    "words": Question(study="business_vocabulary", metric="mean_diff", what=GAP, steering={}),
    "words of one kind": Question(study="word_association", metric="association", what=LEVEL),
}


def study_missing(kind: str, width: float, runs: int) -> list[Row]:
    """Lose what raises the metric, so that the bounds are this many standard errors apart."""
    question = QUESTIONS[kind]
    world = make_world(question.study)
    chance = _chances(world, question)
    truth = find_truth(world, chance)[question.metric]
    loss = Loss(raising=_find_share(kind, width), others=0.0, what=question.what)
    share_asked = share_asked_of(world, question.asking)
    bands = world.probe.marked_metrics()[question.metric]
    rng = start_rng("missing", kind, width, runs)
    intervals = 0
    covered = 0
    wrong = 0
    widths = []
    for cells, table in simulate_runs(world, chance, question.asking, runs, rng, loss):
        found = estimate_cells(cells, share_asked=share_asked)[question.metric]
        parameters = {**world.planned.parameters, "repeat": question.repetitions}
        bounds = bound_metrics(world.probe, table, parameters, share_asked=share_asked)
        ends = bounds.get(question.metric)
        widths.append(0.0 if ends is None else ends.largest - ends.smallest)
        if np.isnan(found.low):
            continue
        intervals += 1
        covered += covers(unite(found, ends), truth)
        said = mark(bands, found, ends)
        wrong += said is not None and said.certain and said.best != bands.mark(truth)
    return [
        {
            "table": "missing",
            "kind": kind,
            "study": question.study,
            "metric": question.metric,
            "asked": str(question.asking),
            "errors": width,
            "lost": loss.raising,
            "width": float(np.mean(widths)) / _standard_error(kind),
            "runs": runs,
            "intervals": intervals,
            "covered": covered,
            "wrong": wrong,
        }
    ]


def _chances(world: World, question: Question) -> Array:
    if question.steering is None:
        return MODELS[SETTLED](world, start_rng("settled", question.study))
    return steer(world, question.steering)


@cache
def _standard_error(kind: str) -> float:
    """The mean standard error of the metric, if nothing is lost."""
    question = QUESTIONS[kind]
    world = make_world(question.study)
    rng = start_rng("standard error", kind)
    chance = _chances(world, question)
    share_asked = share_asked_of(world, question.asking)
    errors = []
    for cells, _ in simulate_runs(world, chance, question.asking, PILOTS, rng):
        found = linearise(cells)
        place = found.place(question.metric)
        parts = world.probe.all_metrics()[place].range_of
        place = found.place(parts[0]) if parts else place
        errors.append(find_errors(found, cells, share_asked).standard_error[place])
    return float(np.mean(errors))


@cache
def _find_share(kind: str, width: float) -> float:
    """The share to lose of what raises the metric, for bounds this many standard errors apart.

    The width of the bounds grows nearly in proportion to what is lost.
    """
    if not width:
        return 0.0
    question = QUESTIONS[kind]
    world = make_world(question.study)
    chance = _chances(world, question)
    share_asked = share_asked_of(world, question.asking)
    share = PILOT_LOSS
    for attempt in range(PILOT_ROUNDS):
        loss = Loss(raising=share, others=0.0, what=question.what)
        rng = start_rng("pilot", kind, attempt)
        widths = []
        parameters = {**world.planned.parameters, "repeat": question.repetitions}
        for _, table in simulate_runs(world, chance, question.asking, PILOTS, rng, loss):
            bounds = bound_metrics(world.probe, table, parameters, share_asked=share_asked)
            ends = bounds.get(question.metric)
            widths.append(0.0 if ends is None else ends.largest - ends.smallest)
        wanted = width * _standard_error(kind)
        share = min(0.9, share * wanted / max(float(np.mean(widths)), 1e-9))
    return share


def study_one_unread(items: int, repetitions: int) -> list[Row]:
    """How much one unread answer widens the interval of a rate of n answers, times n."""
    world = make_world("jobs_lum")
    asking = Asking(items=items, repetitions=repetitions)
    share_asked = share_asked_of(world, asking)
    parameters = {**world.planned.parameters, "repeat": repetitions}
    largest = 0.0
    for chance in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98):
        rng = start_rng("one unread", items, repetitions, chance)
        chances = np.full(world.prompts.height, chance)
        for cells, table in simulate_runs(world, chances, asking, 5, rng, NO_LOSS):
            before = estimate_cells(cells, share_asked=share_asked)["masculine_rate"]
            for label in ("male", "female"):
                unread = _take_one(table, label)
                if unread is None:
                    continue
                bounds = bound_metrics(world.probe, unread, parameters, share_asked=share_asked)
                after = unite(before, bounds["masculine_rate"])
                wider = (after.high - after.low) - (before.high - before.low)
                largest = max(largest, wider * items * repetitions)
    return [
        {
            "table": "one unread",
            "items": items,
            "asked": str(asking),
            "wider": largest,
        }
    ]


def _take_one(table: pl.DataFrame, label: str) -> pl.DataFrame | None:
    """The cells with one answer of this label unread; None if there is none."""
    places = np.flatnonzero(table[label].to_numpy() > 0)
    if not len(places):
        return None
    place = int(places[0])
    one = table[place : place + 1].with_columns(
        pl.lit(1, pl.Int64).alias(WEIGHT),
        (pl.col(label) - 1).cast(pl.UInt32).alias(label),
        pl.lit(1, pl.UInt32).alias(MISSING),
    )
    is_it = pl.int_range(pl.len()) == place
    rest = table.with_columns(
        pl.when(is_it).then(pl.col(WEIGHT) - 1).otherwise(WEIGHT).alias(WEIGHT)
    )
    return pl.concat([rest.filter(pl.col(WEIGHT) > 0), one.select(rest.columns)])
