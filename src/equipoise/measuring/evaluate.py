"""Answers to evaluations: the one place where a detector is applied, to attempts that are joined to their prompts."""

from __future__ import annotations

import polars as pl

from equipoise.detect import Detector, visible
from equipoise.detect.first_token import read_first_tokens
from equipoise.measuring.threads import count_threads, work_in_threads
from equipoise.schema import ANSWER, EVALUATION_FAILED, FIRST_TOKEN, LABEL, STATUS, is_measured

LEAST_ROWS, MOST_ROWS = 2_500, 5_000
"""Of a slice. A pattern is prepared anew for each, which takes longer than to search a few hundred answers with it."""


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
    if detector.words:
        failed = pl.lit(value=False).alias(EVALUATION_FAILED)
        return keys.hstack(read_first_tokens(detector, attempts).with_columns(failed))
    # Only what the detector names is there for it to use, so that it reads the same wherever it is applied.
    used = attempts.select(list(dict.fromkeys((ANSWER, STATUS, *detector.uses))))
    measured = pl.when(is_measured()).then(ANSWER)
    shown = visible(measured, cased=detector.cased).alias(ANSWER)
    reading = pl.when(pl.col(ANSWER).is_not_null()).then(detector.evaluation(pl.col(ANSWER)))
    threads = count_threads()
    for_each = max(1, -(-used.height // (MOST_ROWS * threads)))
    size = max(LEAST_ROWS, -(-used.height // (threads * for_each)))  # as many slices for each thread: none waits
    # Two steps, so that the visible text is made once however often the detector reads it.
    slices = used.iter_slices(size) if used.height else [used]
    evaluated = pl.concat(work_in_threads(lambda rows: rows.with_columns(shown).select(reading), slices))
    evaluated = evaluated.unnest(LABEL) if detector.is_struct else evaluated
    return keys.hstack(evaluated).with_columns(pl.lit(value=False).alias(EVALUATION_FAILED))
