"""What a report shows of the answers to a probe: evidence for figures and findings, and answers to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from equipoise.authoring import Evidence, Probe
from equipoise.detect import Detector
from equipoise.measuring.cases import CONTRAST, find_case, with_contrast
from equipoise.measuring.measure import Part, measure
from equipoise.measuring.readings import find_other_setup, read_again
from equipoise.measuring.result import Result
from equipoise.measuring.words import WordComparison, WordCounts, compare_words, count_words
from equipoise.report.html.runs import ReportedRun
from equipoise.runs.file.values import ATTEMPTS
from equipoise.schema import ANSWER, ATTEMPT, EVALUATION_FAILED, ID, ITEM, LABEL, PROMPT, REPETITION, STATUS, Status


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An attempt that is shown."""

    prompt: str
    answer: str
    outcome: str
    """What the answer says."""
    facts: tuple[tuple[str, str], ...]


def choose_samples(run: ReportedRun, evidence: Evidence, probe: Probe, most: int) -> list[Sample]:
    """Answers to look at: the most different case, then of each label and arm in turn, by their ids, that is hashes."""
    worst = find_case(probe, evidence.attempts)
    worst = worst if worst.height > 1 else worst[:0]
    answers = evidence.measured().join(worst.select(ATTEMPT), on=ATTEMPT, how="anti").sort(ATTEMPT)
    kinds = [name for name in (LABEL, *probe.arm_columns) if name in answers.columns]
    turn = pl.int_range(pl.len())
    in_turn = answers.sort(turn.over(kinds) if kinds else turn, *kinds, maintain_order=True)
    return _read_texts(run, probe, pl.concat([worst, in_turn]).head(most))


def _read_texts(run: ReportedRun, probe: Probe, attempts: pl.DataFrame) -> list[Sample]:
    """These attempts with their prompts and answers; without those whose answer a damaged file lacks."""
    if attempts.is_empty():
        return []
    texts = pl.concat(list(run.transcripts(probe.name, attempts[ID].unique().to_list())))
    found = attempts.select(ATTEMPT).join(texts, on=ATTEMPT, maintain_order="left").drop_nulls(ANSWER)
    covariates, samples = list_covariates(probe.detector, attempts.columns), []
    for row in found.iter_rows(named=True):
        facts = [(ID, row[ID][:12])]
        facts += [(name, probe.value_names.get(name, {}).get(str(row[name]), str(row[name]))) for name in covariates]
        if row[STATUS] != Status.OK:
            facts.append((STATUS, row[STATUS]))
        outcome = probe.detector.describe(row)
        # By probability, the one drawn token may say the opposite of the outcome.
        answer = outcome if probe.detector.by_probability else row[ANSWER]
        samples.append(Sample(prompt=row[PROMPT], answer=answer, outcome=outcome, facts=tuple(facts)))
    return samples


def list_covariates(detector: Detector, columns: Sequence[str]) -> list[str]:
    """The columns of evaluated attempts that tell their prompts apart."""
    others = {ID, ITEM, REPETITION, STATUS, EVALUATION_FAILED, CONTRAST, *detector.columns}
    return [name for name in columns if name not in others]


_DROPPED = [PROMPT, *(name for name in ATTEMPTS if name not in (ID, REPETITION, STATUS))]
"""What figures and findings do not get of an attempt: the texts would need far more memory than all else."""


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


def read_run(run: ReportedRun, probe: str, most: int) -> ReadRun:
    """Go through the answers of a run to a probe once, and then again only for the few answers that are shown.

    Up to `most` are shown, beside those of the case. If none are wanted, they are not read in the other way, either.
    """
    result = run.results[probe]
    definition = result.setup.probe
    other = find_other_setup(result.setup) if most else None
    counts: WordCounts | None = None
    kept: list[pl.DataFrame] = []
    read: list[Part] = []
    for part in run.transcripts(probe):
        counts = count_words(definition, part, counts)
        if other:
            read.append(read_again(result.setup, other, part))
        kept.append(part.drop(_DROPPED, strict=False))
    words, attempts = compare_words(definition, counts), with_contrast(definition, pl.concat(kept))
    evidence = Evidence(
        parameters=result.parameters,
        estimates=result.estimates,
        attempts=attempts,
        labels=definition.detector.labels,
    )
    return ReadRun(
        evidence=evidence,
        words=words,
        other=measure(other, lambda: read) if other else None,
        samples=choose_samples(run, evidence, definition, most),
        case=case if len(case := find_examples(run, evidence, definition)) > 1 else [],
        contrast=attempts.select(pl.col(CONTRAST).max(), mean=pl.col(CONTRAST).mean()).fill_null(0.0).row(0),
    )


def find_examples(
    run: ReportedRun, evidence: Evidence, probe: Probe, columns: Mapping[str, Any] | None = None
) -> list[Sample]:
    """An answer with these values in columns, from the case that was answered most differently, and its counterpart."""
    return _read_texts(run, probe, find_case(probe, evidence.attempts, columns))
