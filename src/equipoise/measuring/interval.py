"""A metric with its interval, by Taylor linearisation: no replicates, no seed, the same on every machine.

A probe turns item i into a row of columns x_i; equal rows are one cell with a weight w; T = Σ w x are the totals, and a
metric is θ = f(T), f the probe's `measure`. Then

    influence     z_i = x_i · ∂f/∂T, by central differences: what the item adds to θ
    variance      V = Σ_s n_s/(n_s-1) Σ_i w_i z_i², over the strata s of the probe (most have one)
    interval      centre ± t_ν √V, ν = (ΣV_i)² / ΣV_i² degrees of freedom (Satterthwaite), at least 3

Before that, one item of unknown outcome is added to T: each of its K possible outcomes with mass 1/K, at the mean
covariates. The centre is f of these totals, and its scatter is part of V. For a single rate this is Agresti and Coull's
interval with one pseudo-item; for every other metric it keeps the interval open where few items happen to agree. The
value that is shown stays f(T), and the interval always holds it.

Where no item went to one side of all the others (no failure was seen), nothing scatters, and up to -ln 0.025 = 3.7
items in n may still do so: that end reaches at least 3.7 c from the value, c the change that one item can make (the
root mean square over items).
Each interval ends at the least and the largest value that the metric can have.

If each of N items was asked r times, and n of them are there, then for these prompts V = (1 - n/N) V + (n/N) Σ_i v_i,
v_i the variance of z_i over repetitions; with all items asked only the model's own wavering is left.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Metric, Parameters, Probe, Totals, share
from equipoise.measuring.calling import running
from equipoise.measuring.outcomes import ATTEMPTS, possible_outcomes
from equipoise.measuring.scatter import LEVEL, Spread, divide, find_reach, inflate
from equipoise.measuring.summarise import WEIGHT, number_strata, stack_columns, statistics
from equipoise.schema import NEITHER, Estimate, MetricKey

LEAST_ITEMS = 20
"""With fewer items that count for a metric it has no interval and no letter: they would not hold what they promise."""
LEAST_WORDS = 20
"""So much must each total have that a metric names as its `support`."""
SEEN = 0.02
"""A side was seen if an item went this share of the farthest possible way to it."""
STEP, OFF_TIES = 1e-8, 1e-6
"""The step of a derivative, as a share of its total; and how far the totals are moved apart before it is taken: where
two groups are level, the larger one is not defined."""
Places = NDArray[np.int64]
"""The places of some cells in their table."""


@dataclass(frozen=True, kw_only=True)
class CellTable:
    """Cells ready to be measured: columns to be totalled, weights, and what an unknown item could have said."""

    probe: Probe
    parameters: Parameters
    names: Sequence[str]
    columns: Array
    weight: NDArray[np.int64]
    decided: NDArray[np.bool_]
    """Whether any answer to the items of the cell decides something."""
    stratum: NDArray[np.int64]
    outcomes: Array
    """The columns of each cell for each possible outcome: outcome, cell, column."""
    mass: float
    """How many pseudo-items there are: one; for answers that count many words, one word of each kind."""
    said: Array
    """Arm, label, cell: how often the answers had each label; no arm where that says nothing of wavering."""
    means: Array
    """Arm, label, outcome: the weights of a mean over the possible outcomes in which the arm has the label."""

    def take(self, places: Places) -> CellTable:
        """Some of the cells, in this order."""
        return replace(
            self,
            columns=self.columns[places],
            weight=self.weight[places],
            decided=self.decided[places],
            stratum=self.stratum[places],
            outcomes=self.outcomes[:, places],
            said=self.said[:, :, places],
        )

    def share_of(self, population: int | None) -> float:
        """The share of a population of items that is there; 0 where that is not known."""
        return min(1.0, int(self.weight.sum()) / population) if population else 0.0


@dataclass(frozen=True, kw_only=True)
class Linearised:
    """The metrics of some cells, and what each item adds to them."""

    names: list[str]
    values: Array
    """The metrics as they are shown,"""
    centres: Array
    """and those of the totals with the pseudo-item, without limits to slopes."""
    total: dict[str, float]
    gradient: Array
    """Column, metric."""
    z: Array
    """Cell, metric: the influence of one item of the cell."""
    possible_z: Array
    """Outcome, cell, metric: what it would be with each possible outcome."""
    weight: Array
    items: float
    """How many items are decided."""
    scale: Array
    """n/(n-1) of the stratum of each cell."""
    pseudo: Array
    """The mass of the pseudo-item in each cell, for each of its outcomes,"""
    mass: float
    """and in all."""

    def scatter(self, places: Sequence[int] | slice = slice(None)) -> Spread:
        """What the items add to some metrics, one row per cell, and then the pseudo-item.

        Of the pseudo-item, which is one observation, each metric has mass · z²: so it counts in the degrees of freedom.
        """
        items = np.sqrt(self.scale)[:, None] * self.z[:, places]
        unknown = np.sqrt(self.mass) * self.possible_z[:, :, places]
        weights = [self.weight, *[self.pseudo / self.mass] * len(self.possible_z)]
        return Spread(np.concatenate([items, *unknown]), np.concatenate(weights))


def measure_totals(probe: Probe, total: Totals, parameters: Parameters) -> dict[str, Array]:
    """The probe's metrics from totals and, where answers have labels, how much was not detected."""
    with running(probe, "measure"):
        values = dict(probe.measure(total, parameters))
    if probe.detector.labels:
        values["undetected_rate_attempts"] = share(total["undetected"], total[ATTEMPTS])
        values["undetected_rate_items"] = share(total["undetected_items"], total["items"])
    for label in probe.detector.counted_labels:
        values[f"{label}_rate"] = share(total[f"read_as_{label}"], total[ATTEMPTS])
    for suffix in probe.masses:
        values[f"{NEITHER}_mass{suffix}"] = share(total[f"{NEITHER}_mass{suffix}"], total[f"{ATTEMPTS}{suffix}"])
    return values


