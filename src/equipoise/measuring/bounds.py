"""What missing answers leave open: the least and the largest value if all of them had gone one way or the other.

L and U are these values. Other items would have given others, so that each has a standard error, by the influences of
the items as they were filled in. What is shown and used for marks is [L - 1.645 se, U + 1.645 se], which holds the
truth with 95% (Imbens and Manski 2004): it can lie beyond one end only, so each end needs a one-sided quantile.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Metric, Parameters, Probe, Totals
from equipoise.measuring.interval import LEVEL, differentiate, divide, measure_totals, student_quantile
from equipoise.measuring.outcomes import MISSING, extreme_ways, filled_outcomes
from equipoise.measuring.summarise import WEIGHT, stack_columns, statistics
from equipoise.schema import Bounds

STEPS = 3
"""How often the worst case is looked for again from where it was found."""
MOST_PIECES = 100_000
"""A cell is given one way or the other piece by piece, unless that would make more pieces than this."""

Shares = Array
"""Way, cell: the share of the missing answers of each cell that go each way."""
Values = Callable[[Array], Array]
"""The metric for each row of totals."""
Chosen = NDArray[np.int64]
"""For each cell the way in which its missing answers go."""


@dataclass(frozen=True, kw_only=True)
class _Table:
    """Cells with missing answers, and what they would be if these went this way or that."""

    names: list[str]
    whole: Array
    """The columns of the cells that miss nothing,"""
    whole_weight: Array
    base: Array
    """and their totals."""
    ways: Array
    """Way, cell, column. A way gives each arm a label; the ways of the last arm come one after another."""
    weight: Array
    missing: NDArray[np.int64]
    """Arm, cell: how many answers are missing."""
    orders: list[NDArray[np.int64]]
    """For each covariate that is a number: the cells from the least to the largest."""
    around: Callable[[Array], Mapping[str, Array]]
    """All metrics at a row of totals and a step away from it in each column; they are computed once."""

    def total(self, chosen: Chosen) -> Array:
        """The totals of all cells if the missing answers go these ways."""
        total: Array = self.base + self.weight @ self.ways[chosen, np.arange(len(chosen))]
        return total

    def share(self, chosen: Chosen) -> Shares:
        """Every cell as a whole goes the way that is chosen for it."""
        return np.eye(len(self.ways))[:, chosen]


@dataclass(frozen=True, kw_only=True)
class _End:
    """One end of what is possible: the value, and the influence of each item, as filled in."""

    value: float
    z: Array


@dataclass(frozen=True, kw_only=True)
class _Ends:
    low: _End
    high: _End


def bound_metrics(probe: Probe, table: pl.DataFrame, parameters: Parameters, level: float = LEVEL) -> dict[str, Bounds]:
    """For each marked metric the values it could have if the missing answers were known; none if nothing is missing.

    An answer is missing if it failed or was not detected. With all of them filled in, a rate, a difference or a mean of
    rates is linear in every answer, so each goes the way of its coefficient. A slope rises most if the answers at one
    end of the line go one way and those at the other end the other way: every place to divide them is tried. Both are
    exact. The bounds of a range follow from those of its parts. For metrics of other kinds it is a search. Numbers
    have no limits: a missing one is taken to lie no farther from the others of its item than any that was read does.
    """
    missing = table.select(pl.col(f"{prefix}{MISSING}").cast(pl.Int64) for prefix in probe.prefixes).to_numpy().T
    if not probe.detector.labels or not missing.any():
        return {}
    filled = _fill(probe, table, missing, parameters)
    metrics = {metric.name: metric for metric in probe.metrics}
    found = {name: _bound(probe, metrics, name, parameters, filled) for name in probe.marked_metrics()}
    weight = np.concatenate([filled.whole_weight, filled.weight])
    return {name: _with_error(metrics[name], ends, weight, level) for name, ends in found.items() if ends is not None}


def _with_error(metric: Metric, ends: _Ends, weight: Array, level: float) -> Bounds:
    reaches = []
    for end in (ends.low, ends.high):
        square = end.z**2 * weight.sum() / max(float(weight.sum()) - 1, 1.0)
        variance = float(weight @ square)
        degrees = float(divide(np.array([variance**2]), np.array([weight @ square**2]))[0])
        reaches.append(student_quantile(degrees, 2 * level - 1) * np.sqrt(variance))
    least, most = metric.extremes
    return Bounds(
        low=float(max(ends.low.value - reaches[0], min(least, ends.low.value))),
        high=float(min(ends.high.value + reaches[1], max(most, ends.high.value))),
        least=ends.low.value,
        most=ends.high.value,
    )


def _fill(probe: Probe, table: pl.DataFrame, missing: NDArray[np.int64], parameters: Parameters) -> _Table:
    affected: NDArray[np.bool_] = np.any(missing, axis=0)
    filled = filled_outcomes(probe, table)
    whole = statistics(probe, filled[0].filter(~affected), parameters)
    ways = stack_columns(probe, [rows.filter(affected) for rows in filled], parameters)
    weight = table[WEIGHT].to_numpy().astype(np.float64)
    known: dict[bytes, Mapping[str, Array]] = {}

    def around(total: Array) -> Mapping[str, Array]:
        key = total.tobytes()
        if key not in known:
            rows = np.vstack([total, total + np.diag(_steps(total))])
            known[key] = measure_totals(probe, Totals(whole.columns, rows), parameters)
        return known[key]

    return _Table(
        names=whole.columns,
        whole=whole.to_numpy(),
        whole_weight=weight[~affected],
        base=weight[~affected] @ whole.to_numpy(),
        ways=ways,
        weight=weight[affected],
        missing=missing[:, affected],
        orders=[
            np.argsort(table[name].to_numpy()[affected], kind="stable")
            for name in probe.covariates
            if table[name].dtype.is_numeric()
        ],
        around=around,
    )


def _steps(total: Array) -> Array:
    return np.maximum(np.abs(total), 1.0) * 1e-6


def _bound(probe: Probe, metrics: dict[str, Metric], name: str, parameters: Parameters, table: _Table) -> _Ends | None:
    if parts := metrics[name].range_of:
        known = [_bound(probe, metrics, part, parameters, table) for part in parts]
        ends = [end for end in known if end is not None]
        return _bound_range(ends) if len(ends) == len(parts) else None

    def values(side: float, totals: Array) -> Array:
        return side * measure_totals(probe, Totals(table.names, totals), parameters)[name]

    place = [metric.name for metric in probe.all_metrics()].index(name)
    labels, found = len(extreme_ways(probe)), []
    for side in (-1.0, 1.0):
        best = max(_climb(table, labels, name, side, partial(values, side)), key=lambda end: end[0], default=None)
        if best is None or np.isnan(best[0]):
            return None
        columns = np.vstack([table.whole, np.einsum("wc,wcj->cj", best[1], table.ways)])
        total = np.concatenate([table.whole_weight, table.weight]) @ columns
        _, gradient = differentiate(probe, table.names, total, parameters)
        found.append(_End(value=side * best[0], z=columns @ gradient[:, place]))
    return _Ends(low=found[0], high=found[1])


def _bound_range(ends: list[_Ends]) -> _Ends:
    """The least and the largest difference between two of several metrics."""
    one, other = max(itertools.permutations(ends, 2), key=lambda pair: pair[0].high.value - pair[1].low.value)
    top, bottom = max(ends, key=lambda end: end.low.value), min(ends, key=lambda end: end.high.value)
    least = top.low.value - bottom.high.value
    return _Ends(
        low=_End(value=max(0.0, least), z=top.low.z - bottom.high.z),
        high=_End(value=one.high.value - other.low.value, z=one.high.z - other.low.z),
    )


def _climb(table: _Table, labels: int, name: str, side: float, values: Values) -> Iterator[tuple[float, Shares]]:
    """Values of the metric, from each start in which all missing answers go one way, and above it; and these ways."""
    divided = set()
    for start in range(len(table.ways)):
        chosen = np.full(len(table.weight), start)
        for _ in range(STEPS):
            total = table.total(chosen)
            around = side * table.around(total)[name]
            if np.isnan(around).any():
                break
            yield float(around[0]), table.share(chosen)
            before, chosen = chosen, np.argmax(table.ways @ ((around[1:] - around[0]) / _steps(total)), axis=0)
            if (chosen == before).all():
                break
        if chosen.tobytes() in divided:  # most starts lead to the same place
            continue
        divided.add(chosen.tobytes())
        last = float(values(table.total(chosen)[None])[0])
        if not np.isnan(last):
            yield last, table.share(chosen)
        if table.orders:
            yield from _divide(table, labels, values, chosen)


def _divide(table: _Table, labels: int, values: Values, chosen: Chosen) -> Iterator[tuple[float, Shares]]:
    """Divide the cells by a covariate, one arm after the other: those below go one way, those above another.

    The place that is best for one arm stays while the next one is divided. A cell may be divided, too.
    """
    arms, cells = table.missing.shape
    ways = table.ways.reshape(*[labels] * arms, *table.ways.shape[1:])
    shares = np.eye(len(table.ways))[:, chosen].reshape(*ways.shape[:-1])  # of each cell that go each way
    best = -np.inf
    for arm, order, (below, above) in itertools.product(
        range(arms), table.orders, itertools.permutations(range(labels), 2)
    ):
        others = shares.sum(axis=arm)
        low, high = (
            (np.take(ways, label, axis=arm) * others[..., None]).reshape(-1, cells, ways.shape[-1]).sum(axis=0)
            for label in (below, above)
        )
        pieces = np.maximum(1, table.missing[arm] * table.weight.astype(np.int64))[order]
        if pieces.sum() > MOST_PIECES:
            pieces = np.ones_like(pieces)
        steps = np.repeat(((low - high) * table.weight[:, None])[order] / pieces[:, None], pieces, axis=0)
        found = values(table.base + table.weight @ high + np.vstack([np.zeros(ways.shape[-1]), steps.cumsum(axis=0)]))
        if np.isnan(found).all() or not np.nanmax(found) > best:
            continue
        place = int(np.nanargmax(found))
        best = float(found[place])
        part = np.empty(cells)
        part[order] = np.clip((place - np.cumsum(pieces) + pieces) / pieces, 0.0, 1.0)
        shares = np.zeros_like(shares)
        np.moveaxis(shares, arm, 0)[below] = others * part
        np.moveaxis(shares, arm, 0)[above] = others * (1 - part)
        yield best, shares.reshape(table.ways.shape[:2])
