"""How often the intervals of a probe's marked metrics hold the truth: seeded studies of models with known chances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

import equipoise
from equipoise.measuring.interval import estimate_groups
from equipoise.measuring.summarise import cells, item_rows
from equipoise.schema import STATUS, MetricKey, Status

Answer = Callable[[pl.DataFrame, np.random.Generator], dict[str, Any]]
"""The columns of an evaluation (a label, or counts), drawn for each prompt."""
SAMPLES = 5
"""Samples of items among which the studies go round."""


def count_covered(probe: str, answer: Answer, truth: Mapping[str, float], items: int, studies: int) -> dict[str, float]:
    """The share of studies whose interval holds the truth, for each of these metrics."""
    rng = np.random.default_rng([items, studies])
    covered = dict.fromkeys(truth, 0)
    plans = [equipoise.plan(probe, sample=items, seed=seed) for seed in range(SAMPLES)]
    for study in range(studies):
        planned = plans[study % SAMPLES]
        prompts = planned.prompts()
        evaluated = prompts.with_columns(pl.lit(Status.OK.value).alias(STATUS), **answer(prompts, rng))
        table = cells(planned.probe, item_rows(planned.probe, evaluated))
        found, _ = estimate_groups(planned.probe, table, planned.parameters)
        for name, value in truth.items():
            estimate = found[MetricKey(name)]
            covered[name] += bool(estimate.low - 1e-9 <= value <= estimate.high + 1e-9)
    return {name: count / studies for name, count in covered.items()}
