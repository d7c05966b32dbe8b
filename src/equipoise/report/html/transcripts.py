"""What a report shows of the answers to a probe, from one reading of them, part by part."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from equipoise.authoring import Evidence
from equipoise.measuring.readings import OtherReading, Rereading
from equipoise.measuring.words import WordComparison, WordCounting
from equipoise.report.html.runs import ReportedRun
from equipoise.report.html.samples import Sample, SampleChoice, list_covariates
from equipoise.report.html.words import list_spots
from equipoise.runs.file.tables import ATTEMPTS
from equipoise.schema import ID, PROMPT, REPETITION, STATUS, is_measured

DROPPED = [PROMPT, *(name for name in ATTEMPTS if name not in (ID, REPETITION, STATUS))]
"""What figures and findings do not get of an attempt: the texts would need far more memory than all else."""


@dataclass(frozen=True, kw_only=True)
class ReadRun:
    """What the answers of a run to a probe show beside its metrics."""

    evidence: Evidence
    words: WordComparison | None
    other: OtherReading | None
    samples: list[Sample]


def read_run(run: ReportedRun, probe: str, most: int) -> ReadRun:
    """Go through the answers of a run to a probe once. The texts are dropped, except those of up to `most` answers."""
    result = run.results[probe]
    counting, rereading = WordCounting(result.setup.probe), Rereading(result)
    choice = SampleChoice(result.setup.probe)
    kept: list[pl.DataFrame] = []
    for part in run.transcripts(probe):
        counting.add(part)
        rereading.add(part)
        choice.add(part.filter(is_measured()))
        kept.append(part.drop(DROPPED, strict=False))
    words = counting.compare()
    evidence = Evidence(
        parameters=result.parameters,
        estimates=result.estimates,
        attempts=pl.concat(kept),
        labels=result.setup.probe.detector.labels,
        typical_words=list_spots(words) if words else (),
    )
    covariates = list_covariates(result.setup.probe.detector, evidence.attempts.columns)
    return ReadRun(
        evidence=evidence,
        words=words,
        other=rereading.measure(),
        samples=choice.choose(covariates, most, lambda ids: run.transcripts(probe, ids)),
    )
