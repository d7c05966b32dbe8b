"""What a report is made of: one run as a plain value, whoever opened it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from equipoise.frames import well_formed
from equipoise.results import Result


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """One model and what was found. `settings` hold no secret; `notes` are what a reader must know beside them."""

    name: str
    """The name of the run file."""
    model: str
    created: str
    """ISO 8601."""
    equipoise: str
    """The version that made the run."""
    planned: int
    answered: int
    complete: bool
    results: Mapping[str, Result]
    transcripts: Callable[[str], pl.DataFrame] = field(repr=False)
    """Of a probe: `id`, `item`, `repetition`, `prompt`, `answer`, `status`, the covariates, `label` or the counts."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """For example that another model was served than asked for."""
    command: str = ""
    """The command line that repeats the run."""


def labels(runs: Sequence[ReportedRun]) -> list[str]:
    """A name for each run that no other has: the model, with the file or a number where that is not enough."""
    models = [well_formed(run.model) for run in runs]
    names = [
        model if models.count(model) == 1 else f"{model} ({well_formed(run.name)})"
        for model, run in zip(models, runs, strict=True)
    ]
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if names.count(name) == 1 else f"{name} {seen[name]}")
    return result
