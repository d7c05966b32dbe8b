"""A metric with its interval, by Taylor linearisation: without resampling and without a seed.

With x_i the columns of item i, w how many items are like it, T = Σ w x, and a metric θ = f(T):

    influence     z_i = x_i · ∂f/∂T: what the item adds to θ
    variance      V = Σ_s n_s/(n_s-1) Σ_i w_i z_i², over the strata s of the probe (most have one)
    interval      centre ± t_ν √V, with Satterthwaite's degrees of freedom ν, at least 4

Before that, one item of unknown outcome (a pseudo-item) is added to T: each of its K possible outcomes
with mass 1/K, at the mean covariates. The centre is f of these totals, and what the pseudo-item adds
is part of V. For a single rate this is Agresti and Coull's interval with one pseudo-item; for every
other metric it keeps the interval open where few items happen to agree. The value that is shown stays
f(T), and the interval always holds it.

Where no item went to one side of all the others, nothing varies, and up to -ln 0.025 = 3.7 of n items
may still do so (the rule of three): that end is at least 3.7 c from the value, with c the change
that one item can make (the root mean square over items). Of answers that are numbers, one item can
change as far as the detector declares that two answers to it may be apart, and a side was seen only if
an item went at least that far: small differences do not rule out rare large ones.

If each of N items was asked r times, and n of them are there, then for these prompts (with the finite
population correction) V = (1 - n/N) V_items + (n/N) Σ_i v_i, with v_i the variance of z_i over
repetitions. With all items asked, only the wavering of the model itself is left.

The range of some rates is the largest difference between two of them: `equipoise.stats.contrasts`
says how its limits follow from those of the differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Metric, Totals
from equipoise.detect.detector import Number
from equipoise.measuring.cells import CellTable, Places, measure_totals
from equipoise.measuring.contrasts import Contrast, contrasts_of_value, subtract
from equipoise.measuring.summarise import WEIGHT
from equipoise.schema import MIN_ITEMS, MIN_WORDS, Estimate, MetricKey
from equipoise.stats.contrasts import count_candidates
from equipoise.stats.influence import differentiate
from equipoise.stats.intervals import (
    LEVEL,
    clip_interval,
    fold,
    item_degrees,
    student_quantile,
    zero_count_changes,
    zero_count_margin,
)
from equipoise.stats.variance import (
    Contributions,
    divide,
    finite_population_squares,
    repetition_variance,
    stratum_factors,
    variance,
)

MIN_SEEN_SHARE = 0.02
"""A side counts as seen if the influence of an item reaches this share of the largest possible one."""
MIN_SEEN_SHARE_OF_NUMBERS = 0.5
"""The same where answers are numbers: that they vary a little does not show how far one item can go.

