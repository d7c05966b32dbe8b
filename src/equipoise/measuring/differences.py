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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Metric, Parameters, Probe
from equipoise.measuring.interval import (
    DRAWS,
    LEVEL,
    CellTable,
    Linearised,
    differentiate,
    draw_normal,
    has_enough,
    linearise,
    prepare_cells,
    student_quantile,
)
from equipoise.measuring.plan import Setup
from equipoise.measuring.summarise import WEIGHT, is_answered
from equipoise.schema import ITEM, Estimate

MOST_SIGNS = 20_000
"""With more items, sums of signs are drawn as normal values."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A metric of two sets of answers on the items both have: each value, second minus first, and a p-value."""

    first: float
    second: float
    difference: Estimate
    p: float
    distance: Estimate | None
    """How much farther from even-handed the second is, for a marked metric."""


def paired_differences(setup: Setup, first: pl.DataFrame, second: pl.DataFrame) -> dict[str, Difference]:
    """Compare two tables of item rows on their common items: every metric of the probe, without slices."""
    probe, parameters = setup.probe, setup.parameters
    # Clusters do not tell items apart here: with them, hardly any two items would be equal.
    clusters = [name for name in probe.clusters if name not in probe.covariates]
    first, second = (rows.filter(is_answered(probe)).drop(clusters, strict=False) for rows in (first, second))
    common = first.select(ITEM).join(second.select(ITEM), on=ITEM, how="semi").sort(ITEM)
    pairs = _pair_cells(first, second, common)
    sides = [prepare_cells(probe, side, parameters) for side in _sides(pairs, first.columns)]
    return compare_cells(probe, sides, parameters)


def compare_cells(probe: Probe, sides: Sequence[CellTable], parameters: Parameters) -> dict[str, Difference]:
    """Compare two tables of cells of the same items."""
    found = [linearise(probe, side, parameters) for side in sides]
    weight = sides[0].weight
    items = np.maximum(sides[0].decided, sides[1].decided)
    signed = _signed_metrics(found, _common_influences(probe, sides, parameters), weight, items)
    different = int(weight[(sides[0].columns != sides[1].columns).any(axis=1)].sum())
    totals = [dict(zip(side.names, side.weight @ side.columns, strict=True)) for side in sides]
    return {
        metric.name: _difference(
            metric,
            found,
            signed,
            different,
            enough=all(
                has_enough(side, side.names.index(metric.name), metric, total)
                for side, total in zip(found, totals, strict=True)
            ),
        )
        for metric in probe.all_metrics()
    }


def _pair_cells(first: pl.DataFrame, second: pl.DataFrame, common: pl.DataFrame) -> pl.DataFrame:
    """Equal pairs of rows of the common items as one cell with a weight, in an order that depends only on them."""
    tables = [common.join(rows, on=ITEM, how="left", maintain_order="left").drop(ITEM) for rows in (first, second)]
    joint = tables[0].hstack(tables[1].rename({name: f"second.{name}" for name in tables[1].columns}))
    return joint.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias(WEIGHT)).sort(pl.exclude(WEIGHT))


def _sides(pairs: pl.DataFrame, columns: list[str]) -> Iterator[pl.DataFrame]:
    names = [name for name in columns if name != ITEM]
    yield pairs.select(*names, WEIGHT)
    yield pairs.select(*(pl.col(f"second.{name}").alias(name) for name in names), WEIGHT)


def _common_influences(probe: Probe, sides: Sequence[CellTable], parameters: Parameters) -> list[Array]:
    """The influences on both sides at the totals that they have if there is no difference.

    An item that was answered as often in both runs has the mean of what was said; any other its own. What was said is
    in the columns that differ between possible outcomes; the others say how much was answered.
    """
    outcomes = [side.outcomes for side in sides if len(side.outcomes)]
    said = np.asarray(np.sum([np.ptp(side, axis=0).sum(axis=0) for side in outcomes], axis=0) > 0)
    first, second = (side.columns[:, ~said] for side in sides)
    alike = np.abs(first - second).max(axis=1, initial=0.0) < 1e-9
    middle = (sides[0].columns + sides[1].columns) / 2
    influences = []
    for side in sides:
        base: Array = side.weight.astype(np.float64) @ np.where(alike[:, None], middle, side.columns)
        influences.append(side.columns @ differentiate(probe, side.names, base, parameters)[1])
    return influences


