"""Totals to metrics, and how much each item decides one: where few do, its interval must be wider."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.authoring import Array, Parameters, Probe, Totals, share
from equipoise.measuring.calling import running
from equipoise.measuring.outcomes import ATTEMPTS
from equipoise.schema import NEITHER

LEVEL = 0.95
LEAST_DEGREES = 3.0


def measure_totals(probe: Probe, total: Totals, parameters: Parameters) -> dict[str, Array]:
    """The probe's metrics from totals and, where answers have labels, how much was not detected."""
    with running(probe, "measure"):
        values = dict(probe.measure(total, parameters))
    if probe.detector.labels:
        values["undetected_rate_attempts"] = share(total["undetected"], total[ATTEMPTS])
        values["undetected_rate_items"] = share(total["undetected_items"], total["items"])
    for label in probe.detector.other_labels:
        if not probe.detector.words:
            values[f"{label}_rate"] = share(total[f"read_as_{label}"], total["attempts"])
    for suffix in probe.mass_suffixes():
        values[f"{NEITHER}_mass{suffix}"] = share(total[f"{NEITHER}_mass{suffix}"], total[f"{ATTEMPTS}{suffix}"])
    return values


def find_influences(
    probe: Probe, metrics: Collection[str], parameters: Parameters, names: Sequence[str], total: Array
) -> dict[str, Array]:
    """The derivative of each metric by each total, where it is defined: times the columns of an item, its influence."""
    if not metrics:
        return {}
    steps = np.maximum(np.abs(total), 1.0) * 1e-6
    values = measure_totals(probe, Totals(names, np.vstack([total, total + np.diag(steps)])), parameters)
    return {
        metric: (values[metric][1:] - values[metric][0]) / steps
        for metric in metrics
        if not np.isnan(values[metric]).any()
    }


def find_stretches(
    probe: Probe,
    parameters: Parameters,
    names: Sequence[str],
    columns: Array,
    weight: NDArray[Any],
    level: float = LEVEL,
) -> dict[str, float]:
    """How many times as wide the intervals of the metrics must be that few items may decide.

    As Student's t to the normal distribution, with as many degrees of freedom as there are items that count: where the
    influence of item i is z_i, (Σz²)²/Σz⁴ of them (Satterthwaite). Seven men among 300 characters are seven, not 300.
    """
    metrics = [metric.name for metric in probe.all_metrics() if metric.studentised]
    found = {}
    for metric, influence in find_influences(probe, metrics, parameters, names, weight @ columns).items():
        squares = (columns @ influence) ** 2
        fourth = float(weight @ squares**2)
        if fourth > 0:
            found[metric] = student_stretch(float(weight @ squares) ** 2 / fourth, level)
    return found


def student_stretch(degrees: float, level: float) -> float:
    """The quantile of Student's t over that of the normal distribution, by the expansion of Cornish and Fisher.

    It is exact to 0.1% from three degrees of freedom on; fewer count as three.
    """
    z, n = NormalDist().inv_cdf((1 + level) / 2), max(degrees, LEAST_DEGREES)
    terms = (
        (z**2 + 1) / 4,
        (5 * z**4 + 16 * z**2 + 3) / 96,
        (3 * z**6 + 19 * z**4 + 17 * z**2 - 15) / 384,
        (79 * z**8 + 776 * z**6 + 1482 * z**4 - 1920 * z**2 - 945) / 92160,
    )
    return 1 + sum(term / n**power for power, term in enumerate(terms, 1))