The largest possible influence is then that of the farthest item and the declared distance on top: a half
means that this item went at least the declared distance itself."""
SYMMETRY = 1e-3
"""Changes both ways that differ by less than this share are equal but for rounding."""
ROUNDING = 1e-6
"""Influences smaller than this share of an item are rounding errors of derivatives."""


@dataclass(frozen=True, kw_only=True)
class Linearised:
    """The metrics of some cells, and what each item adds to them."""

    names: list[str]
    values: Array
    """The metrics as they are shown."""
    centres: Array
    """The metrics of the totals with the pseudo-item, without limits to slopes."""
    total: dict[str, float]
    gradient: Array
    """Column, metric."""
    influence: Array
    """Cell, metric: what one item of the cell adds."""
    outcome_influence: Array
    """Outcome, cell, metric: what an item would add with each possible outcome."""
    weight: Array
    whole: NDArray[np.bool_]
    """Whether every planned answer to the items of a cell was classified."""
    items: float
    """How many items have a classified answer."""
    factors: Array
    """n/(n-1) of the stratum of each cell."""
    pseudo_weight: Array
    """The mass of the pseudo-item in each cell, for each of its outcomes."""
    pseudo_mass: float

    def place(self, name: str) -> int:
        """The column of a metric."""
        return self.names.index(name)

    def contributions(self) -> Contributions:
        """What the items add to each metric, and then what the pseudo-item adds.

        The pseudo-item is one observation: its rows add mass · z², and count as such in the degrees of
        freedom.
        """
        items = np.sqrt(self.factors)[:, None] * self.influence
        unknown = np.sqrt(self.pseudo_mass) * self.outcome_influence
        of_unknown = [self.pseudo_weight / self.pseudo_mass] * len(unknown)
        weights = np.concatenate([self.weight, *of_unknown])
        return Contributions(np.concatenate([items, *unknown]), weights)

    def contrast(self, contrasts: Sequence[Contrast]) -> Linearised:
        """The same for contrasts of the metrics, in the place of the metrics."""
        return replace(
            self,
            values=subtract(self.values, contrasts) + [each.constant for each in contrasts],
            centres=subtract(self.centres, contrasts) + [each.constant for each in contrasts],
            gradient=subtract(self.gradient, contrasts),
            influence=subtract(self.influence, contrasts),
            outcome_influence=subtract(self.outcome_influence, contrasts),
        )


def linearise(cells: CellTable) -> Linearised:
    """The metrics of cells, and what each cell adds to them."""
    names = [metric.name for metric in cells.probe.all_metrics()]
    weight = cells.weight.astype(np.float64)
    counted = weight * cells.decided
    strata, stratum = np.unique(cells.stratum, return_inverse=True)
    items = np.bincount(stratum, weights=counted, minlength=len(strata)).astype(np.float64)
    # Each stratum has a part of the pseudo-item: a whole one would outweigh the few items there.
    strata_with_items = max(1, int((items > 0).sum()))
    part = cells.pseudo_mass / strata_with_items / max(1, len(cells.outcomes))
    pseudo_weight = divide(counted * part, items[stratum], 0.0)
    total = weight @ cells.columns
    plain = measure_totals(cells.probe, Totals(cells.names, total[None]), cells.parameters)
    unknown = np.einsum("c,kcj->j", pseudo_weight, cells.outcomes)
    centres, gradient = differentiate_metrics(cells, total + unknown)
    return Linearised(
        names=names,
        values=np.array([float(plain[name][0]) for name in names]),
        centres=centres,
        total=dict(zip(cells.names, total.tolist(), strict=True)),
        gradient=gradient,
        influence=cells.columns @ gradient,
        outcome_influence=cells.outcomes @ gradient,
        weight=weight,
        whole=cells.whole,
        items=float(items.sum()),
        factors=stratum_factors(counted, stratum),
        pseudo_weight=pseudo_weight,
        pseudo_mass=cells.pseudo_mass,
    )


def differentiate_metrics(cells: CellTable, total: Array) -> tuple[Array, Array]:
    """All metrics at some totals, with slopes free, and their derivatives: column, metric."""
    names = [metric.name for metric in cells.probe.all_metrics()]

    def measure(rows: Array) -> Array:
        values = measure_totals(cells.probe, Totals(cells.names, rows, free=True), cells.parameters)
        return np.array([values[name] for name in names])

    return differentiate(measure, total)


@dataclass(frozen=True, kw_only=True)
class Errors:
    """The errors of linear combinations of metrics."""

    standard_error: Array
    degrees: Array
    below: Array
    """What one item can change downwards, if none was seen to go there; else 0."""
    above: Array

    def half_width(self, level: float) -> Array:
        """How far intervals reach from their centres: t √V."""
        return student_quantile(self.degrees, level) * self.standard_error

    def margins(self, level: float) -> tuple[Array, Array]:
        """How far intervals must reach below and above their values."""
        margin = zero_count_margin(level)
        return margin * self.below, margin * self.above


def find_errors(linearised: Linearised, cells: CellTable, share_asked: float = 0.0) -> Errors:
    """The errors of metrics, or of contrasts of them.

    `share_asked` is the share of all items that have answers, if items are asked several times; else 0.
    """
    contributions = linearised.contributions()
    squares = _square_influences(contributions.influence, linearised.items)
    answers_per_item = 1.0
    if share_asked:
        corrected = _correct_for_finite_population(linearised, cells, squares, share_asked)
        if corrected is not None:
            squares, answers_per_item = corrected
    total, degrees = variance(squares, contributions.weight)
    below, above = find_unseen_changes(linearised, cells.probe.detector.number)
    return Errors(
        standard_error=np.sqrt(total),
        degrees=item_degrees(degrees),
        below=below / answers_per_item,
        above=above / answers_per_item,
    )


def _square_influences(influence: Array, items: float) -> Array:
    """The squares of influences, with 0 for rounding errors: these depend on the processor, and so would degrees."""
    is_rounding = np.abs(influence) < ROUNDING / max(items, 1.0)
    return np.asarray(np.where(is_rounding, 0.0, influence**2))


def _correct_for_finite_population(
    linearised: Linearised, cells: CellTable, squares: Array, share_asked: float
) -> tuple[Array, float] | None:
    """What items add to the variance for these prompts, where a share of all was asked several times each.

    The second value divides the margins of the rule of three. None if repetitions do not allow an estimate.
    """
    answers = cells.label_counts.sum(axis=1)
    # That several prompts of an arm say different things is not the wavering of one prompt.
    if not answers.size or answers.max() > cells.parameters["repeat"]:
        return None
    within = np.zeros_like(linearised.influence)
    for counts, weights in zip(cells.label_counts, cells.outcome_weights, strict=True):
        effects = np.tensordot(weights, linearised.outcome_influence, axes=1)
        within += repetition_variance(counts, effects)
    asked_again = (answers != 1).all(axis=0) & cells.decided
    items_asked_again = float(linearised.weight[asked_again].sum())
    if not items_asked_again or 2 * items_asked_again < linearised.items:
        return None
    mean_answers = linearised.weight[asked_again] @ answers.mean(axis=0)[asked_again]
    repetitions = float(mean_answers) / items_asked_again
    # Items with one answer say nothing of their repetitions: those asked again stand for them.
    scaled = asked_again[:, None] * (linearised.items / items_asked_again) * within
    items = len(asked_again)
    of_items = finite_population_squares(squares[:items], scaled, share_asked)
    # The pseudo-item is one observation: one of r answers, if all items were asked.
    of_pseudo_item = finite_population_squares(squares[items:], squares[items:] / repetitions**2, share_asked)
    answers_per_item = 1 / (1 - share_asked + share_asked / repetitions)
    return np.concatenate([of_items, of_pseudo_item]), answers_per_item


def find_unseen_changes(linearised: Linearised, number: Number | None) -> tuple[Array, Array]:
    """What one item can change downwards and upwards, where no item was seen to go there; else 0.

    Only items count as seen of which all answers were classified: what is left of a pair goes to one side
    because the rest is missing, and a missing answer that is filled in was not seen at all.
    """
    has_answers = linearised.pseudo_weight > 0
    if not has_answers.any() or not len(linearised.outcome_influence):
        return np.zeros_like(linearised.values), np.zeros_like(linearised.values)
    influence = linearised.influence[has_answers]
    possible_influence = linearised.outcome_influence[:, has_answers]
    weight = linearised.weight[has_answers]
    whole = linearised.whole[has_answers]
    # No outcome changes how many answers are classified: there, an item counts 1/n either way.
    one_item = 1 / linearised.items
    changes_nothing = np.abs(possible_influence).max(axis=(0, 1)) < ROUNDING * one_item
    lowest = np.where(changes_nothing, -one_item, possible_influence.min(axis=0))
    highest = np.where(changes_nothing, one_item, possible_influence.max(axis=0))
    is_number = np.zeros(len(changes_nothing), dtype=bool)
    stretch = np.ones(len(changes_nothing))
    if number is not None and whole.any():
        follows = _follows_numbers(influence[whole], lowest[whole], highest[whole])
        is_number = follows & ~changes_nothing
        # Unknown items go half a spread up or down, but two answers to one item can be farther apart.
        stretch[is_number] = number.farthest / number.spread
    min_seen_share = np.where(is_number, MIN_SEEN_SHARE_OF_NUMBERS, MIN_SEEN_SHARE)
    lowest = influence + stretch * (lowest - influence)
    highest = influence + stretch * (highest - influence)
    below, above = zero_count_changes(influence, lowest, highest, weight, whole, min_seen_share)
    # The pseudo-item makes every change smaller: undo that.
    rescale = 1 + len(possible_influence) * linearised.pseudo_weight.sum() / linearised.items
    return rescale * below, rescale * above


def _follows_numbers(influence: Array, lowest: Array, highest: Array) -> NDArray[np.bool_]:
    """Which metrics change in proportion to the numbers of answers: those that change alike both ways."""
    changes = highest - lowest
    largest = changes.max(axis=0, initial=0.0)
    is_symmetric = np.abs(highest + lowest - 2 * influence) <= SYMMETRY * changes
    is_negligible = changes <= ROUNDING * largest
    return np.asarray((is_symmetric | is_negligible).all(axis=0) & (largest > 0))


def lower_ends(linearised: Linearised, errors: Errors, level: float) -> Array:
    """The lower ends of the intervals of metrics, or of contrasts of them."""
    below, _ = errors.margins(level)
    return np.minimum(linearised.centres - errors.half_width(level), linearised.values - below)


def upper_ends(linearised: Linearised, errors: Errors, level: float) -> Array:
    """The upper ends of the same."""
    _, above = errors.margins(level)
    return np.maximum(linearised.centres + errors.half_width(level), linearised.values + above)


def estimate_groups(
    cells: CellTable,
    rows: pl.DataFrame,
    planned: pl.DataFrame,
    level: float = LEVEL,
    population: int | None = None,
) -> dict[MetricKey, Estimate]:
    """Every metric over all items and over each group of each slice that was planned.

    `rows` are those of the cells, in the same order; `planned` are the cells of all planned items. Each
    group has as large a part in a population of items as in the plan.
    """
    estimates = {}

    def add(key: tuple[str | None, str | None], members: Places, planned_share: float) -> None:
        part = cells.take(members)
        share_asked = part.share_of(population and population * planned_share)
        for name, estimate in estimate_cells(part, level, share_asked).items():
            estimates[MetricKey(name, *key)] = estimate

    add((None, None), np.arange(rows.height), 1.0)
    weights = float(planned[WEIGHT].sum())
    for column in cells.probe.slices:
        for value in planned[column].drop_nulls().unique().sort():
            belongs = (rows[column] == value).fill_null(value=False).to_numpy()
            planned_share = float(planned.filter(pl.col(column) == value)[WEIGHT].sum()) / weights
            add((column, str(value)), np.flatnonzero(belongs), planned_share)
    return estimates


def estimate_cells(cells: CellTable, level: float = LEVEL, share_asked: float = 0.0) -> dict[str, Estimate]:
    """Every metric of these cells with its interval."""
    linearised = linearise(cells)
    estimates: dict[str, Estimate] = {}
    metrics = cells.probe.all_metrics()
    # A distance comes after what it is the distance of.
    for metric in sorted(metrics, key=lambda metric: metric.distance_of is not None):
        ends: Ends | None = None
        if metric.distance_of:
            base, centre = metric.distance_of
            ends = _fold_around(estimates[base], centre)
        elif has_enough(linearised, metric):
            contrasts = contrasts_of_value(metric, linearised.names)
            share = 0.0 if metric.of_pairs else share_asked
            ends = _interval(linearised, cells, contrasts, level, share)
        estimates[metric.name] = make_estimate(linearised, metric, ends)
    return {metric.name: estimates[metric.name] for metric in metrics}


Ends = tuple[float, float, float]
"""The lower and the upper end of an interval, and its degrees of freedom."""


def _fold_around(estimate: Estimate, centre: float) -> Ends | None:
    if math.isnan(estimate.low):
        return None
    low, high = fold(estimate.low - centre, estimate.high - centre)
    return low, high, estimate.degrees


def _interval(
    linearised: Linearised, cells: CellTable, contrasts: Sequence[Contrast], level: float, share_asked: float
) -> Ends:
    """The interval of the largest of some contrasts: of one contrast, its own interval."""
    contrasted = linearised.contrast(contrasts)
    errors = find_errors(contrasted, cells, share_asked)
    candidates = count_candidates(contrasted.values, gaps_to_largest(contrasted))
    low = lower_ends(contrasted, errors, 1 - (1 - level) / candidates).max()
    high = upper_ends(contrasted, errors, level).max()
    return float(low), float(high), float(errors.degrees.min())


def gaps_to_largest(linearised: Linearised) -> Array:
    """The standard errors of the gaps between the largest of some contrasts and each of them."""
    if len(linearised.values) == 1:
        return np.zeros(1)
    largest = int(np.argmax(linearised.values))
    places = range(len(linearised.values))
    gaps = linearised.contrast([Contrast(largest, place) for place in places]).contributions()
    total, _ = variance(gaps.influence**2, gaps.weight)
    return np.asarray(np.sqrt(total))


def make_estimate(linearised: Linearised, metric: Metric, ends: Ends | None) -> Estimate:
    """An estimate whose interval holds the value and ends where the metric does."""
    value = float(linearised.values[linearised.place(metric.name)])
    items = min(round(linearised.total[name]) for name in metric.denominators)
    if ends is None or math.isnan(ends[0]) or math.isnan(ends[1]):
        return Estimate(value=value, low=math.nan, high=math.nan, n=items, degrees=math.nan)
    low, high, degrees = ends
    low, high = clip_interval(value, low, high, metric.domain)
    return Estimate(value=value, low=low, high=high, n=items, degrees=degrees)


def has_enough(linearised: Linearised, metric: Metric) -> bool:
    """Whether a metric rests on enough items and words for an interval, each part of it on two items."""
    place = linearised.place(metric.name)
    # An item of which nothing was classified could have said anything, and says nothing.
    possible = np.abs(linearised.outcome_influence[:, :, place]).max(axis=0, initial=0.0)
    possible = np.where(linearised.pseudo_weight > 0, possible, 0.0)
    counts = np.maximum(np.abs(linearised.influence[:, place]), possible) > 0
    items = linearised.items
    if possible.any():
        items = float(linearised.weight[counts].sum())
    numbers = [linearised.values[place], linearised.centres[place], *linearised.gradient[:, place]]
    return bool(
        items >= MIN_ITEMS
        and all(linearised.total[name] >= 2 for name in metric.denominators)
        and all(linearised.total[name] >= MIN_WORDS for name in metric.support)
        and np.isfinite(numbers).all()
    )
