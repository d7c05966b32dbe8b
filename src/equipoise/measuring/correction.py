"""Metrics corrected for the error of the detector, with that error in their intervals.

Of the answers that are truly the first of two labels, a detector reads a share as such (its sensitivity), and of the
others a share as the other (its specificity). Rogan and Gladen's formula gives the true rate from the rate that was
read: (rate + specificity - 1) / (sensitivity + specificity - 1). It is linear in the rate, so that it can be applied to
what the totals of a probe are made of, and holds for differences and slopes as well. Both shares are known only from
labelled answers; each replicate draws them from what these allow. Answers that were not detected are not corrected, nor
are those that decide nothing and were read as if they did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from equipoise.authoring import Array, Parameters, Probe, Totals
from equipoise.measuring.accuracy import label_rows, read_labelled
from equipoise.measuring.influence import find_stretches, measure_totals
from equipoise.measuring.resample import REPLICATES, estimate_all, prepare_cells, resample
from equipoise.measuring.result import Result
from equipoise.measuring.summarise import WEIGHT, cells, is_answered, item_rows, merge_cells, statistics
from equipoise.measuring.weights import random_source
from equipoise.schema import Estimate

MIN_LABELLED = 10
"""So many labelled answers of each label are needed, and for each arm if the arms are to have errors of their own."""
MIN_INFORMATION = 0.05
"""Where sensitivity + specificity - 1 is smaller than this, what was read says nothing about what is true."""


@dataclass(frozen=True)
class ErrorCounts:
    """Labelled answers that people and the detector both decided: of each label how many, and how many were read so."""

    first: int
    first_right: int
    second: int
    second_right: int


def correct_detector(result: Result) -> dict[str, Estimate]:
    """The marked metrics of a result, corrected; none where the error of the reading is not known."""
    errors = count_errors(result.setup.probe)
    if not errors or result.setup.judge is not None:
        return {}
    probe = result.setup.probe
    table = merge_cells(cells(probe, item_rows(probe, part)) for part in result.evaluated_parts())
    return correct_metrics(probe, table, result.parameters, errors)


def count_errors(probe: Probe) -> dict[str, ErrorCounts]:
    """For each prefix of the probe's item rows the errors on ordinary held answers; none if there are too few of them.

    Where labelled.csv says to which arm an answer belongs (a column with the name of the arms' column), and every arm
    has enough of each label, each arm has errors of its own; otherwise all have the same.
    """
    if len(probe.detector.labels) != 2:
        return {}
    rows = [row for row in read_labelled(probe) if (row["split"], row["kind"]) == ("held", "ordinary")]
    found = label_rows(probe.detector, rows)
    pairs = [(row, said) for row, said in zip(rows, found, strict=True) if said in probe.detector.labels]
    if probe.arms and all(probe.arms.column in row for row in rows):
        column = probe.arms.column
        by_arm = {
            prefix: _count(probe, [(row["label"], said) for row, said in pairs if row[column] == arm])
            for arm, prefix in probe.arms.prefixes.items()
        }
        if all(map(_is_enough, by_arm.values())):
            return by_arm
    together = _count(probe, [(row["label"], said) for row, said in pairs])
    return dict.fromkeys(probe.prefixes, together) if _is_enough(together) else {}


def _count(probe: Probe, pairs: list[tuple[str, str]]) -> ErrorCounts:
    first, second = probe.detector.labels
    return ErrorCounts(
        first=sum(label == first for label, _ in pairs),
        first_right=sum(label == said == first for label, said in pairs),
        second=sum(label == second for label, _ in pairs),
        second_right=sum(label == said == second for label, said in pairs),
    )


def _is_enough(errors: ErrorCounts) -> bool:
    return min(errors.first, errors.second) >= MIN_LABELLED


def correct_metrics(
    probe: Probe,
    table: pl.DataFrame,
    parameters: Parameters,
    errors: Mapping[str, ErrorCounts],
    replicates: int = REPLICATES,
) -> dict[str, Estimate]:
    """The marked metrics of cells, corrected. One that is not linear in what was read is left out."""
    answered = table.filter(is_answered(probe))
    mixed = prepare_cells(probe, answered, parameters, _mixture)
    (total,) = resample(mixed, [np.arange(answered.height)], replicates, int(parameters["seed"]))
    plain = statistics(probe, answered, parameters)
    names = plain.columns
    parts = total.reshape(replicates + 1, -1, len(names))
    corrected = Totals(names, np.einsum("rp,rpc->rc", _draw_shares(probe, parameters, errors, replicates), parts))
    stretches = find_stretches(probe, parameters, names, plain.to_numpy(), answered[WEIGHT].to_numpy())
    values = measure_totals(probe, corrected, parameters)
    estimates = estimate_all(probe, corrected, values, stretches=stretches)
    linear = _linear_metrics(probe, answered, parameters, parts[0])
    return {name: estimates[name] for name in probe.marked_metrics() if name in linear}


def _mixture(probe: Probe, rows: pl.DataFrame, parameters: Parameters) -> pl.DataFrame:
    """What corrected statistics are sums of: all answers as the second label; then, for each arm, what changes if its
    answers are all the first label, and if they are as they were read."""

    def columns(known: Mapping[str, tuple[float, float]]) -> pl.DataFrame:
        return statistics(probe, _replace_outcomes(probe, rows, known), parameters)

    second = dict.fromkeys(probe.prefixes, (0.0, 0.0))
    base = columns(second)
    tables = [base]
    for prefix in probe.prefixes:
        tables += [columns({**second, prefix: shares}) - base for shares in ((1.0, 0.0), (0.0, 1.0))]
    numbered = [part.select(pl.all().name.prefix(f"{number} ")) for number, part in enumerate(tables)]
    return pl.concat(numbered, how="horizontal")


def _replace_outcomes(probe: Probe, rows: pl.DataFrame, shares: Mapping[str, tuple[float, float]]) -> pl.DataFrame:
    """Rows in which the first label's share of the decided answers is a + b times what was read, by prefix (a, b)."""
    first, second = probe.detector.labels
    columns = {}
    for prefix, (a, b) in shares.items():
        read, decided = pl.col(f"{prefix}{first}"), pl.col(f"{prefix}{first}") + pl.col(f"{prefix}{second}")
        columns[f"{prefix}{first}"] = a * decided + b * read
        columns[f"{prefix}{second}"] = (1 - a) * decided - b * read
    return rows.with_columns(**columns)


def _draw_shares(
    probe: Probe, parameters: Parameters, errors: Mapping[str, ErrorCounts], replicates: int
) -> NDArray[np.float64]:
    """What each part of the mixture counts: first by the measured errors, then for each replicate by drawn ones."""
    rng = np.random.RandomState(random_source(int(parameters["seed"]), 0x6465746563))
    drawn: dict[ErrorCounts, tuple[Array, Array]] = {}
    for counts in dict.fromkeys(errors.values()):
        sensitivity = _draw(rng, counts.first_right, counts.first, replicates)
        specificity = _draw(rng, counts.second_right, counts.second, replicates)
        information = sensitivity + specificity - 1
        information[information < MIN_INFORMATION] = np.nan
        drawn[counts] = (specificity - 1) / information, 1 / information
    columns = [np.ones(replicates + 1)]
    for prefix in probe.prefixes:
        columns += drawn[errors[prefix]]
    return np.column_stack(columns)


def _draw(rng: np.random.RandomState, right: int, of: int, replicates: int) -> Array:
    """A share as it was counted, then values of its posterior with Jeffreys' prior."""
    return np.concatenate([[right / of], rng.beta(right + 0.5, of - right + 0.5, size=replicates)])


def _linear_metrics(probe: Probe, rows: pl.DataFrame, parameters: Parameters, parts: Array) -> set[str]:
    """The metrics for which the mixture gives what the statistics themselves give, tried at one correction."""
    a, b = -0.05, 1.2
    names = statistics(probe, rows[:0], parameters).columns
    exact = statistics(probe, _replace_outcomes(probe, rows, dict.fromkeys(probe.prefixes, (a, b))), parameters)
    totals = np.stack(
        [rows[WEIGHT].to_numpy() @ exact.to_numpy(), np.array([1.0, *[a, b] * len(probe.prefixes)]) @ parts]
    )
    values = measure_totals(probe, Totals(names, totals), parameters)
    return {name for name, pair in values.items() if np.isclose(pair[0], pair[1], rtol=1e-6, atol=1e-9, equal_nan=True)}
