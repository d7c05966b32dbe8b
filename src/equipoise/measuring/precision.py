"""How many items give an interval of a wanted width, or a certain mark: intervals shrink with the square root of n."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.measuring.marks import describe_low_coverage
from equipoise.measuring.result import Result
from equipoise.stats.power import (
    detectable_between_models,
    items_for_half_width,
    remaining_variance,
)

WORTH_ASKING = 30
"""A mark that needs more than so many times the items that were asked lies at a limit: more may not decide it."""
MOST_REPETITIONS = 100
"""No item is asked more often, whatever that leaves undecided."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """What a marked metric needs to be as precise, or as certain, as wanted."""

    metric: str
    items: int | None
    """None if no number of items would do: the value lies on a limit, or is not computable."""
    half_width: float
    """What that many items give, or what the pilot has if no number would do."""
    detectable: float
    """The smallest difference between two models that as many items show with 80% power."""
    population: int
    """How many items there are to be asked about."""
    repetitions: int | None = None
    """How often each of them must be asked where that is fewer than needed; None if that would not do, either."""


def find_needs(pilot: Result, *, precision: float | None = None) -> list[Need]:
    """For each marked metric the items for this half-width; without one, for a mark that is certain."""
    needs = []
    for name, estimate, _ in pilot.marked():
        bands = pilot.setup.probe.marked_metrics()[name]
        width, wanted = (estimate.high - estimate.low) / 2, precision
        if wanted is None:
            width = max(estimate.high - estimate.value, estimate.value - estimate.low)
            wanted = min(abs(bands.distance(estimate.value) - limit) for limit in bands.limits)
        needs.append(_find_need(pilot, name, width, wanted))
    return needs


def _find_need(pilot: Result, name: str, width: float, wanted: float) -> Need:
    """What makes an interval that reaches so far from the value reach only as far as wanted."""
    population = pilot.setup.population
    if math.isnan(width) or not wanted:
        detectable = detectable_between_models(width)
        return Need(
            metric=name,
            items=None,
            half_width=width,
            detectable=detectable,
            population=population,
        )
    items = items_for_half_width(pilot.items, width, wanted)
    repetitions = None
    wavers = not pilot.setup.probe.detector.by_probability  # to ask again would give the same probabilities
    if wavers and items > population:
        before = remaining_variance(pilot.setup.repetitions, pilot.items / population)
        often = range(pilot.setup.repetitions + 1, MOST_REPETITIONS + 1)
        enough = (number for number in often if remaining_variance(number, 1.0) <= before * population / items)
        repetitions = next(enough, None)
    return Need(
        metric=name,
        items=items,
        half_width=wanted,
        detectable=detectable_between_models(wanted),
        population=population,
        repetitions=repetitions,
    )


def find_certain(result: Result) -> dict[str, int]:
    """The `sample` and `repeat` with which the marks of a result would be certain; nothing if no more would tell.

    What lies at a limit, or is uncertain because of missing answers, is left out: more items do not settle it.
    """
    wanted = [need for need in find_needs(result) if _is_worth_asking(result, need)]
    if not wanted:
        return {}
    most = max(wanted, key=lambda need: need.items or 0)
    items = min(most.items or 0, most.population)
    sample = items * result.setup.probe.prompts_per_item
    return {"sample": sample, "repeat": most.repetitions or result.setup.repetitions}


def _is_worth_asking(result: Result, need: Need) -> bool:
    mark = result.marks[need.metric]
    if mark is None or mark.certain or mark.by_missing or mark.low_coverage is not None:
        return False
    if need.items is None or not result.items < need.items <= WORTH_ASKING * result.items:
        return False
    return need.items <= need.population or need.repetitions is not None


def explain_open(result: Result, metric: str) -> str:
    """Why the mark of a metric is not certain, in a few words; nothing if it is."""
    mark = result.marks[metric]
    if mark is None:
        return "not computable"
    if mark.certain:
        return ""
    if mark.low_coverage is not None:
        return describe_low_coverage(mark.low_coverage)
    if mark.too_few:
        return "too few for an interval"
    if mark.by_missing:
        return "missing answers could change the mark"
    need = next(need for need in find_needs(result) if need.metric == metric)
    if _is_worth_asking(result, need):
        return "more answers would settle it"
    return "close to a grade boundary; more data may not settle it"
