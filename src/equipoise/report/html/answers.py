"""What a report shows of the answers to a probe: evidence for figures and findings, and answers to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from equipoise.authoring import Evidence, Probe
from equipoise.measuring.cases import CONTRAST, find_case, with_contrast
from equipoise.measuring.result import Result
from equipoise.measuring.words import WordComparison
from equipoise.runs.run import Run
from equipoise.schema import ANSWER, ATTEMPT, ID, LABEL, PROMPT, STATUS, Status


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An attempt that is shown."""

    prompt: str
    answer: str
    outcome: str
    """What the answer says."""
    facts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ReadRun:
    """What the answers of a run to a probe show beside its metrics."""

    evidence: Evidence
    words: WordComparison | None
    other: Result | None
    samples: list[Sample]
    case: list[Sample]
    """The case that was answered most differently: an answer for each of two arms; none if all are alike."""
    contrast: tuple[float, float]
    """How different that case is, and how different cases are in the mean."""


def read_run(run: Run, probe: Probe, most: int) -> ReadRun:
    """What the answers show. Up to `most` samples are taken; if none are wanted, there is no other reading, either."""
    result, words = run.result(probe.name), run.words(probe.name)
    attempts = with_contrast(probe, result.evaluated)
    evidence = Evidence(
        parameters=result.parameters,
        estimates=result.estimates,
        attempts=attempts,
        labels=probe.detector.labels,
    )
    case = find_examples(run, probe, evidence)
    return ReadRun(
        evidence=evidence,
        words=words,
        other=run.other_reading(probe.name) if most else None,
        samples=_choose_samples(run, probe, attempts, most),
        case=case if len(case) > 1 else [],
        contrast=attempts.select(pl.col(CONTRAST).max(), mean=pl.col(CONTRAST).mean()).fill_null(0.0).row(0),
    )


def find_examples(run: Run, probe: Probe, evidence: Evidence, columns: Mapping[str, Any] | None = None) -> list[Sample]:
    """An answer with these values in columns, from the case that was answered most differently, and its counterpart."""
    return _read_texts(run, probe, find_case(probe, evidence.attempts, columns))


def _choose_samples(run: Run, probe: Probe, attempts: pl.DataFrame, most: int) -> list[Sample]:
    """Answers to look at: the most different case, then of each label and arm in turn, by their ids, that is hashes."""
    worst = find_case(probe, attempts)
    worst = worst if worst.height > 1 else worst[:0]
    answers = attempts.join(worst.select(ATTEMPT), on=ATTEMPT, how="anti").sort(ATTEMPT)
    kinds = [name for name in (LABEL, *probe.arm_columns) if name in answers.columns]
    turn = pl.int_range(pl.len())
    in_turn = answers.sort(turn.over(kinds) if kinds else turn, *kinds, maintain_order=True)
    return _read_texts(run, probe, pl.concat([worst, in_turn]).head(most))


def _read_texts(run: Run, probe: Probe, attempts: pl.DataFrame) -> list[Sample]:
    """These attempts with their prompts and answers; without those whose answer a damaged file lacks."""
    if attempts.is_empty():
        return []
    texts = pl.concat(list(run.transcript_batches(probe.name, attempts[ID].unique().to_list())))
    found = attempts.select(ATTEMPT).join(texts, on=ATTEMPT, maintain_order="left").drop_nulls(ANSWER)
    samples = []
    for row in found.iter_rows(named=True):
        facts = {ID: row[ID][:12]}
        for name in run.planned[probe.name].covariates:
            facts[name] = probe.value_names.get(name, {}).get(str(row[name]), str(row[name]))
        if row[STATUS] != Status.OK:
            facts[STATUS] = row[STATUS]
        outcome = probe.detector.describe(row)
        # By probability, the one drawn token may say the opposite of the outcome.
        answer = outcome if probe.detector.by_probability else row[ANSWER]
        samples.append(Sample(prompt=row[PROMPT], answer=answer, outcome=outcome, facts=facts))
    return samples
