"""Answers to evaluations: the one place where a detector is applied, to attempts that are joined to their prompts."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from equipoise.detect import Detector, visible
from equipoise.detect.first_token import read_first_tokens
from equipoise.measuring.threads import count_threads, work_in_threads
from equipoise.schema import ANSWER, EVALUATION_FAILED, FIRST_TOKEN, LABEL, STATUS, is_measured

LEAST_ROWS, MOST_ROWS = 2_500, 5_000
"""Of a slice. A pattern is prepared anew for each, which takes longer than to search a few hundred answers with it."""
LEAST_HARD_ROWS = 1_000
"""The same for the answers that are not plain: their rules take as long to prepare as to read five hundred of them."""


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
    evaluated = _read_plain_first(detector, used) if detector.plain else _read_all(detector, used)
    return keys.hstack(evaluated).with_columns(pl.lit(value=False).alias(EVALUATION_FAILED))


def _read_all(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
    reading = _where_answered(detector.evaluation(pl.col(ANSWER)))
    # Two steps, so that the visible text is made once however often the detector reads it.
    evaluated = _in_slices(lambda rows: _show(detector, rows).select(reading), attempts)
    return evaluated.unnest(LABEL) if detector.is_struct else evaluated


def _read_plain_first(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
    """The labels of all plain answers, then those of the others, put together: fewer slices, less to prepare."""
    assert detector.plain
    plain = _where_answered(detector.plain(pl.col(ANSWER))).alias(LABEL)
    unread = pl.when(pl.col(LABEL).is_null()).then(ANSWER).alias(ANSWER)
    shown = _in_slices(lambda rows: _show(detector, rows).with_columns(plain).with_columns(unread), attempts)
    hard = shown.select(pl.arg_where(pl.col(ANSWER).is_not_null())).to_series()
    if not len(hard):
        return shown.select(LABEL)
    labels = _in_slices(lambda rows: rows.select(detector.evaluation(pl.col(ANSWER))), shown[hard], LEAST_HARD_ROWS)
    return shown[LABEL].scatter(hard, labels[LABEL]).to_frame()


def _show(detector: Detector, attempts: pl.DataFrame) -> pl.DataFrame:
    measured = pl.when(is_measured()).then(ANSWER)
    return attempts.with_columns(visible(measured, cased=detector.cased).alias(ANSWER))


def _where_answered(outcome: pl.Expr) -> pl.Expr:
    return pl.when(pl.col(ANSWER).is_not_null()).then(outcome)


def _in_slices(
    work: Callable[[pl.DataFrame], pl.DataFrame], rows: pl.DataFrame, least: int = LEAST_ROWS
) -> pl.DataFrame:
    threads = count_threads()
    for_each = max(1, -(-rows.height // (MOST_ROWS * threads)))
    size = max(least, -(-rows.height // (threads * for_each)))  # as many slices for each thread, so that none waits
    return pl.concat(work_in_threads(work, rows.iter_slices(size) if rows.height else [rows]))