def prepare_cells(probe: Probe, table: pl.DataFrame, parameters: Parameters) -> CellTable:
    """The statistics of cells, as they are and for each possible outcome."""
    columns = statistics(probe, table, parameters)
    ways, tables = possible_outcomes(probe, table)
    decided = pl.sum_horizontal(f"{prefix}{name}" for prefix in probe.prefixes for name in probe.detector.outcomes) > 0
    labels = probe.detector.labels if ways and not (probe.detector.number or probe.detector.by_probability) else ()
    arms = probe.prefixes if labels else []
    said = np.array([[table[f"{arm}{label}"].to_numpy() for label in labels] for arm in arms], dtype=np.float64)
    said = said.reshape(len(arms), len(labels), table.height)
    belongs = np.array([[[way[arm] == label for way in ways] for label in labels] for arm in arms], dtype=np.float64)
    return CellTable(
        probe=probe,
        parameters=parameters,
        names=columns.columns,
        columns=columns.to_numpy(),
        weight=table[WEIGHT].to_numpy(),
        decided=table.select(decided).to_series().to_numpy(),
        stratum=number_strata(probe, table),
        outcomes=stack_columns(probe, tables, parameters) if tables else np.zeros((0, *columns.shape)),
        mass=1 / max(1.0, _count_words(probe, table)),
        said=said,
        means=divide(belongs, belongs.sum(axis=-1, keepdims=True), 0.0),
    )


def _count_words(probe: Probe, table: pl.DataFrame) -> float:
    """How many words of each kind an item has that has any, where answers are counts."""
    pairs = probe.detector.opposites if probe.detector.counts else ()
    if not pairs:
        return 0.0
    words = pl.sum_horizontal(f"{prefix}{name}" for prefix in probe.prefixes for pair in pairs for name in pair)
    found, items = table.select((words * pl.col(WEIGHT)).sum(), pl.col(WEIGHT).filter(words > 0).sum()).row(0)
    return float(found) / (items * len(pairs)) if items else 0.0


