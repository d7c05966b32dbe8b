"""Two sets of answers to the same items: paired differences, and a test by signs that both share.

The difference of a metric has the influence d_i = z_B,i - z_A,i, so its interval is value ± t_ν √(n/(n-1) Σd²).

The p-value asks how often two runs of one model differ as much. Then each item's part of the difference could as well
have the other sign. Signs ε = ±1 are drawn for whole items, the same for both runs: θ*_A = θ + Σ ε z_A and
θ*_B = θ + Σ ε z_B, with influences at what both runs have in common; p is the share of draws in which |θ*_B - θ*_A| is
as large as observed. Nothing is exchanged between the runs, so it does not matter if they miss different answers or
were asked more or less often. Ranges and distances are computed from their parts in each draw. The signs come from a
fixed seed; with very many items their sums are normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import polars as pl

from equipoise.authoring import Array, Bands, Metric
from equipoise.measuring.interval import CellTable, Linearised, differentiate, has_enough, linearise, prepare_cells
from equipoise.measuring.plan import Setup
from equipoise.measuring.scatter import DRAWS, LEVEL, Spread, draw_normal
from equipoise.measuring.summarise import WEIGHT, is_answered
from equipoise.schema import ITEM, Estimate

MOST_SIGNS = 20_000
"""With more items, sums of signs are drawn as normal values."""


class Verdict(StrEnum):
    """How the second audit does beside the first, by a marked metric."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    """The values differ clearly, and their distances from even-handed do not: it leans the other way, say."""
    UNCLEAR = "no clear difference"
    NOT_COMPUTABLE = "not computable"


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """A metric of two audits on the prompts both answered. The difference is second minus first."""

    metric: str
    first: float
    second: float
    difference: Estimate
    p: float
    distance: Estimate | None = None
    """How much farther from even-handed the second is, for a marked metric."""
    p_holm: float | None = None
    """The p-value, corrected over the marked metrics of all probes, and of all pairs that are compared together."""
    verdict: Verdict | None = None
    """None where the metric is not marked."""
    detectable: float | None = None
    """The smallest difference that 4 of 5 comparisons like this one would find clear, after the correction."""


def paired_differences(setup: Setup, first: pl.DataFrame, second: pl.DataFrame) -> dict[str, MetricComparison]:
    """Compare two tables of item rows on their common items: every metric of the probe, without slices."""
    probe, parameters = setup.probe, setup.parameters
    # Clusters do not tell items apart here: with them, hardly any two items would be equal.
    clusters = [name for name in probe.clusters if name not in probe.covariates]
    first, second = (rows.filter(is_answered(probe)).drop(clusters, strict=False) for rows in (first, second))
    names = [name for name in first.columns if name != ITEM]
    pairs = first.join(second.rename({name: f"second.{name}" for name in names}), on=ITEM).drop(ITEM)
    # Equal pairs of rows are one cell with a weight, in an order that depends only on them.
    pairs = pairs.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias(WEIGHT)).sort(pl.exclude(WEIGHT))
    seconds = pairs.select(*(pl.col(f"second.{name}").alias(name) for name in names), WEIGHT)
    sides = [prepare_cells(probe, side, parameters) for side in (pairs.select(*names, WEIGHT), seconds)]
    return compare_cells(sides)


def compare_cells(sides: Sequence[CellTable]) -> dict[str, MetricComparison]:
    """Compare two tables of cells of the same items."""
    found = [linearise(side) for side in sides]
    scale = np.maximum(found[0].scale, found[1].scale)
    found = [replace(side, scale=scale) for side in found]
    signed = _signed_metrics(found, _common_influences(sides), sides)
    different = int(sides[0].weight[(sides[0].columns != sides[1].columns).any(axis=1)].sum())
    differences = {}
    for metric in sides[0].probe.all_metrics():
        first, second = (float(side.values[side.names.index(metric.name)]) for side in found)
        differences[metric.name] = MetricComparison(
            metric=metric.name,
            first=first,
            second=second,
            difference=_interval(metric, found),
            p=_p_value(_combine(metric, found[0].names, signed), different),
            distance=_interval(metric, found, metric.bands) if metric.bands else None,
        )
    return differences


def _common_influences(sides: Sequence[CellTable]) -> list[Array]:
    """The influences on both sides at the totals that they have if there is no difference.

    An item that was answered as often in both runs has the mean of what was said; any other its own. What was said is
    in the columns that differ between possible outcomes; the others say how much was answered.
    """
    said = np.ones(len(sides[0].names), dtype=bool)
    if outcomes := [side.outcomes for side in sides if len(side.outcomes)]:
        said = np.asarray(np.sum([np.ptp(side, axis=0).sum(axis=0) for side in outcomes], axis=0) > 0)
    first, second = (side.columns[:, ~said] for side in sides)
    alike = np.abs(first - second).max(axis=1, initial=0.0) < 1e-9
    middle = (sides[0].columns + sides[1].columns) / 2
    influences = []
    for side in sides:
        base: Array = side.weight.astype(np.float64) @ np.where(alike[:, None], middle, side.columns)
        influences.append(side.columns @ differentiate(side.probe, side.names, base, side.parameters)[1])
    return influences


def _signed_metrics(found: Sequence[Linearised], influences: Sequence[Array], sides: Sequence[CellTable]) -> Array:
    """All metrics of both sides as if there were no difference, once for each draw of signs: side, draw, metric.

    The first draw has no minus: it gives what was observed.
    """
    weight = sides[0].weight
    middle = (found[0].values + found[1].values) / 2
    items = np.maximum(sides[0].decided, sides[1].decided)
    share = items / max(float(weight @ items), 1.0)
    parts = [
        z + share[:, None] * (side.values - middle - weight @ z) for z, side in zip(influences, found, strict=True)
    ]
    both = np.nan_to_num(np.hstack(parts))
    sums = [weight @ both]
    if weight.sum() > MOST_SIGNS:
        sums += [*draw_normal((both * weight[:, None]).T @ both)]
    else:
        random = np.random.default_rng(0)
        size = max(1, 2_000_000 // max(len(weight), 1))
        for start in range(0, DRAWS, size):
            plus = random.binomial(weight, 0.5, size=(min(size, DRAWS - start), len(weight)))
            sums += [*((2 * plus - weight) @ both)]
    return middle + np.stack(np.split(np.array(sums), 2, axis=1))


def _interval(metric: Metric, found: Sequence[Linearised], bands: Bands | None = None) -> Estimate:
    """The difference with its interval; with bands, that of the distances from even-handed.

    For ranges and distances it is that of normal values that scatter like the parts of both.
    """
    names = found[0].names
    parts = metric.range_of or (metric.distance_of or (metric.name,))[:1]
    places = [names.index(name) for name in parts]
    scatter = _join(found, places)
    values = np.array([side.values for side in found])
    if bands or metric.range_of or metric.distance_of:
        draws = scatter.draw(LEVEL) if np.isfinite(scatter.z).all() else np.full((1, 2 * len(places)), np.nan)
        moved = np.repeat(values[:, None], 1 + len(draws), axis=1)
        moved[:, 1:, places] += np.stack(np.split(draws, 2, axis=1))
        combined = _combine(metric, names, moved)
        first, second = bands.distances(combined) if bands else combined
        observed = float(second[0] - first[0])
        low, high = np.quantile((second - first)[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    else:
        (observed,) = values[1, places] - values[0, places]
        (centre,) = found[1].centres[places] - found[0].centres[places]
        (reach,) = Spread(scatter.z @ [[-1.0], [1.0]], scatter.weight).reach(LEVEL)
        low, high = centre - reach, centre + reach
    if np.isnan(observed) or not all(has_enough(side, metric) for side in found):
        low = high = np.nan
    return Estimate(
        value=float(observed),
        low=float(np.minimum(low, observed)),
        high=float(np.maximum(high, observed)),
        n=int(found[0].weight.sum()),
    )


def _join(found: Sequence[Linearised], places: Sequence[int]) -> Spread:
    """What items add to some metrics of both sides, side by side; then what the pseudo-items add, each to its side."""
    first, second = (side.scatter(places) for side in found)
    items = len(found[0].weight)
    own_first, own_second = first.z[items:], second.z[items:]
    rows = [
        np.hstack([first.z[:items], second.z[:items]]),
        np.hstack([own_first, np.zeros_like(own_first)]),
        np.hstack([np.zeros_like(own_second), own_second]),
    ]
    return Spread(np.vstack(rows), np.concatenate([first.weight, second.weight[items:]]))


def _combine(metric: Metric, names: list[str], values: Array) -> Array:
    """The metric from its parts, if it is a range or a distance, else as it is: all axes but the last stay."""
    result: Array = values[..., names.index(metric.name)]
    if metric.distance_of:
        result = np.abs(values[..., names.index(metric.distance_of[0])] - metric.distance_of[1])
    elif metric.range_of:
        result = np.ptp(values[..., [names.index(name) for name in metric.range_of]], axis=-1)
    return result


def _p_value(values: Array, different: int) -> float:
    """Two-sided: how often signs that both sides share give a difference as large as the observed one.

    With m items that differ there are 2 to the m draws, of which two lie as far out as the most extreme: no p-value is
    smaller than that.
    """
    differences = np.abs(values[1] - values[0])
    if np.isnan(differences[0]):
        return float("nan")
    if not different:
        return 1.0
    as_far = differences[1:] >= differences[0] * (1 - 1e-5) - 1e-9
    return min(1.0, max(float((1 + as_far.sum()) / differences.size), 2.0 ** (1 - different)))
