"""Cells ready to be measured: equal rows of items with a weight, as arrays.

A probe turns item i into a row of columns x_i; equal rows are one cell with a weight w; T = Σ w x are
the totals, and a metric is f(T), with f the probe's `measure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Parameters, Probe, Totals, share
from equipoise.measuring.calling import running
from equipoise.measuring.outcomes import ATTEMPTS, MISSING, Way, possible_outcomes
from equipoise.measuring.summarise import WEIGHT, number_strata, stack_columns, statistics
from equipoise.schema import NEITHER
from equipoise.stats.variance import Labels, divide

Places = NDArray[np.int64]
"""The places of some cells in their table."""


@dataclass(frozen=True, kw_only=True)
class CellTable:
    """Cells ready to be measured, with what an item of unknown outcome could add."""

    probe: Probe
    parameters: Parameters
    names: Sequence[str]
    """The names of the columns."""
    columns: Array
    """What is totalled: cell, column."""
    weight: NDArray[np.int64]
    decided: NDArray[np.bool_]
    """Whether any answer to the items of the cell was classified."""
    whole: NDArray[np.bool_]
    """Whether every planned answer to the items of the cell was classified."""
    stratum: Labels
    outcomes: Array
    """The columns of each cell for each possible outcome: outcome, cell, column."""
    pseudo_mass: float
    """How many pseudo-items are added: one; for answers that count words, one word of each kind."""
    label_counts: Array
    """Arm, label, cell: how often the answers had each label; without arms where repetitions say
    nothing about how much a model wavers."""
    outcome_weights: Array
    """Arm, label, outcome: the weights of a mean over the outcomes in which the arm has the label."""

    def take(self, places: Places) -> CellTable:
        """Some of the cells, in this order."""
        return replace(
            self,
            columns=self.columns[places],
            weight=self.weight[places],
            decided=self.decided[places],
            whole=self.whole[places],
            stratum=self.stratum[places],
            outcomes=self.outcomes[:, places],
            label_counts=self.label_counts[:, :, places],
        )

    def share_of(self, population: float | None) -> float:
        """The share of a population of items that is there; 0 where the population is unknown."""
        if not population:
            return 0.0
        return min(1.0, int(self.weight.sum()) / population)


def prepare_cells(probe: Probe, table: pl.DataFrame, parameters: Parameters) -> CellTable:
    """The statistics of cells, as they are and for each possible outcome."""
    columns = statistics(probe, table, parameters)
    ways, tables = possible_outcomes(probe, table)
    outcomes = np.zeros((0, *columns.shape))
    if tables:
        outcomes = stack_columns(probe, tables, parameters)
    label_counts, outcome_weights = _count_labels(probe, table, ways)
    return CellTable(
        probe=probe,
        parameters=parameters,
        names=columns.columns,
        columns=columns.to_numpy(),
        weight=table[WEIGHT].to_numpy(),
        decided=table.select(is_decided(probe)).to_series().to_numpy(),
        whole=table.select(~lacks_answers(probe)).to_series().to_numpy(),
        stratum=number_strata(probe, table),
        outcomes=outcomes,
        pseudo_mass=1 / max(1.0, _words_per_kind(probe, table)),
        label_counts=label_counts,
        outcome_weights=outcome_weights,
    )


def is_decided(probe: Probe) -> pl.Expr:
    """Whether any answer to an item was classified."""
    outcomes = [f"{prefix}{name}" for prefix in probe.prefixes for name in probe.detector.outcomes]
    return pl.sum_horizontal(outcomes) > 0


def lacks_answers(probe: Probe) -> pl.Expr:
    """Whether any planned answer to an item is missing or was not classified."""
    return pl.sum_horizontal(f"{prefix}{MISSING}" for prefix in probe.prefixes) > 0


def labels_of_repetitions(probe: Probe) -> tuple[str, ...]:
    """The labels by which repeated answers waver; none for numbers, words and probabilities."""
    detector = probe.detector
    if detector.counts or detector.number or detector.by_probability:
        return ()
    return detector.labels


def _count_labels(probe: Probe, table: pl.DataFrame, ways: Sequence[Way]) -> tuple[Array, Array]:
    """`label_counts` and `outcome_weights` of a table."""
    labels: tuple[str, ...] = labels_of_repetitions(probe) if ways else ()
    arms: Sequence[str] = probe.prefixes if labels else []
    counts = np.zeros((len(arms), len(labels), table.height))
    belongs = np.zeros((len(arms), len(labels), len(ways)))
    for arm_place, arm in enumerate(arms):
        for label_place, label in enumerate(labels):
            counts[arm_place, label_place] = table[f"{arm}{label}"].to_numpy()
            belongs[arm_place, label_place] = [way[arm] == label for way in ways]
    return counts, divide(belongs, belongs.sum(axis=-1, keepdims=True), 0.0)


def _words_per_kind(probe: Probe, table: pl.DataFrame) -> float:
    """The mean number of words of each kind in items that have any; 0 if answers are not word counts."""
    pairs = probe.detector.opposites if probe.detector.counts else ()
    if not pairs:
        return 0.0
    names = [f"{prefix}{name}" for prefix in probe.prefixes for pair in pairs for name in pair]
    words = pl.sum_horizontal(names)
    weight = pl.col(WEIGHT)
    found, items = table.select((words * weight).sum(), weight.filter(words > 0).sum()).row(0)
    return float(found) / (items * len(pairs)) if items else 0.0


def measure_totals(probe: Probe, total: Totals, parameters: Parameters) -> dict[str, Array]:
    """The probe's metrics from totals and, where answers have labels, how much was not classified."""
    with running(probe, "measure"):
        values = dict(probe.measure(total, parameters))
    if probe.detector.labels:
        values["undetected_rate_attempts"] = share(total["undetected"], total[ATTEMPTS])
        values["undetected_rate_items"] = share(total["undetected_items"], total["items"])
    for label in probe.detector.counted_labels:
        values[f"{label}_rate"] = share(total[f"read_as_{label}"], total[ATTEMPTS])
    for suffix in probe.masses:
        mass = f"{NEITHER}_mass{suffix}"
        values[mass] = share(total[mass], total[f"{ATTEMPTS}{suffix}"])
    return values