def linearise(cells: CellTable) -> Linearised:
    """The metrics of cells, and the influence of each cell on them."""
    probe, parameters = cells.probe, cells.parameters
    names = [metric.name for metric in probe.all_metrics()]
    weight = cells.weight.astype(np.float64)
    counted = weight * cells.decided
    strata, stratum = np.unique(cells.stratum, return_inverse=True)
    items: Array = np.bincount(stratum, weights=counted, minlength=len(strata)).astype(np.float64)
    # Each stratum has a part of the pseudo-item: a whole one would swamp the few items there.
    part = cells.mass / max(1, int((items > 0).sum())) / max(1, len(cells.outcomes))
    pseudo = divide(counted * part, items[stratum], 0.0)
    total = weight @ cells.columns
    plain = measure_totals(probe, Totals(cells.names, total[None]), parameters)
    unknown = np.einsum("c,kcj->j", pseudo, cells.outcomes)
    centres, gradient = differentiate(probe, cells.names, total + unknown, parameters)
    return Linearised(
        names=names,
        values=np.array([float(plain[name][0]) for name in names]),
        centres=centres,
        total=dict(zip(cells.names, total.tolist(), strict=True)),
        gradient=gradient,
        z=cells.columns @ gradient,
        possible_z=cells.outcomes @ gradient,
        weight=weight,
        items=float(items.sum()),
        scale=inflate(counted, stratum),
        pseudo=pseudo,
        mass=cells.mass,
    )


def differentiate(probe: Probe, names: Sequence[str], total: Array, parameters: Parameters) -> tuple[Array, Array]:
    """All metrics at some totals, with slopes free, and their derivatives: column, metric."""
    moved = total * (1 + OFF_TIES * np.linspace(0, 1, len(total)))
    steps = STEP * np.maximum(np.abs(total), 1.0)
    rows = np.vstack([total, moved + np.diag(steps), moved - np.diag(steps)])
    around = measure_totals(probe, Totals(names, rows, free=True), parameters)
    found = np.array([around[metric.name] for metric in probe.all_metrics()])
    up, down = np.split(found[:, 1:], 2, axis=1)
    return found[:, 0], ((up - down) / (2 * steps)).T


def estimate_groups(
    cells: CellTable, rows: pl.DataFrame, planned: pl.DataFrame, level: float = LEVEL, share_asked: float = 0.0
) -> dict[MetricKey, Estimate]:
    """Every metric of all items and of each group of each slice that was planned; `rows` are those of the cells."""
    groups: dict[tuple[str | None, str | None], Places] = {(None, None): np.arange(rows.height)}
    for column in cells.probe.slices:
        for value in planned[column].drop_nulls().unique().sort():
            groups[column, str(value)] = np.flatnonzero((rows[column] == value).fill_null(value=False).to_numpy())
    return {
        MetricKey(name, column, group): estimate
        for (column, group), members in groups.items()
        for name, estimate in estimate_cells(cells.take(members), level, share_asked).items()
    }


def estimate_cells(cells: CellTable, level: float = LEVEL, share_asked: float = 0.0) -> dict[str, Estimate]:
    """Every metric of these cells with its interval.

    `share_asked` is the share of all items that is there, where each was asked several times; else 0.
    """
    found = linearise(cells)
    scatter = found.scatter()
    plain = scatter.reach(level), 1.0
    blended = _blend_wavering(found, cells, scatter, share_asked, level) or plain
    down, up = _silent_reach(found, found.z, found.possible_z, level)
    metrics = {metric.name: metric for metric in cells.probe.all_metrics()}

    def estimate(metric: Metric) -> Estimate:
        place = found.names.index(metric.name)
        value, n = float(found.values[place]), min(int(found.total[name]) for name in metric.denominators)
        low = high = math.nan
        reach, answers = plain if metric.of_pairs else blended
        if metric.distance_of:
            name, centre = metric.distance_of
            of = estimate(metrics[name])
            low, high = fold(of.low - centre, of.high - centre)
        elif has_enough(found, metric) and metric.range_of:
            reach_of_range = _range_reach(found, metric.range_of, level)
            low, high = value - reach_of_range, value + reach_of_range
        elif has_enough(found, metric):
            low = min(found.centres[place] - reach[place], value - down[place] / answers)
            high = max(found.centres[place] + reach[place], value + up[place] / answers)
        return make_estimate(metric, value, low, high, n)

    return {name: estimate(metric) for name, metric in metrics.items()}


def make_estimate(metric: Metric, value: float, low: float, high: float, n: int) -> Estimate:
    """An estimate whose interval holds the value and ends where the metric does; without an interval if that is NaN."""
    if math.isnan(low) or math.isnan(high):
        return Estimate(value=value, low=math.nan, high=math.nan, n=n)
    least, most = metric.extremes
    return Estimate(value=value, low=float(min(max(low, least), value)), high=float(max(min(high, most), value)), n=n)


