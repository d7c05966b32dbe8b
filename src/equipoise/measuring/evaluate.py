"""Answers to evaluations: the one place where a detector is applied, to attempts that are joined to their prompts."""

from __future__ import annotations

import polars as pl

from equipoise.detect import Detector, visible
from equipoise.detect.first_token import read_first_tokens
from equipoise.schema import ANSWER, EVALUATION_FAILED, FIRST_TOKEN, LABEL, STATUS, is_measured

ROWS_OF_SLICE = 5_000
"""A pattern is prepared anew for each slice, which takes longer than to search a few hundred answers with it."""


def evaluate(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
    """Replace `answer` (and `first_token`) by what it says: `label` or counts, and whether the detector failed on it.

    An attempt without an answer to measure says nothing, whatever text came with it. A detector that raises, as a
    user's own may, costs only the answers on which it raises.
    """
    try:
        return read_answers(detector, attempts)
    except Exception:
        if attempts.height <= 1:
            failed = attempts.drop(ANSWER, FIRST_TOKEN, strict=False).with_columns(
                pl.lit(value=True).alias(EVALUATION_FAILED)
            )
            return pl.concat([read_answers(detector, attempts[:0]), failed], how="diagonal")
        half = attempts.height // 2
        return pl.concat([evaluate(detector, attempts[:half]), evaluate(detector, attempts[half:])])


def read_answers(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
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