def _signed_metrics(
    found: Sequence[Linearised], influences: Sequence[Array], weight: NDArray[np.int64], items: NDArray[np.bool_]
) -> Array:
    """All metrics of both sides as if there were no difference, once for each draw of signs: side, draw, metric.

    The first draw has no minus: it gives what was observed.
    """
    middle = (found[0].values + found[1].values) / 2
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
    width = len(middle)
    together = np.array(sums)
    return np.stack([middle + together[:, :width], middle + together[:, width:]])


def _difference(
    metric: Metric, found: Sequence[Linearised], signed: Array, different: int, *, enough: bool
) -> Difference:
    names = found[0].names
    first, second = (float(side.values[names.index(metric.name)]) for side in found)
    farther = None
    if metric.bands:
        distances = metric.bands.distances
        farther = _interval_by_draws(metric, found, distances, enough=enough)
    is_plain = not metric.range_of and not metric.distance_of
    return Difference(
        first=first,
        second=second,
        difference=(
            _interval(metric, found, enough=enough) if is_plain else _interval_by_draws(metric, found, enough=enough)
        ),
        p=_p_value(_combine(metric, names, signed), different),
        distance=farther,
    )


def _interval(metric: Metric, found: Sequence[Linearised], *, enough: bool) -> Estimate:
    """The difference with its interval."""
    first, second = found
    place = first.names.index(metric.name)
    observed = float(second.values[place] - first.values[place])
    centre = float(second.centres[place] - first.centres[place])
    square = np.maximum(first.scale, second.scale) * (second.z[:, place] - first.z[:, place]) ** 2
    pseudo = [(side.pseudo.ravel(), side.outcomes[:, :, place].ravel() ** 2) for side in found]
    variance = first.weight @ square + sum(mass @ part for mass, part in pseudo)
    fourth = first.weight @ square**2 + sum(mass @ part**2 for mass, part in pseudo)
    reach = student_quantile(float(variance**2 / fourth) if fourth > 0 else np.inf, LEVEL) * float(np.sqrt(variance))
    return _make_estimate(first, observed, centre - reach, centre + reach, enough=enough)


def _interval_by_draws(
    metric: Metric,
    found: Sequence[Linearised],
    distances: Callable[[Array], Array] | None = None,
    *,
    enough: bool,
) -> Estimate:
    """The difference of ranges or distances with its interval: that of normal values for the parts of both."""
    first, second = found
    names = first.names
    parts = metric.range_of or (metric.distance_of or (metric.name,))[:1]
    places = [names.index(name) for name in parts]
    both = np.hstack([side.z[:, places] for side in found])
    covariance = (both * (first.weight * np.maximum(first.scale, second.scale))[:, None]).T @ both
    width = len(places)
    for number, side in enumerate(found):
        own, outcomes = slice(number * width, (number + 1) * width), side.outcomes[:, :, places]
        covariance[own, own] += np.einsum("kc,kcm,kcl->ml", side.pseudo, outcomes, outcomes)
    degrees = min(side.spread(side.z[:, places], side.outcomes[:, :, places])[1].min() for side in found)
    wider = student_quantile(degrees, LEVEL) / student_quantile(np.inf, LEVEL)
    drawn = wider * draw_normal(covariance) if np.isfinite(covariance).all() else np.full((1, 2 * width), np.nan)
    values = []
    for number, side in enumerate(found):
        moved = np.tile(side.values, (len(drawn) + 1, 1))
        moved[1:, places] += drawn[:, number * width : (number + 1) * width]
        value = _combine(metric, names, moved)
        values.append(distances(value) if distances else value)
    differences = values[1] - values[0]
    low, high = np.quantile(differences[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return _make_estimate(first, float(differences[0]), float(low), float(high), enough=enough)


def _make_estimate(found: Linearised, observed: float, low: float, high: float, *, enough: bool) -> Estimate:
    if not enough or np.isnan(observed):
        low = high = np.nan
    return Estimate(
        value=observed,
        low=float(np.minimum(low, observed)),
        high=float(np.maximum(high, observed)),
        n=int(found.weight.sum()),
    )


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
