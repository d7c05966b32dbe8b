"""Two sets of answers to the same items: paired differences, their tests, and what missing answers allow.

The difference of a metric has the influence d_i = z_B,i - z_A,i, so that its interval is
difference ± t_ν √(n/(n-1) Σ d²). Where no item went to one side, the rule of three applies as it does to
a single run. The p-value is the larger of two: that of a paired sign-flip test (`equipoise.stats.sign_flip`),
with influences at what both runs have in common, and the error at which the interval reaches 0. The
first needs no variance, and holds where few items differ; the second does not need differences that are
symmetric, and holds where rare large ones could have gone unseen. A range of rates and a distance from
even-handed are maxima of contrasts, and are compared as such (`equipoise.stats.contrasts`).

Missing answers may have gone any way, possibly differently in the two runs (Horowitz and Manski 2000).
So the p-value is the larger of two: that on the answers of both runs, and that of the fill under which
the runs differ least, by the same test; it is 1 if some fill makes the runs equal. It holds whatever the
missing answers would have said. The fills also give the bounds of the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import polars as pl

from equipoise.authoring import Array, Metric, Parameters, Probe
from equipoise.measuring.bounds import DOWN, UNKNOWN, UP, MissingAnswers, find_missing
from equipoise.measuring.cells import CellTable, prepare_cells
from equipoise.measuring.contrasts import Contrast, contrasts_of_distance, contrasts_of_value, subtract
from equipoise.measuring.estimates import (
    Linearised,
    differentiate_metrics,
    find_unseen_changes,
    has_enough,
    linearise,
)
from equipoise.measuring.plan import Setup
from equipoise.measuring.summarise import WEIGHT, is_answered
from equipoise.schema import ITEM, Bounds, Estimate
from equipoise.stats.contrasts import Contrasts, lower_limit, tail_beyond_zero
from equipoise.stats.intervals import (
    LEVEL,
    clip_interval,
    interval_p_value,
    item_degrees,
    student_quantile,
    zero_count_margin,
)
from equipoise.stats.sign_flip import sign_flip_p_values
from equipoise.stats.variance import divide, variance

SAME = 1e-9
"""Columns of two runs that differ by no more than this are the same, but for rounding."""


class Verdict(StrEnum):
    """How the second audit compares with the first on a marked metric."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    """The values differ clearly, and their distances from even-handed do not: one may lean the other way."""
    UNCLEAR = "no clear difference"
    NOT_COMPUTABLE = "not computable"


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """A metric of two audits on the prompts that both answered. The difference is second minus first."""

    metric: str
    first: float
    second: float
    difference: Estimate
    p: float
    """The p-value, whatever the missing answers of both runs would have said."""
    p_answered: float
    """The p-value on the answers that both runs have."""
    distance: Estimate | None = None
    """How much farther from even-handed the second is, for a marked metric."""
    difference_bounds: Bounds | None = None
    """What the missing answers allow for the difference, for a marked metric."""
    distance_bounds: Bounds | None = None
    """What they allow for how much farther from even-handed the second is."""
    p_holm: float | None = None
    """The p-value, corrected over the marked metrics of all probes, and of all pairs that are compared together."""
    verdict: Verdict | None = None
    """None where the metric is not marked."""
    missing_decides: bool = False
    """Whether the runs differ clearly on the answers that both have, and missing answers could explain it."""
    detectable: float | None = None
    """The smallest difference that a comparison like this one finds with 80% power, after the correction."""


def paired_differences(
    setup: Setup,
    answered: tuple[pl.DataFrame, pl.DataFrame],
    planned: tuple[pl.DataFrame, pl.DataFrame],
) -> dict[str, MetricComparison]:
    """Compare two runs on their common items: every metric of the probe, without slices.

    `answered` are item rows of the prompts that both answered, `planned` those of all planned items.
    """
    probe = setup.probe
    filtered = [rows.filter(is_answered(probe)) for rows in answered]
    tables = pair_rows(probe, filtered[0], filtered[1])
    compared = compare_cells([prepare_cells(probe, side, setup.parameters) for side in tables])
    sides = [PlannedSide.make(probe, side, setup.parameters) for side in pair_rows(probe, planned[0], planned[1])]
    return add_bounds(compared, sides)


def pair_rows(probe: Probe, first: pl.DataFrame, second: pl.DataFrame) -> list[pl.DataFrame]:
    """The cells of the items that both tables hold: two tables with the same rows."""
    # Clusters do not distinguish items here: with them, hardly any two items would be equal.
    clusters = [name for name in probe.clusters if name not in probe.covariates]
    first = first.drop(clusters, strict=False)
    second = second.drop(clusters, strict=False)
    names = [name for name in first.columns if name != ITEM]
    renamed = second.rename({name: f"second.{name}" for name in names})
    pairs = first.join(renamed, on=ITEM).drop(ITEM)
    # Equal pairs of rows are one cell with a weight, in an order that depends only on them.
    pairs = pairs.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias(WEIGHT))
    pairs = pairs.sort(pl.exclude(WEIGHT))
    seconds = pairs.select(*(pl.col(f"second.{name}").alias(name) for name in names), WEIGHT)
    return [pairs.select(*names, WEIGHT), seconds]


# What both answered


def compare_cells(sides: Sequence[CellTable]) -> dict[str, MetricComparison]:
    """Compare two tables of cells of the same items."""
    linearised = [linearise(side) for side in sides]
    factors = np.maximum(linearised[0].factors, linearised[1].factors)
    linearised = [replace(side, factors=factors) for side in linearised]
    errors = _find_difference_errors(linearised, sides)
    p_values = np.maximum(
        sign_flip_p_values(_difference_contributions(linearised, sides), linearised[0].weight),
        errors.p_values(),
    )
    differences = {}
    for metric in sides[0].probe.all_metrics():
        place = linearised[0].place(metric.name)
        difference = _estimate_difference(metric, linearised, errors)
        p_value = float(p_values[place])
        contrasts = contrasts_of_value(metric, linearised[0].names)
        if len(contrasts) > 1:
            p_value = _p_value_of_contrasts(contrasts, linearised)
        if np.isnan(difference.value):
            p_value = float("nan")
        differences[metric.name] = MetricComparison(
            metric=metric.name,
            first=float(linearised[0].values[place]),
            second=float(linearised[1].values[place]),
            difference=difference,
            p=p_value,
            p_answered=p_value,
            distance=_estimate_distance(metric, linearised, errors) if metric.bands else None,
        )
    return differences


@dataclass(frozen=True)
class DifferenceErrors:
    """The differences of metrics, or of contrasts of them, with their errors."""

    values: Array
    centres: Array
    standard_error: Array
    degrees: Array
    below: Array
    """What one item can change downwards, if none was seen to go there; else 0."""
    above: Array

    def p_values(self) -> Array:
        """The error at which each interval reaches 0."""
        return interval_p_value(self.values, self.centres, self.standard_error, self.degrees, self.below, self.above)


def _find_difference_errors(linearised: Sequence[Linearised], sides: Sequence[CellTable]) -> DifferenceErrors:
    """The differences second minus first of all metrics of two tables with the same rows."""
    first, second = linearised
    joined_first, joined_second, weight = join_sides([_split_all(side) for side in linearised])
    total, degrees = variance((joined_second.influence - joined_first.influence) ** 2, weight)
    # Either run could have answered an item in another way, and the other as it did.
    possible = np.concatenate([second.outcome_influence - first.influence, second.influence - first.outcome_influence])
    ways = len(first.outcome_influence) + len(second.outcome_influence)
    both_answered = (first.pseudo_weight > 0) & (second.pseudo_weight > 0)
    difference = replace(
        first,
        values=second.values - first.values,
        centres=second.centres - first.centres,
        influence=second.influence - first.influence,
        outcome_influence=possible,
        whole=first.whole & second.whole,
        pseudo_weight=np.where(both_answered, first.pseudo_weight * len(first.outcome_influence) / max(ways, 1), 0.0),
    )
    below, above = find_unseen_changes(difference, sides[0].probe.detector.number)
    return DifferenceErrors(
        values=difference.values,
        centres=difference.centres,
        standard_error=np.sqrt(total),
        degrees=item_degrees(degrees),
        below=below,
        above=above,
    )


def _difference_contributions(linearised: Sequence[Linearised], sides: Sequence[CellTable]) -> Array:
    """What each item adds to the difference of each metric, if the runs do not differ: cell, metric.

    The influences are taken at what both runs have in common. The rest of the observed difference is
    distributed in proportion to them, so that the contributions add up to it. Items on which the runs agree
    contribute nothing.
    """
    weight = linearised[0].weight
    influences = _common_influences(sides)
    contributions = np.nan_to_num(influences[1] - influences[0], posinf=0.0, neginf=0.0)
    differs = np.abs(sides[1].columns - sides[0].columns).max(axis=1) > SAME
    contributions[~differs] = 0.0
    observed = np.nan_to_num(linearised[1].values - linearised[0].values, posinf=0.0, neginf=0.0)
    rest = observed - weight @ contributions
    sizes = np.abs(contributions)
    shares = divide(sizes, weight @ sizes, 0.0)
    result: Array = contributions + shares * rest
    return result


def _common_influences(sides: Sequence[CellTable]) -> list[Array]:
    """The influences on both sides at the totals that they have if there is no difference.

    An item that was answered equally often in both runs gets the mean of its two rows; any other keeps its own.
    What was said is in the columns that differ between possible outcomes; the others say how much
    was answered.
    """
    depends_on_answers = np.ones(len(sides[0].names), dtype=bool)
    with_outcomes = [side.outcomes for side in sides if len(side.outcomes)]
    if with_outcomes:
        spreads = [np.ptp(outcomes, axis=0).sum(axis=0) for outcomes in with_outcomes]
        depends_on_answers = np.asarray(np.sum(spreads, axis=0) > 0)
    gaps = np.abs(sides[0].columns[:, ~depends_on_answers] - sides[1].columns[:, ~depends_on_answers])
    equally_answered = gaps.max(axis=1, initial=0.0) <= SAME
    mean_columns = (sides[0].columns + sides[1].columns) / 2
    influences = []
    for side in sides:
        columns = np.where(equally_answered[:, None], mean_columns, side.columns)
        _, gradient = differentiate_metrics(side, side.weight.astype(np.float64) @ columns)
        influences.append(side.columns @ gradient)
    return influences


def _estimate_difference(metric: Metric, linearised: Sequence[Linearised], errors: DifferenceErrors) -> Estimate:
    """The difference of a metric with its interval."""
    place = linearised[0].place(metric.name)
    value = float(errors.values[place])
    contrasts = contrasts_of_value(metric, linearised[0].names)
    if len(contrasts) > 1:
        first, second, weight = _join_contrasts(contrasts, linearised)
        return _make_difference(metric, linearised, value, _contrast_interval(first, second, weight))
    degrees = float(errors.degrees[place])
    half_width = float(student_quantile(degrees, LEVEL)) * errors.standard_error[place]
    margin = zero_count_margin(LEVEL)
    low = min(errors.centres[place] - half_width, value - margin * errors.below[place])
    high = max(errors.centres[place] + half_width, value + margin * errors.above[place])
    return _make_difference(metric, linearised, value, (float(low), float(high)), degrees)


def _estimate_distance(metric: Metric, linearised: Sequence[Linearised], errors: DifferenceErrors) -> Estimate:
    """How much farther from even-handed the second run is.

    One item changes a distance at most as far as the metric itself.
    """
    assert metric.bands is not None
    place = linearised[0].place(metric.name)
    distances = [metric.bands.distance(float(side.values[place])) for side in linearised]
    value = distances[1] - distances[0]
    contrasts = contrasts_of_distance(metric, linearised[0].names)
    first, second, weight = _join_contrasts(contrasts, linearised)
    low, high = _contrast_interval(first, second, weight)
    margin = 0.0
    if len(contrasts_of_value(metric, linearised[0].names)) == 1:
        margin = zero_count_margin(LEVEL) * max(errors.below[place], errors.above[place])
    ends = (float(min(low, value - margin)), float(max(high, value + margin)))
    return _make_difference(metric, linearised, value, ends, farthest=_largest_distance(metric))


def _largest_distance(metric: Metric) -> float:
    """How far from even-handed a marked metric can be."""
    assert metric.bands is not None
    return max(abs(end - metric.bands.centre) for end in metric.domain)


def _largest_difference(metric: Metric) -> float:
    """How far apart two values of a metric can be."""
    smallest, largest = metric.domain
    return largest - smallest


def _make_difference(
    metric: Metric,
    linearised: Sequence[Linearised],
    value: float,
    ends: tuple[float, float],
    degrees: float = float("nan"),
    *,
    farthest: float | None = None,
) -> Estimate:
    """An estimate of a difference, which ends where differences end: of the metric, unless `farthest` says where."""
    items = int(linearised[0].weight.sum())
    nothing = float("nan")
    enough = all(has_enough(side, metric) for side in linearised)
    if np.isnan(value) or np.isnan(ends).any() or not enough:
        return Estimate(value=value, low=nothing, high=nothing, n=items)
    if farthest is None:
        farthest = _largest_difference(metric)
    low, high = clip_interval(value, ends[0], ends[1], (-farthest, farthest))
    return Estimate(value=value, low=low, high=high, n=items, degrees=degrees)


def _join_contrasts(
    contrasts: Sequence[Contrast], linearised: Sequence[Linearised]
) -> tuple[Contrasts, Contrasts, Array]:
    """The contrasts of both runs, on the same rows."""
    return join_sides([_split_contributions(side, contrasts) for side in linearised])


def _p_value_of_contrasts(contrasts: Sequence[Contrast], linearised: Sequence[Linearised]) -> float:
    first, second, weight = _join_contrasts(contrasts, linearised)
    if not np.isfinite(first.values).all() or not np.isfinite(second.values).all():
        return float("nan")
    tails = tail_beyond_zero(first, second, weight), tail_beyond_zero(second, first, weight)
    return min(1.0, 2 * min(tails))


def _contrast_interval(first: Contrasts, second: Contrasts, weight: Array) -> tuple[float, float]:
    if not np.isfinite(first.influence).all() or not np.isfinite(second.influence).all():
        return float("nan"), float("nan")
    low = lower_limit(first, second, weight, LEVEL)
    return low, -lower_limit(second, first, weight, LEVEL)


@dataclass(frozen=True)
class SideContrasts:
    """Contrasts of one run: what items add to them, and apart from that what the pseudo-item adds."""

    values: Array
    items: Array
    pseudo_influence: Array
    weight: Array
    pseudo_weight: Array


def _split_contributions(linearised: Linearised, contrasts: Sequence[Contrast]) -> SideContrasts:
    return _split_all(linearised.contrast(contrasts))


def _split_all(linearised: Linearised) -> SideContrasts:
    """The same for the metrics, or contrasts, that are there."""
    contributions = linearised.contributions()
    count = len(linearised.weight)
    return SideContrasts(
        values=linearised.values,
        items=contributions.influence[:count],
        pseudo_influence=contributions.influence[count:],
        weight=linearised.weight,
        pseudo_weight=contributions.weight[count:],
    )


def join_sides(sides: Sequence[SideContrasts]) -> tuple[Contrasts, Contrasts, Array]:
    """The contrasts of two runs on the same rows: items, then the pseudo-item of either run."""
    first, second = sides
    nothing_first = np.zeros((len(second.pseudo_influence), first.items.shape[1]))
    nothing_second = np.zeros((len(first.pseudo_influence), second.items.shape[1]))
    of_first = np.vstack([first.items, first.pseudo_influence, nothing_first])
    of_second = np.vstack([second.items, nothing_second, second.pseudo_influence])
    weight = np.concatenate([first.weight, first.pseudo_weight, second.pseudo_weight])
    return Contrasts(first.values, of_first), Contrasts(second.values, of_second), weight


# What the missing answers allow


@dataclass(frozen=True)
class PlannedSide:
    """One run on all planned items: its cells, and which answers are missing."""

    cells: CellTable
    answers: MissingAnswers | None

    @classmethod
    def make(cls, probe: Probe, table: pl.DataFrame, parameters: Parameters) -> PlannedSide:
        """Prepare the cells of all planned items."""
        answers = find_missing(probe, table, parameters)
        cells = answers.cells if answers else prepare_cells(probe, table, parameters)
        return cls(cells, answers)

    def fill(self, contrast: Contrast, side: float) -> CellTable:
        """The cells in which a contrast is as small, or as large, as the missing answers allow."""
        if self.answers is None:
            return self.cells
        return self.answers.fill(contrast, side)

    def extreme(self, contrasts: Sequence[Contrast], side: float) -> SideContrasts:
        """Each contrast as small, or as large, as the missing answers allow."""
        if self.answers is None:
            return _split_contributions(linearise(self.cells), contrasts)
        parts = []
        for contrast in contrasts:
            filled = linearise(self.fill(contrast, side))
            parts.append(_split_contributions(filled, [contrast]))
        return SideContrasts(
            values=np.concatenate([part.values for part in parts]),
            items=np.hstack([part.items for part in parts]),
            pseudo_influence=np.hstack([part.pseudo_influence for part in parts]),
            weight=parts[0].weight,
            pseudo_weight=parts[0].pseudo_weight,
        )


def add_bounds(compared: dict[str, MetricComparison], sides: Sequence[PlannedSide]) -> dict[str, MetricComparison]:
    """The same comparisons with what missing answers allow, for the marked metrics."""
    if all(side.answers is None for side in sides):
        return compared
    bounded = dict(compared)
    for metric in sides[0].cells.probe.metrics:
        if metric.bands is None or np.isnan(compared[metric.name].difference.value):
            continue
        names = [each.name for each in sides[0].cells.probe.all_metrics()]
        of_value = contrasts_of_value(metric, names)
        of_distance = contrasts_of_distance(metric, names)
        difference, p_value = _bound_maxima(sides, of_value)
        if len(of_value) == 1:
            p_value = _p_value_of_closest_fill(sides, of_value[0], difference)
        distance = difference
        if of_distance != of_value:
            distance, _ = _bound_maxima(sides, of_distance)
        answered = compared[metric.name]
        bounded[metric.name] = replace(
            answered,
            p=max(answered.p_answered, p_value),
            difference_bounds=_clip_bounds(difference, _largest_difference(metric)),
            distance_bounds=_clip_bounds(distance, _largest_distance(metric)),
        )
    return bounded


def _clip_bounds(bounds: Bounds, farthest: float) -> Bounds:
    """Bounds of a difference that end where differences end."""
    ends = [bounds.low, bounds.smallest, bounds.largest, bounds.high]
    low, smallest, largest, high = np.clip(ends, -farthest, farthest).tolist()
    return Bounds(low=low, high=high, smallest=smallest, largest=largest)


def _bound_maxima(sides: Sequence[PlannedSide], contrasts: Sequence[Contrast]) -> tuple[Bounds, float]:
    """Bounds of max(second) - max(first) for some contrasts, and the p-value that holds for every fill."""
    small = [side.extreme(contrasts, DOWN) for side in sides]
    large = [side.extreme(contrasts, UP) for side in sides]
    first_large, second_small, weight = join_sides([large[0], small[1]])
    first_small, second_large, other_weight = join_sides([small[0], large[1]])
    influences = [side.influence for side in (first_large, second_small, first_small, second_large)]
    if not all(np.isfinite(influence).all() for influence in influences):
        return UNKNOWN, 1.0
    low = lower_limit(first_large, second_small, weight, LEVEL)
    high = -lower_limit(second_large, first_small, other_weight, LEVEL)
    tails = (
        tail_beyond_zero(first_large, second_small, weight),
        tail_beyond_zero(second_large, first_small, other_weight),
    )
    bounds = Bounds(
        low=low,
        high=high,
        smallest=float(second_small.values.max() - first_large.values.max()),
        largest=float(second_large.values.max() - first_small.values.max()),
    )
    return bounds, min(1.0, 2 * min(tails))


def _p_value_of_closest_fill(
    sides: Sequence[PlannedSide],
    contrast: Contrast,
    difference: Bounds,
) -> float:
    """The p-value of a metric with the missing answers filled in so that the runs differ least.

    `difference` holds the bounds of the difference: if they hold 0, the runs may be equal.
    """
    if difference.smallest <= 0 <= difference.largest:
        return 1.0
    first, second = sides
    if difference.smallest > 0:
        filled = [first.fill(contrast, UP), second.fill(contrast, DOWN)]
    else:
        filled = [first.fill(contrast, DOWN), second.fill(contrast, UP)]
    linearised = [linearise(side) for side in filled]
    p_values = sign_flip_p_values(
        subtract(_difference_contributions(linearised, filled), [contrast]),
        linearised[0].weight,
    )
    contrasted = [side.contrast([contrast]) for side in linearised]
    return float(max(p_values[0], _find_difference_errors(contrasted, filled).p_values()[0]))
