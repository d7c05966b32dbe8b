"""Verdicts of a judge over what a reading leaves open: which answers are sent, and how a verdict becomes a label."""

from __future__ import annotations

import polars as pl

from equipoise.authoring import Probe
from equipoise.detect import visible
from equipoise.measuring.evaluate import evaluate
from equipoise.schema import (
    ANSWER,
    ATTEMPT,
    CAREFUL,
    FOR_JUDGE,
    JUDGED,
    LABEL,
    PROBABILITIES,
    SPECIFIED,
    VERDICT,
    is_measured,
)


def can_be_judged(probe: Probe) -> bool:
    """Whether answers of the probe can be sent to a judge. Probabilities leave nothing to read."""
    return probe.judge is not None and probe.reading != PROBABILITIES


def evaluate_judged(probe: Probe, attempts: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """What the answers say, by the reading and, where that leaves them open, by the judge.

    `verdicts` has `id`, `repetition` and `verdict`, the words of the judge. A verdict that is a label takes the place
    of what was read; any other leaves it as it is. Adds the columns `verdict`, `for_judge` and `judged`.
    """
    evaluated = evaluate(probe.detector, attempts)
    if not can_be_judged(probe):
        nothing = pl.lit(value=False)
        return evaluated.with_columns(
            pl.lit(None, pl.String).alias(VERDICT), nothing.alias(FOR_JUDGE), nothing.alias(JUDGED)
        )
    assert probe.judge is not None
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


def ask_judge(probe: Probe, attempts: pl.DataFrame) -> list[str]:
    """The prompt for the judge about each answer."""
    assert probe.judge is not None
    shown = attempts.select(visible(pl.col(ANSWER)))[ANSWER].to_list()
    names = (
        attempts.select(pl.col(probe.judge.names).cast(pl.String)).rows()
        if probe.judge.names
        else [()] * attempts.height
    )
    return [
        probe.judge.ask(text, [name for name in known if name is not None])
        for text, known in zip(shown, names, strict=True)
    ]


def _needs_judge(probe: Probe, attempts: pl.DataFrame, evaluated: pl.DataFrame) -> pl.Series:
    """Whether an answer was not read, was read as contradictory, or is decided differently by the two readings."""
    assert probe.judge is not None
    label, labels = pl.col(LABEL), probe.detector.labels
    other = probe.read_by(SPECIFIED if probe.reading == CAREFUL else CAREFUL).detector
    open_ = label.is_null() | label.is_in(probe.judge.contradictory)
    if other.labels and other != probe.detector:
        told = evaluate(other, attempts)[LABEL].alias("other")
        disagree = label.is_in(labels) & pl.col("other").is_in(other.labels) & (label != pl.col("other"))
        evaluated = evaluated.with_columns(told)
        open_ |= disagree.fill_null(value=False)
    return evaluated.select((is_measured() & open_).alias(FOR_JUDGE))[FOR_JUDGE]
