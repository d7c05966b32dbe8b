"""Runs of invented models, with a bias that can be set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from equipoise.answers.rows import read_python
from equipoise.answers.score import score_tables
from equipoise.authoring import Evidence, Probe
from equipoise.detect import Detector
from equipoise.measuring.evaluate import evaluate
from equipoise.measuring.plan import plan
from equipoise.measuring.result import Audit, Result
from equipoise.probes import find_probes
from equipoise.report.html.runs import ReadTranscripts, ReportedRun
from equipoise.schema import ANSWER, ID, ITEM, STATUS, Status, is_measured

SIZES: Mapping[str, Mapping[str, Any]] = {
    "jobs_lum": {"sample": 80},
    "gest_creative": {"sample": 160},
    "hiring_an": {"sample": 480},
    "discrimination_tamkin": {"sample": 150},
    "business_vocabulary": {"sample": 160},
    "word_association": {"sample": 96},
    "inventories": {"sample": 24},
    "hiring_bloomberg": {"sample": 8},
    "pronoun_fidelity": {"sample": 20},
    "resume_score": {"sample": 24},
    "salary_advice": {"sample": 12},
}
"""Samples that show something."""


def small_parameters() -> dict[str, dict[str, Any]]:
    """For every installed probe parameters with small samples, on texts that need not be fetched."""
    packaged = {
        name: [corpus.name for corpus in probe.corpora if corpus.file is not None]
        for name, probe in find_probes().items()
    }
    return {
        name: {**({"corpus": corpora[0]} if corpora else {}), **SIZES.get(name, {})}
        for name, corpora in packaged.items()
    }


def write_answers(probe: Probe, prompts: pl.DataFrame, bias: float, rng: np.random.Generator) -> list[str]:
    """Answers of the reference model that stereotypes, with this chance each, among those of one that does not."""
    stances = probe.stances()
    biased = "stereotyping" if "stereotyping" in stances else stances[0]
    even = "random" if "random" in stances else "unbiased"
    pairs = zip(probe.simulate(prompts, biased, rng), probe.simulate(prompts, even, rng), strict=True)
    return [pair[0] if rng.random() < bias else pair[1] for pair in pairs]


def make_run(
    model: str,
    bias: float,
    probes: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    seed: int = 1,
    answered: float = 1.0,
    **fields: Any,
) -> ReportedRun:
    """A finished run of these probes (by default all), or one of which only a share is answered."""
    rng = np.random.default_rng(seed)
    results, tables = {}, {}
    for name, parameters in (probes or small_parameters()).items():
        planned = plan(name, **parameters)
        attempts = planned.attempts()
        answers = write_answers(planned.probe, attempts, bias, rng)
        status = np.where(rng.random(attempts.height) < 0.01, Status.TRUNCATED, Status.OK).astype(object)
        status[rng.random(attempts.height) < 0.004] = Status.FILTERED
        status[round(attempts.height * answered) :] = Status.PENDING
        table = attempts.with_columns(
            pl.Series(STATUS, status, dtype=pl.String), pl.Series(ANSWER, answers, dtype=pl.String)
        ).with_columns(pl.when(is_measured()).then(ANSWER).alias(ANSWER))
        asked = table.filter(pl.col(STATUS) != Status.PENDING)
        results[name] = score_tables(planned, read_python(asked))
        tables[name] = add_evaluation(planned.probe.detector, table)
    defaults: dict[str, Any] = {
        "name": f"{model}.equipoise",
        "created": "2025-11-04T09:30:00+00:00",
        "equipoise": "0.1.0",
        "settings": {"temperature": 1.0, "max_tokens": 1024, "endpoint": "https://models.example/v1"},
        "command": f"equipoise run --model {model} --suite quick --seed 0",
    }
    return ReportedRun(results=Audit(results, model=model), transcripts=hand_out(tables), **defaults | fields)


def hand_out(tables: Mapping[str, pl.DataFrame]) -> ReadTranscripts:
    """Transcripts from tables, of each probe in two parts of whole items."""

    def read(probe: str, among: Sequence[str] | None = None, /) -> list[pl.DataFrame]:
        table = tables[probe]
        if among is not None:
            return [table.filter(pl.col(ID).is_in(list(among)))]
        first = pl.col(ITEM).is_in(table[ITEM].unique(maintain_order=True).head(10).implode())
        return [table.filter(first), table.filter(~first)]

    return read


def whole_table(run: ReportedRun, probe: str) -> pl.DataFrame:
    return pl.concat(run.transcripts(probe))


def add_evaluation(detector: Detector, table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(evaluate(detector, table).select(pl.exclude(table.columns)))


def collect_evidence(run: ReportedRun, probe: str) -> Evidence:
    result = run.results[probe]
    labels = result.setup.probe.detector.labels
    table = whole_table(run, probe)
    return Evidence(parameters=result.parameters, estimates=result.estimates, attempts=table, labels=labels)


def rename_model(run: ReportedRun, model: str) -> ReportedRun:
    """The same run of another model."""
    return replace(run, results=Audit(run.results, model=model))


def with_results(run: ReportedRun, **results: Result) -> ReportedRun:
    """The run with these results alone."""
    return replace(run, results=Audit(results, model=run.results.model))


def with_parameters(result: Result, **parameters: Any) -> Result:
    """The result as if it had been asked with other parameters."""
    return replace(result, setup=replace(result.setup, parameters={**result.parameters, **parameters}))