def has_enough(found: Linearised, metric: Metric) -> bool:
    """Whether a metric rests on enough items, each of its parts on two, and on enough words where it names any."""
    place = found.names.index(metric.name)
    # An item of which nothing was read could have said anything, and says nothing.
    possible = np.where(found.pseudo > 0, np.abs(found.possible_z[:, :, place]).max(axis=0, initial=0.0), 0.0)
    counts = np.maximum(np.abs(found.z[:, place]), possible) > 0
    counting = found.weight[counts].sum() if possible.any() else found.items
    return bool(
        counting >= LEAST_ITEMS
        and all(found.total[name] >= 2 for name in metric.denominators)
        and all(found.total[name] >= LEAST_WORDS for name in metric.support)
        and np.isfinite([found.values[place], found.centres[place], *found.gradient[:, place]]).all()
    )


def _blend_wavering(
    found: Linearised, cells: CellTable, scatter: Spread, share_asked: float, level: float
) -> tuple[Array, float] | None:
    """How far intervals reach where all items, or a part of them, were asked several times; None elsewhere.

    What is known of such items is their own wavering. With it comes how many items one silent item counts for.
    """
    answers = cells.said.sum(axis=1)
    # That several prompts of an arm say different things is not the wavering of one.
    if not share_asked or not answers.size or answers.max() > cells.parameters["repeat"]:
        return None
    within = np.zeros_like(found.z)
    for said, means in zip(cells.said, cells.means, strict=True):
        shares, effects = said / np.maximum(said.sum(axis=0), 1), np.tensordot(means, found.possible_z, axes=1)
        mean = np.einsum("lc,lcm->cm", shares, effects)
        spread = np.einsum("lc,lcm->cm", shares, effects**2) - mean**2
        within += np.maximum(spread, 0.0) / np.maximum(said.sum(axis=0) - 1, 1)[:, None]
    known = (answers != 1).all(axis=0) & cells.decided
    several = float(found.weight[known].sum())
    if not several or 2 * several < found.items:
        return None
    each = float(found.weight[known] @ answers.mean(axis=0)[known]) / several
    squares, items = scatter.z**2, len(known)
    squares[:items] *= 1 - share_asked
    squares[:items] += share_asked * known[:, None] * found.items / several * within
    squares[items:] *= 1 - share_asked + share_asked / each**2
    return find_reach(squares, scatter.weight, level), 1 / (1 - share_asked + share_asked / each)


def _silent_reach(found: Linearised, z: Array, possible_z: Array, level: float) -> tuple[Array, Array]:
    """How far each interval must reach down and up because no item went there; 0 where one did."""
    there = found.pseudo > 0
    if not there.any() or not len(possible_z):
        return np.zeros(z.shape[1]), np.zeros(z.shape[1])
    z, possible_z, weight = z[there], possible_z[:, there], found.weight[there]
    # What the detector left open is not among the outcomes.
    possible = np.where(possible_z.any(axis=(0, 1)), possible_z, 1 / found.items)
    # Without the pseudo-item, which makes every change smaller.
    most = -math.log((1 - level) / 2) * (1 + len(possible_z) * found.pseudo.sum() / found.items)
    reaches = []
    for sign, farthest in ((-1.0, possible.min(axis=0)), (1.0, possible.max(axis=0))):
        change = np.sqrt(weight @ (farthest - z) ** 2 / weight.sum())
        silent = (sign * z).max(axis=0) <= SEEN * (sign * farthest).max(axis=0)
        reaches.append(np.where(silent, most * change, 0.0))
    return reaches[0], reaches[1]


def _range_reach(found: Linearised, names: Sequence[str], level: float) -> float:
    """How far the interval of the largest difference between some metrics reaches: as far as such ranges scatter."""
    places = [found.names.index(name) for name in names]
    one, other = np.array(list(itertools.combinations(places, 2))).T
    gaps = found.z[:, one] - found.z[:, other], found.possible_z[:, :, one] - found.possible_z[:, :, other]
    by_chance = float(np.quantile(np.ptp(found.scatter(places).draw(level), axis=1), level))
    return max(by_chance, *map(float, np.ravel(_silent_reach(found, *gaps, level))))


def fold(low: float, high: float) -> tuple[float, float]:
    """The least and the largest distance from 0 of an interval."""
    return 0.0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
