"""Runs of reference models, and runs that are changed without being asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import structs

from equipoise.measuring.result import Result
from equipoise.probes import find_probes
from equipoise.runs.run import Run
from equipoise.schema import ID
from simulating import simulated

SIZES: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {"sample": 40},
    "gest_creative": {"sample": 64},
    "hiring_an": {"sample": 96},
    "discrimination_tamkin": {"sample": 60},
    "business_vocabulary": {"sample": 80},
    "word_association": {"sample": 96},
    "inventories": {"sample": 32},
    "hiring_bloomberg": {"sample": 44},
    "pronoun_fidelity": {"sample": 24},
    "resume_score": {"sample": 44},
    "salary_advice": {"sample": 44},
}
"""Samples that show something; a probe that is not here is asked whole."""
FEW = ("jobs_lum", "hiring_an", "hiring_bloomberg", "business_vocabulary")
"""Probes that together show everything that a report can show."""


def make_run(path: Path, model: str, stance: str, probes: Sequence[str] = (), **options: Any) -> Run:
    """A run of these probes (default: all), answered by a reference model of this kind, or by one that the probe has.

    The texts are those that need not be fetched.
    """
    stances, parameters = {}, {}
    for name in probes or find_probes():
        probe = find_probes()[name]
        packaged = [corpus.name for corpus in probe.corpora if corpus.file is not None]
        parameters[name] = {**SIZES.get(name, {}), **({"corpus": packaged[0]} if packaged else {})}
        stances[name] = stance if stance in probe.stances() else probe.stances()[0]
    return simulated(path, stances, model=model, parameters=parameters, **options)


def change(
    run: Run,
    *,
    results: Mapping[str, Result] | None = None,
    tables: Mapping[str, pl.DataFrame] | None = None,
    model: str | None = None,
    name: str | None = None,
    **settings: Any,
) -> Run:
    """The run as if it had these results alone, these transcripts, this model and file name, and these settings."""
    changed: Any = copy(run)
    if results is not None:
        changed._results = dict(results)
        changed.planned = {probe: run.planned[probe] for probe in results}
    if tables is not None:
        changed.transcript_batches = lambda probe, among=None: [
            tables[probe] if among is None else tables[probe].filter(pl.col(ID).is_in(list(among)))
        ]
    if model is not None:
        changed.model = model
        settings["spec"] = structs.replace(run.record.spec, model=model)
    changed.record = structs.replace(run.record, **settings)
    changed.name = run.name if name is None else name
    found: Run = changed
    return found


def alone(run: Run, probe: str, **settings: Any) -> Run:
    """The run with this probe alone."""
    return change(run, results={probe: run.result(probe)}, **settings)
