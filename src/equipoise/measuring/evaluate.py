"""Answers to evaluations: the one place where a detector gives labels.

Attempts are joined to their prompts before, or in `score` only if the detector uses something of the prompt.

What a reading leaves open may be sent to a judge: here stands which answers are, and how a verdict becomes a label.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from equipoise.authoring import Probe
from equipoise.detect import Detector, visible
from equipoise.detect.detector import read_first_tokens
from equipoise.probes.labelled import name_outcomes
from equipoise.schema import (
    ANSWER,
    ATTEMPT,
    EVALUATION_FAILED,
    FIRST_TOKEN,
    FOR_JUDGE,
    JUDGED,
    LABEL,
    PROBABILITIES,
    STATUS,
    VERDICT,
    Status,
    is_measured,
    text_column,
)

ROWS_OF_SLICE = 5_000
"""A pattern is prepared anew for each slice, which takes longer than to search a few hundred answers with it."""


def evaluate(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
    """Replace `answer` (and `first_token`) by what it says: `label` or counts, and whether the detector failed on it.

    An attempt without an answer to measure says nothing, whatever text came with it. A detector that raises, as a
    user's own may, costs only the answers on which it raises.
    """
    try:
        return apply_detector(detector, attempts)
    except Exception:
        if attempts.height <= 1:
            failed = attempts.drop(ANSWER, FIRST_TOKEN, strict=False).with_columns(
                pl.lit(value=True).alias(EVALUATION_FAILED)
            )
            return pl.concat([apply_detector(detector, attempts[:0]), failed], how="diagonal")
        half = attempts.height // 2
        return pl.concat([evaluate(detector, attempts[:half]), evaluate(detector, attempts[half:])])


def apply_detector(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
    """The same, but whatever the detector raises is raised."""
    keys = attempts.drop(ANSWER, FIRST_TOKEN, strict=False)
    if detector.by_probability:
        failed = pl.lit(value=False).alias(EVALUATION_FAILED)
        return keys.hstack(read_first_tokens(detector, attempts).with_columns(failed))
    # Only what the detector names is there for it to use, so that it reads the same wherever it is applied.
    used = attempts.select(list(dict.fromkeys((ANSWER, STATUS, *detector.uses))))
    measured = pl.when(is_measured()).then(ANSWER)
    shown = visible(measured, cased=detector.cased).alias(ANSWER)
    reading = pl.when(pl.col(ANSWER).is_not_null()).then(detector.evaluation(pl.col(ANSWER)))
    slices = [rows.lazy() for rows in used.iter_slices(ROWS_OF_SLICE)] or [used.lazy()]
    # Two steps, so that the visible text is made once however often the detector reads it. Polars itself works on
    # several slices at the same time.
    evaluated = pl.concat(rows.with_columns(shown).select(reading) for rows in slices).collect()
    evaluated = evaluated.unnest(LABEL) if detector.is_struct else evaluated
    return keys.hstack(evaluated).with_columns(pl.lit(value=False).alias(EVALUATION_FAILED))


def can_be_judged(probe: Probe) -> bool:
    """Whether answers of the probe can be sent to a judge, which gives labels and no numbers."""
    return probe.judge is not None and probe.reading != PROBABILITIES and not probe.detector.number


def evaluate_judged(probe: Probe, attempts: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """What the answers say, by the reading and, where that leaves them open, by the judge.

    `verdicts` has `id`, `repetition` and `verdict`, the words of the judge. A verdict that is a label takes the place
    of what was read; any other leaves it as it is. Adds the columns `verdict`, `for_judge` and `judged`.
    """
    evaluated = evaluate(probe.detector, attempts)
    if probe.judge is None or not can_be_judged(probe):
        return evaluated
    known = (*probe.detector.labels, *probe.detector.other_labels)
    given = evaluated.select(ATTEMPT).join(verdicts, on=ATTEMPT, how="left", maintain_order="left")[VERDICT]
    is_label = pl.col("said").is_in(known).fill_null(value=False)
    return (
        evaluated.with_columns(given, _needs_judge(probe, attempts, evaluated))
        .with_columns(said=probe.judge.read(pl.col(VERDICT)))
        .with_columns((pl.col(FOR_JUDGE) & is_label).alias(JUDGED))
        .with_columns(pl.when(JUDGED).then("said").otherwise(LABEL).alias(LABEL))
        .drop("said")
    )


def find_unread(probe: Probe, attempts: pl.DataFrame) -> pl.DataFrame:
    """The attempts whose answers are for a judge."""
    if not can_be_judged(probe):
        return attempts[:0]
    return attempts.filter(_needs_judge(probe, attempts, evaluate(probe.detector, attempts)))


def find_labels(detector: Detector, answers: Sequence[str], prompts: pl.DataFrame | None = None) -> list[str]:
    """What the detector says of each answer: a label, or nothing. `prompts` has the columns that it uses, if any."""
    attempts = pl.DataFrame([text_column(ANSWER, answers)]).with_columns(pl.lit(Status.OK.value).alias(STATUS))
    evaluated = evaluate(detector, attempts if prompts is None else attempts.hstack(prompts))
    return name_outcomes(detector, evaluated)


def _needs_judge(probe: Probe, attempts: pl.DataFrame, evaluated: pl.DataFrame) -> pl.Series:
    """Whether an answer was not read, was read as contradictory, or is decided differently by the two readings."""
    assert probe.judge is not None
    label, labels = pl.col(LABEL), probe.detector.labels
    open_ = label.is_null() | label.is_in(probe.judge.contradictory)
    if probe.other_reading and (other := probe.read_by(probe.other_reading).detector).labels:
        told = evaluate(other, attempts)[LABEL].alias("other")
        disagree = label.is_in(labels) & pl.col("other").is_in(other.labels) & (label != pl.col("other"))
        evaluated = evaluated.with_columns(told)
        open_ |= disagree.fill_null(value=False)
    return evaluated.select((is_measured() & open_).alias(FOR_JUDGE))[FOR_JUDGE]
